// SPDX-License-Identifier: Apache-2.0
#include "allocator/residual.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dray::allocator {

using base::BitSet;
using inventory::CounterUse;
using inventory::NodeDevice;
using inventory::SetUse;

namespace {

constexpr std::uint32_t kNone = 0xffffffff;

std::uint64_t Mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  return x;
}

void Add(Fingerprint& f, const Amount& amount) {
  f.Add(absl::Int128Low64(amount));
  f.Add(static_cast<std::uint64_t>(absl::Int128High64(amount)));
}

void Add(Fingerprint& f, const Fingerprint& other) {
  f.Add(other.high);
  f.Add(other.low);
}

}  // namespace

void Fingerprint::Add(std::uint64_t word) {
  high = Mix(high + 0x9e3779b97f4a7c15ULL) ^ Mix(word);
  low = Mix(low ^ (word * 0xff51afd7ed558ccdULL + 0xc4ceb9fe1a85ec53ULL)) + high;
}

void Residual::Reset(const Attempt& attempt, const State& initial) {
  attempt_ = &attempt;
  usable_ = true;
  const auto alternatives = attempt.plan().alternatives();
  admin_ = std::ranges::any_of(alternatives, &Alternative::admin);
  attributes_.resize(alternatives.size());
  for (const ClaimPlan& claim : attempt.plan().claims()) {
    for (const RequestPlan& request : attempt.plan().requests(claim)) {
      for (std::uint32_t a = request.first; a < request.first + request.count; ++a) {
        attributes_[a].clear();
        for (const ConstraintUse& use : alternatives[a].constraints) {
          attributes_[a].push_back(attempt.plan().constraints(claim)[use.constraint].name);
        }
      }
    }
  }
  if (!attempt.plan().features().list_type_attributes) {
    // A list where lists do not count is accepted only from the first device.
    const auto& dictionary = attempt.devices().dictionary();
    for (std::size_t a = 0; a < alternatives.size() && usable_; ++a) {
      const Candidates& candidates = attempt.candidates(a);
      for (std::size_t use = 0; use < alternatives[a].constraints.size(); ++use) {
        candidates.devices.ForEach([&](std::size_t device) {
          const ValueId value = attempt.value(candidates, use, device);
          if (value == ValueId::kNone) return;
          const inventory::AttributeValue& attribute = dictionary.At(value);
          usable_ &= !attribute.is_list && attribute.elements.size() == 1;
        });
      }
    }
  }
  FindClasses(initial);
  FindUnits();
  if (!usable_) return;
  FindComponents();
  Describe(initial);
}

bool Residual::Relevant(std::uint32_t device) const {
  const std::size_t alternatives = attempt_->plan().alternatives().size();
  for (std::size_t a = 0; a < alternatives; ++a) {
    if (attempt_->candidates(a).devices.Test(device)) return true;
  }
  return false;
}

