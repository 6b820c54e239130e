// SPDX-License-Identifier: Apache-2.0
//
// A name that stands for several machines, of which some are away.
#include "client/internal/socket.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "testing/status_matchers.h"

namespace dray::client::internal {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

// A port of loopback: somebody accepts there, nobody does, or it is like a machine that is away, which says
// nothing to who wants to connect.
class Port {
 public:
  enum class Sort : std::uint8_t { kOpen, kClosed, kSilent };
  explicit Port(Sort sort) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    address_.size = sizeof(address_.where);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address_.where), &address_.size),
              0);
    if (sort == Sort::kClosed) return;
    EXPECT_EQ(::listen(socket_, sort == Sort::kOpen ? 16 : 0), 0);
    // A queue that is full drops who comes.
    for (int i = 0; sort == Sort::kSilent && i < 4; ++i) {
      const int filler = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      static_cast<void>(
          ::connect(filler, reinterpret_cast<const sockaddr*>(&address_.where), address_.size));
      fillers_.push_back(filler);
    }
  }
  ~Port() {
    for (const int filler : fillers_) ::close(filler);
    ::close(socket_);
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  const Address& address() const { return address_; }

 private:
  int socket_ = -1;
  Address address_;
  std::vector<int> fillers_;
};

const Endpoint kEndpoint{.host = "servers.example.com", .port = "6443"};

TEST(SocketTest, AMachineThatIsAwayDoesNotUseUpTheTimeOfTheOthers) {
  const Port away(Port::Sort::kSilent);
  const Port refuses(Port::Sort::kClosed);
  const Port there(Port::Sort::kOpen);
  const std::vector<Address> addresses = {away.address(), refuses.address(), there.address()};
  const auto began = steady_clock::now();
  EXPECT_THAT(Socket::ConnectToAny(kEndpoint, addresses, began + seconds(3)), IsOk());
  // It was tried, and that was the time.
  EXPECT_GE(steady_clock::now() - began, milliseconds(900));
}

TEST(SocketTest, WhenNobodyIsThereTheNameIsTold) {
  const Port away(Port::Sort::kSilent);
  const Port refuses(Port::Sort::kClosed);
  const auto deadline = steady_clock::now() + milliseconds(400);
  EXPECT_THAT(
      Socket::ConnectToAny(kEndpoint, std::vector{refuses.address(), away.address()}, deadline),
      StatusIs(StatusCode::kUnavailable,
               HasSubstr("cannot connect to servers.example.com port 6443")));
  EXPECT_THAT(Socket::ConnectToAny(kEndpoint, {}, deadline),
              StatusIs(StatusCode::kUnavailable, HasSubstr("it has no address")));
}

// Its kernel accepts, and it says nothing: it is frozen.
TEST(SocketTest, AServerThatHangsDoesNotKeepClientsFromTheOthers) {
  const SslContextPtr context = *MakeSslContext({});
  Endpoint endpoint = kEndpoint;
  endpoint.tls = context.get();
  const Port hangs(Port::Sort::kOpen);
  const Port refuses(Port::Sort::kClosed);
  EXPECT_THAT(Socket::ConnectToAny(endpoint, std::vector{hangs.address(), refuses.address()},
                                   steady_clock::now() + milliseconds(400)),
              StatusIs(StatusCode::kUnavailable, HasSubstr("refused")));
}

}  // namespace
}  // namespace dray::client::internal
