// SPDX-License-Identifier: Apache-2.0
#include "model/instance.h"

#include <map>
#include <utility>

#include "api/json.h"
#include "fmt/format.h"

namespace dray::model {
namespace {

using api::DocumentNode;

const DocumentNode* Get(const DocumentNode& node, std::string_view key) {
  const api::Member* member = node.Find(key);
  return member != nullptr && member->value.kind != DocumentNode::Kind::kNull ? &member->value
                                                                              : nullptr;
}

std::string TextAt(const DocumentNode& node, std::string_view key) {
  const DocumentNode* value = Get(node, key);
  return value == nullptr ? "" : value->text;
}

template <typename T>
Status ReadList(const DocumentNode& recorded, std::string_view key, std::vector<T>& out) {
  const DocumentNode* list = Get(recorded, key);
  if (list == nullptr) return {};
  api::JsonDecoder decoder;
  for (const DocumentNode& item : list->items) {
    auto value = decoder.Decode<T>(api::ToJson(item));
    if (!value.ok()) return base::Annotate(value.status(), key);
    out.push_back(*std::move(value));
  }
  return {};
}

DeviceId IdAt(const DocumentNode& node) {
  return {TextAt(node, "driver"), TextAt(node, "pool"), TextAt(node, "device")};
}

api::ResourceClaim Holder(std::string name, const DeviceId& id) {
  api::ResourceClaim claim;
  claim.metadata.name = std::move(name);
  claim.metadata.uid = claim.metadata.name;
  api::DeviceRequestAllocationResult result;
  result.request = "taken";
  result.driver = id.driver;
  result.pool = id.pool;
  result.device = id.device;
  claim.status.allocation.emplace();
  claim.status.allocation->devices.results.push_back(std::move(result));
  return claim;
}

Status ReadTaken(const DocumentNode& recorded, std::vector<api::ResourceClaim>& out) {
  if (const DocumentNode* list = Get(recorded, "allocatedDevices")) {
    for (const DocumentNode& item : list->items) {
      out.push_back(Holder(fmt::format("taken-{}", out.size()), IdAt(item)));
    }
  }
  std::map<DeviceId, std::size_t> first_share;
  if (const DocumentNode* list = Get(recorded, "allocatedSharedDevices")) {
    for (const DocumentNode& item : list->items) {
      first_share.emplace(IdAt(item), out.size());
      out.push_back(Holder(fmt::format("taken-{}", out.size()), IdAt(item)));
      out.back().status.allocation->devices.results[0].share_id = TextAt(item, "shareID");
    }
  }
  const DocumentNode* list = Get(recorded, "allocatedCapacity");
  if (list == nullptr) return {};
  for (const DocumentNode& item : list->items) {
    const auto [at, made] = first_share.emplace(IdAt(item), out.size());
    if (made) {
      out.push_back(Holder(fmt::format("taken-{}", out.size()), IdAt(item)));
      out.back().status.allocation->devices.results[0].share_id =
          fmt::format("00000000-0000-4000-8000-{:012}", out.size());
    }
    const DocumentNode* consumed = Get(item, "consumed");
    if (consumed == nullptr) continue;
    auto& amounts = out[at->second].status.allocation->devices.results[0].consumed_capacity;
    for (const api::Member& entry : consumed->members) {
      DRAY_ASSIGN_OR_RETURN(amounts[entry.key], base::Quantity::Parse(entry.value.text));
    }
  }
  return {};
}

template <typename T>
void WriteList(std::string& out, std::string_view key, const std::vector<T>& list) {
  out += fmt::format(",\"{}\":[", key);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ',';
    out += api::EncodeJson(list[i]);
  }
  out += ']';
}

// A text as JSON; names of instances are ours and plain.
std::string Quoted(std::string_view text) {
  DocumentNode node;
  node.kind = DocumentNode::Kind::kString;
  node.text = text;
  return api::ToJson(node);
}

}  // namespace

Features Features::All() {
  Features features;
  for (const FeatureName& feature : FeatureNames()) features.*feature.flag = true;
  return features;
}

const std::vector<FeatureName>& FeatureNames() {
  static const std::vector<FeatureName> names = {
      {"AdminAccess", &Features::admin_access},
      {"CompatibilityGroups", &Features::compatibility_groups},
      {"ConsumableCapacity", &Features::consumable_capacity},
      {"DerivedAttributes", &Features::derived_attributes},
      {"DeviceBindingAndStatus", &Features::device_binding_and_status},
      {"DeviceTaints", &Features::device_taints},
      {"FractionalCapacityRange", &Features::fractional_capacity_range},
      {"ListTypeAttributes", &Features::list_type_attributes},
      {"OptionalNodeOperations", &Features::optional_node_operations},
      {"PartitionableDevices", &Features::partitionable_devices},
      {"PrioritizedList", &Features::prioritized_list},
  };
  return names;
}

std::string ToString(const DeviceId& id) {
  return fmt::format("{}/{}/{}", id.driver, id.pool, id.device);
}

StatusOr<Instance> ReadInstance(const api::DocumentNode& recorded) {
  Instance instance;
  instance.name = TextAt(recorded, "name");
  if (const DocumentNode* features = Get(recorded, "features")) {
    for (const api::Member& member : features->members) {
      bool known = false;
      for (const FeatureName& feature : FeatureNames()) {
        if (feature.name != member.key) continue;
        instance.features.*feature.flag = member.value.boolean;
        known = true;
      }
      if (!known) return base::InvalidArgument(fmt::format("unknown feature {}", member.key));
    }
  }
  if (const DocumentNode* node = Get(recorded, "node")) {
    api::JsonDecoder decoder;
    DRAY_ASSIGN_OR_RETURN(instance.node, decoder.Decode<api::Node>(api::ToJson(*node)));
  }
  DRAY_RETURN_IF_ERROR(ReadList(recorded, "classes", instance.classes));
  DRAY_RETURN_IF_ERROR(ReadList(recorded, "slices", instance.slices));
  DRAY_RETURN_IF_ERROR(ReadList(recorded, "taintRules", instance.taint_rules));
  DRAY_RETURN_IF_ERROR(ReadList(recorded, "claims", instance.claims));
  DRAY_RETURN_IF_ERROR(ReadList(recorded, "allocatedClaims", instance.allocated_claims));
  DRAY_RETURN_IF_ERROR(ReadTaken(recorded, instance.allocated_claims));
  return instance;
}

StatusOr<Instance> ParseInstance(std::string_view json) {
  std::vector<api::Diagnostic> diagnostics;
  const DocumentNode root = api::ParseJson(json, diagnostics);
  if (!diagnostics.empty()) return base::InvalidArgument(api::ToString(diagnostics.front()));
  return ReadInstance(root);
}

std::string WriteInstance(const Instance& instance, std::string_view more) {
  std::string out = fmt::format("{{\"name\":{},\"features\":{{", Quoted(instance.name));
  bool first = true;
  for (const FeatureName& feature : FeatureNames()) {
    if (!(instance.features.*feature.flag)) continue;
    out += fmt::format("{}\"{}\":true", first ? "" : ",", feature.name);
    first = false;
  }
  out += fmt::format("}},\"node\":{}", api::EncodeJson(instance.node));
  WriteList(out, "classes", instance.classes);
  WriteList(out, "slices", instance.slices);
  WriteList(out, "taintRules", instance.taint_rules);
  WriteList(out, "claims", instance.claims);
  WriteList(out, "allocatedClaims", instance.allocated_claims);
  if (!more.empty()) out += fmt::format(",{}", more);
  out += '}';
  return api::IndentJson(out, 1) + "\n";
}

}  // namespace dray::model
