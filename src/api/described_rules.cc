// SPDX-License-Identifier: Apache-2.0
//
// Rules of described kinds in which several fields meet, one function a kind; those of the network
// are described_rules_network.cc's. What concerns a field alone is in its description.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "api/field_view.h"
#include "api/internal/described_kinds.h"
#include "api/internal/described_rules.h"
#include "api/internal/name_validation.h"
#include "api/internal/pod_validation.h"
#include "api/volume.h"
#include "base/ip_address.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

bool SameValue(const FieldView& a, const FieldView& b) {
  if (a.value() == nullptr || b.value() == nullptr) return a.set() == b.set();
  return SemanticEqual(*a.type(), a.value(), b.value());
}

// How many of these fields are set.
std::size_t CountSet(const FieldView& view, std::span<const std::string_view> names) {
  return static_cast<std::size_t>(
      std::ranges::count_if(names, [&](std::string_view name) { return view[name].set(); }));
}

void CheckAddressOrNone(Report& report, const Path& at, std::string_view text) {
  if (text.empty() || text == "None" || base::ParseIp(text)) return;
  report.Invalid(at, text, "must be None, empty or a valid IP address");
}

// Names of ports: once each, and everywhere if there are several.
void CheckPortNames(Report& report, const Path& at, const FieldView& ports) {
  base::StringSet names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Path port = at.Index(i);
    const std::string_view name = ports.item(i)["name"].text();
    if (name.empty() && ports.size() > 1) {
      report.Required(port.Child("name"), "");
    } else if (!name.empty() && !names.emplace(name).second) {
      report.Duplicate(port.Child("name"), name);
    }
  }
}

void CheckServicePorts(Report& report, const Path& spec, const FieldView& view) {
  const std::string_view type = view["type"].text();
  const bool headless = view["clusterIP"].text() == "None";
  const FieldView list = view["ports"];
  const Path ports = spec.Child("ports");
  if (list.size() == 0 && !headless && type != "ExternalName") report.Required(ports, "");
  CheckPortNames(report, ports, list);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Path port = ports.Index(i);
    const auto node_port = list.item(i)["nodePort"].number().value_or(0);
    if (node_port != 0 && (type == "ClusterIP" || type == "ExternalName")) {
      report.Forbidden(port.Child("nodePort"),
                       fmt::format("may not be used when `type` is '{}'", type));
    }
  }
}

void CheckService(const Subject& subject) {
  Report& report = subject.report;
  const FieldView view = subject.object["spec"];
  const Path spec("spec");
  const std::string_view type = view["type"].text();
  const std::string_view address = view["clusterIP"].text();
  CheckServicePorts(report, spec, view);
  if (const auto* selector = view["selector"].As<Map<std::string>>()) {
    CheckLabels(report, spec.Child("selector"), *selector);
  }
  if (type == "ExternalName") {
    if (!view["externalName"].set()) report.Required(spec.Child("externalName"), "");
    if (view["clusterIPs"].size() > 0) {
      report.Forbidden(spec.Child("clusterIPs"), "may not be set when `type` is 'ExternalName'");
    }
  }
  if (address == "None" && (type == "LoadBalancer" || type == "NodePort")) {
    report.Invalid(spec.Child("clusterIPs"), address,
                   fmt::format("may not be set to 'None' for {} services", type));
  }
  CheckAddressOrNone(report, spec.Child("clusterIP"), address);
  const Path addresses = spec.Child("clusterIPs");
  for (std::size_t i = 0; i < view["clusterIPs"].size(); ++i) {
    CheckAddressOrNone(report, addresses.Index(i), view["clusterIPs"].item(i).text());
  }
  if (view["clusterIPs"].size() > 0 && view["clusterIPs"].item(0).text() != address) {
    report.Invalid(addresses, address, "first value must match `clusterIP`");
  }
  if (view["externalTrafficPolicy"].set() && type != "NodePort" && type != "LoadBalancer") {
    report.Invalid(spec.Child("externalTrafficPolicy"), view["externalTrafficPolicy"].text(),
                   "may only be set for externally-accessible services");
  }
  if (view["sessionAffinityConfig"].set() && view["sessionAffinity"].text() == "None") {
    report.Forbidden(spec.Child("sessionAffinityConfig"),
                     "must not be set when session affinity is None");
  }
  const FieldView old = subject.old["spec"];
  const bool kept = subject.is_update && type != "ExternalName" &&
                    old["type"].text() != "ExternalName" && old["clusterIP"].set();
  if (kept && old["clusterIP"].text() != address) {
    report.Invalid(spec.Child("clusterIPs"), address, "field is immutable");
  }
}

