// SPDX-License-Identifier: Apache-2.0
#include "allocator/plan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"

namespace dray::allocator {

using inventory::Features;
using inventory::NameId;

namespace {

// What an exact request and a subrequest have in common.
struct Asked {
  std::string result_name;
  std::string_view class_name;
  std::string_view mode;
  std::int64_t count = 0;
  std::span<const api::DeviceSelector> selectors;
  std::span<const api::DeviceToleration> tolerations;
  const api::CapacityRequirements* capacity = nullptr;
  std::span<const api::DeviceDerivedAttribute> derived;
  std::optional<bool> admin_access;
};

Asked AskedBy(const api::DeviceRequest& request) {
  const api::ExactDeviceRequest& exactly = *request.exactly;
  return {.result_name = request.name,
          .class_name = exactly.device_class_name,
          .mode = exactly.allocation_mode,
          .count = exactly.count,
          .selectors = exactly.selectors,
          .tolerations = exactly.tolerations,
          .capacity = exactly.capacity.get(),
          .derived = exactly.derived_attributes,
          .admin_access = exactly.admin_access};
}

Asked AskedBy(const api::DeviceRequest& request, const api::DeviceSubRequest& sub) {
  return {.result_name = fmt::format("{}/{}", request.name, sub.name),
          .class_name = sub.device_class_name,
          .mode = sub.allocation_mode,
          .count = sub.count,
          .selectors = sub.selectors,
          .tolerations = sub.tolerations,
          .capacity = sub.capacity.get(),
          .derived = sub.derived_attributes,
          .admin_access = std::nullopt};
}

std::uint64_t Bits(const Features& features) {
  std::uint64_t bits = 0;
  for (const bool on : {features.consumable_capacity, features.fractional_capacity_range,
                        features.device_binding_and_status}) {
    bits = bits << 1 | static_cast<std::uint64_t>(on);
  }
  return bits;
}

// What something is, as bytes: two that are not the same never have the same ones, since every part
// says how long it is.
class FilterText {
 public:
  void Add(std::uint64_t number) {
    char bytes[sizeof(number)];
    std::memcpy(bytes, &number, sizeof(number));
    text_.append(bytes, sizeof(bytes));
  }
  void Add(std::string_view part) {
    Add(std::uint64_t{part.size()});
    text_.append(part);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

class Planner {
 public:
  Planner(const ClassLister& classes, const Features& features, Expressions& expressions)
      : classes_(classes),
        expressions_(expressions),
        plan_(std::make_shared<Plan>()),
        kept_(std::make_shared<Kept>(expressions.shared_dictionary())) {
    plan_->features_ = features;
    plan_->keep_ = kept_;
  }

  void Add(const std::shared_ptr<const api::ResourceClaim>& claim) {
    ClaimPlan planned;
    planned.claim = claim;
    planned.first_request = Size(plan_->requests_);
    planned.first_constraint = Size(plan_->constraints_);
    const api::DeviceClaim& spec = claim->spec.devices;
    constraints_.clear();
    for (const api::DeviceConstraint& constraint : spec.constraints) {
      AddConstraint(constraint, planned);
    }
    for (const api::DeviceRequest& request : spec.requests) AddRequest(request);
    planned.requests = Size(plan_->requests_) - planned.first_request;
    planned.constraints = Size(plan_->constraints_) - planned.first_constraint;
    planned.shape = ShapeOf(planned);
    if (!planned.constraint_error.ok() || FewestDevices(planned) > kMaxDevicesPerClaim) {
      plan_->simple_ = false;
    }
    plan_->claims_.push_back(std::move(planned));
  }

  std::shared_ptr<const Plan> Finish() { return std::move(plan_); }

 private:
  // What a plan points to and nobody else may have any more.
  struct Kept {
    explicit Kept(std::shared_ptr<inventory::Dictionary> dictionary)
        : names(std::move(dictionary)) {}
    inventory::Pins names;
    std::vector<std::shared_ptr<const Expression>> expressions;
  };
  const Expression* Keep(std::shared_ptr<const Expression> expression) {
    return kept_->expressions.emplace_back(std::move(expression)).get();
  }

  template <typename T>
  static std::uint32_t Size(const std::vector<T>& items) {
    return static_cast<std::uint32_t>(items.size());
  }

  std::int64_t FewestDevices(const ClaimPlan& planned) const {
    std::int64_t devices = 0;
    for (const RequestPlan& request : plan_->requests(planned)) {
      const auto alternatives = plan_->alternatives(request);
      if (alternatives.empty()) continue;
      devices += std::ranges::min(alternatives, {}, &Alternative::count).count;
    }
    return devices;
  }

  // What validation would not let in gets a defined answer too: of no type, the claim is refused;
  // of several, all of them hold.
  void AddConstraint(const api::DeviceConstraint& constraint, ClaimPlan& claim) {
    bool any = false;
    for (const ConstraintType* type : ConstraintTypes()) {
      const std::optional<std::string>& attribute = type->AttributeOf(constraint);
      if (!attribute) continue;
      any = true;
      AddConstraint(*type, *attribute);
      constraints_.push_back(&constraint);
    }
    if (any || !claim.constraint_error.ok()) return;
    std::string fields;
    for (const ConstraintType* type : ConstraintTypes()) {
      fields += fmt::format("{}{}", fields.empty() ? "" : " nor ", type->field());
    }
    claim.constraint_error =
        base::InvalidArgument(fmt::format("a constraint has neither {}", fields));
  }

  void AddConstraint(const ConstraintType& type, const std::string& attribute) {
    ConstraintPlan planned;
    planned.type = &type;
    planned.attribute = attribute;
    inventory::Pins& names = kept_->names;
    planned.name = names.Intern(planned.attribute);
    if (const auto slash = attribute.find('/'); slash != std::string::npos) {
      planned.domain = names.Intern(std::string_view(attribute).substr(0, slash));
      planned.bare = names.Intern(std::string_view(attribute).substr(slash + 1));
    }
    plan_->constraints_.push_back(std::move(planned));
  }

  void AddRequest(const api::DeviceRequest& request) {
    RequestPlan planned;
    planned.request = &request;
    planned.first = Size(plan_->alternatives_);
    planned.prioritized = !request.first_available.empty();
    planned.error = CheckRequest(request);
    if (planned.prioritized) {
      for (const api::DeviceSubRequest& sub : request.first_available) {
        AddAlternative(AskedBy(request, sub), request.name);
      }
    } else if (request.exactly.has_value()) {
      AddAlternative(AskedBy(request), request.name);
    }
    planned.count = Size(plan_->alternatives_) - planned.first;
    if (!planned.error.ok()) plan_->simple_ = false;
    plan_->requests_.push_back(std::move(planned));
  }

  Status CheckRequest(const api::DeviceRequest& request) const {
    const Features& features = plan_->features_;
    if (!request.first_available.empty() && !features.prioritized_list) {
      return base::InvalidArgument(fmt::format(
          "request {}: firstAvailable needs the feature DRAPrioritizedList, which is off",
          request.name));
    }
    if (request.first_available.empty() && !request.exactly.has_value()) {
      return base::InvalidArgument(
          fmt::format("request {}: one of exactly and firstAvailable is needed", request.name));
    }
    const bool wants_capacity =
        (request.exactly.has_value() && request.exactly->capacity.has_value()) ||
        std::ranges::any_of(request.first_available,
                            [](const auto& sub) { return sub.capacity.has_value(); });
    if (wants_capacity && !features.consumable_capacity) {
      return base::InvalidArgument(
          fmt::format("request {}: capacity needs the feature DRAConsumableCapacity, which is off",
                      request.name));
    }
    return {};
  }

  void AddAlternative(const Asked& asked, std::string_view request_name) {
    Alternative planned;
    planned.device_class = classes_.FindClass(asked.class_name);
    planned.tolerations = asked.tolerations;
    planned.all = asked.mode == api::kAllocationModeAll;
    planned.admin = asked.admin_access.value_or(false);
    planned.count = std::max<std::int64_t>(asked.count, 0);
    planned.error = CheckAlternative(asked, planned);
    planned.result_name = asked.result_name;
    if (planned.device_class != nullptr)
      AddSelectors(planned.device_class->spec.selectors, planned);
    planned.class_selectors = planned.selectors.size();
    AddSelectors(asked.selectors, planned);
    if (asked.capacity != nullptr) {
      for (const auto& [name, amount] : asked.capacity->requests) {
        planned.capacity.push_back({std::string(name), amount});
      }
    }
    AddConstraintUses(asked, request_name, planned);
    planned.filter = FilterOf(planned);
    if (!planned.error.ok() || planned.all || planned.admin) plan_->simple_ = false;
    plan_->alternatives_.push_back(std::move(planned));
  }

  Status CheckAlternative(const Asked& asked, const Alternative& planned) const {
    for (const api::DeviceSelector& selector : asked.selectors) {
      if (!selector.cel.has_value()) {
        return base::InvalidArgument(
            fmt::format("request {}: a selector has no CEL expression", asked.result_name));
      }
    }
    if (asked.admin_access.has_value() && !plan_->features_.admin_access) {
      return base::InvalidArgument(
          fmt::format("request {}: adminAccess needs the feature DRAAdminAccess, which is off",
                      asked.result_name));
    }
    if (asked.class_name.empty()) {
      return base::InvalidArgument(
          fmt::format("request {}: a device class name is needed", asked.result_name));
    }
    if (planned.device_class == nullptr) {
      return base::NotFound(fmt::format("request {}: device class {} does not exist",
                                        asked.result_name, asked.class_name));
    }
    if (!planned.all && asked.mode != api::kAllocationModeExactCount) {
      return base::InvalidArgument(
          fmt::format("request {}: allocation mode \"{}\" is not known; one of ExactCount, All",
                      asked.result_name, asked.mode));
    }
    return {};
  }

  void AddSelectors(std::span<const api::DeviceSelector> selectors, Alternative& planned) {
    for (const api::DeviceSelector& selector : selectors) {
      planned.selectors.push_back(
          Keep(expressions_.Selector(selector.cel.has_value() ? selector.cel->expression : "")));
    }
  }

  void AddConstraintUses(const Asked& asked, std::string_view request_name, Alternative& planned) {
    for (std::uint32_t i = 0; i < constraints_.size(); ++i) {
      const api::DeviceConstraint& constraint = *constraints_[i];
      const auto covers = [&](const std::string& name) {
        return name == request_name || name == asked.result_name;
      };
      if (!constraint.requests.empty() && std::ranges::none_of(constraint.requests, covers)) {
        continue;
      }
      const std::size_t at = plan_->constraints_.size() - constraints_.size() + i;
      const ConstraintPlan& of_claim = plan_->constraints_[at];
      planned.constraints.push_back({.constraint = i,
                                     .type = of_claim.type,
                                     .derived = DerivedOf(asked, of_claim.attribute)});
    }
  }

  // The last of that name, as in Kubernetes; validation allows one.
  const Expression* DerivedOf(const Asked& asked, const std::string& name) {
    if (!plan_->features_.derived_attributes) return nullptr;
    const Expression* found = nullptr;
    for (const api::DeviceDerivedAttribute& attribute : asked.derived) {
      if (name == attribute.name) found = Keep(expressions_.Derived(attribute.expression));
    }
    return found;
  }

  std::uint64_t FilterOf(const Alternative& planned) {
    FilterText description;
    description.Add(Bits(plan_->features_));
    description.Add(planned.selectors.size());
    for (const Expression* selector : planned.selectors) description.Add(selector->number);
    description.Add(planned.capacity.size());
    for (const CapacityRequest& request : planned.capacity) {
      description.Add(request.name);
      description.Add(request.amount.ToString());
    }
    for (const ConstraintUse& use : planned.constraints) {
      // The constraints of this claim are the last in the plan so far, in order.
      const std::size_t at = plan_->constraints_.size() - constraints_.size() + use.constraint;
      description.Add(plan_->constraints_[at].attribute);
      description.Add(use.derived == nullptr ? 0 : use.derived->number);
    }
    return expressions_.Number(description.text());
  }

  std::uint64_t ShapeOf(const ClaimPlan& planned) {
    FilterText description;
    description.Add(planned.constraints);
    description.Add(planned.requests);
    for (const ConstraintPlan& constraint : plan_->constraints(planned)) {
      description.Add(constraint.attribute);
      description.Add(constraint.type->field());
    }
    for (const RequestPlan& request : plan_->requests(planned)) {
      description.Add(request.count);
      for (const Alternative& alternative : plan_->alternatives(request)) {
        description.Add(alternative.filter);
        description.Add(std::bit_cast<std::uint64_t>(alternative.count));
        description.Add(static_cast<std::uint64_t>(alternative.all) * 2 +
                        static_cast<std::uint64_t>(alternative.admin));
        description.Add(alternative.tolerations.size());
        for (const api::DeviceToleration& toleration : alternative.tolerations) {
          for (const std::string* part :
               {&toleration.key, &toleration.operator_, &toleration.value, &toleration.effect}) {
            description.Add(*part);
          }
        }
        description.Add(alternative.constraints.size());
        for (const ConstraintUse& use : alternative.constraints) description.Add(use.constraint);
      }
    }
    return expressions_.Number(description.text());
  }

  const ClassLister& classes_;
  Expressions& expressions_;
  std::shared_ptr<Plan> plan_;
  // Of the claim that is being added: where each of its ConstraintPlans comes from.
  std::vector<const api::DeviceConstraint*> constraints_;
  const std::shared_ptr<Kept> kept_;
};

std::shared_ptr<const Plan> MakePlan(
    std::span<const std::shared_ptr<const api::ResourceClaim>> claims, const ClassLister& classes,
    const Features& features, Expressions& expressions) {
  Planner planner(classes, features, expressions);
  for (const auto& claim : claims) planner.Add(claim);
  return planner.Finish();
}

}  // namespace dray::allocator