Fingerprint Residual::Signature(std::uint32_t index, const State& initial, Local* local) const {
  const auto& dictionary = attempt_->devices().dictionary();
  const inventory::NodeDevices& devices = attempt_->devices();
  const NodeDevice& device = devices.devices()[index];
  const bool multi = attempt_->multi(index);
  Fingerprint f;
  f.Add(static_cast<std::uint64_t>(multi) * 2 +
        static_cast<std::uint64_t>(initial.shared().Test(index)));
  const auto capacity = initial.capacity(index);
  const std::size_t alternatives = attempt_->plan().alternatives().size();
  for (std::size_t a = 0; a < alternatives; ++a) {
    const Candidates& candidates = attempt_->candidates(a);
    const bool candidate = candidates.devices.Test(index);
    f.Add(static_cast<std::uint64_t>(candidate));
    if (!candidate) continue;
    for (std::size_t use = 0; use < candidates.alternative->constraints.size(); ++use) {
      const ValueId value = attempt_->value(candidates, use, index);
      if (local == nullptr) {
        f.Add(static_cast<std::uint64_t>(value));
        continue;
      }
      if (value == ValueId::kNone) {
        f.Add(kNone);
        continue;
      }
      const auto elements = dictionary.At(value).elements;
      f.Add(elements.size());
      for (const ElementId element : elements) {
        f.Add(local->elements
                  .try_emplace(Element{attributes_[a][use], element},
                               static_cast<std::uint32_t>(local->elements.size()))
                  .first->second);
      }
    }
    if (!capacity.empty()) {
      const Amount* wanted = attempt_->consumed(candidates, index);
      for (std::size_t i = 0; i < capacity.size(); ++i) Add(f, wanted[i]);
    }
  }
  f.Add(capacity.size());
  // What a device to share has left changes; it is looked at whenever states are compared.
  if (!multi) {
    for (const Amount& amount : capacity) Add(f, amount);
    for (const Amount& amount : initial.consumed(index)) Add(f, amount);
  }
  for (const SetUse& use : devices.set_uses(device)) {
    f.Add(local == nullptr
              ? use.set
              : local->sets.try_emplace(use.set, static_cast<std::uint32_t>(local->sets.size()))
                    .first->second);
    f.Add(static_cast<std::uint64_t>(use.groups));
    f.Add(devices.counter_sets()[use.set].counters);
  }
  for (const CounterUse& use : devices.counter_uses(device)) {
    const std::uint32_t set = devices.counters()[use.counter].set;
    f.Add(local == nullptr
              ? set
              : local->sets.try_emplace(set, static_cast<std::uint32_t>(local->sets.size()))
                    .first->second);
    f.Add(use.counter - devices.counter_sets()[set].first_counter);
    Add(f, use.amount);
  }
  return f;
}

void Residual::FindClasses(const State& initial) {
  const std::size_t n = attempt_->device_count();
  class_of_.assign(n, kNone);
  members_.clear();
  absl::flat_hash_map<Fingerprint, std::uint32_t> classes;
  for (std::uint32_t d = 0; d < n; ++d) {
    if (!Relevant(d)) continue;
    const auto [it, fresh] = classes.try_emplace(Signature(d, initial, nullptr),
                                                 static_cast<std::uint32_t>(members_.size()));
    if (fresh) members_.emplace_back(n);
    class_of_[d] = it->second;
    members_[it->second].Set(d);
  }
}

Amount Residual::Usable(const Amount& left, const Amount& unit) {
  // Below zero nothing fits, not even what needs nothing.
  if (left < 0) return -1;
  if (unit == 0) return 0;
  return left - left % unit;
}

void Residual::FindUnits() {
  const auto into = [](Amount& unit, Amount amount) {
    while (amount != 0) unit = std::exchange(amount, unit % amount);
  };
  const inventory::NodeDevices& devices = attempt_->devices();
  counter_units_.assign(devices.counters().size(), Amount(0));
  class_units_.assign(members_.size(), {});
  const std::size_t alternatives = attempt_->plan().alternatives().size();
  for (std::uint32_t d = 0; d < class_of_.size(); ++d) {
    if (class_of_[d] == kNone) continue;
    const NodeDevice& device = devices.devices()[d];
    for (const CounterUse& use : devices.counter_uses(device)) {
      into(counter_units_[use.counter], use.amount);
    }
    if (!attempt_->multi(d)) continue;
    std::vector<Amount>& units = class_units_[class_of_[d]];
    units.resize(device.row->capacities, Amount(0));
    for (std::size_t a = 0; a < alternatives; ++a) {
      const Candidates& candidates = attempt_->candidates(a);
      if (!candidates.devices.Test(d)) continue;
      const Amount* wanted = attempt_->consumed(candidates, d);
      for (std::size_t i = 0; i < units.size(); ++i) into(units[i], wanted[i]);
    }
  }

  const auto requests = attempt_->plan().requests();
  wanted_by_.assign(requests.size(), BitSet(members_.size()));
  for (std::size_t r = 0; r < requests.size(); ++r) {
    for (std::uint32_t i = 0; i < requests[r].count; ++i) {
      attempt_->candidates(requests[r].first + i).devices.ForEach([&](std::size_t d) {
        wanted_by_[r].Set(class_of_[d]);
      });
    }
  }
  SetPart(BitSet(requests.size(), true));
}

