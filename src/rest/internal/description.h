// SPDX-License-Identifier: Apache-2.0
//
// The tables behind DescriptionOf, by subject.
#pragma once

#include <span>
#include <string_view>

namespace dray::rest::internal {

struct Description {
  std::string_view name;  // "Struct" or "Struct.field"
  std::string_view text;
};

std::span<const Description> MetaDescriptions();
std::span<const Description> CoreDescriptions();
std::span<const Description> WorkloadsDescriptions();
std::span<const Description> PodsDescriptions();
std::span<const Description> ContainersDescriptions();
std::span<const Description> VolumesDescriptions();
std::span<const Description> ClaimsDescriptions();
std::span<const Description> SlicesDescriptions();
std::span<const Description> RbacDescriptions();

}  // namespace dray::rest::internal