void CheckEndpoints(const Subject& subject) {
  const Path subsets("subsets");
  const FieldView list = subject.object["subsets"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Path subset = subsets.Index(i);
    const FieldView view = list.item(i);
    if (view["addresses"].size() == 0 && view["notReadyAddresses"].size() == 0) {
      subject.report.Required(subset, "must specify `addresses` or `notReadyAddresses`");
    }
    CheckPortNames(subject.report, subset.Child("ports"), view["ports"]);
  }
}

void CheckEndpointSlice(const Subject& subject) {
  Report& report = subject.report;
  const std::string_view type = subject.object["addressType"].text();
  const Path endpoints("endpoints");
  const FieldView list = subject.object["endpoints"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Path endpoint = endpoints.Index(i);
    const Path addresses = endpoint.Child("addresses");
    const FieldView texts = list.item(i)["addresses"];
    for (std::size_t k = 0; k < texts.size(); ++k) {
      const std::string_view text = texts.item(k).text();
      const Path at = addresses.Index(k);
      if (type == "FQDN") {
        CheckForm(report, at, text, kDnsSubdomain);
        continue;
      }
      const auto address = base::ParseIp(text);
      if (!address || address->IsV4() != (type == "IPv4")) {
        report.Invalid(at, text, fmt::format("must be an {} address", type));
      }
    }
  }
  // A name may be empty here, once.
  base::StringSet names;
  const Path ports("ports");
  const FieldView rows = subject.object["ports"];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string_view name = rows.item(i)["name"].text();
    if (names.emplace(name).second) continue;
    const Path port = ports.Index(i);
    report.Duplicate(port.Child("name"), name);
  }
}

constexpr std::array<std::string_view, 4> kAccessModes = {"ReadOnlyMany", "ReadWriteMany",
                                                          "ReadWriteOnce", "ReadWriteOncePod"};
constexpr std::array<std::string_view, 2> kVolumeModes = {"Block", "Filesystem"};

void CheckVolumeClaim(const Subject& subject) {
  Report& report = subject.report;
  const auto& spec = *subject.object["spec"].As<PersistentVolumeClaimSpec>();
  const Path at("spec");
  const Path modes = at.Child("accessModes");
  if (spec.access_modes.empty()) report.Required(modes, "at least 1 access mode is required");
  for (const std::string& mode : spec.access_modes) CheckOneOf(report, modes, mode, kAccessModes);
  if (spec.access_modes.size() > 1 &&
      std::ranges::find(spec.access_modes, "ReadWriteOncePod") != spec.access_modes.end()) {
    report.Forbidden(modes, "may not use ReadWriteOncePod with other access modes");
  }
  if (spec.volume_mode) CheckOneOf(report, at.Child("volumeMode"), *spec.volume_mode, kVolumeModes);
  if (spec.selector) CheckLabelSelector(report, at.Child("selector"), *spec.selector);
  if (spec.storage_class_name && !spec.storage_class_name->empty()) {
    CheckForm(report, at.Child("storageClassName"), *spec.storage_class_name, kDnsSubdomain);
  }
  const Path resources = at.Child("resources");
  const Path requests = resources.Child("requests");
  const base::Quantity* storage = spec.resources.requests.Find("storage");
  if (storage == nullptr) {
    report.Required(resources.Key("storage"), "");
  } else if (*storage <= base::Quantity::FromInt(0)) {
    report.InvalidQuantity(requests.Key("storage"), *storage, "must be greater than zero");
  }
  if (!subject.is_update) return;
  const auto& old = *subject.old["spec"].As<PersistentVolumeClaimSpec>();
  PersistentVolumeClaimSpec same = spec;
  same.resources = old.resources;
  same.volume_attributes_class_name = old.volume_attributes_class_name;
  // The one who binds it says which volume; who had no class may say one.
  if (old.volume_name.empty()) same.volume_name.clear();
  if (!old.storage_class_name) same.storage_class_name.reset();
  if (!SemanticEqual(same, old)) {
    report.Forbidden(at,
                     "spec is immutable after creation except resources.requests and "
                     "volumeAttributesClassName for bound claims");
  }
  const base::Quantity* before = old.resources.requests.Find("storage");
  if (storage != nullptr && before != nullptr && *storage < *before) {
    report.Forbidden(requests.Key("storage"), "field can not be less than previous value");
  }
}

