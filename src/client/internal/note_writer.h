// SPDX-License-Identifier: Apache-2.0
//
// NoteWriter: tells people through events, behind the back of whoever has something to tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <thread>

#include "api/cluster.h"
#include "api/event_folder.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/string_map.h"
#include "client/object_client.h"

namespace dray::client::internal {

// Has a thread of its own. Put and Flush are thread-safe.
class NoteWriter {
 public:
  // Both outlive it. At most `max_events` events are kept of it on the server.
  NoteWriter(const ObjectClient& client, const base::Clock& clock, std::size_t max_events);
  // Writes what there is, as long as the server takes it.
  ~NoteWriter();

  // Does not wait. When notes come faster than they can be written, new ones are left out.
  void Put(api::EventNote note);
  // Waits until all is written, or could not be.
  void Flush();

 private:
  void Run();
  // Whether the server could be reached.
  bool Write(const api::EventNote& note);
  Status Repeat(const api::EventFolder::Place& place);

  const ObjectClient& client_;
  const base::Clock& clock_;
  // The thread's.
  api::EventFolder folder_;
  base::StringMap<int> counts_;  // by the name of the event
  std::int64_t serial_ = 0;      // clocks may stand still
  base::Mutex mutex_;
  base::CondVar wake_;
  base::CondVar idle_;
  std::deque<api::EventNote> notes_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace dray::client::internal
