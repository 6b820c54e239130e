// SPDX-License-Identifier: Apache-2.0
//
// deployments/scale, replicasets/scale and statefulsets/scale: how many pods, without the rest. `kubectl scale` and
// autoscalers know no other way. Spec: autoscaling/v1's Scale.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/label_selector.h"
#include "api/stateful_set.h"
#include "api/workloads.h"
#include "fmt/format.h"
#include "registry/custom_kinds.h"
#include "registry/internal/exchange.h"
#include "registry/internal/request_options.h"
#include "rest/api_error.h"
#include "rest/custom_object.h"
#include "rest/options.h"

namespace dray::registry::internal {
namespace {

using VersionPtr = std::shared_ptr<const crd::ServedVersion>;

struct Count {
  std::int32_t wanted = 0;
  std::int32_t current = 0;
  const api::LabelSelector* selector = nullptr;
  std::string selector_text = {};  // of a kind that somebody has defined
};

// What lies at the end of a path of fields; null: nothing.
const rest::DocumentNode* At(const rest::DocumentNode& tree, const std::vector<std::string>& path) {
  const rest::DocumentNode* at = &tree;
  for (const std::string& name : path) {
    at = rest::IsMap(*at) ? rest::FindIn(*at, name) : nullptr;
    if (at == nullptr) return nullptr;
  }
  return at;
}

Count CountOf(const api::Object& object, const crd::ServedVersion& version) {
  const rest::DocumentNode tree = rest::TreeOfObject(object, object.kind());
  const auto number = [&](const std::vector<std::string>& path) {
    const rest::DocumentNode* found = At(tree, path);
    const auto value = found == nullptr ? std::nullopt : crd::IntegerOf(*found);
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(value.value_or(0), 0, std::numeric_limits<std::int32_t>::max()));
  };
  Count count{.wanted = number(version.scale()->spec), .current = number(version.scale()->status)};
  const auto& selector = version.scale()->selector;
  const rest::DocumentNode* text = selector.empty() ? nullptr : At(tree, selector);
  if (text != nullptr && rest::IsString(*text)) count.selector_text = text->text;
  return count;
}

void SetWanted(api::Object& object, std::int32_t replicas, const crd::ServedVersion& version) {
  rest::DocumentNode tree = rest::TreeOfObject(object, object.kind());
  rest::DocumentNode* at = &tree;
  const auto& path = version.scale()->spec;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    rest::DocumentNode* next = rest::FindIn(*at, path[i]);
    if (next == nullptr || !rest::IsMap(*next)) next = &rest::SetIn(*at, path[i], rest::MapNode());
    at = next;
  }
  rest::SetIn(*at, path.back(), rest::NumberNode(replicas));
  rest::SetContent(object, tree);
}

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

rest::DocumentNode ScaleWith(const api::Object& object, const Count& count) {
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
  rest::DocumentNode spec = rest::MapNode();
  rest::SetIn(spec, "replicas", rest::NumberNode(count.wanted));
  rest::DocumentNode status = rest::MapNode();
  rest::SetIn(status, "replicas", rest::NumberNode(count.current));
  if (count.selector != nullptr) {
    const auto matcher = api::LabelMatcher::From(*count.selector);
    if (matcher.ok()) rest::SetIn(status, "selector", rest::StringNode(matcher->ToString()));
  }
  if (!count.selector_text.empty()) {
    rest::SetIn(status, "selector", rest::StringNode(count.selector_text));
  }
  rest::DocumentNode scale = rest::MapNode();
  rest::SetIn(scale, "kind", rest::StringNode("Scale"));
  rest::SetIn(scale, "apiVersion", rest::StringNode("autoscaling/v1"));
  rest::SetIn(scale, "metadata", std::move(metadata));
  rest::SetIn(scale, "spec", std::move(spec));
  rest::SetIn(scale, "status", std::move(status));
  return scale;
}

rest::DocumentNode ScaleOf(const api::Object& object) { return ScaleWith(object, CountOf(object)); }
rest::DocumentNode ScaleOf(const api::Object& object, const VersionPtr& version) {
  return version == nullptr ? ScaleOf(object) : ScaleWith(object, CountOf(object, *version));
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
StatusOr<api::Object> Scaled(const api::Object& stored, const rest::DocumentNode& scale,
                             const VersionPtr& version) {
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
  if (version == nullptr) {
    SetWanted(next, wanted);
    return next;
  }
  // Whoever does not say which version is meant means the one that is there.
  std::string& revision = next.MutableMetadata().resource_version;
  if (revision.empty()) revision = stored.metadata().resource_version;
  SetWanted(next, wanted, *version);
  return next;
}

// Null for a kind that is built in.
VersionPtr VersionOf(const Exchange& exchange) {
  const auto resource = exchange.registry->objects().custom()->Find(exchange.kind());
  return resource == nullptr ? nullptr : resource->Of(exchange.kind());
}

void Change(const ExchangePtr& exchange, const VersionPtr& version, Registry::Change change) {
  const bool patch = exchange->verb == "patch";
  auto writing = WritingOf(*exchange, patch ? rest::WriteVerb::kPatch : rest::WriteVerb::kUpdate);
  if (!writing.ok()) return exchange->SendError(writing.status());
  writing->context.body = std::make_shared<const WriteContext::Body>(WriteContext::Body{
      .subresource = "scale",
      .group = "autoscaling",
      .version = "v1",
      .kind = "Scale",
      .of = [version](const api::Object& object) { return ScaleOf(object, version); }});
  exchange->registry->Modify(Part::kObject, exchange->kind(), exchange->route.namespace_,
                             exchange->route.name, std::move(change), writing->context,
                             [exchange, version](StatusOr<api::Object> result) {
                               if (!result.ok()) return exchange->SendError(result.status());
                               exchange->Send(200, ToJson(ScaleOf(*result, version)));
                             });
}

void Update(const ExchangePtr& exchange) {
  auto body = SmallBody(*exchange, api::TypeInfoOf<rest::ScaleBody>());
  if (!body.ok()) return exchange->SendError(body.status());
  const VersionPtr version = VersionOf(*exchange);
  Change(exchange, version, [body = *std::move(body), version](const api::Object& stored) {
    return Scaled(stored, body, version);
  });
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
  const VersionPtr version = VersionOf(*exchange);
  Change(exchange, version,
         [how = *how, patch = *std::move(patch),
          version](const api::Object& stored) -> StatusOr<api::Object> {
           rest::DocumentNode scale = ScaleOf(stored, version);
           DRAY_RETURN_IF_ERROR(Patched(how, patch, api::TypeInfoOf<rest::ScaleBody>(), scale));
           if (!rest::IsMap(scale)) return rest::BadRequest("the patch leaves no object");
           return Scaled(stored, scale, version);
         });
}

}  // namespace

void HandleScale(const ExchangePtr& exchange) {
  if (exchange->verb == "update") return Update(exchange);
  if (exchange->verb == "patch") return Patch(exchange);
  const auto object =
      exchange->registry->Get(exchange->kind(), exchange->route.namespace_, exchange->route.name);
  if (!object.ok()) return exchange->SendError(object.status());
  exchange->Send(200, ToJson(ScaleOf(*object, VersionOf(*exchange))));
}

}  // namespace dray::registry::internal
