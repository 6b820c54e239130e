// SPDX-License-Identifier: Apache-2.0
//
// The page, as it was built into the binary from console/dist.
#pragma once

#include <span>
#include <string_view>

#include "apiserver/http.h"

namespace dray::console {

struct Asset {
  std::string_view name;  // "app.js"
  std::string_view type;  // "text/javascript; charset=utf-8"
  std::string_view etag;  // with its quotes
  std::string_view bytes;
};
std::span<const Asset> Assets();

// The page for a path under /console, whichever view it is of; a file; or that there is none.
apiserver::Response ServePage(const apiserver::Request& request);

}  // namespace dray::console
