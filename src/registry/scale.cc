// SPDX-License-Identifier: Apache-2.0
//
// deployments/scale, replicasets/scale and statefulsets/scale: how many pods, without the rest. `kubectl scale` and
// autoscalers know no other way. Spec: autoscaling/v1's Scale.
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "api/label_selector.h"
#include "api/stateful_set.h"
#include "api/workloads.h"
#include "fmt/format.h"
#include "registry/internal/exchange.h"
#include "registry/internal/request_options.h"
#include "rest/api_error.h"
#include "rest/options.h"

namespace dray::registry::internal {
namespace {

struct Count {
  std::int32_t wanted = 0;
  std::int32_t current = 0;
  const api::LabelSelector* selector = nullptr;
};

template <typename T>
Count CountOf(const T& owner) {
  const api::LabelSelector* selector =
      owner.spec.selector.has_value() ? &*owner.spec.selector : nullptr;
  return {owner.spec.replicas.value_or(1), owner.status.replicas, selector};
}

Count CountOf(const api::Object& object) {
  if (const auto* deployment = object.As<api::Deployment>()) return CountOf(*deployment);
  if (const auto* stateful = object.As<api::StatefulSet>()) return CountOf(*stateful);
  return CountOf(*object.As<api::ReplicaSet>());
}

void SetWanted(api::Object& object, std::int32_t replicas) {
  if (auto* deployment = object.Mutable<api::Deployment>()) deployment->spec.replicas = replicas;
  if (auto* set = object.Mutable<api::ReplicaSet>()) set->spec.replicas = replicas;
  if (auto* set = object.Mutable<api::StatefulSet>()) set->spec.replicas = replicas;
}

rest::DocumentNode ScaleOf(const api::Object& object) {
  const api::ObjectMeta& of = object.metadata();
  rest::DocumentNode metadata = rest::MapNode();
  rest::SetIn(metadata, "name", rest::StringNode(of.name));
  rest::SetIn(metadata, "namespace", rest::StringNode(of.namespace_));
  rest::SetIn(metadata, "uid", rest::StringNode(of.uid));
  rest::SetIn(metadata, "resourceVersion", rest::StringNode(of.resource_version));
  if (of.creation_timestamp) {
    rest::SetIn(metadata, "creationTimestamp",
                rest::StringNode(of.creation_timestamp->ToRfc3339()));
  }
  const Count count = CountOf(object);
  rest::DocumentNode spec = rest::MapNode();
  rest::SetIn(spec, "replicas", rest::NumberNode(count.wanted));
  rest::DocumentNode status = rest::MapNode();
  rest::SetIn(status, "replicas", rest::NumberNode(count.current));
  if (count.selector != nullptr) {
    const auto matcher = api::LabelMatcher::From(*count.selector);
    if (matcher.ok()) rest::SetIn(status, "selector", rest::StringNode(matcher->ToString()));
  }
  rest::DocumentNode scale = rest::MapNode();
  rest::SetIn(scale, "kind", rest::StringNode("Scale"));
  rest::SetIn(scale, "apiVersion", rest::StringNode("autoscaling/v1"));
  rest::SetIn(scale, "metadata", std::move(metadata));
  rest::SetIn(scale, "spec", std::move(spec));
  rest::SetIn(scale, "status", std::move(status));
  return scale;
}

// The number that a Scale asks for; none is 0, as in Kubernetes.
StatusOr<std::int32_t> WantedBy(const rest::DocumentNode& scale, std::string_view name) {
  const rest::DocumentNode* spec = rest::FindIn(scale, "spec");
  const rest::DocumentNode* replicas =
      spec == nullptr || !rest::IsMap(*spec) ? nullptr : rest::FindIn(*spec, "replicas");
  if (replicas == nullptr || rest::IsNull(*replicas)) return 0;
  std::int32_t number = 0;
  const std::string& text = replicas->text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (replicas->kind != rest::DocumentNode::Kind::kNumber || error != std::errc() ||
      end != text.data() + text.size()) {
    return rest::BadRequest(
        fmt::format("spec.replicas of a Scale is a number of at most {}, not {}",
                    std::numeric_limits<std::int32_t>::max(), ToJson(*replicas)));
  }
  if (number < 0) {
    return rest::Invalid("autoscaling", "Scale", name,
                         {api::Invalid(base::FieldPath("spec") / "replicas", text,
                                       "must be greater than or equal to 0")});
  }
  return number;
}

// The stored object with the number of `scale`, to be written if it is still the version that
// `scale` names.
StatusOr<api::Object> Scaled(const api::Object& stored, const rest::DocumentNode& scale) {
  DRAY_ASSIGN_OR_RETURN(const std::int32_t wanted, WantedBy(scale, stored.metadata().name));
  const rest::DocumentNode* metadata = rest::FindIn(scale, "metadata");
  const bool named = metadata != nullptr && rest::IsMap(*metadata);
  const std::string_view name = named ? rest::TextIn(*metadata, "name") : std::string_view();
  if (!name.empty() && name != stored.metadata().name) {
    return rest::BadRequest(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})", name,
                    stored.metadata().name));
  }
  api::Object next = stored;
  next.MutableMetadata().resource_version =
      named ? std::string(rest::TextIn(*metadata, "resourceVersion")) : std::string();
  SetWanted(next, wanted);
  return next;
}