void Residual::SetPart(const BitSet& requests) {
  wanted_from_.assign(wanted_by_.size() + 1, BitSet(members_.size()));
  for (std::size_t r = wanted_by_.size(); r > 0; --r) {
    wanted_from_[r - 1] = wanted_from_[r];
    if (requests.Test(r - 1)) wanted_from_[r - 1] |= wanted_by_[r - 1];
  }
}

std::vector<BitSet> Residual::IndependentRequests() const {
  const Plan& plan = attempt_->plan();
  const auto requests = plan.requests();
  std::vector<BitSet> parts;
  if (!usable_) {
    parts.emplace_back(requests.size(), true);
    return parts;
  }
  std::vector<std::uint32_t> root(requests.size());
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](std::uint32_t r) {
    while (root[r] != r) r = root[r] = root[root[r]];
    return r;
  };
  const auto link = [&](std::uint32_t& first, std::uint32_t r) {
    if (first == kNone) first = r;
    const std::uint32_t a = find(first);
    const std::uint32_t b = find(r);
    root[std::max(a, b)] = std::min(a, b);
  };
  std::vector<std::uint32_t> of_component(components_.size(), kNone);
  std::vector<std::uint32_t> of_constraint(plan.constraints().size(), kNone);
  for (const ClaimPlan& claim : plan.claims()) {
    std::int64_t most = 0;
    bool admin = false;
    for (std::uint32_t r = claim.first_request; r < claim.first_request + claim.requests; ++r) {
      std::int64_t need = 0;
      for (std::uint32_t i = 0; i < requests[r].count; ++i) {
        const Candidates& candidates = attempt_->candidates(requests[r].first + i);
        need = std::max(need, candidates.need);
        admin |= candidates.alternative->admin;
        for (const ConstraintUse& use : candidates.alternative->constraints) {
          link(of_constraint[claim.first_constraint + use.constraint], r);
        }
      }
      most += need;
      for (std::size_t c = 0; c < components_.size(); ++c) {
        if (std::ranges::any_of(components_[c].classes,
                                [&](std::uint32_t k) { return wanted_by_[r].Test(k); })) {
          link(of_component[c], r);
        }
      }
    }
    // The number of a claim's devices is limited: then its requests depend on each other.
    std::uint32_t of_claim = kNone;
    for (std::uint32_t r = claim.first_request;
         (admin || most > kMaxDevicesPerClaim) && r < claim.first_request + claim.requests; ++r) {
      link(of_claim, r);
    }
  }
  std::vector<std::uint32_t> part_of(requests.size(), kNone);
  for (std::uint32_t r = 0; r < requests.size(); ++r) {
    std::uint32_t& part = part_of[find(r)];
    if (part == kNone) {
      part = static_cast<std::uint32_t>(parts.size());
      parts.emplace_back(requests.size());
    }
    parts[part].Set(r);
  }
  return parts;
}

void Residual::FindComponents() {
  const std::size_t n = attempt_->device_count();
  const auto& dictionary = attempt_->devices().dictionary();
  root_.resize(n);
  std::iota(root_.begin(), root_.end(), 0);
  const auto find = [&](std::uint32_t d) {
    while (root_[d] != d) d = root_[d] = root_[root_[d]];
    return d;
  };
  const auto join = [&](std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    root_[std::max(a, b)] = std::min(a, b);
  };
  std::vector<std::uint32_t> first_of_class(members_.size(), kNone);
  std::vector<std::uint32_t> first_of_set(attempt_->devices().counter_sets().size(), kNone);
  absl::flat_hash_map<Element, std::uint32_t> first_of_element;
  const auto link = [&](std::uint32_t& first, std::uint32_t d) {
    if (first == kNone) {
      first = d;
    } else {
      join(first, d);
    }
  };
  const std::size_t alternatives = attempt_->plan().alternatives().size();
  for (std::uint32_t d = 0; d < n; ++d) {
    if (class_of_[d] == kNone) continue;
    link(first_of_class[class_of_[d]], d);
    for (const SetUse& use : attempt_->devices().set_uses(attempt_->devices().devices()[d])) {
      link(first_of_set[use.set], d);
    }
    for (std::size_t a = 0; a < alternatives; ++a) {
      const Candidates& candidates = attempt_->candidates(a);
      if (!candidates.devices.Test(d)) continue;
      for (std::size_t use = 0; use < candidates.alternative->constraints.size(); ++use) {
        const ValueId value = attempt_->value(candidates, use, d);
        if (value == ValueId::kNone) continue;
        for (const ElementId element : dictionary.At(value).elements) {
          const Element key{attributes_[a][use], element};
          link(first_of_element.try_emplace(key, kNone).first->second, d);
        }
      }
    }
  }
  for (std::uint32_t d = 0; d < n; ++d) root_[d] = find(d);
}

