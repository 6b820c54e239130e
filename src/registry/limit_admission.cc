// SPDX-License-Identifier: Apache-2.0
//
// LimitRanges: what containers ask for that do not say, and what nobody may ask for. Spec:
// Kubernetes's LimitRanger.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/field_view.h"
#include "api/limit_range.h"
#include "api/pod.h"
#include "api/pod_qos.h"
#include "api/pod_resources.h"
#include "api/volume.h"
#include "fmt/format.h"
#include "registry/admission.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

using Amounts = api::Map<base::Quantity>;

void FillMissing(const Amounts& from, Amounts& to) {
  for (const auto& [name, amount] : from) {
    if (!to.contains(name)) to[name] = amount;
  }
}

void FillPod(const api::LimitRangeItem& item, api::PodSpec& spec) {
  const auto fill = [&](std::vector<api::Container>& containers) {
    for (api::Container& container : containers) {
      FillMissing(item.default_, container.resources.limits);
      FillMissing(item.default_request, container.resources.requests);
    }
  };
  fill(spec.containers);
  fill(spec.init_containers);
}

// What a thing of the item's type asks for, and where it is too much or too little.
class LimitCheck {
 public:
  LimitCheck(const api::LimitRangeItem& item, std::vector<std::string>& faults)
      : item_(item), faults_(faults) {}

  void Check(const Amounts& requests, const Amounts& limits) {
    for (const auto& [name, least] : item_.min)
      Least(name, least, requests.Find(name), limits.Find(name));
    for (const auto& [name, most] : item_.max)
      Most(name, most, requests.Find(name), limits.Find(name));
    for (const auto& [name, ratio] : item_.max_limit_request_ratio) {
      Ratio(name, ratio, requests.Find(name), limits.Find(name));
    }
  }

 private:
  void Fault(std::string_view which, std::string_view name, const base::Quantity& bound,
             std::string_view rest) {
    faults_.push_back(
        fmt::format("{} {} usage per {} is {}{}", which, name, item_.type, bound.ToString(), rest));
  }

  void Least(std::string_view name, const base::Quantity& least, const base::Quantity* request,
             const base::Quantity* limit) {
    if (request == nullptr) {
      Fault("minimum", name, least, ".  No request is specified");
    } else if (*request < least) {
      Fault("minimum", name, least, fmt::format(", but request is {}", request->ToString()));
    } else if (limit != nullptr && *limit < least) {
      Fault("minimum", name, least, fmt::format(", but limit is {}", limit->ToString()));
    }
  }

  void Most(std::string_view name, const base::Quantity& most, const base::Quantity* request,
            const base::Quantity* limit) {
    if (limit == nullptr) {
      Fault("maximum", name, most, ".  No limit is specified");
    } else if (*limit > most) {
      Fault("maximum", name, most, fmt::format(", but limit is {}", limit->ToString()));
    } else if (request != nullptr && *request > most) {
      Fault("maximum", name, most, fmt::format(", but request is {}", request->ToString()));
    }
  }

  void Ratio(std::string_view name, const base::Quantity& ratio, const base::Quantity* request,
             const base::Quantity* limit) {
    const auto fault = [&](std::string_view why) {
      faults_.push_back(fmt::format("{} max limit to request ratio per {} is {}, but {}", name,
                                    item_.type, ratio.ToString(), why));
    };
    if (request == nullptr || *request <= base::Quantity()) {
      fault("no request is specified or request is 0");
    } else if (limit == nullptr || *limit <= base::Quantity()) {
      fault("no limit is specified or limit is 0");
    } else if (limit->AsApproximateDouble() / request->AsApproximateDouble() >
               ratio.AsApproximateDouble()) {
      fault(fmt::format("provided ratio is {:f}",
                        limit->AsApproximateDouble() / request->AsApproximateDouble()));
    }
  }

  const api::LimitRangeItem& item_;
  std::vector<std::string>& faults_;
};

void CheckPod(const api::LimitRangeItem& item, const api::PodSpec& spec,
              std::vector<std::string>& faults) {
  LimitCheck check(item, faults);
  if (item.type == api::kLimitTypeContainer) {
    for (const auto* containers : {&spec.containers, &spec.init_containers}) {
      for (const api::Container& container : *containers) {
        check.Check(container.resources.requests, container.resources.limits);
      }
    }
  } else if (item.type == api::kLimitTypePod) {
    // As it is scheduled, with sidecars and what it says for all its containers; without what its
    // runtime takes besides.
    api::Pod bare;
    bare.spec = spec;
    bare.spec.overhead.clear();
    check.Check(api::PodRequests(bare), api::PodLimits(bare));
  }
}

