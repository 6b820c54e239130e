// SPDX-License-Identifier: Apache-2.0
//
// Documents: discovery and OpenAPI, which are the same for everybody.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "apiserver/http.h"
#include "base/mutex.h"
#include "registry/handler.h"
#include "rest/served_kinds.h"

namespace dray::registry {

// How the document is called here that /openapi/v2 is for those who ask for protobuf.
inline constexpr std::string_view kOpenApiV2AsProtobuf = "/openapi/v2#protobuf";

// Each is made when first asked for, and anew when other kinds are served. Thread-safe.
class RestHandler::Documents {
 public:
  // Null when there is no such document.
  apiserver::Bytes Find(const std::shared_ptr<const rest::ServedKinds>& kinds,
                        std::string_view path, bool aggregated, std::string_view host);

 private:
  base::Mutex mutex_;
  // What they say is of these kinds.
  std::shared_ptr<const rest::ServedKinds> of_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, apiserver::Bytes> made_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::registry
