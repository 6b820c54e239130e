// SPDX-License-Identifier: Apache-2.0
//
// One claim: its life, what it asked for and what it got; and what namespaces have.
#include <algorithm>
#include <map>
#include <set>

#include "api/device_class.h"
#include "api/document.h"
#include "api/namespace.h"
#include "api/pod.h"
#include "api/resource_quota.h"
#include "api/resource_slice.h"
#include "api/yaml_text.h"
#include "cel/device_trial.h"
#include "fleet/fleet_json.h"
#include "fleet/internal/values.h"
#include "fmt/format.h"

namespace dray::fleet {
namespace {

using api::DeviceRequestAllocationResult;

// What the two forms of a request have in common.
struct RequestView {
  std::string name;  // "request" or "request/subrequest"
  const std::string* device_class = nullptr;
  const std::vector<api::DeviceSelector>* selectors = nullptr;
  const std::string* mode = nullptr;
  std::int64_t count = 0;
  bool admin = false;
  const std::vector<api::DeviceToleration>* tolerations = nullptr;
  const api::Box<api::CapacityRequirements>* capacity = nullptr;
  const std::vector<api::DeviceDerivedAttribute>* derived = nullptr;
};

template <typename T>
RequestView ViewOf(std::string name, const T& request) {
  RequestView view{.name = std::move(name),
                   .device_class = &request.device_class_name,
                   .selectors = &request.selectors,
                   .mode = &request.allocation_mode,
                   .count = request.count,
                   .tolerations = &request.tolerations,
                   .capacity = &request.capacity,
                   .derived = &request.derived_attributes};
  if constexpr (requires { request.admin_access; }) {
    view.admin = request.admin_access.value_or(false);
  }
  return view;
}

// The form that results of this name were given for.
std::optional<RequestView> FindRequest(const api::ResourceClaimSpec& spec, std::string_view name) {
  for (const api::DeviceRequest& request : spec.devices.requests) {
    if (request.exactly.has_value() && request.name == name) {
      return ViewOf(request.name, *request.exactly);
    }
    for (const api::DeviceSubRequest& sub : request.first_available) {
      if (fmt::format("{}/{}", request.name, sub.name) == name) {
        return ViewOf(std::string(name), sub);
      }
    }
  }
  return std::nullopt;
}

// A claim and what it has, looked at together.
class ClaimPage {
 public:
  ClaimPage(const Fleet& fleet, const Claim& claim, const ClaimNews& news)
      : fleet_(fleet),
        claim_(claim),
        stored_(*claim.object->As<api::ResourceClaim>()),
        news_(news) {}

  std::string Json() {
    out_.BeginMap().Count("rev", fleet_.revision()).Text("namespace", claim_.namespace_);
    out_.Text("name", claim_.name).Text("uid", stored_.metadata.uid);
    out_.Count("state", static_cast<int>(claim_.state));
    out_.TextIf("node", NodeName());
    Owner();
    Steps();
    out_.List("requests");
    for (const api::DeviceRequest& request : stored_.spec.devices.requests) Request(request);
    out_.EndList();
    Constraints();
    Pods();
    Conditions();
    Events();
    std::vector<api::Diagnostic> none;
    api::Object shown = *claim_.object;
    shown.MutableMetadata().managed_fields.clear();
    out_.Text("yaml", api::ToYaml(api::ParseJson(shown.ToJson(), none))).EndMap();
    return out_.Take();
  }

 private:
  bool allocated() const { return stored_.status.allocation.has_value(); }
  const std::vector<DeviceRequestAllocationResult>& results() const {
    static const std::vector<DeviceRequestAllocationResult> kNothing;
    return allocated() ? stored_.status.allocation->devices.results : kNothing;
  }

  std::optional<Id> IdOf(const DeviceRequestAllocationResult& result) const {
    return fleet_.FindDevice(result.driver, result.pool, result.device);
  }
  const api::Device* Published(const DeviceRequestAllocationResult& result) const {
    const auto id = IdOf(result);
    return id ? fleet_.PublishedOf(fleet_.devices()[*id]) : nullptr;
  }

