// SPDX-License-Identifier: Apache-2.0
//
// Door: what is asked of a request before anybody looks at what it wants. Pure.
//
// The console listens where a browser reaches it, and a browser carries out what other pages say:
// requests from elsewhere (cross-site, DNS rebinding), credentials that travel by themselves. So a
// request has to be for us by name, from our own page, and carry what no other page can make it
// carry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/http.h"
#include "base/mutex.h"

namespace dray::console {

inline constexpr std::string_view kRoot = "/console";
inline constexpr std::string_view kApi = "/console/api/v1/";

// 256 bits, as 43 characters that a URL takes.
std::string NewToken();
// Takes as long whatever the two have in common.
bool SameSecret(std::string_view a, std::string_view b);

struct DoorOptions {
  // Local mode: who does not know it is told nothing. Served mode: empty, the server knows its users.
  std::string token;
  // Local mode: the names that the console goes by, with port. Served mode: none, any.
  std::vector<std::string> hosts;
  // https in served mode.
  std::string scheme = "http";
};

// Thread-safe.
class Door {
 public:
  explicit Door(DoorOptions options) : options_(std::move(options)) {}

  // What to answer at once; nothing: the request may go on. `now`: seconds of a monotonic clock.
  std::optional<apiserver::Response> Refuse(const apiserver::Request& request, double now);
  // Whether it is for the page and its files, which everybody may see, and not for data.
  static bool IsPage(std::string_view path);

  // On every answer; `data`: it is not to be kept.
  static void AddHeaders(apiserver::Response& response, bool data);

 private:
  bool TooMany(double now);

  const DoorOptions options_;
  base::Mutex mutex_;
  // Wrong tokens, as a bucket that empties by time.
  double wrong_ ABSL_GUARDED_BY(mutex_) = 0;
  double wrong_at_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A Kubernetes Status.
apiserver::Response Failure(int code, std::string_view reason, std::string_view message);
apiserver::Response JsonAnswer(int code, std::string body);

}  // namespace dray::console
