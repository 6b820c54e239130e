// SPDX-License-Identifier: Apache-2.0
#include "parts/judges.h"

#include <algorithm>
#include <optional>

#include "api/config_map.h"
#include "api/json.h"
#include "api/kinds.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_quota.h"
#include "fmt/format.h"

namespace dray::parts {
namespace {

constexpr std::size_t kMost = 100;  // complaints: more of the same tell nothing new
constexpr std::string_view kPods = "/registry/core/pods/";
constexpr std::string_view kMaps = "/registry/core/configmaps/";
constexpr std::string_view kClaims = "/registry/resource.k8s.io/resourceclaims/";
constexpr std::string_view kQuotas = "/registry/core/resourcequotas/";

template <typename T>
std::shared_ptr<const T> Decode(const StoredChange& change) {
  api::JsonDecoder decoder;
  auto object = api::DecodeObject(decoder, change.value);
  if (!object.ok()) return nullptr;
  const T* typed = object->template As<T>();
  return typed == nullptr ? nullptr : std::make_shared<const T>(*typed);
}

// "namespace/name" of a key below a prefix.
std::string_view Below(std::string_view key, std::string_view prefix) {
  return key.starts_with(prefix) ? key.substr(prefix.size()) : std::string_view();
}
std::string SpaceOf(std::string_view below) {
  return std::string(below.substr(0, below.find('/')));
}
std::string NameOf(std::string_view below) {
  return std::string(below.substr(below.find('/') + 1));
}

bool Over(const api::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

}  // namespace

void Judge::Complain(std::string text) {
  if (complaints_.size() < kMost) complaints_.push_back(std::move(text));
}

RegisterTruth::RegisterTruth(std::string_view space)
    : prefix_(fmt::format("{}{}/", kMaps, space)) {}

void RegisterTruth::On(const StoredRevision& revision) {
  for (const StoredChange& change : revision.changes) {
    const std::string name(Below(change.key, prefix_));
    // The cluster's authority is in every namespace.
    if (name.empty() || name.starts_with("kube-")) continue;
    Change& made = truth_[name].emplace_back(Change{.revision = revision.revision});
    if (change.deleted) continue;
    const auto map = Decode<api::ConfigMap>(change);
    const std::string* value = map == nullptr ? nullptr : map->data.Find("v");
    made.value = value == nullptr ? std::string() : *value;
    if (value == nullptr) Complain(fmt::format("{} at {} has no value", name, revision.revision));
  }
}

void DeviceJudge::On(const StoredRevision& revision) {
  std::map<std::string, Devices> now;
  for (const StoredChange& change : revision.changes) {
    const std::string_view name = Below(change.key, kClaims);
    if (name.empty()) continue;
    Devices& devices = now[change.key];
    if (change.deleted) continue;
    const auto claim = Decode<api::ResourceClaim>(change);
    if (claim == nullptr) {
      Complain(fmt::format("{} at {} cannot be read", change.key, revision.revision));
      continue;
    }
    const bool same = std::exchange(uids_[change.key], claim->metadata.uid) == claim->metadata.uid;
    if (!claim->status.allocation) continue;
    for (const auto& result : claim->status.allocation->devices.results) {
      if (result.admin_access.value_or(false) || result.share_id) continue;
      devices.insert(fmt::format("{}/{}/{}", result.driver, result.pool, result.device));
    }
    const auto had = by_claim_.find(change.key);
    if (same && had != by_claim_.end() && !had->second.empty() && had->second != devices) {
      Complain(fmt::format("{} has other devices at {} than before, and gave none back", change.key,
                           revision.revision));
    }
  }
  // Who gives something back and who gets it may be of one revision.
  for (const auto& [claim, devices] : now) {
    for (const std::string& device : by_claim_[claim]) {
      const auto it = by_device_.find(device);
      if (it != by_device_.end() && it->second == claim) by_device_.erase(it);
    }
    by_claim_.erase(claim);
  }
  for (auto& [claim, devices] : now) {
    for (const std::string& device : devices) {
      ++given_;
      const auto [it, free] = by_device_.try_emplace(device, claim);
      if (free) continue;
      Complain(fmt::format("{} is given to {} at {}, and {} has it", device, claim,
                           revision.revision, it->second));
    }
    if (!devices.empty()) by_claim_[claim] = std::move(devices);
  }
}

void BindingJudge::On(const StoredRevision& revision) {
  for (const StoredChange& change : revision.changes) {
    if (Below(change.key, kPods).empty()) continue;
    if (change.deleted) {
      pods_.erase(change.key);
      continue;
    }
    const auto pod = Decode<api::Pod>(change);
    if (pod == nullptr) {
      Complain(fmt::format("{} at {} cannot be read", change.key, revision.revision));
      continue;
    }
    Bound& bound = pods_[change.key];
    if (bound.uid != pod->metadata.uid) bound = {.uid = pod->metadata.uid, .node = {}};
    if (bound.node == pod->spec.node_name) continue;
    if (!bound.node.empty()) {
      Complain(fmt::format("{} is on {}, and on {} at {}", change.key, bound.node,
                           pod->spec.node_name, revision.revision));
    }
    bound.node = pod->spec.node_name;
    ++bound_;
  }
}

void QuotaJudge::OnQuota(Space& space, const std::string& name, const StoredChange& change) {
  space.quotas.erase(name);
  if (change.deleted) return;
  const auto quota = Decode<api::ResourceQuota>(change);
  if (quota == nullptr) return Complain(change.key + " cannot be read");
  Amounts& hard = space.quotas[name];
  for (const auto& [resource, amount] : quota->spec.hard) {
    const std::string text = amount.ToString();
    // Amounts that are counted here are small whole numbers.
    if (text.find_first_not_of("0123456789") == text.npos)
      hard[std::string(resource)] = std::stoll(text);
  }
}

void QuotaJudge::OnObject(Space& space, const StoredChange& change) {
  Amounts amounts;
  if (!change.deleted && change.key.starts_with(kPods)) {
    const auto pod = Decode<api::Pod>(change);
    amounts["count/pods"] = 1;
    if (pod == nullptr || !Over(*pod)) amounts["pods"] = 1;
  } else if (!change.deleted && change.key.starts_with(kMaps)) {
    amounts["count/configmaps"] = amounts["configmaps"] = 1;
  } else if (!change.deleted) {
    amounts["count/resourceclaims.resource.k8s.io"] = 1;
  }
  Amounts& had = space.objects[change.key];
  for (const auto& [resource, amount] : had) space.used[resource] -= amount;
  for (const auto& [resource, amount] : amounts) space.used[resource] += amount;
  had = std::move(amounts);
  if (change.deleted) space.objects.erase(change.key);
}

void QuotaJudge::On(const StoredRevision& revision) {
  std::map<std::string, Amounts> before;
  for (const StoredChange& change : revision.changes) {
    for (const std::string_view prefix : {kPods, kMaps, kClaims}) {
      const std::string_view below = Below(change.key, prefix);
      if (below.empty()) continue;
      Space& space = spaces_[SpaceOf(below)];
      before.try_emplace(SpaceOf(below), space.used);
      OnObject(space, change);
    }
  }
  // Against what was allowed before: a quota that comes or shrinks refuses nothing afterwards.
  for (const auto& [name, used_before] : before) {
    const Space& space = spaces_[name];
    for (const auto& [quota, hard] : space.quotas) {
      for (const auto& [resource, most] : hard) {
        const auto used = space.used.find(resource);
        const auto was = used_before.find(resource);
        if (used == space.used.end()) continue;
        if (was != used_before.end() && used->second <= was->second) continue;
        if (used->second == most) ++times_full_;
        if (used->second <= most) continue;
        Complain(fmt::format("namespace {} has {} {} at {}, quota {} allows {}", name, used->second,
                             resource, revision.revision, quota, most));
      }
    }
  }
  for (const StoredChange& change : revision.changes) {
    const std::string_view below = Below(change.key, kQuotas);
    if (!below.empty()) OnQuota(spaces_[SpaceOf(below)], NameOf(below), change);
  }
}

namespace {

// What a client is to be shown: changes of all names in order of revisions, with what was there before.
struct Expected {
  std::string type;
  std::string value;
};
using AtRevision = std::map<std::string, Expected>;  // by name

std::map<std::int64_t, AtRevision> ExpectedOf(const Truth& truth, std::int64_t after,
                                              std::int64_t upto) {
  std::map<std::int64_t, AtRevision> expected;
  for (const auto& [name, changes] : truth) {
    bool there = false;
    for (const Change& change : changes) {
      const bool was = std::exchange(there, change.value.has_value());
      if (change.revision <= after || change.revision > upto) continue;
      expected[change.revision][name] = {!there ? "DELETED"
                                         : was  ? "MODIFIED"
                                                : "ADDED",
                                         change.value.value_or("")};
    }
  }
  return expected;
}

}  // namespace

Complaints CheckWatched(const Watched& watched, const Truth& truth) {
  Complaints complaints;
  const auto complain = [&](std::string text) {
    if (complaints.size() < kMost) {
      complaints.push_back(fmt::format("watch of {}: {}", watched.client, text));
    }
  };
  const std::int64_t last = watched.events.empty() ? 0 : watched.events.back().revision;
  const std::int64_t upto = std::max(last, watched.complete);
  std::map<std::int64_t, AtRevision> left = ExpectedOf(truth, watched.from, upto);
  std::set<std::pair<std::int64_t, std::string>> seen;
  std::int64_t at = watched.from;
  // Of the list itself: known, and shown again only where several changes share its revision.
  const std::map<std::int64_t, AtRevision> listed =
      ExpectedOf(truth, watched.from - 1, watched.from);
  for (const Shown& shown : watched.events) {
    const std::string what = fmt::format("{} {} at {}", shown.type, shown.name, shown.revision);
    const auto of_list = listed.find(shown.revision);
    const bool known = of_list != listed.end() && of_list->second.contains(shown.name);
    if (!seen.emplace(shown.revision, shown.name).second || known) {
      // Nobody can say which changes of one revision had been shown when a connection ended.
      const bool again = watched.resumed.contains(shown.revision) && shown.revision == at;
      if (!again) complain(what + " comes twice");
      continue;
    }
    if (shown.revision < at) complain(fmt::format("{} comes after {}", what, at));
    at = std::max(at, shown.revision);
    const auto revision = left.find(shown.revision);
    if (revision == left.end() || !revision->second.contains(shown.name)) {
      complain(what + " never was");
      continue;
    }
    const Expected expected = revision->second[shown.name];
    revision->second.erase(shown.name);
    if (expected.type != shown.type) complain(fmt::format("{} was {}", what, expected.type));
    if (shown.type != "DELETED" && expected.value != shown.value) {
      complain(fmt::format("{} shows \"{}\", it was \"{}\"", what, shown.value, expected.value));
    }
  }
  for (const auto& [revision, names] : left) {
    // Of the last one the rest may be on its way.
    if (revision == last && revision > watched.complete) continue;
    for (const auto& [name, expected] : names) {
      complain(fmt::format("{} {} at {} was never shown", expected.type, name, revision));
    }
  }
  return complaints;
}

Complaints CheckListing(const Listing& listing, const Truth& truth) {
  Complaints complaints;
  const auto complain = [&](std::string_view name, std::string_view text) {
    complaints.push_back(
        fmt::format("list of {} at {}: {} {}", listing.client, listing.revision, name, text));
  };
  for (const auto& [name, changes] : truth) {
    const auto next = std::ranges::upper_bound(changes, listing.revision, {}, &Change::revision);
    const Change* now = next == changes.begin() ? nullptr : &*std::prev(next);
    const auto item = listing.items.find(name);
    const bool there = now != nullptr && now->value.has_value();
    if (there != (item != listing.items.end())) {
      complain(name, there ? "is missing" : "is not there any more, or not yet");
    } else if (there &&
               (item->second.first != now->revision || item->second.second != now->value)) {
      complain(name, fmt::format("is that of {}, it was changed at {}", item->second.first,
                                 now->revision));
    }
  }
  for (const auto& [name, item] : listing.items) {
    if (!truth.contains(name)) complain(name, "never was");
  }
  return complaints;
}

}  // namespace dray::parts