void Residual::Describe(const State& initial) {
  const std::size_t n = attempt_->device_count();
  components_.clear();
  std::vector<std::uint32_t> component_at(n, kNone);  // by root
  std::vector<Local> locals;
  std::vector<bool> class_done(members_.size(), false);
  for (std::uint32_t d = 0; d < n; ++d) {
    if (class_of_[d] == kNone) continue;
    std::uint32_t& at = component_at[root_[d]];
    if (at == kNone) {
      at = static_cast<std::uint32_t>(components_.size());
      components_.emplace_back();
      locals.emplace_back();
    }
    Component& component = components_[at];
    if (OneByOne(d)) component.devices.push_back(d);
    if (class_done[class_of_[d]]) continue;
    class_done[class_of_[d]] = true;
    Add(component.type, Signature(d, initial, &locals[at]));
    // One class has either counted devices or others, never both.
    component.type.Add(static_cast<std::uint64_t>(OneByOne(d)));
    component.classes.push_back(class_of_[d]);
  }
  for (std::size_t i = 0; i < components_.size(); ++i) {
    components_[i].elements.resize(locals[i].elements.size());
    for (const auto& [element, at] : locals[i].elements) components_[i].elements[at] = element;
    components_[i].sets.resize(locals[i].sets.size());
    for (const auto& [set, at] : locals[i].sets) components_[i].sets[at] = set;
  }
}

Fingerprint Residual::Of(const State& state, const Position& position) {
  const Plan& plan = attempt_->plan();
  wanted_ = wanted_from_[std::min(position.request, wanted_from_.size() - 1)];
  available_ = state.chosen();
  // What the rest of the current request may still take, if there is one.
  if (position.current != nullptr && position.remaining > 0) {
    available_ = position.current->devices;
    if (position.after != nullptr) available_ &= *position.after;
    available_.AndNot(state.blocked(*position.current->alternative));
    available_.ForEach([&](std::size_t d) { wanted_.Set(class_of_[d]); });
  } else {
    available_.ResetAll();
  }
  parts_.clear();
  for (const Component& component : components_) {
    if (std::ranges::any_of(component.classes, [&](std::uint32_t c) { return wanted_.Test(c); })) {
      parts_.push_back(Part(component, state, position, wanted_));
    }
  }
  std::ranges::sort(parts_);

  Fingerprint whole;
  whole.Add(position.claim);
  whole.Add(position.request);
  whole.Add(position.current == nullptr
                ? kNone
                : static_cast<std::uint64_t>(position.current - &attempt_->candidates(0)));
  whole.Add(static_cast<std::uint64_t>(position.remaining));
  whole.Add(state.chosen_in_claim());
  if (position.claim < plan.claims().size()) {
    const ClaimPlan& claim = plan.claims()[position.claim];
    for (std::size_t i = 0; i < claim.constraints; ++i) {
      whole.Add(
          static_cast<std::uint64_t>(state.constraint(claim.first_constraint + i).devices > 0));
    }
  }
  for (const Fingerprint& part : parts_) Add(whole, part);
  return whole;
}