  // All devices are on one node; else none in particular.
  std::string NodeName() const {
    std::set<std::int32_t> nodes;
    for (const auto& result : results()) {
      if (const auto id = IdOf(result)) nodes.insert(fleet_.devices()[*id].node);
    }
    if (nodes.size() != 1 || *nodes.begin() == kNone) return "";
    return fleet_.strings().At(fleet_.nodes()[static_cast<Id>(*nodes.begin())].name);
  }

  void Owner() {
    for (const api::OwnerReference& owner : stored_.metadata.owner_references) {
      out_.Map("owner").Text("kind", owner.kind).Text("name", owner.name).EndMap();
      break;
    }
    if (const std::string* entry =
            stored_.metadata.annotations.Find(api::kPodClaimNameAnnotation)) {
      out_.Text("podClaim", *entry);
    }
  }

  // --- The time line.

  // Who last wrote a field of the status, and when.
  const api::ManagedFieldsEntry* WriterOf(std::string_view field) const {
    const std::string key = fmt::format("\"f:{}\"", field);
    for (const api::ManagedFieldsEntry& entry : stored_.metadata.managed_fields) {
      if (entry.fields_v1.text.find(key) != std::string::npos) return &entry;
    }
    return nullptr;
  }

  void Step(std::string_view step, std::string_view state,
            const std::optional<base::Time>& time = {}, std::string_view from = "",
            std::string_view detail = "") {
    out_.BeginMap().Text("step", step).Text("state", state);
    if (time) out_.Text("time", time->ToRfc3339());
    out_.TextIf("from", from).TextIf("detail", detail).EndMap();
  }

  void Steps() {
    out_.List("steps");
    Step("created", "done", stored_.metadata.creation_timestamp, "metadata");
    const auto* allocator = WriterOf("allocation");
    if (allocated()) {
      const auto& given = stored_.status.allocation->allocation_timestamp;
      const auto time = given ? given : allocator == nullptr ? std::nullopt : allocator->time;
      Step("allocated", "done", time,
           given  ? "allocationTimestamp"
           : time ? "managedFields"
                  : "",
           allocator == nullptr ? "" : "by " + allocator->manager);
    } else {
      Step("allocated", "open");
    }
    if (!stored_.status.reserved_for.empty()) {
      const auto* writer = WriterOf("reservedFor");
      const auto& users = stored_.status.reserved_for;
      Step("reserved", "done", writer == nullptr ? std::nullopt : writer->time,
           writer == nullptr ? "" : "managedFields",
           users.size() == 1
               ? fmt::format("for {} {}",
                             users.front().resource == "pods" ? "pod" : users.front().resource,
                             users.front().name)
               : fmt::format("for {} users", users.size()));
    } else {
      Step("reserved", "open");
    }
    if (news_.prepared) {
      Step("prepared", "done", news_.prepared, "events");
    } else if (const auto ready = Ready()) {
      Step("prepared", "done", *ready, "condition", "its devices are ready");
    } else {
      Step("prepared", stored_.status.reserved_for.empty() ? "open" : "unknown");
    }
    if (!allocated() && news_.released) {
      Step("released", "done", news_.released, "seen");
    } else {
      Step("released", "open");
    }
    out_.EndList();
  }

  // When the last of its devices was ready, if all drivers say so.
  std::optional<base::Time> Ready() const {
    std::optional<base::Time> last;
    for (const auto& result : results()) {
      bool ready = false;
      for (const api::AllocatedDeviceStatus& status : stored_.status.devices) {
        if (status.driver != result.driver || status.pool != result.pool ||
            status.device != result.device) {
          continue;
        }
        for (const api::Condition& condition : status.conditions) {
          if (condition.type != "Ready" || condition.status != "True") continue;
          ready = true;
          if (condition.last_transition_time &&
              (!last || *last < *condition.last_transition_time)) {
            last = condition.last_transition_time;
          }
        }
      }
      if (!ready) return std::nullopt;
    }
    return last;
  }

