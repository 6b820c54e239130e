// SPDX-License-Identifier: Apache-2.0
#include "rest/served_kinds.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "rest/discovery.h"

namespace dray::rest {
namespace {

auto KeyOf(const api::KindInfo& kind) { return std::tie(kind.plural, kind.group, kind.version); }

}  // namespace

const ServedKinds& ServedKinds::BuiltIn() {
  static const ServedKinds built_in({});
  return built_in;
}

ServedKinds::ServedKinds(std::vector<ServedKind> added, const api::FeatureGates* gates) {
  for (const api::KindInfo& kind : api::Kinds()) {
    if (kind.gate && gates != nullptr && !gates->Enabled(*kind.gate)) continue;
    all_.push_back({&kind, DescribeResource(kind)});
  }
  for (ServedKind& kind : added) all_.push_back(std::move(kind));
  for (const ServedKind& row : all_) by_resource_.push_back(&row);
  std::ranges::stable_sort(by_resource_, {},
                           [](const ServedKind* row) { return KeyOf(*row->kind); });
}

const ServedKind* ServedKinds::FindResource(std::string_view group, std::string_view version,
                                            std::string_view plural) const {
  const auto it = std::ranges::lower_bound(by_resource_, std::tie(plural, group, version), {},
                                           [](const ServedKind* row) { return KeyOf(*row->kind); });
  if (it == by_resource_.end()) return nullptr;
  const api::KindInfo& found = *(*it)->kind;
  const bool same = found.plural == plural && found.group == group && found.version == version;
  return same ? *it : nullptr;
}

const ServedKind* ServedKinds::Find(const api::KindInfo& kind) const {
  const ServedKind* found = FindResource(kind.group, kind.version, kind.plural);
  return found != nullptr && found->kind == &kind ? found : nullptr;
}

const Subresource* ServedKinds::FindSubresource(const api::KindInfo& kind,
                                                std::string_view name) const {
  const ServedKind* served = Find(kind);
  if (served == nullptr) return nullptr;
  const auto& parts = served->resource.subresources;
  const auto it = std::ranges::find(parts, name, &Subresource::name);
  return it == parts.end() ? nullptr : &*it;
}

}  // namespace dray::rest
