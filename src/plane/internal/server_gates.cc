// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/server_gates.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "api/device_class.h"
#include "api/document.h"
#include "api/field_table.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "fmt/format.h"

namespace dray::plane::internal {
namespace {

constexpr int kOldest = 34;
constexpr int kNewest = 38;

using api::DocumentNode;

// The properties of each type of the document, by the type's own name: "Device", whatever server
// calls it "io.k8s.api.resource.v1.Device".
std::map<std::string, std::set<std::string>> TypesIn(const DocumentNode& document) {
  std::map<std::string, std::set<std::string>> types;
  const api::Member* components = document.Find("components");
  const api::Member* schemas = components == nullptr ? nullptr : components->value.Find("schemas");
  if (schemas == nullptr) return types;
  for (const api::Member& schema : schemas->value.members) {
    std::set<std::string>& fields = types[schema.key.substr(schema.key.rfind('.') + 1)];
    const api::Member* properties = schema.value.Find("properties");
    if (properties == nullptr) continue;
    for (const api::Member& property : properties->value.members) fields.insert(property.key);
  }
  return types;
}

struct GatedField {
  std::string type;
  std::string field;
};
using GatedFields = std::map<api::Gate, std::vector<GatedField>>;

void Collect(const api::TypeInfo& type, std::set<const void*>& seen, GatedFields& found) {
  if (type.shape != api::Shape::kStruct) {
    if (type.element != nullptr) Collect(*type.element, seen, found);
    return;
  }
  const api::StructInfo& info = type.fields();
  if (!seen.insert(&info).second) return;
  for (const api::FieldInfo& field : info.fields) {
    if (field.options.gate) {
      found[*field.options.gate].push_back({std::string(info.name), std::string(field.name)});
    }
    Collect(*field.type, seen, found);
  }
}

void SwitchOff(api::Gate gate, std::string why, FittedGates& fitted) {
  if (!fitted.gates.Enabled(gate)) return;
  const api::GateInfo& info = api::InfoOf(gate);
  fitted.gates.Set(gate, false);
  fitted.notes.push_back(
      fmt::format("{} is off, {}: nothing is done about {}", info.name, why, info.summary));
  for (const api::GateInfo& other : api::GateTable()) {
    if (std::ranges::find(other.depends_on, gate) == other.depends_on.end()) continue;
    SwitchOff(other.gate, fmt::format("because it needs {}", info.name), fitted);
  }
}

}  // namespace

FittedGates FitGates(const api::FeatureGates& wanted, std::string_view openapi) {
  FittedGates fitted{.gates = wanted};
  std::vector<api::Diagnostic> diagnostics;
  const DocumentNode document = api::ParseJson(openapi, diagnostics);
  const auto types = TypesIn(document);
  if (!diagnostics.empty() || types.empty()) {
    fitted.notes.emplace_back(
        "the API server's OpenAPI document cannot be read: its feature gates must be those given "
        "here");
    return fitted;
  }
  GatedFields fields;
  std::set<const void*> seen;
  Collect(api::TypeInfoOf<api::DeviceClass>(), seen, fields);
  Collect(api::TypeInfoOf<api::ResourceClaim>(), seen, fields);
  Collect(api::TypeInfoOf<api::ResourceSlice>(), seen, fields);
  for (const auto& [gate, its] : fields) {
    const bool known = std::ranges::any_of(its, [&](const GatedField& field) {
      const auto type = types.find(field.type);
      return type != types.end() && type->second.contains(field.field);
    });
    if (known) continue;
    SwitchOff(
        gate,
        fmt::format("because the API server has no field {} of {}", its[0].field, its[0].type),
        fitted);
  }
  return fitted;
}

std::string SkewOf(std::string_view git_version) {
  if (!git_version.starts_with("v1.")) return "";
  int minor = 0;
  const std::string_view rest = git_version.substr(3);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), minor);
  if (error != std::errc() || (minor >= kOldest && minor <= kNewest)) return "";
  return fmt::format("the API server is Kubernetes {}; this was made for 1.{} to 1.{}", git_version,
                     kOldest, kNewest);
}

}  // namespace dray::plane::internal
