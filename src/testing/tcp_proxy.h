// SPDX-License-Identifier: Apache-2.0
//
// TcpProxy: somebody between a client and a server on this machine, who forwards bytes, or stops to
// without saying so: connections stay open and lead nowhere, as when a firewall has forgotten them
// or a load balancer hangs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace dray::testing {

// Has a thread of its own from the constructor on; everything else may be called from any thread.
class TcpProxy {
 public:
  // To 127.0.0.1.
  explicit TcpProxy(std::uint16_t upstream);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  std::uint16_t port() const { return port_; }

  enum class Fate : std::uint8_t {
    kForward,
    kFreeze,   // this is held back, and so is everything on that connection, both ways
    kSilence,  // forwarded, and nothing that the server says on that connection any more
    kCut,      // forwarded; the connection ends with the first byte of the answer
  };
  // Asked for what a client sends, as it comes: a request without TLS mostly comes in one piece. On
  // the proxy's thread.
  using Rule = std::function<Fate(std::string_view bytes)>;
  void SetRule(Rule rule);
  // The same of all connections that are there, from the next byte on that the server says; for servers that decide
  // by what they understood, where the proxy cannot.
  void Doom(Fate fate);
  // All connections, those that come too.
  void Freeze();
  // What was held back is forwarded, also on connections that a rule has frozen.
  void Thaw();

 private:
  struct Link {
    int client = -1;
    int server = -1;
    bool frozen = false;
    bool silent = false;
    bool cut = false;
    bool over = false;
    std::string held;  // from the client
  };
  void Run();
  void Accept();
  void Meet(Fate fate);
  void FromClient(Link& link);
  void FromServer(Link& link);
  static void Send(Link& link, int to, std::string_view bytes);
  void Wake();

  const std::uint16_t upstream_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::vector<Link> links_;  // the thread's
  base::Mutex mutex_;
  Rule rule_ ABSL_GUARDED_BY(mutex_);
  Fate doom_ ABSL_GUARDED_BY(mutex_) = Fate::kForward;
  bool frozen_ ABSL_GUARDED_BY(mutex_) = false;
  bool thaw_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace dray::testing