  // --- Requests.

  std::optional<api::DeviceAttribute> Derive(const api::DeviceDerivedAttribute& attribute,
                                             const DeviceRequestAllocationResult& result) {
    const api::Device* device = Published(result);
    if (device == nullptr) return std::nullopt;
    auto known = programs_.find(attribute.expression);
    if (known == programs_.end()) {
      known =
          programs_
              .emplace(attribute.expression,
                       cel::ReviewExpression(attribute.expression, cel::Purpose::kDerivedAttribute)
                           .program)
              .first;
    }
    if (known->second == nullptr) return std::nullopt;
    return cel::TryOn(*known->second, cel::Purpose::kDerivedAttribute, result.driver, *device)
        .attribute;
  }

  // The value of a device's own attribute, or of one that its request derives.
  std::optional<api::DeviceAttribute> ValueOf(std::string_view name,
                                              const DeviceRequestAllocationResult& result) {
    if (const auto request = FindRequest(stored_.spec, result.request)) {
      for (const api::DeviceDerivedAttribute& derived : *request->derived) {
        if (derived.name == name) return Derive(derived, result);
      }
    }
    const api::Device* device = Published(result);
    if (device == nullptr) return std::nullopt;
    if (const auto* attribute = device->attributes.Find(name)) return *attribute;
    const auto slash = name.find('/');
    if (slash != std::string_view::npos && name.substr(0, slash) == result.driver) {
      if (const auto* attribute = device->attributes.Find(name.substr(slash + 1)))
        return *attribute;
    }
    return std::nullopt;
  }

  void Got(const RequestView& request, const DeviceRequestAllocationResult& result) {
    out_.BeginMap();
    if (const auto id = IdOf(result)) out_.Count("id", *id);
    out_.Text("driver", result.driver).Text("pool", result.pool).Text("device", result.device);
    if (result.share_id) out_.Text("share", *result.share_id);
    if (!result.consumed_capacity.empty()) {
      out_.Map("consumed");
      for (const auto& [name, amount] : result.consumed_capacity)
        out_.Text(name, amount.ToString());
      out_.EndMap();
    }
    if (!request.derived->empty()) {
      out_.Map("derived");
      for (const api::DeviceDerivedAttribute& derived : *request.derived) {
        if (const auto value = Derive(derived, result)) {
          out_.Text(derived.name, internal::AttributeText(*value));
        }
      }
      out_.EndMap();
    }
    out_.EndMap();
  }

  // What is known to hold of what it got.
  std::string WhyOf(const RequestView& request,
                    const std::vector<const DeviceRequestAllocationResult*>& got) {
    if (got.empty()) return "";
    std::vector<std::string> names;
    for (const auto* result : got) names.push_back(result->device);
    std::vector<std::string> reasons;
    reasons.push_back(
        fmt::format("{} class {}", got.size() == 1 ? "is of" : "are of", *request.device_class));
    if (!request.selectors->empty()) {
      reasons.push_back(fmt::format("{} the request's {}", got.size() == 1 ? "matches" : "match",
                                    request.selectors->size() == 1
                                        ? "selector"
                                        : fmt::format("{} selectors", request.selectors->size())));
    }
    const std::string_view base_name =
        std::string_view(request.name).substr(0, request.name.find('/'));
    for (const api::DeviceConstraint& constraint : stored_.spec.devices.constraints) {
      const bool covers = constraint.requests.empty() ||
                          std::ranges::any_of(constraint.requests, [&](const std::string& name) {
                            return name == request.name || name == base_name;
                          });
      if (!covers) continue;
      if (constraint.match_attribute) {
        const auto value = ValueOf(*constraint.match_attribute, *got.front());
        if (value) {
          reasons.push_back(fmt::format(
              "{} {} = {}, as all devices of the constraint do", got.size() == 1 ? "has" : "have",
              *constraint.match_attribute, internal::AttributeText(*value)));
        }
      } else if (constraint.distinct_attribute) {
        reasons.push_back(fmt::format("{} a value of {} that no other device of the constraint has",
                                      got.size() == 1 ? "has" : "have each",
                                      *constraint.distinct_attribute));
      }
    }
    std::string text = fmt::format("{} ", fmt::join(names, ", "));
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      if (i > 0) text += i + 1 == reasons.size() ? ", and " : ", ";
      text += reasons[i];
    }
    return text;
  }

