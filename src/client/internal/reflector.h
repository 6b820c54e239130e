// SPDX-License-Identifier: Apache-2.0
//
// Reflector: keeps up with one kind of objects: lists them, then watches from there, and begins
// again where it was when the connection breaks. Only when the server has forgotten that place are
// they listed again, and what is different is told.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/cluster.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/mutex.h"
#include "client/internal/inbox.h"
#include "client/object_client.h"

namespace dray::client::internal {

struct ReflectorOptions {
  std::chrono::milliseconds first_backoff{100};
  std::chrono::milliseconds longest_backoff{10'000};
  std::chrono::milliseconds absent{60'000};  // until a kind that is not there is looked for again
  std::chrono::seconds watch_for{300};       // then the watch is begun again, where it was
  // A server says something once a minute (a bookmark), if there was anything to say; before this much time has gone
  // by it is asked again, and after it without an answer it is not there.
  std::chrono::milliseconds silence{75'000};
  api::Selection selection = {};
  base::Host* host = nullptr;  // where it runs; outlives it
  // See RemoteOptions.
  std::function<bool(const api::KindInfo& kind, const Status& why)> withheld = nullptr;
};

// Runs beside others from Start until it is destroyed.
class Reflector {
 public:
  // All outlive it.
  Reflector(const ObjectClient& client, const api::KindInfo& kind, Inbox& inbox, std::size_t feed,
            const base::Clock& clock, const ReflectorOptions& options);
  ~Reflector();
  // Lists at once; if that fails, it goes on trying.
  void Start();
  // Asks it to end; does not wait.
  void Stop();

 private:
  void Run();
  // One list or one watch. Not OK: wait before the next.
  Status Step();
  Status List();
  Status Follow();
  // It can be followed, perhaps again.
  void Readable();
  // What keeps it from going on, for the inbox. Whether there is nothing to be had for a while.
  bool Settle(Status status);
  void Take(ObjectClient::WatchEvent event);
  void Nap(std::chrono::milliseconds time);
  bool Stopping();

  const ObjectClient& client_;
  const api::KindInfo& kind_;
  Inbox& inbox_;
  const std::size_t feed_;
  const base::Clock& clock_;
  const ReflectorOptions options_;
  // Its own, once it runs.
  api::JsonDecoder decoder_;
  std::map<std::string, api::Object> known_;
  bool listed_ = false;
  std::string revision_;   // empty: to be listed
  bool withheld_ = false;  // the server does not let us read it
  const std::unique_ptr<base::Alarm> wake_;
  base::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<LineStream> stream_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<base::Running> running_;
};

}  // namespace dray::client::internal