// The fields of a volume that say what it is.
constexpr std::array<std::string_view, 22> kVolumeSources = {"gcePersistentDisk",
                                                             "awsElasticBlockStore",
                                                             "hostPath",
                                                             "glusterfs",
                                                             "nfs",
                                                             "rbd",
                                                             "iscsi",
                                                             "cinder",
                                                             "cephfs",
                                                             "fc",
                                                             "flocker",
                                                             "flexVolume",
                                                             "azureFile",
                                                             "vsphereVolume",
                                                             "quobyte",
                                                             "azureDisk",
                                                             "photonPersistentDisk",
                                                             "portworxVolume",
                                                             "scaleIO",
                                                             "local",
                                                             "storageos",
                                                             "csi"};

void CheckVolume(const Subject& subject) {
  Report& report = subject.report;
  const FieldView view = subject.object["spec"];
  const Path spec("spec");
  const std::size_t sources = CountSet(view, kVolumeSources);
  if (sources == 0) report.Required(spec, "must specify a volume type");
  if (sources > 1) report.Forbidden(spec, "may not specify more than 1 volume type");
  const auto* capacity = view["capacity"].As<Map<base::Quantity>>();
  const Path capacity_at = spec.Child("capacity");
  if (capacity != nullptr && !capacity->empty()) {
    const base::Quantity* storage = capacity->Find("storage");
    if (storage == nullptr || capacity->size() > 1) {
      constexpr std::array<std::string_view, 1> kStorage = {"storage"};
      report.NotSupported(capacity_at, capacity->entry(0).first, kStorage);
    } else if (*storage <= base::Quantity::FromInt(0)) {
      report.InvalidQuantity(capacity_at.Key("storage"), *storage, "must be greater than zero");
    }
  }
  if (view["local"].set() && !view["nodeAffinity"].set()) {
    report.Required(spec.Child("nodeAffinity"), "Local volume requires node affinity");
  }
  if (!subject.is_update) return;
  const FieldView old = subject.old["spec"];
  const bool same = std::ranges::all_of(
      kVolumeSources, [&](std::string_view name) { return SameValue(view[name], old[name]); });
  if (!same) {
    report.Forbidden(spec, "spec.persistentvolumesource is immutable after creation");
  }
}

// The member that a metric's type asks for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kMetricMembers = {
    {{"ContainerResource", "containerResource"},
     {"External", "external"},
     {"Object", "object"},
     {"Pods", "pods"},
     {"Resource", "resource"}}};

void CheckAutoscaler(const Subject& subject) {
  Report& report = subject.report;
  const FieldView view = subject.object["spec"];
  const Path spec("spec");
  const auto least = view["minReplicas"].number();
  const auto most = view["maxReplicas"].number().value_or(0);
  if (least && most < *least) {
    report.InvalidNumber(spec.Child("maxReplicas"), most,
                         "must be greater than or equal to `minReplicas`");
  }
  const Path metrics = spec.Child("metrics");
  for (std::size_t i = 0; i < view["metrics"].size(); ++i) {
    const Path metric = metrics.Index(i);
    const FieldView row = view["metrics"].item(i);
    for (const auto& [type, member] : kMetricMembers) {
      const bool wanted = row["type"].text() == type;
      const bool set = row[member].set();
      if (wanted && !set) {
        report.Required(metric.Child(member), "must be set, since `type` names it");
      } else if (!wanted && set) {
        report.Forbidden(metric.Child(member), "must not be set, since `type` names another one");
      }
    }
  }
}

