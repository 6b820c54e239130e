// SPDX-License-Identifier: Apache-2.0
//
// The kind `quota`: how much quota claims and pods use, and which names and operations are the
// claim evaluator's business.
#include <stdexcept>

#include "api/quota.h"
#include "conformance/case_files.h"
#include "conformance/suite.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dray::conformance {
namespace {

using api::DocumentNode;
using Outcome = std::optional<std::string>;

template <typename T>
std::vector<T> ObjectsAt(const DocumentNode& recorded, std::string_view key) {
  std::vector<T> objects;
  for (const DocumentNode& item : ItemsOf(recorded, key)) {
    DocumentNode holder;
    holder.kind = DocumentNode::Kind::kMap;
    holder.members.push_back({.key = "item", .value = item});
    const auto object = ObjectAt(holder, "item");
    const T* value = object ? object->As<T>() : nullptr;
    if (value == nullptr) throw std::runtime_error(fmt::format("{}: another kind", key));
    objects.push_back(*value);
  }
  return objects;
}

// The other objects of the cluster.
class RecordedObjects final : public api::QuotaObjects {
 public:
  explicit RecordedObjects(const DocumentNode& recorded)
      : pods_(ObjectsAt<api::Pod>(recorded, "pods")),
        claims_(ObjectsAt<api::ResourceClaim>(recorded, "otherClaims")) {}

  const api::Pod* FindPod(std::string_view namespace_, std::string_view name) const override {
    for (const api::Pod& pod : pods_) {
      if (pod.metadata.namespace_ == namespace_ && pod.metadata.name == name) return &pod;
    }
    return nullptr;
  }
  std::vector<const api::ResourceClaim*> ExtendedResourceClaimsOf(std::string_view,
                                                                  std::string_view) const override {
    std::vector<const api::ResourceClaim*> claims;
    for (const api::ResourceClaim& claim : claims_) claims.push_back(&claim);
    return claims;
  }

 private:
  std::vector<api::Pod> pods_;
  std::vector<api::ResourceClaim> claims_;
};

api::ExtendedResourceIndex ClassesOf(const DocumentNode& recorded) {
  api::ExtendedResourceIndex index;
  for (const auto& c : ObjectsAt<api::DeviceClass>(recorded, "deviceClasses")) index.OnAdd(c);
  return index;
}

std::string Show(const api::Map<base::Quantity>& usage) {
  std::string text;
  for (const auto& [name, amount] : usage) text += fmt::format(" {}={}", name, amount.ToString());
  return text;
}

api::Map<base::Quantity> UsageAt(const DocumentNode& recorded) {
  api::Map<base::Quantity> usage;
  for (const api::Member& entry : Get(recorded, "expectUsage")->members) {
    if (!base::Quantity::TryParse(entry.value.text, &usage[entry.key])) {
      throw std::runtime_error("expectUsage: not a quantity");
    }
  }
  return usage;
}

Outcome RunUsage(const DocumentNode& recorded) {
  const base::Time now = base::Time::FromUnix(1'700'000'000);
  api::Map<base::Quantity> got;
  if (TextOf(recorded, "kind") == "Pod") {
    got = api::PodQuotaUsage(ObjectsAt<api::Pod>(recorded, "objects").at(0), now);
  } else {
    const api::ExtendedResourceIndex classes = ClassesOf(recorded);
    const RecordedObjects objects(recorded);
    const api::FeatureGates gates = GatesOf(recorded);
    got =
        api::ClaimQuotaUsage(ObjectsAt<api::ResourceClaim>(recorded, "objects").at(0),
                             {.classes = classes, .objects = objects, .gates = gates, .now = now});
  }
  const api::Map<base::Quantity> want = UsageAt(recorded);
  if (want == got) return std::nullopt;
  return fmt::format("want{}; got{}", Show(want), Show(got));
}

Outcome RunNames(const DocumentNode& recorded) {
  const auto want = TextsOf(recorded, "expectItems");
  const auto got =
      api::ClaimQuotaNames(TextsOf(recorded, "items"), ClassesOf(recorded), GatesOf(recorded));
  if (want == got) return std::nullopt;
  return fmt::format("want {}; got {}", fmt::join(want, " "), fmt::join(got, " "));
}

Outcome RunHandles(const DocumentNode& recorded) {
  const bool got =
      api::ClaimQuotaHandles(TextOf(recorded, "verb"), TextOf(recorded, "subresource"));
  if (got == Get(recorded, "expectHandles")->boolean) return std::nullopt;
  return got ? "handled, but should not be" : "not handled, but should be";
}

Outcome Run(const DocumentNode& recorded) {
  if (Get(recorded, "expectUsage") != nullptr) return RunUsage(recorded);
  if (Get(recorded, "expectHandles") != nullptr) return RunHandles(recorded);
  if (recorded.Find("expectItems") != nullptr) return RunNames(recorded);
  return "the case expects nothing";
}

}  // namespace

std::vector<Case> LoadQuotaCases(const std::filesystem::path& folder) {
  return CasesOf(folder, Run);
}

}  // namespace dray::conformance