Fingerprint Residual::Part(const Component& component, const State& state, const Position& position,
                           const BitSet& wanted) const {
  Fingerprint part = component.type;
  for (const std::uint32_t c : component.classes) {
    if (!wanted.Test(c)) {
      part.Add(kNone);
      continue;
    }
    if (!component.devices.empty() && OneByOne(static_cast<std::uint32_t>(members_[c].First()))) {
      continue;
    }
    const std::size_t free = members_[c].Count() - members_[c].IntersectionCount(state.chosen());
    part.Add(free << 32 | members_[c].IntersectionCount(available_));
  }
  if (!component.devices.empty()) AddDevices(component, state, part);
  const inventory::NodeDevices& devices = attempt_->devices();
  for (const std::uint32_t s : component.sets) {
    const auto& set = devices.counter_sets()[s];
    for (std::uint32_t c = set.first_counter; c < set.first_counter + set.counters; ++c) {
      Add(part, Usable(state.counters()[c], counter_units_[c]));
    }
    const ledger::GroupState& groups = state.group(s);
    part.Add(static_cast<std::uint64_t>(groups.kind));
    part.Add(groups.groups.size());
    for (const inventory::NameId name : groups.groups) part.Add(name.id());
  }
  AddConstraints(component, state, position, part);
  return part;
}

void Residual::AddDevices(const Component& component, const State& state, Fingerprint& part) const {
  absl::InlinedVector<Fingerprint, 16> devices;
  for (const std::uint32_t d : component.devices) {
    const std::uint32_t c = class_of_[d];
    if (!wanted_.Test(c)) continue;
    Fingerprint f;
    // The class stands for the device; its number must be the component's own.
    f.Add(static_cast<std::uint64_t>(std::ranges::find(component.classes, c) -
                                     component.classes.begin()));
    f.Add(static_cast<std::uint64_t>(available_.Test(d)) |
          static_cast<std::uint64_t>(state.shared().Test(d)) << 1 |
          static_cast<std::uint64_t>(state.chosen().Test(d)) << 2 |
          static_cast<std::uint64_t>(admin_ && state.in_claim().Test(d)) << 3);
    const auto consumed = state.consumed(d);
    const auto capacity = state.capacity(d);
    for (std::size_t i = 0; i < consumed.size(); ++i) {
      const Amount left = capacity[i] - consumed[i];
      Add(f, attempt_->multi(d) ? Usable(left, class_units_[c][i]) : left);
    }
    devices.push_back(f);
  }
  std::ranges::sort(devices);
  for (const Fingerprint& f : devices) Add(part, f);
}

bool Residual::SameLeft(const State& state, std::uint32_t a, std::uint32_t b) const {
  const auto consumed_a = state.consumed(a);
  const auto consumed_b = state.consumed(b);
  if (!attempt_->multi(a)) return std::ranges::equal(consumed_a, consumed_b);
  if (consumed_a.size() != consumed_b.size()) return false;
  const std::vector<Amount>& units = class_units_[class_of_[a]];
  for (std::size_t i = 0; i < consumed_a.size(); ++i) {
    if (Usable(state.capacity(a)[i] - consumed_a[i], units[i]) !=
        Usable(state.capacity(b)[i] - consumed_b[i], units[i])) {
      return false;
    }
  }
  return true;
}

// Which of the component's values the constraints of the current claim have met.
void Residual::AddConstraints(const Component& component, const State& state,
                              const Position& position, Fingerprint& part) const {
  const Plan& plan = attempt_->plan();
  if (position.claim >= plan.claims().size()) return;
  const ClaimPlan& claim = plan.claims()[position.claim];
  for (std::size_t i = 0; i < claim.constraints; ++i) {
    const std::size_t constraint = claim.first_constraint + i;
    const ConstraintPlan& planned = plan.constraints()[constraint];
    const Accepted accepted = state.accepted(constraint);
    if (accepted.state.devices == 0) continue;
    for (std::size_t e = 0; e < component.elements.size(); ++e) {
      if (component.elements[e].attribute != planned.name) continue;
      if (planned.type->DependsOn(accepted, component.elements[e].element)) part.Add(i << 32 | e);
    }
    part.Add(kNone);
  }
}

}  // namespace dray::allocator
