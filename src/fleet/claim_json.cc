// SPDX-License-Identifier: Apache-2.0
//
// One claim: what it asked for, what it got and why, and who uses it.
#include <algorithm>
#include <set>

#include "api/document.h"
#include "api/pod.h"
#include "api/yaml_text.h"
#include "fleet/fleet_json.h"
#include "fleet/internal/claim_parts.h"
#include "fleet/internal/claim_values.h"
#include "fleet/internal/request_view.h"
#include "fleet/internal/values.h"
#include "fmt/format.h"

namespace dray::fleet {
namespace {

using api::DeviceRequestAllocationResult;
using internal::RequestView;
using internal::ViewOf;

// A claim and what it has, looked at together.
class ClaimPage {
 public:
  ClaimPage(const Fleet& fleet, const Claim& claim, const ClaimNews& news)
      : fleet_(fleet),
        claim_(claim),
        stored_(*claim.object->As<api::ResourceClaim>()),
        news_(news),
        values_(fleet, stored_) {}

  std::string Json() {
    out_.BeginMap().Count("rev", fleet_.revision()).Text("namespace", claim_.namespace_);
    out_.Text("name", claim_.name).Text("uid", stored_.metadata.uid);
    out_.Count("state", static_cast<int>(claim_.state));
    out_.TextIf("node", NodeName());
    Owner();
    internal::WriteSteps(out_, stored_, news_);
    out_.List("requests");
    for (const api::DeviceRequest& request : stored_.spec.devices.requests) Request(request);
    out_.EndList();
    internal::WriteConstraints(out_, stored_, values_);
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
  // All devices are on one node; else none in particular.
  std::string NodeName() const {
    std::set<std::int32_t> nodes;
    for (const auto& result : values_.results()) {
      if (const auto id = values_.IdOf(result)) nodes.insert(fleet_.devices()[*id].node);
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

  // --- Requests.

  void Got(const RequestView& request, const DeviceRequestAllocationResult& result) {
    out_.BeginMap();
    if (const auto id = values_.IdOf(result)) out_.Count("id", *id);
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
        if (const auto value = values_.Derive(derived, result)) {
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
    for (const api::DeviceConstraint& constraint : stored_.spec.devices.constraints) {
      if (!internal::IsAbout(constraint, request.name)) continue;
      if (constraint.match_attribute) {
        const auto value = values_.ValueOf(*constraint.match_attribute, *got.front());
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
    for (const auto& result : values_.results()) {
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

  const Fleet& fleet_;
  const Claim& claim_;
  const api::ResourceClaim& stored_;
  const ClaimNews& news_;
  internal::ClaimValues values_;
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

}  // namespace dray::fleet
