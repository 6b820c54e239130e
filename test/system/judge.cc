// SPDX-License-Identifier: Apache-2.0
#include "system/judge.h"

#include <algorithm>
#include <cstdlib>

#include "api/lease.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_slice.h"
#include "api/workloads.h"
#include "fmt/format.h"
#include "model/checker.h"
#include "system/shown.h"

namespace dray::system {
namespace {

template <typename T>
const T* As(const std::optional<api::Object>& object) {
  return object ? object->As<T>() : nullptr;
}

std::string DeviceOf(const api::DeviceRequestAllocationResult& result) {
  return fmt::format("{}/{}/{}", result.driver, result.pool, result.device);
}

}  // namespace

void Judge::Attend(Server& server) {
  server_ = &server;
  durable_ = server.store().revision().value;
  if (durable_ < acked_) {
    stage_.Find(
        fmt::format("revision {} was acknowledged, and the disk has only {}", acked_, durable_));
  }
  auto watch = server.store().WatchFrom("", {seen_}, [this] { woken_ = true; });
  if (!watch.ok()) {
    stage_.Find(fmt::format("the store has forgotten revision {}: {}", seen_,
                            std::string(watch.status().message())));
    return;
  }
  watch_ = *std::move(watch);
  woken_ = true;
  Look();
}

void Judge::Leave() {
  watch_ = nullptr;
  server_ = nullptr;
}

void Judge::Look() {
  if (watch_ == nullptr || !std::exchange(woken_, false)) return;
  for (;;) {
    const auto events = watch_->Next(256);
    if (!events.ok()) {
      stage_.Find("the store has forgotten what was not looked at yet");
      return;
    }
    if (events->empty()) return;
    for (const store::Event& event : *events) {
      const std::string& key = event.entry->key;
      std::optional<api::Object> before;
      if (const auto known = objects_.find(key); known != objects_.end()) before = known->second;
      if (const auto known = hidden_.find(key); known != hidden_.end()) before = known->second;
      std::optional<api::Object> after;
      const auto read = server_->registry().objects().Read(*event.entry);
      if (read.ok()) after = (*read)->object();
      seen_ = std::max(seen_, event.revision().value);
      if (event.deleted) {
        if (before) by_uid_.erase(before->metadata().uid);
        objects_.erase(key);
        hidden_.erase(key);
        after.reset();
      } else {
        objects_[key] = after;
        if (after) by_uid_[after->metadata().uid] = key;
        if (after) hidden_.erase(key);
        if (!after && before) hidden_[key] = before;
        if (after && after->As<api::ResourceSlice>() != nullptr) slices_[key] = after;
        if (after && after->As<api::Node>() != nullptr) nodes_[key] = after;
      }
      durable_ = std::max(durable_, seen_);
      OnChange(key, before, after, event.before == nullptr, event.deleted);
    }
  }
}

const api::Object* Judge::FindUid(const std::string& uid) const {
  const auto key = by_uid_.find(uid);
  if (key == by_uid_.end()) return nullptr;
  const auto found = objects_.find(key->second);
  return found == objects_.end() || !found->second ? nullptr : &*found->second;
}

void Judge::OnChange(const std::string& key, const std::optional<api::Object>& before,
                     const std::optional<api::Object>& after, bool is_new, bool deleted) {
  const auto& shown = after ? after : before;
  if (shown && shown->kind().kind != "Event" && shown->kind().kind != "Lease") {
    changed_ = stage_.kernel.now();
    if (stage_.tracing) {
      std::string more;
      if (const auto* pod = As<api::Pod>(shown)) {
        more = fmt::format(" on={} {}{}", pod->spec.node_name, pod->status.phase,
                           pod->metadata.deletion_timestamp ? " deleting" : "");
        if (!pod->status.nominated_node_name.empty() && pod->spec.node_name.empty()) {
          more += " nominated=" + pod->status.nominated_node_name;
        }
        for (const api::PodCondition& condition : pod->status.conditions) {
          if (condition.status == "True" && condition.type != "DisruptionTarget") continue;
          if (!condition.message.empty()) more += " \"" + condition.message + "\"";
        }
      }
      if (const auto* claim = As<api::ResourceClaim>(shown)) {
        if (claim->status.allocation) {
          for (const auto& result : claim->status.allocation->devices.results) {
            more += " " + DeviceOf(result);
          }
        }
        more += fmt::format(" reserved={}", claim->status.reserved_for.size());
      }
      stage_.Trace("stored", fmt::format("{} {} {}{}", seen_,
                                         !after   ? deleted ? "-" : "?"
                                         : before ? "*"
                                                  : "+",
                                         key, more));
    }
  }
  const auto* claim_before = As<api::ResourceClaim>(before);
  const auto* claim_after = As<api::ResourceClaim>(after);
  // What cannot be read has what it had.
  const bool hidden = !after && !deleted;
  if (!hidden && (claim_before != nullptr || claim_after != nullptr)) {
    OnClaim(key, claim_before, claim_after);
  }
  if (!hidden) OnPod(As<api::Pod>(before), As<api::Pod>(after));
  if (is_new && after) CheckQuota(*after);
  if (before && deleted) CheckRemoved(*before);
  if (const auto* lease = As<api::Lease>(after);
      lease != nullptr && lease->metadata.name == "kube-scheduler") {
    const std::string holder = lease->spec.holder_identity.value_or("");
    if (leaders_.empty() || leaders_.back().holder != holder) {
      leaders_.push_back({stage_.kernel.now(), holder});
      stage_.Trace("leader", holder);
    }
  }
}

// Long after the last change nobody is sent away any more: that would go on for ever.
void Judge::OnPod(const api::Pod* before, const api::Pod* after) {
  constexpr Nanos kLong = std::chrono::seconds(100);
  if (before != nullptr &&
      (after == nullptr || after->metadata.deletion_timestamp || Ended(*after))) {
    if (const std::string group = GroupOf(*before); !group.empty()) lost_members_.insert(group);
  }
  if (after == nullptr || before == nullptr) return;
  const auto preempted = [](const api::Pod& pod) {
    return std::ranges::any_of(pod.status.conditions, [](const api::PodCondition& condition) {
      return condition.reason == "PreemptionByScheduler";
    });
  };
  if (!preempted(*after) || preempted(*before)) return;
  stage_.Count("preempted");
  if (stage_.calm_since && stage_.kernel.now() - *stage_.calm_since > kLong) {
    stage_.Find(fmt::format("pod {} is sent away although nothing has happened for long",
                            Shown(after->metadata)));
  }
}

void Judge::OnClaim(const std::string& key, const api::ResourceClaim* before,
                    const api::ResourceClaim* after) {
  const bool had = before != nullptr && before->status.allocation.has_value();
  const bool has = after != nullptr && after->status.allocation.has_value();
  if (had) {
    for (const auto& result : before->status.allocation->devices.results) {
      if (result.share_id) shares_.erase(*result.share_id);
      Holders& holders = devices_[DeviceOf(result)];
      holders.exclusive.erase(key);
      holders.shared.erase(key);
    }
  }
  if (!has) return;
  for (const auto& result : after->status.allocation->devices.results) {
    if (result.admin_access.value_or(false)) continue;
    const std::string device = DeviceOf(result);
    Holders& holders = devices_[device];
    const bool other_exclusive = !holders.exclusive.empty();
    const bool taken =
        result.share_id ? other_exclusive : other_exclusive || !holders.shared.empty();
    if (taken) {
      stage_.Find(
          fmt::format("{} is given twice: to {} and to {}", device, key,
                      other_exclusive ? *holders.exclusive.begin() : *holders.shared.begin()));
    }
    if (result.share_id && !shares_.emplace(*result.share_id, key).second) {
      stage_.Find(fmt::format("share {} of {} is given twice", *result.share_id, device));
    }
    (result.share_id ? holders.shared : holders.exclusive).insert(key);
  }
  if (!had) {
    stage_.Count("allocated");
    CheckAgainstModel(*after);
  } else if (before->status.allocation->devices != after->status.allocation->devices) {
    stage_.Find(fmt::format("{} has other devices than before", key));
  }
}

// Sums of capacity and counters, selectors, taints: whatever the rules say about one more.
void Judge::CheckAgainstModel(const api::ResourceClaim& claim) {
  model::Instance instance;
  instance.features = model::Features::All();
  std::vector<const api::ResourceSlice*> slices;
  Add(slices_, slices);
  std::vector<const api::Node*> nodes;
  Add(nodes_, nodes);
  for (const auto* slice : slices) {
    const bool used = std::ranges::any_of(
        claim.status.allocation->devices.results,
        [&](const auto& result) { return slice->spec.pool.name == result.pool; });
    for (const auto* node : nodes) {
      if (used && node->metadata.name == slice->spec.node_name) instance.node = *node;
    }
    instance.slices.push_back(*slice);
  }
  for (const auto* each : AllThere<api::DeviceClass>()) instance.classes.push_back(*each);
  for (const auto* other : AllThere<api::ResourceClaim>()) {
    if (other->metadata.uid != claim.metadata.uid && other->status.allocation) {
      instance.allocated_claims.push_back(*other);
    }
  }
  api::AllocationResult result = *claim.status.allocation;
  result.allocation_timestamp.reset();
  instance.claims.push_back(claim);
  instance.claims.back().status = {};
  for (const std::string& text : model::CheckAllocation(instance, {result})) {
    stage_.Find(fmt::format("allocation of {}: {}", Shown(claim.metadata), text));
  }
}

// What cannot be read is not seen here; that it counts all the same is for the quota's sum (460).
std::int64_t Judge::CountedBy(const std::string& resource, const std::string& namespace_) const {
  const auto in = [&](const auto* object) { return object->metadata.namespace_ == namespace_; };
  if (resource == "count/deployments.apps") {
    return std::ranges::count_if(All<api::Deployment>(), in);
  }
  if (resource == "count/resourceclaims.resource.k8s.io") {
    return std::ranges::count_if(All<api::ResourceClaim>(), in);
  }
  return std::ranges::count_if(All<api::Pod>(), [&](const api::Pod* pod) {
    // Whose time to end is over does not count, whatever still holds it.
    return in(pod) && !Ended(*pod) && !pod->metadata.deletion_timestamp;
  });
}

void Judge::CheckQuota(const api::Object& added) {
  const char* resource = added.As<api::Pod>() != nullptr          ? "pods"
                         : added.As<api::Deployment>() != nullptr ? "count/deployments.apps"
                         : added.As<api::ResourceClaim>() != nullptr
                             ? "count/resourceclaims.resource.k8s.io"
                             : nullptr;
  if (resource == nullptr) return;
  const std::string& space = added.metadata().namespace_;
  for (const auto* quota : All<api::ResourceQuota>()) {
    if (quota->metadata.namespace_ != space) continue;
    const base::Quantity* hard = quota->spec.hard.Find(resource);
    // Until somebody has counted, nobody knows.
    if (hard == nullptr || quota->status.hard.Find(resource) == nullptr) continue;
    const std::int64_t count = CountedBy(resource, space);
    if (*base::Quantity::Parse(std::to_string(count)) > *hard) {
      stage_.Find(fmt::format("{} makes {} {} in namespace {}, quota allows {}",
                              Shown(added.metadata()), count, resource, space, hard->ToString()));
    }
  }
}

void Judge::CheckRemoved(const api::Object& removed) {
  const api::OwnerReference* owner = api::FindController(removed.metadata());
  if (owner == nullptr) return;
  // Namespaces on their way out take everything along.
  if (removed.metadata().namespace_ == "c") return;
  const auto key = by_uid_.find(owner->uid);
  if (key == by_uid_.end()) return;
  const auto found = objects_.find(key->second);
  if (found == objects_.end()) return;
  // Users delete pods and claims of others.
  const bool asked_for =
      removed.metadata().deletion_timestamp.has_value() ||
      asked_away_.contains(fmt::format("{}/{}", removed.kind().plural, Shown(removed.metadata())));
  if (!found->second && !asked_for) {
    stage_.Find(fmt::format("{} {} is deleted, and its owner {} is there, though it cannot be read",
                            removed.kind().kind, Shown(removed.metadata()), key->second));
  }
}

void Judge::OnArrival(const Sent& sent) {
  constexpr std::string_view kSpaces = "/namespaces/";
  const std::size_t space = sent.target.find(kSpaces);
  if (sent.method == "DELETE" && space != std::string::npos) {
    // /api/v1/namespaces/NAMESPACE/pods/NAME
    const std::string rest = sent.target.substr(space + kSpaces.size());
    const std::size_t first = rest.find('/');
    const std::size_t second = rest.find('/', first + 1);
    if (second != std::string::npos) {
      asked_away_.insert(fmt::format("{}/{}/{}", rest.substr(first + 1, second - first - 1),
                                     rest.substr(0, first), rest.substr(second + 1)));
    }
  }
  if (!sent.who.starts_with("scheduler-")) return;
  if (sent.target.find("/leases") != std::string::npos) return;
  stage_.Count("written by a scheduler");
  std::string holder;
  for (const Leader& leader : leaders_) {
    if (leader.since <= sent.at) holder = leader.holder;
  }
  if (holder != sent.who) {
    stage_.Find(fmt::format("{} has sent {} {} at {:.3f} s while the leader was \"{}\"", sent.who,
                            sent.method, sent.target,
                            std::chrono::duration<double>(sent.at).count(), holder));
  }
}

void Judge::OnAnswer(const Sent& sent, int status, const std::string& body) {
  stage_.Trace(sent.who, fmt::format("{} {}: {}", sent.method, sent.target, status));
  if (sent.method == "GET" || status >= 300) return;
  constexpr std::string_view kName = "\"resourceVersion\":\"";
  const std::size_t at = body.find(kName);
  if (at == std::string::npos) return;
  const std::int64_t revision = std::strtoll(body.c_str() + at + kName.size(), nullptr, 10);
  acked_ = std::max(acked_, revision);
  stage_.Count("acknowledged");
  if (server_ != nullptr) durable_ = std::max(durable_, server_->store().revision().value);
  if (revision > durable_) {
    stage_.Find(fmt::format("{} was told of revision {}, and the disk has {}", sent.who, revision,
                            durable_));
  }
}

}  // namespace dray::system
