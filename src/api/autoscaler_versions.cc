// SPDX-License-Identifier: Apache-2.0
//
// autoscaling/v1 HorizontalPodAutoscaler: v2's, with the one target that v1 knows, a share of the
// cpu that pods ask for, as a number of its own. Clients up to kubectl 1.32 write that. What v1 has
// no word for is shown as v2 has it, so that a patch of the one loses nothing of the other.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/internal/descriptions.h"
#include "api/record.h"
#include "base/check.h"

namespace dray::api::internal {
namespace {

using Metrics = std::vector<Record>;
using Percent = std::optional<std::int32_t>;

// Where v2 keeps them; looked after when the kind is made.
constexpr std::size_t kMetrics = 3;             // HorizontalPodAutoscalerSpec
constexpr std::size_t kType = 0;                // MetricSpec, MetricTarget
constexpr std::size_t kResource = 3;            // MetricSpec
constexpr std::size_t kName = 0;                // ResourceMetricSource
constexpr std::size_t kTarget = 1;              // ResourceMetricSource
constexpr std::size_t kAverageUtilization = 3;  // MetricTarget

bool Is(const Record& record, std::size_t slot, std::string_view text) {
  const auto* value = static_cast<const std::string*>(record.Find(slot));
  return value != nullptr && *value == text;
}

// The target of a metric, if it is cpu in percent.
const Record* CpuTarget(const Record& metric) {
  if (!Is(metric, kType, "Resource")) return nullptr;
  const auto* resource = static_cast<const Box<Record>*>(metric.Find(kResource));
  if (resource == nullptr || !*resource || !Is(**resource, kName, "cpu")) return nullptr;
  const auto* target = static_cast<const Record*>((*resource)->Find(kTarget));
  return target != nullptr && Is(*target, kType, "Utilization") ? target : nullptr;
}

const void* GetPercent(const void* spec) {
  const auto* metrics =
      static_cast<const Metrics*>(static_cast<const Record*>(spec)->Find(kMetrics));
  if (metrics == nullptr) return nullptr;
  for (const Record& metric : *metrics) {
    const Record* target = CpuTarget(metric);
    const void* percent = target == nullptr ? nullptr : target->Find(kAverageUtilization);
    if (percent != nullptr) return percent;
  }
  return nullptr;
}

void* MakePercent(void* spec) {
  auto& metrics = static_cast<Record*>(spec)->At<Metrics>(kMetrics);
  for (Record& metric : metrics) {
    if (CpuTarget(metric) == nullptr) continue;
    return &metric.At<Box<Record>>(kResource)->At<Record>(kTarget).At<Percent>(kAverageUtilization);
  }
  Record& metric = metrics.emplace_back();
  metric.At<std::string>(kType) = "Resource";
  Record& resource = metric.At<Box<Record>>(kResource).emplace();
  resource.At<std::string>(kName) = "cpu";
  Record& target = resource.At<Record>(kTarget);
  target.At<std::string>(kType) = "Utilization";
  return &target.At<Percent>(kAverageUtilization);
}

// A number that is null is none.
void DropEmpty(void* spec) {
  std::erase_if(static_cast<Record*>(spec)->At<Metrics>(kMetrics), [](const Record& metric) {
    const Record* target = CpuTarget(metric);
    if (target == nullptr) return false;
    const auto* percent = static_cast<const Percent*>(target->Find(kAverageUtilization));
    return percent == nullptr || !percent->has_value();
  });
}

FieldInfo& FieldOf(StructInfo& info, std::string_view name, std::size_t index) {
  const int found = info.Find(name);
  DRAY_CHECK(found == static_cast<int>(index), std::string(name));
  return info.fields[index];
}

}  // namespace

KindInfo AutoscalerV1(const KindInfo& v2) {
  static StructInfo spec;
  static TypeInfo spec_type;
  static StructInfo info;
  static TypeInfo type;
  info = v2.type->fields();
  FieldInfo& in_kind = FieldOf(info, "spec", 1);
  spec = in_kind.type->fields();
  FieldInfo& metrics = FieldOf(spec, "metrics", kMetrics);
  const StructInfo& metric = metrics.type->element->fields();
  DRAY_CHECK(metric.Find("type") == kType && metric.Find("resource") == kResource, "MetricSpec");
  const StructInfo& resource = metric.fields[kResource].type->element->fields();
  DRAY_CHECK(resource.Find("name") == kName && resource.Find("target") == kTarget, "resource");
  const StructInfo& target = resource.fields[kTarget].type->fields();
  DRAY_CHECK(target.Find("type") == kType &&
                 target.Find("averageUtilization") == static_cast<int>(kAverageUtilization),
             "MetricTarget");
  // v1's number 4 is the percentage; whoever speaks protobuf does not see the rest.
  metrics.options.proto = {104};
  FieldOf(spec, "behavior", 4).options.proto = {105};
  spec.fields.push_back(
      {.name = "targetCPUUtilizationPercentage",
       .type = &TypeInfoOf<Percent>(),
       .options = {.doc = "A share, in percent, of the cpu that pods ask for.", .proto = {4}},
       .get = &GetPercent,
       .mut = &MakePercent});
  spec.after_decode = &DropEmpty;
  BuildSlots(spec);
  spec_type = *in_kind.type;
  spec_type.described = &spec;
  in_kind.type = &spec_type;
  type = *v2.type;
  type.described = &info;
  KindInfo kind = v2;
  kind.version = "v1";
  kind.type = &type;
  return kind;
}

}  // namespace dray::api::internal
