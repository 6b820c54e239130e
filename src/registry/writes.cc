// SPDX-License-Identifier: Apache-2.0
//
// Create, update, delete, and the subresources of pods.
#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "api/custom_kind.h"
#include "api/device_class.h"
#include "api/pod.h"
#include "api/resource_quota.h"
#include "api/strategy.h"
#include "fmt/format.h"
#include "registry/custom_kinds.h"
#include "registry/internal/exchange.h"
#include "registry/internal/request_options.h"
#include "registry/watch_stream.h"
#include "rest/api_error.h"
#include "rest/apply_tree.h"
#include "rest/decode.h"
#include "rest/options.h"
#include "rest/protobuf.h"
#include "rest/tree.h"

namespace dray::registry::internal {
namespace {

api::JsonDecoder& Decoder() {
  thread_local api::JsonDecoder decoder;
  return decoder;
}

// Whether there were any.
bool DropRepeatedOwners(std::vector<api::OwnerReference>& owners) {
  if (owners.size() < 2) return false;
  using Parts = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view,
                           std::optional<bool>, std::optional<bool>>;
  std::set<Parts> seen;
  std::vector<api::OwnerReference> kept;
  for (const api::OwnerReference& owner : owners) {
    const Parts parts{owner.uid,         owner.name,       owner.kind,
                      owner.api_version, owner.controller, owner.block_owner_deletion};
    if (seen.insert(parts).second) kept.push_back(owner);
  }
  if (kept.size() == owners.size()) return false;
  owners = std::move(kept);
  return true;
}

// Definitions and what they define are read as JSON and YAML.
StatusOr<rest::DecodedBody> Decoded(const Exchange& exchange, rest::BodyFormat format,
                                    rest::FieldValidation validation) {
  const api::KindInfo& kind = exchange.kind();
  const bool definition = kind.hub == DefinitionKind().hub;
  if (!api::IsCustom(kind) && !definition) {
    return rest::DecodeBody(Decoder(), exchange.request.body, format, kind, validation);
  }
  if (format == rest::BodyFormat::kProtobuf) {
    return rest::UnsupportedMediaType("application/json, application/yaml");
  }
  std::vector<std::string> repeated;
  // As wide as any other object.
  auto tree = rest::ReadTree(exchange.request.body, format == rest::BodyFormat::kYaml, &repeated,
                             std::numeric_limits<std::size_t>::max());
  if (!tree.ok()) {
    const std::string why =
        fmt::format("the body cannot be read: {}", base::Message(tree.status()));
    return tree.status().code() == StatusCode::kResourceExhausted ? rest::TooLarge(why)
                                                                  : rest::BadRequest(why);
  }
  if (definition) return DecodeDefinition(*std::move(tree), repeated, validation);
  const auto resource = exchange.registry->objects().custom()->Find(kind);
  if (resource == nullptr) return rest::UnknownResource();
  return DecodeCustom(*std::move(tree), repeated, kind, *resource->Of(kind), validation);
}

StatusOr<rest::DecodedBody> BodyOf(Exchange& exchange, rest::FieldValidation validation) {
  DRAY_ASSIGN_OR_RETURN(const rest::BodyFormat format,
                        BodyFormatOf(exchange.request.headers.Find("Content-Type")));
  DRAY_ASSIGN_OR_RETURN(rest::DecodedBody decoded, Decoded(exchange, format, validation));
  StatusOr<rest::DecodedBody> body = std::move(decoded);
  for (std::string& warning : body->warnings) exchange.warnings.push_back(std::move(warning));
  api::ObjectMeta& metadata = body->object.MutableMetadata();
  if (!exchange.kind().namespaced) metadata.namespace_.clear();
  if (DropRepeatedOwners(metadata.owner_references)) {
    exchange.warnings.push_back(
        "metadata.ownerReferences has entries that are the same; each is kept once");
  }
  exchange.Decoded(body->object);
  return body;
}

// The body as a tree if it may have an empty list; few bodies have, so that few are read twice.
std::optional<rest::DocumentNode> WithEmptyLists(const Exchange& exchange) {
  if (exchange.request.body.find("[]") == std::string::npos) return std::nullopt;
  const std::string media = MediaType(exchange.request.headers.Find("Content-Type"));
  if (media == rest::kProtobufMediaType) return std::nullopt;
  const bool yaml = media == "application/yaml";
  auto tree = rest::ReadTree(exchange.request.body, yaml);
  if (!tree.ok() || !rest::IsMap(*tree)) return std::nullopt;
  return *std::move(tree);
}

rest::FieldSet WrittenEmpty(const Exchange& exchange) {
  if (api::IsCustom(exchange.kind())) return {};
  const auto tree = WithEmptyLists(exchange);
  return tree ? rest::EmptyListsOf(*tree, *exchange.kind().type) : rest::FieldSet();
}

// An empty list does so, as one entry with nothing in it does; leaving them out does not.
bool ClearsManagedFields(const Exchange& exchange) {
  const auto tree = WithEmptyLists(exchange);
  const rest::DocumentNode* metadata = tree ? rest::FindIn(*tree, "metadata") : nullptr;
  if (metadata == nullptr || !rest::IsMap(*metadata)) return false;
  const rest::DocumentNode* fields = rest::FindIn(*metadata, "managedFields");
  return fields != nullptr && rest::IsList(*fields) && fields->items.empty();
}

// Kubernetes answers the deletion of some kinds with the object, of others with a Status.
bool AnswersWithObject(const api::KindInfo& kind) {
  if (kind.hub == &api::TypeInfoOf<api::DeviceTaintRule>()) return kind.version != "v1";
  return kind.group == "resource.k8s.io" || kind.hub == &api::TypeInfoOf<api::Pod>() ||
         kind.hub == &api::TypeInfoOf<api::ResourceQuota>();
}

void SendDeleted(Exchange& exchange, const Deleted& deleted, int code) {
  if (!deleted.gone || AnswersWithObject(exchange.kind())) {
    return exchange.SendObject(code, deleted.object);
  }
  exchange.SendSuccess(code, &deleted.object);
}

Status CheckName(const Exchange& exchange, const api::Object& object) {
  const Route& route = exchange.route;
  const api::ObjectMeta& metadata = object.metadata();
  if (metadata.name != route.name) {
    return rest::BadRequest(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                    metadata.name, route.name));
  }
  if (object.kind().namespaced && metadata.namespace_ != route.namespace_) {
    return rest::BadRequest(
        fmt::format("the namespace of the object ({}) does not match the namespace on the URL ({})",
                    metadata.namespace_, route.namespace_));
  }
  return {};
}

StatusOr<rest::BindingBody> BindingOf(rest::DocumentNode tree) {
  rest::EraseIn(tree, "apiVersion");
  rest::EraseIn(tree, "kind");
  rest::BindingBody body;
  std::vector<api::Diagnostic> diagnostics;
  api::DecodeNode(tree, api::TypeInfoOf<rest::BindingBody>(), &body, api::Severity::kWarning,
                  diagnostics);
  for (const api::Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity != api::Severity::kError) continue;
    return rest::BadRequest(fmt::format("Binding cannot be read: {}", ToString(diagnostic)));
  }
  return body;
}