  std::vector<const DeviceRequestAllocationResult*> ResultsOf(std::string_view name) const {
    std::vector<const DeviceRequestAllocationResult*> got;
    for (const auto& result : results()) {
      if (result.request == name) got.push_back(&result);
    }
    return got;
  }

  void Fields(const RequestView& request) {
    out_.TextIf("class", *request.device_class).Count("count", request.count);
    out_.TextIf("mode", *request.mode);
    if (request.admin) out_.Flag("adminAccess", true);
    out_.List("selectors");
    for (const api::DeviceSelector& selector : *request.selectors) {
      if (selector.cel) out_.String(selector.cel->expression);
    }
    out_.EndList();
    if (!request.derived->empty()) {
      out_.List("derived");
      for (const api::DeviceDerivedAttribute& derived : *request.derived) {
        out_.BeginMap().Text("name", derived.name).Text("expression", derived.expression).EndMap();
      }
      out_.EndList();
    }
    if (request.capacity->has_value()) {
      out_.Map("capacity");
      for (const auto& [name, amount] : (*request.capacity)->requests) {
        out_.Text(name, amount.ToString());
      }
      out_.EndMap();
    }
    if (!request.tolerations->empty()) {
      out_.List("tolerations");
      for (const api::DeviceToleration& toleration : *request.tolerations) {
        std::string text = toleration.key.empty() ? "everything" : toleration.key;
        if (!toleration.value.empty()) text += "=" + toleration.value;
        if (!toleration.effect.empty()) text += ":" + toleration.effect;
        out_.String(text);
      }
      out_.EndList();
    }
  }

  void GotOf(const RequestView& request) {
    const auto got = ResultsOf(request.name);
    out_.List("got");
    for (const auto* result : got) Got(request, *result);
    out_.EndList().TextIf("why", WhyOf(request, got));
  }

  void Request(const api::DeviceRequest& request) {
    out_.BeginMap().Text("name", request.name);
    if (request.exactly.has_value()) {
      const RequestView view = ViewOf(request.name, *request.exactly);
      Fields(view);
      GotOf(view);
    } else {
      std::optional<RequestView> chosen;
      out_.List("alternatives");
      for (const api::DeviceSubRequest& sub : request.first_available) {
        const RequestView view = ViewOf(fmt::format("{}/{}", request.name, sub.name), sub);
        out_.BeginMap().Text("name", sub.name);
        Fields(view);
        if (!ResultsOf(view.name).empty()) {
          out_.Flag("chosen", true);
          chosen = view;
        }
        out_.EndMap();
      }
      out_.EndList();
      if (chosen) {
        out_.TextIf("class", *chosen->device_class);
        GotOf(*chosen);
      } else {
        out_.List("got").EndList();
      }
    }
    out_.EndMap();
  }

  // --- Constraints.

  // Values as sets: two devices match where they have an element in common.
  static std::set<std::string> ElementsOf(const api::DeviceAttribute& attribute) {
    std::vector<api::Diagnostic> none;
    const api::DocumentNode node =
        api::ParseJson("[" + internal::AttributeJson(attribute) + "]", none);
    std::set<std::string> elements;
    if (node.items.size() < 2) return elements;
    const api::DocumentNode& value = node.items[1];
    if (value.kind != api::DocumentNode::Kind::kList) return {api::ToJson(value)};
    for (const api::DocumentNode& item : value.items) elements.insert(api::ToJson(item));
    return elements;
  }

