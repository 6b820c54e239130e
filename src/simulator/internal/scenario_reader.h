// SPDX-License-Identifier: Apache-2.0
//
// The small parts of reading a scenario: a count, a duration, a template, each with its fault.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "api/kinds.h"
#include "api/pod.h"
#include "base/field_path.h"
#include "simulator/internal/scenario_file.h"
#include "simulator/scenario.h"

namespace dray::simulator::internal {

inline constexpr std::string_view kScenarioApiVersion = "dray/v1alpha1";

// Reads a tree by its table; whatever does not fit is a fault, with `at` before its field.
void DecodeStrictly(const api::DocumentNode& node, const base::FieldPath& at,
                    const api::TypeInfo& type, void* value, std::vector<Fault>& faults);

std::optional<api::Object> DecodeObjectStrictly(const api::DocumentNode& node,
                                                const base::FieldPath& at,
                                                std::vector<Fault>& faults);

// Whether a tree is what it should be.
using Probe = void (*)(const api::DocumentNode& node, const base::FieldPath& at,
                       std::vector<Fault>& faults);
template <typename T>
void ProbeFor(const api::DocumentNode& node, const base::FieldPath& at,
              std::vector<Fault>& faults) {
  T value;
  DecodeStrictly(node, at, api::TypeInfoOf<T>(), &value, faults);
}
// An object of a kind that is known.
void ProbeForObject(const api::DocumentNode& node, const base::FieldPath& at,
                    std::vector<Fault>& faults);

// Keeps references to both; one thread.
class PartReader {
 public:
  PartReader(const api::DocumentNode& root, std::vector<simulator::Fault>& faults)
      : root_(root), faults_(faults) {}

  void Fault(const base::FieldPath& at, std::string_view message, std::string_view hint = "");
  // "VALUE: message"
  void Wrong(const base::FieldPath& at, std::string_view value, std::string_view message,
             std::string_view hint = "");

  std::int64_t Count(const base::FieldPath& at, std::optional<std::int64_t> count,
                     std::int64_t otherwise, std::int64_t min, std::int64_t max);
  // The name of something that is a part of objects' names.
  std::string Name(const base::FieldPath& at, const std::string& name);
  // Zero allowed; not allowed.
  Duration Time(const base::FieldPath& at, const std::string& text);
  Duration Positive(const base::FieldPath& at, const std::string& text);
  // From 0 to 1; must be there.
  double Share(const base::FieldPath& at, std::optional<double> share);
  // Whether it is `random`; empty and "fixed" are not.
  bool Distribution(const base::FieldPath& at, const std::string& text, std::string_view random);
  Interval ReadInterval(const base::FieldPath& at, std::string_view field, const std::string& mean,
                        const std::string& distribution, std::string_view random);
  // With a probe: it looks at what the first copy gives.
  Template ReadTemplate(const base::FieldPath& at, std::span<const std::string_view> known,
                        Probe probe, bool required);

 private:
  const api::DocumentNode& root_;
  std::vector<simulator::Fault>& faults_;
};

}  // namespace dray::simulator::internal
