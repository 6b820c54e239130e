// SPDX-License-Identifier: Apache-2.0
//
// CureSearch: the pod's claims ask for something else.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "allocator/explanation.h"
#include "api/resource_claim.h"
#include "base/quantity.h"
#include "controllers/object_key.h"
#include "fmt/format.h"
#include "planner/internal/cure_search.h"
#include "scheduler/explain_groups.h"

namespace dray::planner::internal {
namespace {

using controllers::KindOf;

constexpr std::size_t kMaxCounts = 4;

std::string Devices(std::int64_t n) { return n == 1 ? "1 device" : fmt::format("{} devices", n); }

// Of the amounts in "1Gi, 2Gi or 4Gi" the largest that is less than what was asked for.
std::optional<base::Quantity> LargestBelow(std::string_view amounts, std::string_view asked) {
  base::Quantity most;
  if (!base::Quantity::TryParse(asked, &most)) return std::nullopt;
  std::optional<base::Quantity> largest;
  while (!amounts.empty()) {
    const std::string_view word = amounts.substr(0, amounts.find_first_of(" ,"));
    amounts.remove_prefix(std::min(amounts.size(), word.size() + 1));
    base::Quantity amount;
    if (!base::Quantity::TryParse(word, &amount) || amount == base::Quantity()) continue;
    if (amount < most && (!largest || *largest < amount)) largest = amount;
  }
  return largest;
}

}  // namespace

void CureSearch::OfferRequest(const allocator::ClaimReport& report, std::string_view alternative,
                              std::string text, const EditRequest& edit, bool tell) {
  const auto slash = report.name.find('/');
  const api::Object* claim = trial_.Find(KindOf<api::ResourceClaim>(), report.name.substr(0, slash),
                                         report.name.substr(slash + 1));
  if (claim == nullptr) return;
  api::Object changed = *claim;
  const RequestFields fields = FieldsOf(*changed.Mutable<api::ResourceClaim>(), alternative);
  if (fields.count == nullptr || !edit(fields)) return;
  Changes changes;
  changes.put.push_back(std::move(changed));
  Offer({.kind = CureKind::kChangeRequest, .text = std::move(text)}, case_.pod, std::move(changes),
        tell);
}

void CureSearch::OfferFor(const allocator::ClaimReport& claim,
                          const allocator::AlternativeReport& report, const allocator::Drop& drop) {
  using Reason = allocator::Reason;
  const std::string request = "request " + report.name;
  if (drop.reason == Reason::kSelectorFalse || drop.reason == Reason::kExpressionError) {
    if (drop.of_class || (drop.reason == Reason::kSelectorFalse && !drop.selector)) return;
    const bool fails = drop.reason == Reason::kExpressionError;
    OfferRequest(
        claim, report.name,
        fails ? fmt::format("remove the selectors of {}, one of which fails: {}", request,
                            drop.message)
              : fmt::format("remove the selector {} from {}", drop.expression, request),
        [&](const RequestFields& fields) {
          if (fields.selectors->empty()) return false;
          if (fails) {
            fields.selectors->clear();
            return true;
          }
          const auto at = static_cast<std::size_t>(*drop.selector);
          if (at >= fields.selectors->size()) return false;
          fields.selectors->erase(fields.selectors->begin() + *drop.selector);
          return true;
        },
        /*tell=*/true);
  } else if (drop.reason == Reason::kTaint) {
    OfferRequest(
        claim, report.name,
        fmt::format("let {} tolerate the device taint {}", request, drop.subject),
        [&](const RequestFields& fields) {
          const TaintText taint = ParseTaint(drop.subject);
          fields.tolerations->push_back(
              {.key = taint.key, .operator_ = "Exists", .effect = taint.effect});
          return true;
        },
        /*tell=*/true);
  } else if (drop.reason == Reason::kCapacityPolicy) {
    // Amounts that the policy names; whether one is enough is found out.
    const std::optional<base::Quantity> amount = LargestBelow(drop.allowed, drop.asked);
    if (!amount) return;
    OfferRequest(
        claim, report.name,
        fmt::format("let {} ask for {} of {} instead of {}", request, amount->ToString(),
                    drop.subject, drop.asked),
        [&](const RequestFields& fields) {
          if (!fields.capacity->has_value()) return false;
          auto& requests = (*fields.capacity)->requests;
          if (requests.Find(drop.subject) == nullptr) return false;
          requests[drop.subject] = *amount;
          return true;
        },
        /*tell=*/false);
  } else if (drop.reason == Reason::kCapacityInUse || drop.reason == Reason::kCapacityTooSmall) {
    OfferRequest(
        claim, report.name,
        fmt::format("let {} ask for {} of {} instead of {}", request, drop.available, drop.subject,
                    drop.asked),
        [&](const RequestFields& fields) {
          base::Quantity amount;
          if (!fields.capacity->has_value() || !base::Quantity::TryParse(drop.available, &amount) ||
              amount == base::Quantity()) {
            return false;
          }
          auto& requests = (*fields.capacity)->requests;
          if (requests.Find(drop.subject) == nullptr) return false;
          requests[drop.subject] = amount;
          return true;
        },
        /*tell=*/true);
  }
}

// So many devices as there are somewhere, the most first.
void CureSearch::OfferCounts(const std::string& claim_name, const std::string& request,
                             const Asked& asked) {
  std::size_t tried = 0;
  for (const std::int64_t count : asked.counts) {
    if (count < 1 || count >= asked.needed || tried++ == kMaxCounts) continue;
    const std::size_t before = case_.help.cures.size();
    if (asked.who.empty()) {
      OfferRequest(
          {.name = claim_name}, request,
          fmt::format("let request {} ask for {} instead of {}", request, Devices(count),
                      asked.needed),
          [&](const RequestFields& fields) {
            if (*fields.mode == api::kAllocationModeAll) return false;
            *fields.count = count;
            return true;
          },
          /*tell=*/false);
    } else {
      OfferExtended(asked.who, count, asked.needed);
    }
    if (case_.help.cures.size() > before) return;
  }
}

// `who` is "container c: example.com/gpu": a request that nobody wrote.
void CureSearch::OfferExtended(std::string_view who, std::int64_t count, std::int64_t needed) {
  constexpr std::string_view kContainer = "container ";
  const auto colon = who.find(": ");
  if (!who.starts_with(kContainer) || colon == std::string_view::npos) return;
  const std::string_view name = who.substr(kContainer.size(), colon - kContainer.size());
  const std::string_view resource = who.substr(colon + 2);
  api::Object pod = case_.pod;
  api::PodSpec& spec = pod.Mutable<api::Pod>()->spec;
  bool any = false;
  for (auto* containers : {&spec.containers, &spec.init_containers}) {
    for (api::Container& container : *containers) {
      if (container.name != name) continue;
      for (auto* amounts : {&container.resources.requests, &container.resources.limits}) {
        if (amounts->Find(resource) == nullptr) continue;
        (*amounts)[std::string(resource)] = base::Quantity::FromInt(count);
        any = true;
      }
    }
  }
  if (!any) return;
  Offer({.kind = CureKind::kChangePod,
         .text = fmt::format("let container {} ask for {} of {} instead of {}", name, count,
                             resource, needed)},
        pod, {});
}

void CureSearch::OfferConstraint(const allocator::ClaimReport& report, std::size_t index) {
  const auto slash = report.name.find('/');
  const api::Object* claim = trial_.Find(KindOf<api::ResourceClaim>(), report.name.substr(0, slash),
                                         report.name.substr(slash + 1));
  if (claim == nullptr) return;
  api::Object changed = *claim;
  auto& constraints = changed.Mutable<api::ResourceClaim>()->spec.devices.constraints;
  if (index >= constraints.size()) return;
  const allocator::ConstraintReport& constraint = report.constraints[index];
  constraints.erase(constraints.begin() + static_cast<std::ptrdiff_t>(index));
  Changes changes;
  changes.put.push_back(std::move(changed));
  Offer({.kind = CureKind::kChangeRequest,
         .text = fmt::format("remove the constraint {} {} from claim {}", constraint.type->field(),
                             constraint.attribute, report.name.substr(slash + 1))},
        case_.pod, std::move(changes), /*tell=*/true);
}

void CureSearch::Requests() {
  std::map<std::pair<std::string, std::string>, Asked> asked;
  for (const scheduler::NodeGroup* group : scheduler::NearestFirst(case_.why)) {
    for (const scheduler::Reason& reason : group->reasons) {
      if (reason.devices == nullptr) continue;
      const allocator::Explanation& devices = *reason.devices;
      for (const allocator::ClaimReport& claim : devices.claims) {
        for (const allocator::RequestReport& request : claim.requests) {
          if (!request.in_conflict && !devices.conflict.empty()) continue;
          for (const allocator::AlternativeReport& report : request.alternatives) {
            Asked& entry = asked[{claim.name, report.name}];
            entry.needed = report.needed;
            entry.who = request.who;
            if (devices.at_most) entry.counts.insert(*devices.at_most);
            if (devices.room_together) entry.counts.insert(*devices.room_together);
            entry.counts.insert(report.usable);
            for (const allocator::Drop& drop : report.drops) OfferFor(claim, report, drop);
          }
        }
        for (std::size_t i = 0; i < claim.constraints.size(); ++i) {
          if (claim.constraints[i].in_conflict) OfferConstraint(claim, i);
        }
      }
    }
  }
  for (const auto& [name, entry] : asked) OfferCounts(name.first, name.second, entry);
}

}  // namespace dray::planner::internal
