// SPDX-License-Identifier: Apache-2.0
//
// `GET stream`: changes of a view as lines, and a sign of life every two seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "apiserver/http.h"
#include "console/hub.h"

namespace dray::console {

struct StreamOptions {
  std::uint64_t from = 0;
  // Asked before each sign of life; true: whoever listens may go on.
  std::function<void(std::function<void(bool)>)> recheck = nullptr;
};

// The hub outlives it. Waits for the view, so it is not made by who moves bytes.
std::unique_ptr<apiserver::StreamSource> MakeStream(Hub& hub, std::shared_ptr<View> view,
                                                    StreamOptions options);
// One that only says that the fleet must be asked for again.
std::unique_ptr<apiserver::StreamSource> MakeResetStream(std::string_view why);

}  // namespace dray::console
