// SPDX-License-Identifier: Apache-2.0
//
// Replay: a server that knows nothing but what was written down. It answers the requests that were
// made then, each as often, and tells what watches told then, once everything has been asked that had been
// asked before. Whoever asks for something else is at fault.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "client/http_client.h"
#include "recorded/transcript.h"

namespace dray::recorded {

// Thread-safe; outlives the clients that it has made.
class Replay {
 public:
  explicit Replay(Transcript transcript);

  std::unique_ptr<client::HttpClient> MakeClient(client::HttpOptions options);

  // Everything has been asked and told, or something was asked that had not been. False: not in
  // time.
  bool Await(std::chrono::milliseconds longest);
  // What was asked and had not been, each with what comes closest to it.
  std::vector<std::string> Surprises() const;
  // What has not been asked so far.
  std::vector<std::string> Missing() const;

 private:
  class Client;
  class Stream;

  // The entry's number; nothing: it was never asked.
  std::optional<std::size_t> Ask(const Entry& request);
  std::optional<std::size_t> Find(const Entry& request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string Closest(const Entry& request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for the next line of a watch. Nothing: it was cancelled, or is over.
  std::optional<std::string> Hear(std::size_t watch, const bool& cancelled);
  // Moves past what has happened.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Transcript transcript_;
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  std::vector<bool> done_ ABSL_GUARDED_BY(mutex_);  // by entry: asked, or told
  std::size_t next_ ABSL_GUARDED_BY(mutex_) = 0;    // everything before it is done
  std::vector<std::string> surprises_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::recorded
