// SPDX-License-Identifier: Apache-2.0
//
// ScriptedServer: speaks HTTP/2 over TLS, and does to each request what a test wants, right or wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "apiserver/certificates.h"
#include "base/mutex.h"

namespace dray::client {

class ScriptedServer {
 public:
  struct Seen {
    int connection = 0;  // from 1
    std::int32_t stream = 0;
    std::string method;
    std::string path;
    std::string body;
    std::string token;  // of its authorization

    bool operator==(const Seen&) const = default;
  };
  enum class Act : std::uint8_t {
    kAnswer,       // 200 with the body "yes"
    kRefuse,       // says that it has not looked at it
    kReset,        // says that something went wrong
    kWantsHttp1,   //
    kLeaveBefore,  // will look at no requests any more, from this one on
    kLeaveAfter,   // the same from the next one on
    kCut,          // ends the connection
    kIgnore,       // answers nothing to this
    kFreeze,       // answers nothing at all any more on this connection, and reads nothing
    kHalf,         // begins an answer and takes it back, as if that were all
    kHugeHead,     // an answer with a head that is too large
    kManyHeads,    // answers that it goes on, and on
    kTrailers,     // 200 with "yes" and something after it
    kContinue,     // 100, then kAnswer
    kGarbage,      // what is no frame
    kFloodPings,   // ten thousand pings, then kAnswer
    kPush,         // promises what nobody has asked for
    kHeadAlone,    // the head of a 200, and nothing after it
    kStream,       // 200 and lines for ever, as fast as they are taken
  };
  using Script = std::function<Act(const Seen& request, int number)>;  // number: from 1

  // `max_streams`: that it takes at a time.
  ScriptedServer(const apiserver::KeyPair& keys, Script script, std::uint32_t max_streams = 100);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const { return "https://127.0.0.1:" + std::to_string(port_); }
  std::vector<Seen> seen() const;
  int connections() const;

 private:
  class Connection;
  void Accept();

  const Script script_;
  const std::uint32_t max_streams_;
  void* context_ = nullptr;  // SSL_CTX
  int listener_ = -1;
  int stop_[2] = {-1, -1};
  std::uint16_t port_ = 0;
  mutable base::Mutex mutex_;
  std::vector<Seen> seen_ ABSL_GUARDED_BY(mutex_);
  int connections_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_;  // of who accepts
  std::thread accepting_;
};

}  // namespace dray::client