  void Constraints() {
    out_.List("constraints");
    for (const api::DeviceConstraint& constraint : stored_.spec.devices.constraints) {
      const bool match = constraint.match_attribute.has_value();
      const std::string& attribute = match ? *constraint.match_attribute
                                     : constraint.distinct_attribute
                                         ? *constraint.distinct_attribute
                                         : kNothing;
      out_.BeginMap().Text("type", match ? "matchAttribute" : "distinctAttribute");
      out_.Text("attribute", attribute).List("requests");
      for (const std::string& request : constraint.requests) out_.String(request);
      out_.EndList();
      bool holds = true;
      std::optional<std::set<std::string>> common;
      std::set<std::string> seen;
      std::string value;
      JsonOut values;
      values.BeginList();
      for (const auto& result : results()) {
        const std::string_view base_name =
            std::string_view(result.request).substr(0, result.request.find('/'));
        const bool covers = constraint.requests.empty() ||
                            std::ranges::any_of(constraint.requests, [&](const std::string& name) {
                              return name == result.request || name == base_name;
                            });
        if (!covers || result.admin_access.value_or(false)) continue;
        const auto own = ValueOf(attribute, result);
        values.BeginMap();
        if (const auto id = IdOf(result)) values.Count("id", *id);
        if (!own) {
          holds = false;
          values.EndMap();
          continue;
        }
        values.Text("value", internal::AttributeText(*own)).EndMap();
        const std::set<std::string> elements = ElementsOf(*own);
        if (match) {
          if (!common) {
            common = elements;
          } else {
            std::erase_if(*common, [&](const std::string& e) { return !elements.contains(e); });
          }
          holds = holds && !common->empty();
        } else {
          for (const std::string& element : elements) holds = seen.insert(element).second && holds;
        }
      }
      values.EndList();
      if (common && !common->empty()) {
        value = *common->begin();
        if (value.size() > 1 && value.front() == '"') value = value.substr(1, value.size() - 2);
      }
      if (allocated()) out_.Flag("holds", holds);
      out_.TextIf("value", value).Key("values").Raw(values.Take()).EndMap();
    }
    out_.EndList();
  }

  // --- The rest.

  void Pods() {
    out_.List("pods");
    for (const std::string& name : claim_.pods) {
      out_.BeginMap().Text("name", name);
      const auto pod = fleet_.pods().find(Fleet::Key(claim_.namespace_, name));
      if (pod != fleet_.pods().end() && pod->second.object) {
        const auto& stored = *pod->second.object->As<api::Pod>();
        out_.TextIf("node", stored.spec.node_name).TextIf("phase", stored.status.phase);
      }
      out_.EndMap();
    }
    out_.EndList();
  }

  void Conditions() {
    out_.List("conditions");
    for (const api::AllocatedDeviceStatus& device : stored_.status.devices) {
      for (const api::Condition& condition : device.conditions) {
        out_.BeginMap().Text("type", condition.type).Text("status", condition.status);
        out_.TextIf("reason", condition.reason).TextIf("message", condition.message);
        if (condition.last_transition_time) {
          out_.Text("since", condition.last_transition_time->ToRfc3339());
        }
        out_.Text("device", fmt::format("{}/{}/{}", device.driver, device.pool, device.device));
        out_.EndMap();
      }
    }
    out_.EndList();
  }

  void Events() {
    if (!news_.events_known) return;
    out_.List("events");
    for (const api::Event& event : news_.events) {
      out_.BeginMap();
      if (event.last_timestamp) {
        out_.Text("time", event.last_timestamp->ToRfc3339());
      } else if (event.metadata.creation_timestamp) {
        out_.Text("time", event.metadata.creation_timestamp->ToRfc3339());
      }
      out_.Text("type", event.type).Text("reason", event.reason).Text("message", event.message);
      out_.Count("count", std::max(event.count, 1)).EndMap();
    }
    out_.EndList();
  }

  inline static const std::string kNothing;
  const Fleet& fleet_;
  const Claim& claim_;
  const api::ResourceClaim& stored_;
  const ClaimNews& news_;
  std::map<std::string, std::shared_ptr<const cel::Program>, std::less<>> programs_;
  JsonOut out_;
};

}  // namespace

