// SPDX-License-Identifier: Apache-2.0
#include "rpc/health_check.h"

#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <proto/grpc_health_v1.grpc.pb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace dray::rpc {
namespace {

namespace health = ::grpc::health::v1;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class Service final : public health::Health::CallbackService {
 public:
  grpc::ServerUnaryReactor* Check(grpc::CallbackServerContext* context,
                                  const health::HealthCheckRequest* request,
                                  health::HealthCheckResponse* response) override {
    auto* reactor = context->DefaultReactor();
    agent = context->client_metadata().find("user-agent") != context->client_metadata().end();
    if (request->service() == "nobody") {
      reactor->Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "unknown service"));
      return reactor;
    }
    response->set_status(request->service() == "sick" ? health::HealthCheckResponse::NOT_SERVING
                                                      : health::HealthCheckResponse::SERVING);
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  std::atomic<bool> agent = false;
};

class HealthCheckTest : public ::testing::Test {
 protected:
  void Serve(grpc::Service* service) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(service);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  int Connect() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port_));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof(at)), 0);
    return fd;
  }
  ~HealthCheckTest() override {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now() + seconds(1));
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(HealthCheckTest, SaysWhetherAServiceServes) {
  Service service;
  Serve(&service);
  EXPECT_TRUE(CheckHealth(Connect(), "", seconds(5)).ok());
  EXPECT_TRUE(CheckHealth(Connect(), "well", seconds(5)).ok());
  EXPECT_TRUE(service.agent);
  EXPECT_THAT(std::string(base::Message(CheckHealth(Connect(), "sick", seconds(5)))),
              HasSubstr("responded with \"NOT_SERVING\""));
  EXPECT_THAT(std::string(base::Message(CheckHealth(Connect(), "nobody", seconds(5)))),
              HasSubstr("unknown service"));
}

TEST_F(HealthCheckTest, AServerWithoutTheServiceIsToldApart) {
  class Other final : public health::Health::CallbackService {};  // answers UNIMPLEMENTED
  Other other;
  Serve(&other);
  EXPECT_THAT(std::string(base::Message(CheckHealth(Connect(), "", seconds(5)))),
              HasSubstr("does not implement the grpc health protocol"));
}

// A listener that accepts and says nothing, or something else.
TEST_F(HealthCheckTest, WhoDoesNotAnswerCostsTheTimeout) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof(at)), 0);
  ASSERT_EQ(::listen(listener, 4), 0);
  socklen_t size = sizeof(at);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size), 0);
  port_ = ntohs(at.sin_port);
  EXPECT_THAT(std::string(base::Message(CheckHealth(Connect(), "", milliseconds(200)))),
              HasSubstr("timeout"));
  const int connected = Connect();
  const int accepted = ::accept(listener, nullptr, nullptr);
  const int second = ::accept(listener, nullptr, nullptr);
  const std::string noise = "HTTP/1.1 400 Bad Request\r\n\r\n";
  (void)!::write(accepted, noise.data(), noise.size());
  (void)!::write(second, noise.data(), noise.size());
  EXPECT_FALSE(CheckHealth(connected, "", seconds(5)).ok());
  ::close(accepted);
  ::close(second);
  ::close(listener);
}

}  // namespace
}  // namespace dray::rpc
