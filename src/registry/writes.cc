// SPDX-License-Identifier: Apache-2.0
//
// Create, update, delete, and the subresources of pods.
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "api/namespace.h"
#include "api/pod.h"
#include "api/resource_quota.h"
#include "api/strategy.h"
#include "fmt/format.h"
#include "registry/internal/exchange.h"
#include "registry/watch_stream.h"
#include "rest/api_error.h"
#include "rest/apply_tree.h"
#include "rest/decode.h"
#include "rest/options.h"
#include "rest/protobuf.h"
#include "rest/tree.h"

namespace dray::registry::internal {
namespace {

constexpr std::size_t kMaxManagerLength = 128;

api::JsonDecoder& Decoder() {
  thread_local api::JsonDecoder decoder;
  return decoder;
}

// Fields may come from the client's name: "kubectl/v1.30 (linux/amd64)" is the manager "kubectl".
std::string ManagerOf(const Exchange& exchange) {
  const std::string_view named = exchange.query.Get("fieldManager");
  if (!named.empty()) return std::string(named);
  const std::string_view agent = exchange.request.headers.Find("User-Agent");
  return std::string(agent.substr(0, agent.find_first_of("/ ")).substr(0, kMaxManagerLength));
}

StatusOr<rest::DecodedBody> BodyOf(Exchange& exchange) {
  DRAY_ASSIGN_OR_RETURN(const rest::BodyFormat format,
                        BodyFormatOf(exchange.request.headers.Find("Content-Type")));
  DRAY_ASSIGN_OR_RETURN(const rest::FieldValidation validation,
                        rest::ParseFieldValidation(exchange.query.Get("fieldValidation")));
  auto body =
      rest::DecodeBody(Decoder(), exchange.request.body, format, exchange.kind(), validation);
  if (body.ok()) {
    for (std::string& warning : body->warnings) exchange.warnings.push_back(std::move(warning));
  }
  return body;
}

// Few bodies have an empty list, so that few are read twice.
rest::FieldSet WrittenEmpty(const Exchange& exchange) {
  if (exchange.request.body.find("[]") == std::string::npos) return {};
  const std::string media = MediaType(exchange.request.headers.Find("Content-Type"));
  if (media == rest::kProtobufMediaType) return {};
  const bool yaml = media == "application/yaml";
  const auto tree = rest::ReadTree(exchange.request.body, yaml);
  return tree.ok() ? rest::EmptyListsOf(*tree, *exchange.kind().type) : rest::FieldSet();
}

StatusOr<Propagation> PropagationOf(std::string_view text) {
  if (text.empty()) return Propagation::kDefault;
  if (text == "Orphan") return Propagation::kOrphan;
  if (text == "Background") return Propagation::kBackground;
  if (text == "Foreground") return Propagation::kForeground;
  constexpr std::string_view kKnown[] = {"Background", "Foreground", "Orphan"};
  return rest::Invalid("meta.k8s.io", "DeleteOptions", "",
                       {api::NotSupported(base::FieldPath("propagationPolicy"), text, kKnown)});
}

bool AsksForDryRun(const rest::DocumentNode& options) {
  const rest::DocumentNode* list = rest::FindIn(options, "dryRun");
  return list != nullptr && !list->items.empty() && list->items.front().text == "All";
}

StatusOr<DeleteOptions> DeleteOptionsOf(const Exchange& exchange, const rest::DocumentNode& body) {
  DeleteOptions options;
  if (const rest::DocumentNode* preconditions = rest::FindIn(body, "preconditions")) {
    options.uid = rest::TextIn(*preconditions, "uid");
    options.resource_version = rest::TextIn(*preconditions, "resourceVersion");
  }
  DRAY_ASSIGN_OR_RETURN(options.grace_seconds, exchange.query.Number("gracePeriodSeconds"));
  if (const rest::DocumentNode* grace = rest::FindIn(body, "gracePeriodSeconds")) {
    options.grace_seconds = std::atoll(grace->text.c_str());
  }
  constexpr std::string_view kUnread = "ignoreStoreReadErrorWithClusterBreakingPotential";
  const rest::DocumentNode* unread = rest::FindIn(body, kUnread);
  options.unread = exchange.query.IsTrue(kUnread) || (unread != nullptr && unread->text == "true");
  std::string_view policy = exchange.query.Get("propagationPolicy");
  if (const std::string_view own = rest::TextIn(body, "propagationPolicy"); !own.empty())
    policy = own;
  DRAY_ASSIGN_OR_RETURN(options.propagation, PropagationOf(policy));
  return options;
}

// Kubernetes answers the deletion of some kinds with the object, of others with a Status.
bool AnswersWithObject(const api::KindInfo& kind) {
  return kind.group == "resource.k8s.io" || kind.hub == &api::TypeInfoOf<api::Pod>() ||
         kind.hub == &api::TypeInfoOf<api::ResourceQuota>();
}

void SendDeleted(Exchange& exchange, const Deleted& deleted) {
  if (!deleted.gone || AnswersWithObject(exchange.kind())) {
    return exchange.SendObject(200, deleted.object);
  }
  exchange.SendSuccess(200, &deleted.object);
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

Registry::Done Answer(const ExchangePtr& exchange, int code) {
  return [exchange, code](StatusOr<api::Object> result) {
    if (!result.ok()) return exchange->SendError(result.status());
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
  return tree;
}

StatusOr<WriteContext> ContextOf(const Exchange& exchange) {
  WriteContext context{.user = exchange.user(),
                       .verb = exchange.verb,
                       .manager = ManagerOf(exchange),
                       .api_version = exchange.kind().ApiVersion()};
  if (context.manager.size() > kMaxManagerLength) {
    return rest::Invalid("meta.k8s.io", "PatchOptions", "",
                         {api::TooLong(base::FieldPath("fieldManager"), kMaxManagerLength)});
  }
  const std::string_view dry_run = exchange.query.Get("dryRun");
  if (!dry_run.empty() && dry_run != "All") {
    constexpr std::string_view kKnown[] = {"All"};
    return rest::Invalid("meta.k8s.io", "CreateOptions", "",
                         {api::NotSupported(base::FieldPath("dryRun"), dry_run, kKnown)});
  }
  context.dry_run = dry_run == "All";
  return context;
}

void HandleCreate(const ExchangePtr& exchange) {
  auto context = ContextOf(*exchange);
  if (!context.ok()) return exchange->SendError(context.status());
  auto body = BodyOf(*exchange);
  if (!body.ok()) return exchange->SendError(body.status());
  context->written_empty = WrittenEmpty(*exchange);
  for (std::string& warning : api::WarningsFor(body->object)) {
    exchange->warnings.push_back(std::move(warning));
  }
  exchange->registry->Create(std::move(body->object), exchange->route.namespace_, *context,
                             Answer(exchange, 201));
}

void HandleUpdate(const ExchangePtr& exchange) {
  const auto context = ContextOf(*exchange);
  if (!context.ok()) return exchange->SendError(context.status());
  auto body = BodyOf(*exchange);
  if (!body.ok()) return exchange->SendError(body.status());
  if (exchange->kind().namespaced && body->object.metadata().namespace_.empty()) {
    body->object.MutableMetadata().namespace_ = exchange->route.namespace_;
  }
  if (Status named = CheckName(*exchange, body->object); !named.ok()) {
    return exchange->SendError(named);
  }
  for (std::string& warning : api::WarningsFor(body->object)) {
    exchange->warnings.push_back(std::move(warning));
  }
  exchange->registry->Update(PartOf(*exchange), std::move(body->object), *context,
                             Answer(exchange, 200));
}

void HandleDelete(const ExchangePtr& exchange) {
  auto context = ContextOf(*exchange);
  if (!context.ok()) return exchange->SendError(context.status());
  const auto body = SmallBody(*exchange, api::TypeInfoOf<rest::DeleteOptionsBody>());
  if (!body.ok()) return exchange->SendError(body.status());
  context->dry_run |= AsksForDryRun(*body);
  const auto options = DeleteOptionsOf(*exchange, *body);
  if (!options.ok()) return exchange->SendError(options.status());
  exchange->registry->Delete(exchange->kind(), exchange->route.namespace_, exchange->route.name,
                             *options, *context, [exchange](StatusOr<Deleted> deleted) {
                               if (!deleted.ok()) return exchange->SendError(deleted.status());
                               SendDeleted(*exchange, *deleted);
                             });
}

void HandleEviction(const ExchangePtr& exchange) {
  auto context = ContextOf(*exchange);
  if (!context.ok()) return exchange->SendError(context.status());
  const auto body = SmallBody(*exchange, api::TypeInfoOf<rest::EvictionBody>());
  if (!body.ok()) return exchange->SendError(body.status());
  const rest::DocumentNode* inner = rest::FindIn(*body, "deleteOptions");
  auto options = DeleteOptionsOf(*exchange, inner == nullptr ? rest::MapNode() : *inner);
  if (!options.ok()) return exchange->SendError(options.status());
  options->eviction = true;
  const rest::DocumentNode* metadata = rest::FindIn(*body, "metadata");
  const std::string_view name =
      metadata == nullptr ? std::string_view() : rest::TextIn(*metadata, "name");
  if (!name.empty() && name != exchange->route.name) {
    return exchange->SendError(
        rest::BadRequest(fmt::format("name in URL ({}) does not match name in Eviction object ({})",
                                     exchange->route.name, name)));
  }
  context->dry_run |= inner != nullptr && AsksForDryRun(*inner);
  exchange->registry->Delete(exchange->kind(), exchange->route.namespace_, exchange->route.name,
                             *options, *context, [exchange](StatusOr<Deleted> deleted) {
                               if (!deleted.ok()) return exchange->SendError(deleted.status());
                               exchange->SendSuccess(201);
                             });
}

void HandleBinding(const ExchangePtr& exchange) {
  const auto context = ContextOf(*exchange);
  if (!context.ok()) return exchange->SendError(context.status());
  const auto body = SmallBody(*exchange, api::TypeInfoOf<rest::BindingBody>());
  if (!body.ok()) return exchange->SendError(body.status());
  const rest::DocumentNode* metadata = rest::FindIn(*body, "metadata");
  const rest::DocumentNode* target = rest::FindIn(*body, "target");
  const std::string_view node =
      target == nullptr ? std::string_view() : rest::TextIn(*target, "name");
  if (node.empty()) {
    return exchange->SendError(rest::Invalid("", "Binding", exchange->route.name,
                                             {api::Required(base::FieldPath("target") / "name")}));
  }
  exchange->registry->Bind(
      exchange->route.namespace_, exchange->route.name,
      metadata == nullptr ? std::string_view() : rest::TextIn(*metadata, "uid"), node, *context,
      [exchange](StatusOr<api::Object> result) {
        if (!result.ok()) return exchange->SendError(result.status());
        exchange->SendSuccess(201);
      });
}

}  // namespace dray::registry::internal