// A pod is bound to a node by its name.
api::ErrorList CheckTarget(const api::ObjectReference& target) {
  const base::FieldPath path("target");
  api::ErrorList errors;
  constexpr std::string_view kKinds[] = {"", "Node"};
  if (std::ranges::find(kKinds, target.kind) == std::end(kKinds)) {
    errors.push_back(api::NotSupported(path / "kind", target.kind, kKinds));
  }
  if (target.name.empty()) errors.push_back(api::Required(path / "name"));
  return errors;
}

// What is only unwise is told to those whose object is taken.
Registry::Done Answer(const ExchangePtr& exchange, int code, std::vector<std::string> warnings) {
  return [exchange, code, warnings = std::move(warnings)](StatusOr<api::Object> result) {
    exchange->Note("stored");
    if (!result.ok()) return exchange->SendError(result.status());
    exchange->warnings.insert(exchange->warnings.end(), warnings.begin(), warnings.end());
    exchange->SendObject(code, *result);
  };
}

}  // namespace

StatusOr<rest::DocumentNode> SmallBody(const Exchange& exchange, const api::TypeInfo& type) {
  if (exchange.request.body.empty()) return rest::MapNode();
  DRAY_ASSIGN_OR_RETURN(const rest::BodyFormat format,
                        BodyFormatOf(exchange.request.headers.Find("Content-Type")));
  auto tree = format == rest::BodyFormat::kProtobuf
                  ? rest::ReadProtobuf(exchange.request.body, type, "", "v1")
                  : rest::ReadTree(exchange.request.body, format == rest::BodyFormat::kYaml);
  if (!tree.ok() || !rest::IsMap(*tree)) {
    return rest::BadRequest(fmt::format(
        "the object provided is unrecognized (must be of type {}): {}", type.fields().name,
        tree.ok() ? "an object was expected" : base::Message(tree.status())));
  }
  for (const std::string_view name : {"kind", "apiVersion"}) {
    const rest::DocumentNode* value = rest::FindIn(*tree, name);
    if (value != nullptr && !rest::IsString(*value)) {
      return rest::BadRequest(
          fmt::format("{} is a string, not a {}", name, rest::JsonKindName(*value)));
    }
  }
  const std::string_view kind = rest::TextIn(*tree, "kind");
  if (!kind.empty() && kind != type.fields().name) {
    return rest::BadRequest(fmt::format("{} cannot be handled as a {}", kind, type.fields().name));
  }
  return tree;
}

void HandleCreate(const ExchangePtr& exchange) {
  auto writing = WritingOf(*exchange, rest::WriteVerb::kCreate);
  if (!writing.ok()) return exchange->SendError(writing.status());
  auto body = BodyOf(*exchange, writing->validation);
  if (!body.ok()) return exchange->SendError(body.status());
  writing->context.written_empty = WrittenEmpty(*exchange);
  Registry::Done answer = Answer(exchange, 201, api::WarningsFor(body->object));
  exchange->registry->Create(std::move(body->object), exchange->route.namespace_, writing->context,
                             std::move(answer));
}

