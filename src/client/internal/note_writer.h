// SPDX-License-Identifier: Apache-2.0
//
// NoteWriter: tells people through events, behind the back of whoever has something to tell.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/cluster.h"
#include "api/event_folder.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/mutex.h"
#include "base/string_map.h"
#include "client/object_client.h"

namespace dray::client::internal {

struct NoteOptions {
  // So many events are remembered, to be counted up when the same is told again; what is told again
  // later is another event.
  std::size_t max_events = 10'000;
  // So many wait to be written; more are left out.
  std::size_t max_waiting = 20'000;
  // Between two attempts to write one while the server cannot be reached.
  std::chrono::milliseconds first_backoff{100};
  std::chrono::milliseconds longest_backoff{10'000};
};

// Writes beside whoever puts. Put is thread-safe, Flush for one thread.
class NoteWriter {
 public:
  // All outlive it.
  NoteWriter(const ObjectClient& client, const base::Clock& clock, base::Host& host,
             const NoteOptions& options);
  // Writes what there is, as long as the server takes it.
  ~NoteWriter();

  // Does not wait. When notes come faster than they can be written, new ones are left out.
  void Put(api::EventNote note);
  // Waits until all is written, or could not be.
  void Flush();

 private:
  void Run();
  // Again while the server cannot be reached, but not for ever, and not at the end.
  Status Persistently(const std::function<Status()>& write);
  // Whether the server could be reached.
  bool Write(const api::EventNote& note);
  Status Repeat(const api::EventFolder::Place& place);

  const ObjectClient& client_;
  const base::Clock& clock_;
  const NoteOptions options_;
  // Of who writes.
  api::EventFolder folder_;
  base::StringMap<int> counts_;  // by the name of the event
  std::int64_t serial_ = 0;      // clocks may stand still
  const std::unique_ptr<base::Alarm> wake_;
  const std::unique_ptr<base::Alarm> end_;
  const std::unique_ptr<base::Alarm> idle_;
  base::Mutex mutex_;
  std::deque<api::EventNote> notes_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<base::Running> running_;
};

}  // namespace dray::client::internal
