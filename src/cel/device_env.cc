// SPDX-License-Identifier: Apache-2.0
#include "cel/device_env.h"

#include <array>
#include <utility>

#include "base/mutex.h"
#include "cel/compile.h"
#include "cel/kubernetes_env.h"
#include "cel/library.h"
#include "cel/program.h"

namespace dray::cel {
namespace {

// From the API's limits: a DNS subdomain's or label's, attributes and capacities per device, the
// length of an identifier and of a string value.
constexpr std::uint64_t kMaxName = 63;
constexpr std::uint64_t kMaxEntries = 32;
constexpr std::uint64_t kMaxId = 32;
constexpr std::uint64_t kMaxAttributeValue = 64;

// Sizes below device.attributes or device.capacity. A capacity's quantity has size 0 by index but
// an unknown one by field name; so has upstream.
std::optional<std::uint64_t> SizeInDomains(bool attributes, PathView path) {
  if (path.empty()) return kMaxEntries;
  if (path[0] == "@keys") return path.size() == 1 ? std::optional(kMaxName) : std::nullopt;
  if (path[0] != "@values" && path[0] != "@items") return std::nullopt;
  path = path.subspan(1);
  if (path.empty()) return kMaxEntries;
  if (path.size() > 1) return std::nullopt;
  if (path[0] == "@keys") return kMaxId;
  if (path[0] == "@values" || path[0] == "@items") return attributes ? kMaxAttributeValue : 0;
  return attributes ? std::optional(kMaxAttributeValue) : std::nullopt;
}

std::optional<std::uint64_t> DeviceSize(PathView path) {
  if (path[0] != kDeviceVariable) return std::nullopt;
  if (path.size() == 1) return 0;
  if (path[1] == "attributes") return SizeInDomains(true, path.subspan(2));
  if (path[1] == "capacity") return SizeInDomains(false, path.subspan(2));
  if (path.size() > 2) return std::nullopt;
  if (path[1] == "driver" || path[1] == "name") return kMaxName;
  if (path[1] == "allowMultipleAllocations") return 1;
  return std::nullopt;
}

std::shared_ptr<const Environment> Make(const DeviceEnvironmentOptions& options) {
  EnvironmentBuilder builder = EnvironmentBuilder::Extending(KubernetesEnvironment());
  if (options.list_type_attributes) {
    builder.AddLibrary(library::Includes());
    if (!options.kubernetes_only) builder.AddLibrary(library::Include());
  }

  TypePool& pool = builder.pool();
  const Type value = options.list_type_attributes ? Type::Dyn() : Type::Any();
  const auto by_domain = [&](Type of) {
    return pool.Map(Type::String(), pool.Map(Type::String(), of));
  };
  ObjectType device{.type = pool.Object(kDeviceTypeName)};
  device.fields = {{"driver", Type::String()},
                   {"attributes", by_domain(value)},
                   {"capacity", by_domain(pool.Object("kubernetes.Quantity"))}};
  if (options.consumable_capacity) {
    device.fields.push_back({"allowMultipleAllocations", Type::Bool()});
  }
  if (!options.kubernetes_only) device.fields.push_back({"name", Type::String()});
  builder.AddVariable(kDeviceVariable, device.type);
  builder.AddObject(std::move(device));

  builder.SetSizeLimits(DeviceSize);
  return std::move(builder).Build();
}

}  // namespace

DeviceEnvironmentOptions DeviceEnvironmentOptions::New(const api::FeatureGates& gates) {
  return {.consumable_capacity = gates.Enabled(api::Gate::kDRAConsumableCapacity),
          .list_type_attributes = gates.Enabled(api::Gate::kDRAListTypeAttributes)};
}

std::shared_ptr<const Environment> DeviceEnvironment(const DeviceEnvironmentOptions& options) {
  static base::Mutex mutex;
  static auto* const made ABSL_PT_GUARDED_BY(mutex) =
      new std::array<std::shared_ptr<const Environment>, 8>();
  const std::size_t index = (options.consumable_capacity ? 1u : 0u) |
                            (options.list_type_attributes ? 2u : 0u) |
                            (options.kubernetes_only ? 4u : 0u);
  const base::MutexLock lock(mutex);
  auto& environment = (*made)[index];
  if (environment == nullptr) environment = Make(options);
  return environment;
}

namespace {

// Why no program can be made of the tree, without the words that Compile puts before it.
std::optional<std::string> ProgramFault(const CheckedExpr& checked) {
  const auto program = Program::Compile(checked);
  if (program.ok()) return std::nullopt;
  constexpr std::string_view kPrefix = "program instantiation failed: ";
  std::string_view reason = base::Message(program.status());
  if (reason.starts_with(kPrefix)) reason.remove_prefix(kPrefix.size());
  return std::string(reason);
}

}  // namespace

api::ExpressionChecker::Result DeviceExpressionChecker::Check(
    std::string_view expression, Purpose purpose, const api::FeatureGates& gates) const {
  DeviceEnvironmentOptions options = DeviceEnvironmentOptions::New(gates);
  options.kubernetes_only = kubernetes_only_;
  const CompileResult compiled =
      Compile(expression, DeviceEnvironment(options),
              {.purpose = purpose == Purpose::kSelector ? cel::Purpose::kSelector
                                                        : cel::Purpose::kDerivedAttribute,
               .program_check = ProgramFault});
  Result result;
  if (!compiled.ok()) {
    result.error = compiled.error;
    result.internal = compiled.internal;
  } else {
    result.max_cost = compiled.cost.max;
  }
  return result;
}

}  // namespace dray::cel
