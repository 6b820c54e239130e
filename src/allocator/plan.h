// SPDX-License-Identifier: Apache-2.0
//
// Plan: what claims ask for, made ready once for any number of nodes: expressions compiled, names
// numbered, constraints tied to the requests that they cover.
//
// Spec: docs/spec/allocator.md chapters 3 and 7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allocator/constraint.h"
#include "allocator/expressions.h"
#include "api/device_class.h"
#include "api/resource_claim.h"
#include "base/quantity.h"
#include "base/status.h"
#include "inventory/dictionary.h"
#include "inventory/features.h"

namespace dray::allocator {

// The most devices that one claim can have (AllocationResultsMaxSize of the API).
inline constexpr std::int64_t kMaxDevicesPerClaim = 32;

// Finds classes. Null: no such class.
class ClassLister {
 public:
  virtual std::shared_ptr<const api::DeviceClass> FindClass(std::string_view name) const = 0;

 protected:
  ~ClassLister() = default;
};

// One constraint of a claim that is of several types is several of these.
struct ConstraintPlan {
  const ConstraintType* type = nullptr;
  std::string attribute;  // as written
  inventory::NameId name;
  // When `attribute` is "domain/id": what a device of driver `domain` may call it, too.
  std::optional<inventory::NameId> domain;
  std::optional<inventory::NameId> bare;
};

// How a constraint applies to the devices of an alternative.
struct ConstraintUse {
  std::uint32_t constraint = 0;          // of Plan::constraints(claim)
  const ConstraintType* type = nullptr;  // that constraint's
  // The request's derived attribute of that name, which goes before what the device publishes.
  const Expression* derived = nullptr;
};

struct CapacityRequest {
  std::string name;
  base::Quantity amount;
};

// A request, or one subrequest of a prioritized list.
struct Alternative {
  std::string result_name;  // "request" or "request/subrequest"
  std::shared_ptr<const api::DeviceClass> device_class;
  std::vector<const Expression*> selectors;  // the class's, then the request's
  std::size_t class_selectors = 0;           // how many of them are the class's
  std::vector<CapacityRequest> capacity;
  std::vector<ConstraintUse> constraints;  // in the claim's order
  std::span<const api::DeviceToleration> tolerations;
  bool all = false;  // mode All
  bool admin = false;
  std::int64_t count = 0;  // unless `all`
  // Equal for alternatives that let the same devices pass: selectors, derived attributes,
  // constrained attributes and capacity are the same.
  std::uint64_t filter = 0;
  // Why this can never be searched for.
  Status error;
};

struct RequestPlan {
  const api::DeviceRequest* request = nullptr;
  std::uint32_t first = 0;  // of Plan::alternatives()
  std::uint32_t count = 0;
  bool prioritized = false;
  Status error;
};

struct ClaimPlan {
  std::shared_ptr<const api::ResourceClaim> claim;
  std::uint32_t first_request = 0;  // of Plan::requests()
  std::uint32_t requests = 0;
  std::uint32_t first_constraint = 0;  // of Plan::constraints()
  std::uint32_t constraints = 0;
  // Equal for claims that ask for the same.
  std::uint64_t shape = 0;
  Status constraint_error;
};

// Immutable; thread-safe. Keeps the claims, classes and expressions that it points to.
class Plan {
 public:
  std::span<const ClaimPlan> claims() const { return claims_; }
  std::span<const RequestPlan> requests() const { return requests_; }
  std::span<const RequestPlan> requests(const ClaimPlan& claim) const {
    return std::span(requests_).subspan(claim.first_request, claim.requests);
  }
  std::span<const Alternative> alternatives() const { return alternatives_; }
  std::span<const Alternative> alternatives(const RequestPlan& request) const {
    return std::span(alternatives_).subspan(request.first, request.count);
  }
  std::span<const ConstraintPlan> constraints() const { return constraints_; }
  std::span<const ConstraintPlan> constraints(const ClaimPlan& claim) const {
    return std::span(constraints_).subspan(claim.first_constraint, claim.constraints);
  }
  const inventory::Features& features() const { return features_; }
  // Neither errors nor mode All nor admin access anywhere: nothing to look at before the search.
  bool simple() const { return simple_; }

 private:
  friend class Planner;
  friend class Subsets;  // explain_subset.h
  inventory::Features features_;
  std::vector<ClaimPlan> claims_;
  std::vector<RequestPlan> requests_;
  std::vector<Alternative> alternatives_;
  std::vector<ConstraintPlan> constraints_;
  std::shared_ptr<const void> keep_;  // expressions and names
  bool simple_ = true;
};

// Never fails: what is wrong with a claim is in the plan, at its place, because an error of the
// second claim must not hide what the search says of the first.
std::shared_ptr<const Plan> MakePlan(
    std::span<const std::shared_ptr<const api::ResourceClaim>> claims, const ClassLister& classes,
    const inventory::Features& features, Expressions& expressions);

}  // namespace dray::allocator