void Change(const ExchangePtr& exchange, Registry::Change change) {
  const bool patch = exchange->verb == "patch";
  auto writing = WritingOf(*exchange, patch ? rest::WriteVerb::kPatch : rest::WriteVerb::kUpdate);
  if (!writing.ok()) return exchange->SendError(writing.status());
  static const auto body =
      std::make_shared<const WriteContext::Body>(WriteContext::Body{.subresource = "scale",
                                                                    .group = "autoscaling",
                                                                    .version = "v1",
                                                                    .kind = "Scale",
                                                                    .of = ScaleOf});
  writing->context.body = body;
  exchange->registry->Modify(Part::kObject, exchange->kind(), exchange->route.namespace_,
                             exchange->route.name, std::move(change), writing->context,
                             [exchange](StatusOr<api::Object> result) {
                               if (!result.ok()) return exchange->SendError(result.status());
                               exchange->Send(200, ToJson(ScaleOf(*result)));
                             });
}

void Update(const ExchangePtr& exchange) {
  auto body = SmallBody(*exchange, api::TypeInfoOf<rest::ScaleBody>());
  if (!body.ok()) return exchange->SendError(body.status());
  Change(exchange,
         [body = *std::move(body)](const api::Object& stored) { return Scaled(stored, body); });
}

void Patch(const ExchangePtr& exchange) {
  const auto how = PatchKindOf(exchange->request.headers.Find("Content-Type"));
  if (!how.ok()) return exchange->SendError(how.status());
  if (*how == PatchKind::kApply) {
    return exchange->SendError(
        rest::BadRequest("a Scale is not applied; apply the object that it belongs to"));
  }
  auto patch = rest::ReadTree(exchange->request.body);
  if (!patch.ok()) {
    return exchange->SendError(
        rest::BadRequest(fmt::format("error decoding patch: {}", base::Message(patch.status()))));
  }
  Change(
      exchange,
      [how = *how, patch = *std::move(patch)](const api::Object& stored) -> StatusOr<api::Object> {
        rest::DocumentNode scale = ScaleOf(stored);
        DRAY_RETURN_IF_ERROR(Patched(how, patch, api::TypeInfoOf<rest::ScaleBody>(), scale));
        if (!rest::IsMap(scale)) return rest::BadRequest("the patch leaves no object");
        return Scaled(stored, scale);
      });
}

}  // namespace

void HandleScale(const ExchangePtr& exchange) {
  if (exchange->verb == "update") return Update(exchange);
  if (exchange->verb == "patch") return Patch(exchange);
  const auto object =
      exchange->registry->Get(exchange->kind(), exchange->route.namespace_, exchange->route.name);
  if (!object.ok()) return exchange->SendError(object.status());
  exchange->Send(200, ToJson(ScaleOf(*object)));
}

}  // namespace dray::registry::internal
