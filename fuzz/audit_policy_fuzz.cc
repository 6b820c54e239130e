// SPDX-License-Identifier: Apache-2.0
//
// Properties: whatever a policy file holds, reading it ends with a policy or a sentence; a policy
// that was read is written so that reading it again gives the same one, and decides for any request.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "audit/policy.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dray::audit;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto policy = ReadPolicy(text);
  if (!policy.ok()) {
    DRAY_CHECK(!policy.status().message().empty());
    return 0;
  }
  DRAY_CHECK(!policy->rules.empty());
  const std::string written = ToJson(*policy);
  const auto again = ReadPolicy(written);
  DRAY_CHECK(again.ok(), written);
  DRAY_CHECK(ToJson(*again) == written, written);
  policy->For("u", {"g"}, {.verb = "get", .is_resource = true, .resource = "pods"});
  policy->For("u", {}, {.verb = "get", .path = "/metrics"});
  return 0;
}