void HandleUpdate(const ExchangePtr& exchange) {
  const auto writing = WritingOf(*exchange, rest::WriteVerb::kUpdate);
  if (!writing.ok()) return exchange->SendError(writing.status());
  auto body = BodyOf(*exchange, writing->validation);
  if (!body.ok()) return exchange->SendError(body.status());
  if (exchange->kind().namespaced && body->object.metadata().namespace_.empty()) {
    body->object.MutableMetadata().namespace_ = exchange->route.namespace_;
  }
  if (Status named = CheckName(*exchange, body->object); !named.ok()) {
    return exchange->SendError(named);
  }
  if (ClearsManagedFields(*exchange)) body->object.MutableMetadata().managed_fields = {{}};
  Registry::Done answer = Answer(exchange, 200, api::WarningsFor(body->object));
  exchange->registry->Update(PartOf(*exchange), std::move(body->object), writing->context,
                             std::move(answer));
}

void HandleDelete(const ExchangePtr& exchange) {
  const auto deletion = DeletionOf(*exchange);
  if (!deletion.ok()) return exchange->SendError(deletion.status());
  exchange->registry->Delete(
      exchange->kind(), exchange->route.namespace_, exchange->route.name, deletion->options,
      deletion->context, [exchange, said_no = deletion->orphan_said_no](StatusOr<Deleted> deleted) {
        exchange->Note("stored");
        if (!deleted.ok()) return exchange->SendError(deleted.status());
        SendDeleted(*exchange, *deleted, !deleted->gone && said_no ? 202 : 200);
      });
}

namespace {

// What is about a pod says which, or leaves it to the path.
Status CheckAbout(const Exchange& exchange, std::string_view kind, std::string_view name,
                  std::string_view space) {
  const Route& route = exchange.route;
  if (!name.empty() && name != route.name) {
    return rest::BadRequest(fmt::format("name in URL ({}) does not match name in {} object ({})",
                                        route.name, kind, name));
  }
  if (!space.empty() && space != route.namespace_) {
    return rest::BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  return {};
}

}  // namespace

void HandleEviction(const ExchangePtr& exchange) {
  const auto body = SmallBody(*exchange, api::TypeInfoOf<rest::EvictionBody>());
  if (!body.ok()) return exchange->SendError(body.status());
  const rest::DocumentNode* inner = rest::FindIn(*body, "deleteOptions");
  if (inner != nullptr && rest::IsNull(*inner)) inner = nullptr;
  auto deletion = DeletionBy(*exchange, inner);
  if (!deletion.ok()) return exchange->SendError(deletion.status());
  deletion->options.eviction = true;
  const rest::DocumentNode* sent = rest::FindIn(*body, "metadata");
  const rest::DocumentNode metadata = sent == nullptr ? rest::MapNode() : *sent;
  const Status about = CheckAbout(*exchange, "Eviction", rest::TextIn(metadata, "name"),
                                  rest::TextIn(metadata, "namespace"));
  if (!about.ok()) return exchange->SendError(about);
  exchange->registry->Delete(exchange->kind(), exchange->route.namespace_, exchange->route.name,
                             deletion->options, deletion->context,
                             [exchange](StatusOr<Deleted> deleted) {
                               exchange->Note("stored");
                               if (!deleted.ok()) return exchange->SendError(deleted.status());
                               exchange->SendSuccess(201);
                             });
}

void HandleBinding(const ExchangePtr& exchange) {
  const auto writing = WritingOf(*exchange, rest::WriteVerb::kCreate);
  if (!writing.ok()) return exchange->SendError(writing.status());
  const auto tree = SmallBody(*exchange, api::TypeInfoOf<rest::BindingBody>());
  if (!tree.ok()) return exchange->SendError(tree.status());
  const auto body = BindingOf(*tree);
  if (!body.ok()) return exchange->SendError(body.status());
  const api::ObjectMeta& metadata = body->metadata;
  const Status about = CheckAbout(*exchange, "Binding", metadata.name, metadata.namespace_);
  if (!about.ok()) return exchange->SendError(about);
  if (api::ErrorList errors = CheckTarget(body->target); !errors.empty()) {
    return exchange->SendError(rest::Invalid("", "Binding", exchange->route.name, errors));
  }
  exchange->registry->Bind(exchange->route.namespace_, exchange->route.name,
                           {.node = body->target.name,
                            .uid = metadata.uid,
                            .resource_version = metadata.resource_version,
                            .labels = metadata.labels,
                            .annotations = metadata.annotations},
                           writing->context, [exchange](StatusOr<api::Object> result) {
                             exchange->Note("stored");
                             if (!result.ok()) return exchange->SendError(result.status());
                             exchange->SendSuccess(201);
                           });
}

}  // namespace dray::registry::internal
