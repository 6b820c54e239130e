// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/write_guard.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "api/generated_name.h"
#include "api/pod.h"
#include "fmt/format.h"

namespace dray::planner::internal {
namespace {

std::optional<Owner> OwnerOf(const api::Object& object) {
  const api::OwnerReference* owner = api::FindController(object.metadata());
  if (owner == nullptr) return std::nullopt;
  return Owner{owner->kind, object.metadata().namespace_, owner->name};
}

std::uint64_t Hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash ^ (hash >> 29);
}

}  // namespace

void WriteGuard::Watch(api::MemoryCluster& cluster) {
  cluster.SetWriteHook([this, &cluster](api::Verb verb, const api::Object& object) {
    return OnWrite(verb, object, cluster);
  });
}

Status WriteGuard::OnWrite(api::Verb verb, const api::Object& object,
                           const api::MemoryCluster& cluster) {
  if (++writes_ > most_writes_) return base::Unavailable("the plan has ended");
  if (verb == api::Verb::kCreate) return OnCreate(object, cluster);
  if (verb == api::Verb::kDelete) quotas_.Release(object, cluster);
  return {};
}

Status WriteGuard::OnCreate(const api::Object& object, const api::MemoryCluster& cluster) {
  const Status admitted = quotas_.Admit(object, cluster);
  if (object.As<api::Pod>() == nullptr) return admitted;
  const auto owner = OwnerOf(object);
  if (!owner) return admitted;
  if (admitted.ok()) {
    ++made_[*owner];
  } else {
    refused_.emplace(*owner, base::Message(admitted));
  }
  return admitted;
}

Status WriteGuard::Verdict() const {
  if (writes_ <= most_writes_) return {};
  const auto most =
      std::ranges::max_element(made_, {}, [](const auto& entry) { return entry.second; });
  if (most == made_.end()) {
    return base::InvalidArgument(
        fmt::format("the plan does not come to an end: after {} writes, controllers and scheduler "
                    "still undo each other's work",
                    most_writes_));
  }
  const Owner& owner = most->first;
  return base::InvalidArgument(fmt::format(
      "{} {}/{} can never be satisfied: {} pods were created for it, and it still needs more",
      owner.kind, owner.namespace_, owner.name, most->second));
}

std::string PlannedNames::operator()(const api::Object& object) {
  const api::ObjectMeta& metadata = object.metadata();
  const std::string key =
      fmt::format("{}/{}/{}", object.kind().kind, metadata.namespace_, metadata.generate_name);
  std::uint64_t hash = Hash(fmt::format("{}/{}", key, next_[key]++));
  std::string suffix;
  for (std::size_t i = 0; i < api::kNameSuffixLength; ++i) {
    suffix += api::kNameAlphabet[hash % api::kNameAlphabet.size()];
    hash /= api::kNameAlphabet.size();
  }
  return suffix;
}

}  // namespace dray::planner::internal