std::optional<std::string> ClaimJson(const Fleet& fleet, std::string_view namespace_,
                                     std::string_view name, const ClaimNews& news) {
  const auto it = fleet.claims().find(Fleet::Key(std::string(namespace_), std::string(name)));
  if (it == fleet.claims().end() || !it->second.object || namespace_ == kHidden)
    return std::nullopt;
  return ClaimPage(fleet, it->second, news).Json();
}

std::string NamespacesJson(const Fleet& fleet) {
  struct ClassPart {
    std::int64_t devices = 0;
    std::int64_t pending = 0;
    std::string quota;
    std::string hard;
    std::string used;
  };
  struct Part {
    std::size_t claims = 0;
    std::size_t pods = 0;
    std::size_t pending = 0;
    std::map<std::string, ClassPart> classes;
  };
  std::map<std::string, Part> parts;
  for (const auto& [name, object] : fleet.namespaces()) parts[name];
  for (const auto& [key, claim] : fleet.claims()) {
    if (!claim.object || key.first == kHidden) continue;
    Part& part = parts[key.first];
    ++part.claims;
    const auto& stored = *claim.object->As<api::ResourceClaim>();
    if (stored.status.allocation.has_value()) {
      for (const auto& result : stored.status.allocation->devices.results) {
        if (result.admin_access.value_or(false)) continue;
        const auto request = FindRequest(stored.spec, result.request);
        if (request) ++part.classes[*request->device_class].devices;
      }
      continue;
    }
    for (const api::DeviceRequest& request : stored.spec.devices.requests) {
      if (request.exactly.has_value()) {
        part.classes[request.exactly->device_class_name].pending +=
            std::max<std::int64_t>(request.exactly->count, 1);
      } else if (!request.first_available.empty()) {
        part.classes[request.first_available.front().device_class_name].pending +=
            std::max<std::int64_t>(request.first_available.front().count, 1);
      }
    }
  }
  for (const auto& [key, pod] : fleet.pods()) {
    if (!pod.object) continue;
    const auto& stored = *pod.object->As<api::Pod>();
    if (stored.status.phase == "Succeeded" || stored.status.phase == "Failed") continue;
    ++parts[key.first].pods;
    if (pod.pending) ++parts[key.first].pending;
  }
  constexpr std::string_view kSuffix = ".deviceclass.resource.k8s.io/devices";
  for (const auto& [key, object] : fleet.quotas()) {
    const auto& quota = *object.As<api::ResourceQuota>();
    for (const auto& [resource, hard] : quota.spec.hard) {
      std::string_view name = resource;
      if (!name.ends_with(kSuffix)) continue;
      name.remove_suffix(kSuffix.size());
      ClassPart& part = parts[key.first].classes[std::string(name)];
      part.quota = key.second;
      part.hard = hard.ToString();
      const base::Quantity* used = quota.status.used.Find(resource);
      part.used = used == nullptr ? "0" : used->ToString();
    }
  }
  const auto number = [](const std::string& amount) {
    base::Quantity quantity;
    if (!base::Quantity::TryParse(amount, &quantity)) return 0.0;
    const auto exact = quantity.ExactInt64();
    return exact ? static_cast<double>(*exact) : 0.0;
  };
  JsonOut out;
  out.BeginMap().Count("rev", fleet.revision()).List("namespaces");
  for (const auto& [name, part] : parts) {
    out.BeginMap().Text("name", name).Count("claims", part.claims).Count("pods", part.pods);
    out.Count("pending", part.pending).List("classes");
    for (const auto& [class_name, use] : part.classes) {
      out.BeginMap().Text("name", class_name).Count("devices", use.devices);
      out.Count("pending", use.pending);
      if (!use.quota.empty()) {
        out.Map("quota").Text("name", use.quota).Key("hard").Real(number(use.hard));
        out.Key("used").Real(number(use.used)).EndMap();
      }
      out.EndMap();
    }
    out.EndList().EndMap();
  }
  out.EndList().EndMap();
  return out.Take();
}

}  // namespace dray::fleet
