// SPDX-License-Identifier: Apache-2.0
//
// Scheduler: devices that another scheduler has given away, too. What this one has done is taken back
// as long as nothing runs with it.
#include <algorithm>
#include <utility>
#include <vector>

#include "api/document.h"
#include "fmt/format.h"
#include "scheduler/internal/scheduler_impl.h"

namespace dray::scheduler {
namespace {

constexpr std::chrono::seconds kTwiceNap{5};

// Whether a container has been started, whatever became of it: then the device is in use.
bool Started(const api::Pod& pod) {
  const auto started = [](const std::vector<api::ContainerStatus>& list) {
    return std::ranges::any_of(list, [](const api::ContainerStatus& status) {
      return status.state.running.has_value() || status.state.terminated.has_value() ||
             status.restart_count > 0;
    });
  };
  const api::PodStatus& status = pod.status;
  return (!status.phase.empty() && status.phase != api::kPodPending) ||
         started(status.init_container_statuses) || started(status.container_statuses);
}

// Whether the server says that the allocation was written in that name, perhaps by the process that was before
// this one.
bool AllocatedBy(const api::ResourceClaim& claim, std::string_view manager) {
  return std::ranges::any_of(
      claim.metadata.managed_fields, [&](const api::ManagedFieldsEntry& entry) {
        if (entry.manager != manager || entry.subresource != "status") return false;
        std::vector<api::Diagnostic> diagnostics;
        const api::DocumentNode fields = api::ParseJson(entry.fields_v1.text, diagnostics);
        const api::Member* status = fields.Find("f:status");
        return status != nullptr && status->value.Find("f:allocation") != nullptr;
      });
}

}  // namespace

void Scheduler::Impl::Remember(const api::ResourceClaim& claim, const std::string& device) {
  const api::ObjectMeta& meta = claim.metadata;
  if (!world.AllocatedHere(meta.uid) && !AllocatedBy(claim, profiles.front().scheduler_name)) {
    return;
  }
  twice.try_emplace(
      meta.namespace_ + "/" + meta.name,
      Twice{.namespace_ = meta.namespace_, .name = meta.name, .uid = meta.uid, .device = device});
}

std::string Scheduler::Impl::TwiceOf(const PodInfo& pod) const {
  for (const auto& [key, entry] : twice) {
    const auto claim = world.FindClaim(entry.namespace_, entry.name);
    const api::OwnerReference* owner =
        claim == nullptr ? nullptr : api::ExtendedResourcePod(*claim);
    const bool its = world.NamesClaim(pod.key, entry.namespace_, entry.name) ||
                     (owner != nullptr && owner->uid == pod.pod->metadata.uid);
    if (its)
      return fmt::format("device {} of claim {} was also given away by somebody else", entry.device,
                         key);
  }
  return "";
}

std::optional<std::chrono::nanoseconds> Scheduler::Impl::TwiceDue() const {
  std::optional<std::chrono::nanoseconds> first;
  for (const auto& [key, entry] : twice) {
    if (!entry.in_use && (!first || entry.again < *first)) first = entry.again;
  }
  return first;
}

void Scheduler::Impl::SettleTwice() {
  if (twice.empty() || !watch->Stale().ok()) return;
  const std::chrono::nanoseconds now = clock.Monotonic();
  std::vector<std::string> due;
  for (auto it = twice.begin(); it != twice.end();) {
    Twice& entry = it->second;
    const auto claim = world.FindClaim(entry.namespace_, entry.name);
    const bool over = claim == nullptr || claim->metadata.uid != entry.uid ||
                      !claim->status.allocation.has_value() ||
                      world.FindGivenTwice(*claim, *claim->status.allocation).empty();
    if (over) {
      it = twice.erase(it);
      continue;
    }
    // A pod that is on its way is turned back before it is bound, or has to be bound first.
    const bool busy = std::ranges::any_of(bindings, [&](const Binding& binding) {
      return world.NamesClaim(binding.pod.pod->key, entry.namespace_, entry.name);
    });
    if (!busy && !entry.in_use && entry.again <= now) {
      entry.again = now + kTwiceNap;
      due.push_back(it->first);
    }
    ++it;
  }
  for (const std::string& key : due) {
    if (options.background == nullptr) {
      TakeBack(key);
    } else {
      options.background->Run([this, key] { TakeBack(key); });
    }
  }
}

void Scheduler::Impl::TakeBack(const std::string& key) {
  const auto found = twice.find(key);
  if (found == twice.end()) return;
  const Twice entry = found->second;
  // Meanwhile others have their turn, and may have settled it.
  const auto keep = [&] {
    if (const auto now = twice.find(key); now != twice.end()) now->second.in_use = true;
  };
  const auto read = cluster.Find(api::HubKind(api::TypeInfoOf<api::ResourceClaim>()),
                                 entry.namespace_, entry.name);
  if (!read.ok() || !*read || (*read)->metadata().uid != entry.uid) return;
  api::ResourceClaim claim = *(*read)->As<api::ResourceClaim>();
  if (!claim.status.allocation.has_value()) return;
  std::vector<api::Object> bound;
  for (const api::ResourceClaimConsumerReference& user : claim.status.reserved_for) {
    if (user.resource != "pods") return keep();
    const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::Pod>());
    const auto pod = cluster.Find(kind, entry.namespace_, user.name);
    if (!pod.ok()) return;
    if (!*pod || (*pod)->metadata().uid != user.uid) continue;
    const api::Pod& its = *(*pod)->As<api::Pod>();
    if (its.spec.node_name.empty() || IsTerminated(its)) continue;
    // A pod that nobody would make anew is not lost for this: people are told, and decide.
    if (Started(its) || api::FindController(its.metadata) == nullptr) return keep();
    if (!its.metadata.deletion_timestamp) bound.push_back(**pod);
  }
  const auto tell = [&](const api::Object& about, std::string_view what) {
    cluster.Note({.about = about,
                  .type = "Warning",
                  .reason = "DeviceTakenBack",
                  .message = fmt::format("device {} was also given away by somebody else: {}",
                                         entry.device, what),
                  .component = profiles.front().scheduler_name,
                  .action = "Scheduling"});
    if (options.observer != nullptr) options.observer->OnTakenBack(entry.device);
  };
  for (const api::Object& pod : bound) {
    const api::ObjectMeta& meta = pod.metadata();
    if (!cluster.Delete(pod.kind(), meta.namespace_, meta.name, meta.uid).ok()) return;
    tell(pod, "the pod has not started and is deleted, for its controller to make another");
  }
  // Whoever controls claims gives it back once the pods are gone.
  if (!bound.empty()) return;
  const api::Object about = **read;
  claim.status = {.unknown = claim.status.unknown};
  // A claim that has changed meanwhile is looked at again later.
  if (!cluster.UpdateStatus(api::Object::Of(std::move(claim))).ok()) return;
  tell(about, "the claim is allocated anew");
}

}  // namespace dray::scheduler
