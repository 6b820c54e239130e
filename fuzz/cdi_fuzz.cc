// SPDX-License-Identifier: Apache-2.0
//
// Properties: whatever a CDI file holds, reading it ends with a spec or a sentence; a spec that was
// read is written so that reading it gives the same one, in the lowest version; its devices can be
// had, and its edits made to a container.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "cdi/apply.h"
#include "cdi/registry.h"
#include "cdi/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dray::cdi;  // NOLINT(google-build-using-namespace)
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto spec = ReadSpec(text);
  if (!spec.ok()) {
    DRAY_CHECK(!spec.status().message().empty());
    return 0;
  }
  const auto written = WriteSpec(*spec);
  DRAY_CHECK(written.ok(), text);
  auto again = ReadSpec(*written);
  DRAY_CHECK(again.ok(), *written);
  DRAY_CHECK(again->cdi_version == LowestVersion(*spec), *written);
  again->cdi_version = spec->cdi_version;
  DRAY_CHECK(*again == *spec, *written);

  const Registry registry({{.path = "fuzz.json", .content = text}});
  const std::vector<std::string> names = registry.Devices();
  DRAY_CHECK(names.size() == spec->devices.size(), text);
  const auto edits = registry.Resolve(names);
  DRAY_CHECK(edits.ok(), text);
  oci::Config config;
  const auto device = [](const std::string&) -> dray::StatusOr<HostDevice> {
    return HostDevice{.type = "c", .major = 1, .minor = 3};
  };
  (void)Apply(*edits, device, config);
  return 0;
}