// By a claim for a volume.
const Amounts& Asked(const api::Object& claim) {
  static const Amounts kNothing;
  const auto* spec = api::FieldView::Of(claim)["spec"].As<api::PersistentVolumeClaimSpec>();
  return spec == nullptr ? kNothing : spec->resources.requests;
}

StatusOr<std::vector<api::LimitRangeItem>> ItemsOf(const Objects& objects,
                                                   std::string_view namespace_) {
  const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::LimitRange>());
  const auto range = objects.store().Range(PrefixOf(kind, namespace_));
  if (!range.ok()) return range.status();
  std::vector<api::LimitRangeItem> items;
  for (const store::EntryPtr& entry : range->entries) {
    DRAY_ASSIGN_OR_RETURN(const StoredObjectPtr stored, objects.Read(*entry));
    const auto& limits = stored->object().As<api::LimitRange>()->spec.limits;
    items.insert(items.end(), limits.begin(), limits.end());
  }
  return items;
}

}  // namespace

Status AdmitLimits(const Objects& objects, api::Object& object, const api::Object* old) {
  const bool claim = object.kind().kind == "PersistentVolumeClaim" && object.kind().group.empty();
  if (object.As<api::Pod>() == nullptr && !claim) return {};
  // Pods do not change what they ask for; claims for volumes grow.
  if (old != nullptr && (!claim || Asked(object) == Asked(*old))) return {};
  DRAY_ASSIGN_OR_RETURN(const auto items, ItemsOf(objects, object.metadata().namespace_));
  if (items.empty()) return {};
  std::vector<std::string> faults;
  if (claim) {
    for (const api::LimitRangeItem& item : items) {
      // A claim has a request, which is its limit, too.
      if (item.type == api::kLimitTypeClaim) {
        LimitCheck(item, faults).Check(Asked(object), Asked(object));
      }
    }
  } else {
    for (const api::LimitRangeItem& item : items) {
      if (item.type == api::kLimitTypeContainer) FillPod(item, object.Mutable<api::Pod>()->spec);
    }
    api::Pod& pod = *object.Mutable<api::Pod>();
    pod.status.qos_class = api::QosClassOf(pod.spec);
    for (const api::LimitRangeItem& item : items) {
      CheckPod(item, object.As<api::Pod>()->spec, faults);
    }
  }
  if (faults.empty()) return {};
  std::ranges::sort(faults);
  faults.erase(std::unique(faults.begin(), faults.end()), faults.end());
  const std::string text =
      faults.size() == 1 ? faults[0] : fmt::format("[{}]", fmt::join(faults, ", "));
  return rest::Forbidden(object.kind(), object.metadata().name, text);
}

Status AdmitWebhooks(const api::Object& object, WriteNotes* notes) {
  const std::string_view kind = object.kind().kind;
  if (kind == "ReplicationController" && object.kind().group.empty()) {
    return rest::Forbidden(object.kind(), object.metadata().name,
                           "this server makes no pods for ReplicationControllers. A ReplicaSet, or "
                           "better a Deployment, does the same");
  }
  if (object.kind().group != "admissionregistration.k8s.io") return {};
  const auto warn = [&](std::string text) {
    if (notes != nullptr) notes->Add({.warnings = {std::move(text)}});
  };
  if (kind == "MutatingAdmissionPolicy") {
    if (api::FieldView::Of(object)["spec"]["failurePolicy"].text() == "Ignore") {
      warn("this server does not change objects by policies: this one is stored and ignored");
      return {};
    }
    return rest::Forbidden(
        object.kind(), object.metadata().name,
        "this server does not change objects by policies, and this one has to be evaluated: its "
        "failurePolicy is Fail, as it is by default. With failurePolicy: Ignore it is stored, and "
        "nothing is changed");
  }
  if (!kind.ends_with("WebhookConfiguration")) return {};
  const api::FieldView webhooks = api::FieldView::Of(object)["webhooks"];
  for (std::size_t i = 0; i < webhooks.size(); ++i) {
    if (webhooks.item(i)["failurePolicy"].text() == "Ignore") continue;
    return rest::Forbidden(
        object.kind(), object.metadata().name,
        fmt::format("this server does not call webhooks, and webhook \"{}\" has to be called: its "
                    "failurePolicy is Fail, as it is by default. With failurePolicy: Ignore the "
                    "configuration is stored, and the webhook is not called",
                    webhooks.item(i)["name"].text()));
  }
  if (webhooks.size() > 0) {
    warn("this server does not call webhooks: the configuration is stored and ignored");
  }
  return {};
}

}  // namespace dray::registry