void CheckCsiNode(const Subject& subject) {
  Report& report = subject.report;
  const Path spec("spec");
  const Path drivers = spec.Child("drivers");
  const FieldView list = subject.object["spec"]["drivers"];
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Path driver = drivers.Index(i);
    const Path keys = driver.Child("topologyKeys");
    const FieldView texts = list.item(i)["topologyKeys"];
    base::StringSet seen;
    for (std::size_t k = 0; k < texts.size(); ++k) {
      CheckRequiredForm(report, keys.Index(k), texts.item(k).text(), kLabelKey);
      if (!seen.emplace(texts.item(k).text()).second) {
        report.Duplicate(keys.Index(k), texts.item(k).text());
      }
    }
  }
}

void CheckAttachment(const Subject& subject) {
  constexpr std::array<std::string_view, 2> kSources = {"persistentVolumeName", "inlineVolumeSpec"};
  const Path spec("spec");
  if (CountSet(subject.object["spec"]["source"], kSources) != 1) {
    subject.report.Required(
        spec.Child("source"),
        "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
  }
}

void CheckRuntimeClass(const Subject& subject) {
  const Path overhead("overhead");
  const Path fixed = overhead.Child("podFixed");
  const auto* amounts = subject.object["overhead"]["podFixed"].As<Map<base::Quantity>>();
  if (amounts == nullptr) return;
  for (const auto& [name, amount] : *amounts) {
    if (amount < base::Quantity::FromInt(0)) {
      subject.report.InvalidQuantity(fixed.Key(name), amount, "must be greater than or equal to 0");
    }
  }
}

void CheckWebhooks(const Subject& subject) {
  constexpr std::array<std::string_view, 2> kPlaces = {"url", "service"};
  const Path webhooks("webhooks");
  for (std::size_t i = 0; i < subject.object["webhooks"].size(); ++i) {
    const Path webhook = webhooks.Index(i);
    if (CountSet(subject.object["webhooks"].item(i)["clientConfig"], kPlaces) != 1) {
      subject.report.Required(webhook.Child("clientConfig"),
                              "exactly one of url or service is required");
    }
  }
}

struct Rule {
  std::string_view kind;
  void (*check)(const Subject&);
};
constexpr Rule kRules[] = {
    {"Service", CheckService},
    {"Endpoints", CheckEndpoints},
    {"EndpointSlice", CheckEndpointSlice},
    {"PersistentVolumeClaim", CheckVolumeClaim},
    {"PersistentVolume", CheckVolume},
    {"Ingress", CheckIngress},
    {"NetworkPolicy", CheckNetworkPolicy},
    {"HorizontalPodAutoscaler", CheckAutoscaler},
    {"CSINode", CheckCsiNode},
    {"VolumeAttachment", CheckAttachment},
    {"RuntimeClass", CheckRuntimeClass},
    {"ValidatingWebhookConfiguration", CheckWebhooks},
    {"MutatingWebhookConfiguration", CheckWebhooks},
    {"ValidatingAdmissionPolicy", CheckAdmissionPolicy},
    {"ValidatingAdmissionPolicyBinding", CheckAdmissionPolicyBinding},
};

}  // namespace

void CheckDescribedRules(Report& report, const Object& object, const Object* old) {
  for (const Rule& rule : kRules) {
    if (rule.kind != object.kind().kind) continue;
    rule.check({.report = report,
                .object = FieldView::Of(object),
                .old = old == nullptr ? FieldView() : FieldView::Of(*old),
                .is_update = old != nullptr});
  }
}

}  // namespace dray::api::internal
