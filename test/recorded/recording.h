// SPDX-License-Identifier: Apache-2.0
//
// Recording: an HttpClient that leads to a real server and writes down what is said.
#pragma once

#include <memory>
#include <string>

#include "base/mutex.h"
#include "client/http_client.h"
#include "recorded/transcript.h"

namespace dray::recorded {

// Thread-safe; outlives the clients that it has made.
class Recording {
 public:
  // Whatever is sent by it is written down, and whatever comes back.
  std::unique_ptr<client::HttpClient> Wrap(std::unique_ptr<client::HttpClient> server);
  // From now on another client speaks. The ones before have been destroyed.
  void Restart();
  Transcript Taken() const;

 private:
  class Client;
  class Stream;

  // What was sent has its place before whatever is heard from then on, its own consequences
  // among it.
  std::size_t Sent(Entry entry);
  void Answered(std::size_t call, int status, std::string answer);
  void Heard(std::size_t watch, std::string line);

  Uids uids_;
  mutable base::Mutex mutex_;
  Transcript transcript_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::recorded
