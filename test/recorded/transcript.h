// SPDX-License-Identifier: Apache-2.0
//
// What a client and an API server said to each other, written down: one line of JSON for each request
// with its answer and for each event of a watch, in the order in which they came to pass.
//
// Texts are written down without what is different in every run: uids are counted, times in requests
// are only their form, and who manages which field is left out. The client sees them that way when
// it is recorded, too, so that it does the same when the record is played.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "client/http_client.h"

namespace dray::recorded {

inline constexpr std::string_view kWatch = "WATCH";
// The client was ended here, and another one begun.
inline constexpr std::string_view kRestart = "RESTART";

struct Entry {
  // A request, where `line` is empty. A watch has the method WATCH.
  std::string method;
  std::string target;
  std::string content_type;
  std::string accept;
  std::string body;
  int status = 0;  // 0: no answer came
  std::string answer;
  // An event of the watch that entry number `watch` has begun.
  std::string line;
  std::size_t watch = 0;

  bool is_line() const { return !line.empty(); }
};

struct Transcript {
  std::vector<Entry> entries;
};

// What each of the clients said that came one after the other.
std::vector<Transcript> LivesOf(Transcript transcript);

// Long answers are in files of their own beside it, which several transcripts share.
Status Save(const Transcript& transcript, const std::filesystem::path& file);
StatusOr<Transcript> Load(const std::filesystem::path& file);

// A request as it is written down and compared.
Entry RequestEntry(const client::HttpRequest& request, bool watch);
// For people: "PUT /apis/… {…}".
std::string Shown(const Entry& entry);

// What a server says, without the parts that do not matter here.
std::string PlainAnswer(std::string_view target, std::string_view text);

// Uids as they are and as they are written down. Thread-safe.
class Uids {
 public:
  // From the server.
  std::string Counted(std::string_view text);
  // To the server. One that it has not said is the client's own, and stays as it is.
  std::string Original(std::string_view text);

 private:
  base::Mutex mutex_;
  std::size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::string, std::less<>> counted_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string, std::less<>> original_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::recorded
