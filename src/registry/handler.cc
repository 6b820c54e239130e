// SPDX-License-Identifier: Apache-2.0
#include "registry/handler.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "api/field_selector.h"
#include "api/pod.h"
#include "apiserver/server.h"
#include "fmt/format.h"
#include "registry/account_tokens.h"
#include "registry/custom_kinds.h"
#include "registry/impersonation.h"
#include "registry/internal/documents.h"
#include "registry/internal/exchange.h"
#include "registry/internal/node_parts.h"
#include "registry/internal/request_options.h"
#include "registry/policies.h"
#include "rest/api_error.h"
#include "rest/discovery.h"
#include "rest/tree.h"

namespace dray::registry {
namespace {

using internal::Exchange;
using internal::ExchangePtr;

std::string VerbOf(const apiserver::Request& request, const Route& route, const Query& query) {
  const bool one = !route.name.empty();
  const std::string& method = request.method;
  if (internal::RunsSomething(route)) return method == "GET" || method == "POST" ? "create" : "";
  if (method == "GET" || method == "HEAD") {
    if (one) return "get";
    return query.Has("watch") && internal::IsYes(query.Get("watch")) ? "watch" : "list";
  }
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return one ? "delete" : "deletecollection";
  return "";
}

// People try these with any cluster; they are told why they cannot work rather than that there is
// no such path.
Status WhyNoPart(const Exchange& exchange) {
  struct Row {
    std::string_view part;
    std::string_view why;
  };
  constexpr Row kRows[] = {
      {"proxy", "there is no port to reach"},
  };
  const Route& route = exchange.route;
  if (exchange.kind().hub != &api::TypeInfoOf<api::Pod>()) return rest::UnknownResource();
  const auto* row = std::ranges::find(kRows, route.subresource, &Row::part);
  if (row == std::end(kRows)) return rest::UnknownResource();
  return rest::ToStatus(
      {.code = 501,
       .reason = "NotImplemented",
       .message = fmt::format("pods \"{}\" is on a simulated node, where no containers "
                              "run: {}",
                              route.name, row->why),
       .details = rest::StatusDetails{.name = route.name, .kind = "pods"}});
}

// Whether the verb can be used on this path: what discovery says, and a name where one is needed.
Status CheckVerb(const Exchange& exchange) {
  const Route& route = exchange.route;
  const std::string& verb = exchange.verb;
  const rest::ResourceInfo& resource = exchange.kinds->Find(exchange.kind())->resource;
  const bool named = !route.name.empty();
  const bool spaceless = exchange.kind().namespaced && route.namespace_.empty();
  // Objects are found in their namespace: there is no such path.
  if (spaceless && named) return rest::UnknownResource();
  if (internal::IsNodePart(route)) {
    const bool right = verb == (internal::RunsSomething(route) ? "create" : "get");
    return right ? Status() : rest::MethodNotAllowed();
  }
  if (!route.subresource.empty()) {
    const rest::Subresource* part =
        exchange.kinds->FindSubresource(exchange.kind(), route.subresource);
    if (part == nullptr) return WhyNoPart(exchange);
    return rest::HasVerb(part->verbs, verb) ? Status() : rest::MethodNotAllowed();
  }
  const bool needs_name = verb == "update" || verb == "patch";
  if (verb.empty() || (verb == "create" && named) || (needs_name && !named) ||
      !rest::HasVerb(resource.verbs, verb)) {
    return rest::MethodNotAllowed();
  }
  // Objects are made in a namespace.
  if (spaceless && (verb == "create" || verb == "deletecollection")) {
    return rest::MethodNotAllowed();
  }
  return {};
}

void Dispatch(const ExchangePtr& exchange) {
  const std::string& verb = exchange->verb;
  const std::string& part = exchange->route.subresource;
  if (part == "binding") return internal::HandleBinding(exchange);
  if (part == "eviction") return internal::HandleEviction(exchange);
  if (part == "scale") return internal::HandleScale(exchange);
  if (verb == "get") return internal::HandleGet(exchange);
  if (verb == "list") return internal::HandleList(exchange);
  if (verb == "watch") return internal::HandleWatch(exchange);
  if (verb == "create") return internal::HandleCreate(exchange);
  if (verb == "update") return internal::HandleUpdate(exchange);
  if (verb == "patch") return internal::HandlePatch(exchange);
  if (verb == "delete") return internal::HandleDelete(exchange);
  internal::HandleDeleteCollection(exchange);
}

// A reader sees all that anybody had been told of before, and the version that it names; with "0" it
// says that anything will do.
void WhenShown(const ExchangePtr& exchange, std::function<void()> then) {
  store::Store& store = exchange->registry->objects().store();
  const std::string_view version = exchange->query.Get("resourceVersion");
  if (version == "0") return then();
  auto ready = [exchange, then = std::move(then)](const Status& status) {
    // That there is no such version yet is for the verb to say.
    const bool asked_too_much = status.code() == StatusCode::kInvalidArgument;
    if (!status.ok() && !asked_too_much) {
      return exchange->SendError(rest::NewestNotShown(base::Message(status)));
    }
    then();
  };
  store::Revision at;
  const char* end = version.data() + version.size();
  const auto read = std::from_chars(version.data(), end, at.value);
  if (version.empty() || read.ec != std::errc() || read.ptr != end) {
    return store.Current(std::move(ready));
  }
  store.WaitFor(at, std::move(ready));
}

// POST .../bindings names its pod in the body; it is the older way to say pods/{name}/binding.
void ResolveBindings(Exchange& exchange) {
  Route& route = exchange.route;
  if (route.resource != "bindings" || route.group != "" || route.version != "v1") return;
  if (exchange.verb != "create" || !route.name.empty()) return;
  const auto body = rest::ReadTree(exchange.request.body);
  const rest::DocumentNode* metadata =
      body.ok() && rest::IsMap(*body) ? rest::FindIn(*body, "metadata") : nullptr;
  if (metadata == nullptr) return;
  route.resource = "pods";
  route.name = rest::TextIn(*metadata, "name");
  route.subresource = "binding";
  route.kind = api::FindKind("v1", "Pod");
}

// As kube-apiserver's metrics call it.
std::string_view MetricVerb(std::string_view method, std::string_view verb, bool apply) {
  if (verb == "list") return "LIST";
  if (verb == "watch") return "WATCH";
  if (verb == "deletecollection") return "DELETECOLLECTION";
  if (apply) return "APPLY";
  constexpr std::string_view kMethods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"};
  const auto known = std::ranges::find(kMethods, method);
  return known == std::end(kMethods) ? "OTHER" : *known;
}

RequestLabels LabelsOf(const Exchange& exchange) {
  const apiserver::Request& request = exchange.request;
  const Route& route = exchange.route;
  const bool apply =
      exchange.verb == "patch" &&
      MediaType(request.headers.Find("Content-Type")).starts_with("application/apply-patch");
  RequestLabels labels{.verb = MetricVerb(request.method, exchange.verb, apply),
                       .kind = route.kind,
                       .dry_run = exchange.query.Has("dryRun"),
                       .mutating = request.method != "GET" && request.method != "HEAD"};
  if (route.kind == nullptr) return labels;
  if (const auto* part = exchange.kinds->FindSubresource(*route.kind, route.subresource)) {
    labels.subresource = part->name;
  }
  labels.scope = !route.name.empty()         ? "resource"
                 : !route.namespace_.empty() ? "namespace"
                                             : "cluster";
  return labels;
}

audit::Attributes AttributesOf(const Exchange& exchange, bool is_resource,
                               std::string_view lower_method) {
  const Route& route = exchange.route;
  if (!is_resource) return {.verb = lower_method, .path = exchange.request.path};
  return {.verb = exchange.verb.empty() ? lower_method : std::string_view(exchange.verb),
          .is_resource = true,
          .group = route.group,
          .version = route.version,
          .resource = route.resource,
          .subresource = route.subresource,
          .namespace_ = route.namespace_,
          .name = route.name};
}

// As what is no resource is called in rules and events.
std::string Lower(std::string_view method) { return absl::AsciiStrToLower(base::ToAbsl(method)); }

// The permission that a request needs.
api::AuthorizationRequest AskedFor(const Exchange& exchange) {
  const Route& at = exchange.route;
  api::AuthorizationRequest asked{.user = exchange.user(),
                                  .verb = exchange.verb,
                                  .api_group = at.group,
                                  .resource = at.resource,
                                  .subresource = at.subresource,
                                  .namespace_ = at.namespace_,
                                  .name = at.name};
  // A namespace is in itself: whoever may read namespaces in one may read that one.
  if (at.group.empty() && at.resource == "namespaces") asked.namespace_ = at.name;
  constexpr std::string_view kOfMany[] = {"list", "watch", "deletecollection"};
  if (std::ranges::find(kOfMany, exchange.verb) == std::end(kOfMany)) return asked;
  asked.field_selector = exchange.query.Get("fieldSelector");
  // Of one object by its name: a role may say which.
  if (asked.field_selector.empty()) return asked;
  const auto selector = api::FieldSelector::Parse(asked.field_selector);
  if (!selector.ok()) return asked;
  if (const auto name = selector->RequiredValue("metadata.name")) asked.name = *name;
  return asked;
}

std::vector<HealthCheck> WithOwnChecks(const Registry& registry, std::vector<HealthCheck> others) {
  std::vector<HealthCheck> checks = {
      {"ping", [] { return Status(); }},
      {"store", [&registry] { return registry.objects().store().Health(); }},
      // A restart does not bring it nearer; other servers may be better off.
      {.name = "store-reachable",
       .check = [&registry] { return registry.objects().store().Reachable(); },
       .only_ready = true,
       .only_health = true}};
  for (HealthCheck& check : others) checks.push_back(std::move(check));
  return checks;
}

}  // namespace

RestHandler::RestHandler(Registry& registry, const RoleAuthorizer& authorizer,
                         HandlerOptions options)
    : registry_(registry),
      authorizer_(authorizer),
      options_(std::move(options)),
      log_(options_.log, registry.clock()),
      health_(WithOwnChecks(registry, options_.checks), options_.log.log),
      documents_(std::make_unique<Documents>()) {}

RestHandler::~RestHandler() = default;

void RestHandler::Handle(apiserver::Request request,
                         std::shared_ptr<apiserver::Responder> responder) {
  auto exchange = std::make_shared<Exchange>();
  exchange->request = std::move(request);
  exchange->responder = std::move(responder);
  exchange->registry = &registry_;
  if (log_.LooksOn()) {
    exchange->log = &log_;
    exchange->began = log_.Now();
  }
  exchange->query = Query(exchange->request.query);
  exchange->kinds = registry_.objects().served();
  auto route = ParseRoute(exchange->request.path, *exchange->kinds);
  if (route) {
    exchange->route = *std::move(route);
    exchange->verb = VerbOf(exchange->request, exchange->route, exchange->query);
    ResolveBindings(*exchange);
  }
  if (options_.metrics != nullptr) {
    exchange->responder =
        options_.metrics->Observe(std::move(exchange->responder), LabelsOf(*exchange));
  }
  if (options_.auditor != nullptr) {
    // By who has sent it, whoever it is made for.
    exchange->trail = options_.auditor->Begin(
        exchange->request,
        AttributesOf(*exchange, route.has_value(), Lower(exchange->request.method)));
  }
  if (Status allowed = Impersonate(exchange->request, authorizer_); !allowed.ok()) {
    return exchange->SendError(allowed);
  }
  if (exchange->trail != nullptr && exchange->request.sender) {
    exchange->trail->Impersonated(exchange->request.user);
  }
  if (!route) return HandleOther(exchange);

  const Route& at = exchange->route;
  const api::AuthorizationRequest asked = AskedFor(*exchange);
  const api::AuthorizationDecision decision = authorizer_.Authorize(asked);
  if (exchange->trail != nullptr) exchange->trail->Decided(decision.allowed, decision.reason);
  if (!decision.allowed) {
    const api::KindInfo unknown{.group = at.group,
                                .version = at.version,
                                .kind = at.resource,
                                .plural = at.resource,
                                .namespaced = false};
    return exchange->SendError(
        ForbiddenFor(asked, at.kind != nullptr ? *at.kind : unknown, decision.reason));
  }
  if (!IsServed(*exchange->kinds, at.group, at.version)) {
    return exchange->SendNoSuchPath();
  }
  if (at.kind == nullptr) {
    const auto* posted = rest::FindObjectless(at.group, at.version, at.resource);
    const bool review = posted != nullptr && !at.group.empty() && at.name.empty() &&
                        posted->namespaced != at.namespace_.empty();
    if (review && at.resource == "tokenreviews") {
      if (exchange->verb != "create") return exchange->SendError(rest::MethodNotAllowed());
      return internal::HandleTokenReview(exchange, options_.tokens, options_.token_user);
    }
    if (review) return internal::HandleReview(exchange, authorizer_);
    return exchange->SendError(rest::UnknownResource());
  }
  if (Status allowed = CheckVerb(*exchange); !allowed.ok()) return exchange->SendError(allowed);
  if (const auto custom = registry_.objects().custom()->Find(*at.kind)) {
    const std::string& deprecation = custom->Of(*at.kind)->deprecation();
    if (!deprecation.empty()) exchange->warnings.push_back(deprecation);
  }
  const bool writes = exchange->request.method != "GET" && exchange->request.method != "HEAD";
  const bool noted = registry_.HasPolicies() || at.group == "admissionregistration.k8s.io";
  if ((writes || internal::RunsSomething(at)) && noted) {
    exchange->notes = std::make_shared<WriteNotes>();
  }
  if (at.resource == "serviceaccounts" && at.subresource == "token") {
    // The account may have been made a moment ago, by way of another server.
    return WhenShown(exchange, [this, exchange] {
      internal::HandleTokenRequest(exchange, options_.tokens, authorizer_);
    });
  }
  if (internal::IsNodePart(at)) return internal::HandleNodePart(exchange, options_.nodes);
  auto format = ParseAccept(exchange->request.headers.Find("Accept"));
  if (!format.ok()) return exchange->SendError(format.status());
  exchange->format = *format;
  if (Status fits = CheckShape(*format, exchange->verb); !fits.ok()) {
    return exchange->SendError(fits);
  }
  if (exchange->verb == "list" && options_.post_reads) {
    return WhenShown(exchange, [this, exchange] {
      options_.post_reads([exchange] {
        exchange->Note("waited for a thread");
        Dispatch(exchange);
      });
    });
  }
  // What is deleted together is what a list shows.
  constexpr std::string_view kReads[] = {"get", "list", "watch", "deletecollection"};
  if (std::ranges::find(kReads, exchange->verb) == std::end(kReads)) return Dispatch(exchange);
  WhenShown(exchange, [exchange] { Dispatch(exchange); });
}

void RestHandler::Refused(const apiserver::Refusal& refusal) const {
  if (options_.auditor == nullptr || refusal.request == nullptr) return;
  const apiserver::Request& request = *refusal.request;
  Exchange exchange;
  exchange.kinds = registry_.objects().served();
  const auto route = ParseRoute(request.path, *exchange.kinds);
  if (route) {
    exchange.route = *route;
    exchange.verb = VerbOf(request, *route, Query(request.query));
  }
  exchange.request.path = request.path;
  const std::string why = refusal.code == 401
                              ? audit::Attempted(request.headers, refusal.certificate)
                              : std::string(refusal.message);
  options_.auditor->Refused(
      request, AttributesOf(exchange, route.has_value(), Lower(request.method)), refusal.code, why);
}

}  // namespace dray::registry
