// SPDX-License-Identifier: Apache-2.0
//
// A device as an expression sees it, and what becomes of an expression's result. Beside
// device_env.h, which has the types, this is the edge of the room that knows devices.
// Spec: kubernetes-cel.md chapters 2, 3 and 9.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/resource_slice.h"
#include "base/status.h"
#include "cel/arena.h"
#include "cel/evaluator.h"
#include "cel/program.h"
#include "cel/value.h"
#include "cel/values.h"

namespace dray::cel {

// The variable `device`, for one evaluation. Reads the device in place; what it has to make
// (versions, lists, the maps of a domain) it makes when asked, in the arena. One thread.
class DeviceValue final : public Host {
 public:
  // All three outlive the evaluation.
  DeviceValue(std::string_view driver, const api::Device& device, Arena& arena);

  Value value() const { return Value::Pointer(Kind::kHost, static_cast<const Host*>(this)); }

  std::string_view type_name() const override { return "kubernetes.DRADevice"; }
  bool Select(std::string_view field, Value* value) const override;

 private:
  // The names of a map split into domain and id: device.attributes or device.capacity.
  template <typename T>
  class Outer final : public Map {
   public:
    explicit Outer(const DeviceValue& device, const api::Map<T>& entries)
        : device_(device), entries_(entries) {}
    std::size_t size() const override;
    bool Find(const Value& key, Value* value) const override;
    bool FindOrDefault(const Value& key, Value* value) const override;
    Value KeyAt(std::size_t i) const override;
    Value ValueAt(std::size_t i) const override;

   private:
    Value Inner(std::string_view domain) const;
    std::span<const std::string_view> Domains() const;

    const DeviceValue& device_;
    const api::Map<T>& entries_;
    mutable std::span<const std::string_view> domains_;
    mutable bool split_ = false;
  };
  template <typename T>
  class Inner;

  std::string_view driver_;
  const api::Device& device_;
  Arena& arena_;
  Outer<api::DeviceAttribute> attributes_;
  Outer<api::DeviceCapacity> capacity_;
};

// Whether the device matches. The status of a failure has the message of the evaluation.
struct MatchResult {
  bool match = false;
  std::uint64_t cost = 0;
};
StatusOr<MatchResult> Match(const Program& program, std::string_view driver,
                            const api::Device& device, const EvaluationLimits& limits = {});
// A selector's value as bool, or why it is none.
StatusOr<bool> ToMatch(const Value& value);

// A derived attribute's value, or why it is none.
StatusOr<api::DeviceAttribute> Derive(const Program& program, std::string_view driver,
                                      const api::Device& device,
                                      const EvaluationLimits& limits = {});
StatusOr<api::DeviceAttribute> ToAttribute(const Value& value);

}  // namespace dray::cel
