// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/missing.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/device_class.h"
#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/resource_claim.h"
#include "base/edit_distance.h"
#include "controllers/object_key.h"
#include "fmt/format.h"
#include "planner/internal/cure_changes.h"

namespace dray::planner::internal {
namespace {

using controllers::KindOf;

constexpr std::size_t kListed = 4;

class Missing {
 public:
  Missing(Trial& trial, const api::Object& pod, Help& help)
      : trial_(trial), pod_(pod), help_(help) {}

  void Find() {
    const api::Pod& pod = *pod_.As<api::Pod>();
    const api::ClaimsOfPod claims(pod);
    for (std::size_t i = 0; i < pod.spec.resource_claims.size(); ++i) {
      const api::PodResourceClaim& entry = pod.spec.resource_claims[i];
      const auto name = claims.NameOf(entry);
      if (entry.resource_claim_name) {
        if (Exists<api::ResourceClaim>(*entry.resource_claim_name)) {
          Classes(*entry.resource_claim_name);
        } else {
          Claim(i, *entry.resource_claim_name);
        }
      } else if (name) {
        Classes(std::string(*name));
      } else if (entry.resource_claim_template_name &&
                 !Exists<api::ResourceClaimTemplate>(*entry.resource_claim_template_name)) {
        Template(i, *entry.resource_claim_template_name);
      }
    }
  }

 private:
  const std::string& space() const { return pod_.metadata().namespace_; }

  template <typename T>
  bool Exists(const std::string& name) const {
    return trial_.Find(KindOf<T>(), space(), name) != nullptr;
  }

  template <typename T>
  std::vector<std::string_view> Names() const {
    std::vector<std::string_view> names;
    for (const api::Object* object : trial_.List(KindOf<T>())) {
      if (object->kind().namespaced && object->metadata().namespace_ != space()) continue;
      names.push_back(object->metadata().name);
    }
    return names;
  }

  // Tells of it: `correct` makes the change that puts the meant name in its place.
  template <typename T, typename Correct>
  void Tell(const std::string& name, Correct correct) {
    const std::vector<std::string_view> names = Names<T>();
    const std::string gone =
        fmt::format("there is no {} \"{}\"{}", KindOf<T>().kind, name,
                    KindOf<T>().namespaced ? fmt::format(" in namespace \"{}\"", space()) : "");
    const auto meant = base::ClosestMatch(name, names);
    if (!meant) {
      help_.hints.push_back(names.empty() ? gone
                                          : fmt::format("{}; there is {}", gone, Some(names)));
      return;
    }
    api::Object pod = pod_;
    Changes changes;
    correct(*meant, pod, changes);
    const Trial::Answer answer = trial_.Try(pod, changes);
    if (!answer.placed) {
      help_.hints.push_back(
          fmt::format("{}: did you mean \"{}\"? That alone would not be enough", gone, *meant));
      return;
    }
    changes.put.push_back(std::move(pod));
    help_.cures.push_back({.kind = CureKind::kCorrectName,
                           .text = fmt::format("{}: did you mean \"{}\"?", gone, *meant),
                           .node = answer.node,
                           .changes = std::move(changes)});
  }

  static std::string Some(const std::vector<std::string_view>& names) {
    const std::size_t n = std::min(names.size(), kListed);
    return fmt::format(
        "{}{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(n), ", "),
        names.size() > n ? ", ..." : "");
  }

  void Claim(std::size_t entry, const std::string& name) {
    Tell<api::ResourceClaim>(name, [&](const std::string& meant, api::Object& pod, Changes&) {
      pod.Mutable<api::Pod>()->spec.resource_claims[entry].resource_claim_name = meant;
    });
  }

  // The claim that a controller would make.
  void Template(std::size_t entry, const std::string& name) {
    Tell<api::ResourceClaimTemplate>(
        name, [&](const std::string& meant, api::Object& object, Changes& changes) {
          const auto& from = *trial_.Find(KindOf<api::ResourceClaimTemplate>(), space(), meant)
                                  ->As<api::ResourceClaimTemplate>();
          api::Pod& pod = *object.Mutable<api::Pod>();
          api::PodResourceClaim& uses = pod.spec.resource_claims[entry];
          uses.resource_claim_template_name = meant;
          api::ResourceClaim claim;
          claim.metadata.namespace_ = space();
          claim.metadata.name = fmt::format("{}-{}-tried", pod.metadata.name, uses.name);
          claim.metadata.owner_references.push_back({.api_version = "v1",
                                                     .kind = "Pod",
                                                     .name = pod.metadata.name,
                                                     .uid = pod.metadata.uid,
                                                     .controller = true});
          claim.spec = from.spec.spec;
          if (!pod.status.resource_claim_statuses) pod.status.resource_claim_statuses.emplace();
          pod.status.resource_claim_statuses->push_back(
              {.name = uses.name, .resource_claim_name = claim.metadata.name});
          changes.put.push_back(api::Object::Of(std::move(claim)));
        });
  }

  void Classes(const std::string& claim_name) {
    const api::Object* stored = trial_.Find(KindOf<api::ResourceClaim>(), space(), claim_name);
    if (stored == nullptr) return;
    const auto check = [&](const std::string& device_class, const std::string& alternative) {
      if (device_class.empty() || trial_.Find(KindOf<api::DeviceClass>(), "", device_class)) return;
      Tell<api::DeviceClass>(
          device_class, [&](const std::string& meant, api::Object&, Changes& changes) {
            api::Object changed = *stored;
            *FieldsOf(*changed.Mutable<api::ResourceClaim>(), alternative).device_class = meant;
            changes.put.push_back(std::move(changed));
          });
    };
    for (const auto& request : stored->As<api::ResourceClaim>()->spec.devices.requests) {
      if (request.exactly.has_value()) check(request.exactly->device_class_name, request.name);
      for (const auto& sub : request.first_available) {
        check(sub.device_class_name, request.name + "/" + sub.name);
      }
    }
  }

  Trial& trial_;
  const api::Object& pod_;
  Help& help_;
};

}  // namespace

void FindMissing(Trial& trial, const api::Object& pod, Help& help) {
  Missing(trial, pod, help).Find();
}

}  // namespace dray::planner::internal
