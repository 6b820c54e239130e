// SPDX-License-Identifier: Apache-2.0
//
// Described kinds between decoding and validation: defaults, status, generation.
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/box.h"
#include "api/field_view.h"
#include "api/internal/described_kinds.h"
#include "api/label_selector.h"
#include "api/record.h"
#include "api/volume.h"
#include "base/check.h"

namespace dray::api::internal {
namespace {

constexpr std::string_view kStatus = "status";

int SlotOf(const KindInfo& kind, std::string_view field) { return kind.hub->fields().Find(field); }

Record& RecordOf(Object& object) { return *static_cast<Record*>(object.MutableData()); }
const Record& RecordOf(const Object& object) { return *static_cast<const Record*>(object.data()); }

void SetScalar(const TypeInfo& type, void* value, std::string_view text) {
  switch (type.shape) {
    case Shape::kOptional:
      return SetScalar(*type.element, type.emplace(value), text);
    case Shape::kString:
      *static_cast<std::string*>(value) = text;
      return;
    case Shape::kBool:
      *static_cast<bool*>(value) = text == "true";
      return;
    case Shape::kInt32:
      std::from_chars(text.data(), text.data() + text.size(), *static_cast<std::int32_t*>(value));
      return;
    default:
      DRAY_CHECK(false, "a description has a default for what is no scalar");
  }
}

void FillStruct(const StructInfo& info, void* object);

void FillValue(const TypeInfo& type, void* value) {
  switch (type.shape) {
    case Shape::kOptional:
      if (const void* content = type.get(value))
        FillValue(*type.element, const_cast<void*>(content));
      return;
    case Shape::kList:
    case Shape::kMap:
      for (std::size_t i = 0; i < type.size(value); ++i) {
        FillValue(*type.element, const_cast<void*>(type.at(value, i)));
      }
      return;
    case Shape::kStruct:
      if (type.described != nullptr) FillStruct(*type.described, value);
      return;
    default:
      return;
  }
}

void FillStruct(const StructInfo& info, void* object) {
  for (const FieldInfo& field : info.fields) {
    if (field.options.rules == nullptr) continue;
    const std::string_view standard = field.options.rules->standard;
    if (!standard.empty() && IsEmptyValue(*field.type, field.Get(object))) {
      SetScalar(*field.type, field.At(object), standard);
    }
    FillValue(*field.type, field.At(object));
  }
}

// A field of a struct that a description names, as the C++ type that it has.
template <typename T>
T& MemberAt(const TypeInfo& type, void* object, std::string_view name) {
  const StructInfo& info = type.fields();
  const FieldInfo& field = info.fields.at(static_cast<std::size_t>(info.Find(name)));
  return *static_cast<T*>(field.At(object));
}
const TypeInfo& TypeOfMember(const TypeInfo& type, std::string_view name) {
  const StructInfo& info = type.fields();
  return *info.fields.at(static_cast<std::size_t>(info.Find(name))).type;
}

using Texts = std::vector<std::string>;

// Where a default depends on other fields.
void FillService(const TypeInfo& type, Record& service) {
  const TypeInfo& spec_type = TypeOfMember(type, "spec");
  auto& spec = MemberAt<Record>(type, &service, "spec");
  const auto text = [&](std::string_view name) -> std::string& {
    return MemberAt<std::string>(spec_type, &spec, name);
  };
  const std::string reached = text("type");
  std::string& outside = text("externalTrafficPolicy");
  if ((reached == "NodePort" || reached == "LoadBalancer") && outside.empty()) outside = "Cluster";
  if (reached == "ExternalName") {
    MemberAt<std::optional<std::string>>(spec_type, &spec, "internalTrafficPolicy").reset();
  }
  if (reached == "LoadBalancer") {
    auto& ports = MemberAt<std::optional<bool>>(spec_type, &spec, "allocateLoadBalancerNodePorts");
    if (!ports) ports = true;
  }
  // The pods' port is the service's where nothing else is said.
  const TypeInfo& port_type = *TypeOfMember(spec_type, "ports").element;
  for (Record& port : MemberAt<std::vector<Record>>(spec_type, &spec, "ports")) {
    auto& target = MemberAt<std::optional<IntOrString>>(port_type, &port, "targetPort");
    if (!target) target = IntOrString{MemberAt<std::int32_t>(port_type, &port, "port")};
  }
  // Nobody gives out addresses; one that is asked for is taken down as it is.
  auto& addresses = MemberAt<Texts>(spec_type, &spec, "clusterIPs");
  if (!text("clusterIP").empty() && addresses.empty()) addresses = {text("clusterIP")};
  if (text("clusterIP").empty() && !addresses.empty()) text("clusterIP") = addresses.front();
}

void FillPhase(const TypeInfo& type, Record& object) {
  auto& status = MemberAt<Record>(type, &object, kStatus);
  auto& phase = MemberAt<std::string>(TypeOfMember(type, kStatus), &status, "phase");
  if (phase.empty()) phase = "Pending";
}

void FillClaim(const TypeInfo& type, Record& claim) {
  auto& spec = MemberAt<PersistentVolumeClaimSpec>(type, &claim, "spec");
  if (!spec.volume_mode) spec.volume_mode = "Filesystem";
  FillPhase(type, claim);
}

void FillPolicy(const TypeInfo& type, Record& policy) {
  const TypeInfo& spec_type = TypeOfMember(type, "spec");
  auto& spec = MemberAt<Record>(type, &policy, "spec");
  auto& types = MemberAt<Texts>(spec_type, &spec, "policyTypes");
  if (!types.empty()) return;
  types = {"Ingress"};
  if (!MemberAt<std::vector<Record>>(spec_type, &spec, "egress").empty()) {
    types.emplace_back("Egress");
  }
}

void FillDriver(const TypeInfo& type, Record& driver) {
  auto& spec = MemberAt<Record>(type, &driver, "spec");
  auto& modes = MemberAt<Texts>(TypeOfMember(type, "spec"), &spec, "volumeLifecycleModes");
  if (modes.empty()) modes = {"Persistent"};
}

// What is not selected by labels is selected.
void FillMatch(const TypeInfo& spec_type, Record& spec, std::string_view field) {
  auto& match = MemberAt<Box<Record>>(spec_type, &spec, field);
  if (!match) return;
  const TypeInfo& type = *TypeOfMember(spec_type, field).element;
  for (const std::string_view name : {"namespaceSelector", "objectSelector"}) {
    auto& selector = MemberAt<Box<LabelSelector>>(type, &*match, name);
    if (!selector) selector = LabelSelector();
  }
}

void FillAdmissionPolicy(const TypeInfo& type, Record& policy) {
  FillMatch(TypeOfMember(type, "spec"), MemberAt<Record>(type, &policy, "spec"),
            "matchConstraints");
}
void FillAdmissionBinding(const TypeInfo& type, Record& binding) {
  FillMatch(TypeOfMember(type, "spec"), MemberAt<Record>(type, &binding, "spec"), "matchResources");
}

// A service that says nothing about its address keeps it, as long as it has one at all.
void KeepAddresses(Object& object, const Object& old) {
  const TypeInfo& type = *object.kind().hub;
  const TypeInfo& spec_type = TypeOfMember(type, "spec");
  const FieldView before = FieldView::Of(old)["spec"];
  auto& spec = MemberAt<Record>(type, object.MutableData(), "spec");
  auto& address = MemberAt<std::string>(spec_type, &spec, "clusterIP");
  const std::string& reached = MemberAt<std::string>(spec_type, &spec, "type");
  if (!address.empty() || reached == "ExternalName" || before["type"].text() == "ExternalName") {
    return;
  }
  address = before["clusterIP"].text();
  if (const auto* addresses = before["clusterIPs"].As<Texts>()) {
    MemberAt<Texts>(spec_type, &spec, "clusterIPs") = *addresses;
  }
}

bool IsReachedOnNodes(std::string_view type) {
  return type == "NodePort" || type == "LoadBalancer";
}

// What only the type before has needed goes with it, unless it was changed: whoever patches the type
// alone would be refused for a default.
void DropWithType(Object& object, const Object& old) {
  const TypeInfo& type = *object.kind().hub;
  const TypeInfo& spec_type = TypeOfMember(type, "spec");
  const FieldView before = FieldView::Of(old)["spec"];
  const std::string_view was = before["type"].text();
  auto& spec = MemberAt<Record>(type, object.MutableData(), "spec");
  const std::string& is = MemberAt<std::string>(spec_type, &spec, "type");
  if (was == "LoadBalancer" && is != was) {
    auto& all = MemberAt<std::optional<bool>>(spec_type, &spec, "allocateLoadBalancerNodePorts");
    if (all && *all == before["allocateLoadBalancerNodePorts"].flag()) all.reset();
  }
  if (!IsReachedOnNodes(was) || IsReachedOnNodes(is)) return;
  auto& policy = MemberAt<std::string>(spec_type, &spec, "externalTrafficPolicy");
  if (policy == before["externalTrafficPolicy"].text()) policy.clear();
  const TypeInfo& port_type = *TypeOfMember(spec_type, "ports").element;
  const FieldView ports = before["ports"];
  for (Record& port : MemberAt<std::vector<Record>>(spec_type, &spec, "ports")) {
    auto& on_nodes = MemberAt<std::int32_t>(port_type, &port, "nodePort");
    for (std::size_t i = 0; i < ports.size() && on_nodes != 0; ++i) {
      if (ports.item(i)["nodePort"].number() == on_nodes) on_nodes = 0;
    }
  }
}

struct Filler {
  std::string_view kind;
  void (*fill)(const TypeInfo&, Record&);
};
constexpr Filler kFillers[] = {{"Service", FillService},
                               {"PersistentVolumeClaim", FillClaim},
                               {"PersistentVolume", FillPhase},
                               {"NetworkPolicy", FillPolicy},
                               {"CSIDriver", FillDriver},
                               {"ValidatingAdmissionPolicy", FillAdmissionPolicy},
                               {"ValidatingAdmissionPolicyBinding", FillAdmissionBinding},
                               {"MutatingAdmissionPolicy", FillAdmissionPolicy},
                               {"MutatingAdmissionPolicyBinding", FillAdmissionBinding}};

}  // namespace

void SetDescribedDefaults(Object& object) {
  const TypeInfo& type = *object.kind().hub;
  Record& record = RecordOf(object);
  FillStruct(type.fields(), &record);
  for (const Filler& filler : kFillers) {
    if (filler.kind == object.kind().kind) filler.fill(type, record);
  }
}

void PrepareDescribedForCreate(Object& object) {
  const KindTraits& traits = *object.kind().traits;
  if (traits.generation) object.MutableMetadata().generation = 1;
  if (!traits.status) return;
  RecordOf(object).Clear(static_cast<std::size_t>(SlotOf(object.kind(), kStatus)));
  SetDescribedDefaults(object);
}

void PrepareDescribedForUpdate(Object& object, const Object& old) {
  if (object.kind().kind == "Service") {
    KeepAddresses(object, old);
    DropWithType(object, old);
  }
  if (!object.kind().traits->generation) return;
  const StructInfo& info = object.kind().hub->fields();
  bool other_wish = false;
  for (const FieldInfo& field : info.fields) {
    if (field.name == "metadata" || field.name == kStatus) continue;
    other_wish |= !SemanticEqual(*field.type, field.Get(object.data()), field.Get(old.data()));
  }
  object.MutableMetadata().generation = old.metadata().generation + (other_wish ? 1 : 0);
}

void KeepDescribedStatus(Object& object, const Object& old) {
  const auto slot = static_cast<std::size_t>(SlotOf(object.kind(), kStatus));
  RecordOf(object).CopySlot(slot, RecordOf(old));
}

void TakeDescribedStatus(Object& object, const Object& old) {
  const auto slot = static_cast<std::size_t>(SlotOf(object.kind(), kStatus));
  Record kept = RecordOf(old);
  kept.CopySlot(slot, RecordOf(std::as_const(object)));
  kept.At<ObjectMeta>(0).resource_version = object.metadata().resource_version;
  RecordOf(object) = std::move(kept);
}

}  // namespace dray::api::internal
