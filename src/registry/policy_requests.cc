// SPDX-License-Identifier: Apache-2.0
#include "registry/internal/policy_requests.h"

#include <string>
#include <string_view>
#include <utility>

#include "registry/internal/exchange.h"
#include "registry/internal/request_options.h"
#include "registry/policies.h"
#include "rest/tree.h"

namespace dray::registry::internal {
namespace {

std::string_view Subresource(Part part) {
  if (part == Part::kStatus) return "status";
  if (part == Part::kEphemeralContainers) return "ephemeralcontainers";
  return part == Part::kApproval ? "approval" : std::string_view();
}

// What a pod's subresource is sent, with the head that it has on the wire.
rest::DocumentNode Body(std::string_view api_version, std::string_view kind,
                        const api::ObjectMeta& metadata) {
  rest::DocumentNode node = rest::MapNode();
  rest::SetIn(node, "kind", rest::StringNode(kind));
  rest::SetIn(node, "apiVersion", rest::StringNode(api_version));
  rest::DocumentNode meta = rest::MapNode();
  rest::SetIn(meta, "name", rest::StringNode(metadata.name));
  rest::SetIn(meta, "namespace", rest::StringNode(metadata.namespace_));
  rest::SetIn(node, "metadata", std::move(meta));
  return node;
}

void SetTexts(rest::DocumentNode& node, std::string_view key, const api::Map<std::string>& texts) {
  if (texts.empty()) return;
  rest::DocumentNode map = rest::MapNode();
  for (const auto& [name, text] : texts) {
    api::Member& member = map.members.emplace_back();
    member.key = name.view();
    member.value = rest::StringNode(text);
  }
  rest::SetIn(node, key, std::move(map));
}

std::string_view NameOf(Propagation propagation) {
  switch (propagation) {
    case Propagation::kOrphan:
      return "Orphan";
    case Propagation::kBackground:
      return "Background";
    case Propagation::kForeground:
      return "Foreground";
    case Propagation::kDefault:
      break;
  }
  return "";
}

void SetOptions(rest::DocumentNode& node, const DeleteOptions& options) {
  if (options.grace_seconds) {
    rest::SetIn(node, "gracePeriodSeconds", rest::NumberNode(*options.grace_seconds));
  }
  if (options.uid || options.resource_version) {
    rest::DocumentNode meant = rest::MapNode();
    if (options.uid) rest::SetIn(meant, "uid", rest::StringNode(*options.uid));
    if (options.resource_version) {
      rest::SetIn(meant, "resourceVersion", rest::StringNode(*options.resource_version));
    }
    rest::SetIn(node, "preconditions", std::move(meant));
  }
  if (const std::string_view name = NameOf(options.propagation); !name.empty()) {
    rest::SetIn(node, "propagationPolicy", rest::StringNode(name));
  }
}

void Attach(PolicyRequest& made, rest::DocumentNode body) {
  made.document = std::make_unique<api::DocumentNode>(std::move(body));
  made.request.document = made.document.get();
}

PolicyRequest OnPod(const WriteContext& context, const api::Object& pod, std::string_view part,
                    std::string_view group, std::string_view kind) {
  PolicyRequest made;
  policy::Request& request = made.request;
  request.operation = policy::kCreate;
  request.version = policy::Version::Of(pod.kind());
  request.version.kind = {std::string(group), "v1", std::string(kind)};
  request.subresource = part;
  request.name = pod.metadata().name;
  request.namespace_ = pod.metadata().namespace_;
  request.user = &context.user;
  request.dry_run = context.dry_run;
  const std::string api_version = group.empty() ? "v1" : std::string(group).append("/v1");
  Attach(made, Body(api_version, kind, pod.metadata()));
  return made;
}

}  // namespace

PolicyRequest ObjectRequest(const WriteContext& context, Part part, const api::KindInfo& asked,
                            const api::Object* next, const api::Object* old,
                            const rest::ServedKinds& served) {
  PolicyRequest made;
  policy::Request& request = made.request;
  const api::ObjectMeta& metadata = (next != nullptr ? next : old)->metadata();
  request.operation = next == nullptr  ? policy::kDelete
                      : old == nullptr ? policy::kCreate
                                       : policy::kUpdate;
  request.version = policy::Version::Of(asked);
  request.subresource = Subresource(part);
  request.name = metadata.name;
  // As in Kubernetes a Namespace is in itself.
  const bool space = asked.group.empty() && asked.kind == "Namespace";
  request.namespace_ = space ? metadata.name : metadata.namespace_;
  request.user = &context.user;
  request.dry_run = context.dry_run;
  request.object = next;
  request.old_object = old;
  for (const rest::ServedKind& row : served.all()) {
    if (row.kind->hub == asked.hub) request.equivalents.push_back(row.kind);
  }
  if (context.body != nullptr && next != nullptr) {
    request.subresource = context.body->subresource;
    request.version.kind = {context.body->group, context.body->version, context.body->kind};
    Attach(made, context.body->of(*next));
    if (old != nullptr) {
      made.old_document = std::make_unique<api::DocumentNode>(context.body->of(*old));
      request.old_document = made.old_document.get();
    }
  }
  return made;
}

PolicyRequest DeleteRequest(const WriteContext& context, const api::KindInfo& asked,
                            const api::Object& old, const DeleteOptions& options,
                            const rest::ServedKinds& served) {
  PolicyRequest made = ObjectRequest(context, Part::kObject, asked, nullptr, &old, served);
  made.options = std::make_unique<api::DocumentNode>(rest::MapNode());
  rest::SetIn(*made.options, "kind", rest::StringNode("DeleteOptions"));
  rest::SetIn(*made.options, "apiVersion", rest::StringNode("meta.k8s.io/v1"));
  SetOptions(*made.options, options);
  made.request.options = made.options.get();
  return made;
}

PolicyRequest BindingRequest(const WriteContext& context, const api::Object& pod,
                             const Binding& binding) {
  PolicyRequest made = OnPod(context, pod, "binding", "", "Binding");
  rest::DocumentNode target = rest::MapNode();
  rest::SetIn(target, "kind", rest::StringNode("Node"));
  rest::SetIn(target, "name", rest::StringNode(binding.node));
  rest::SetIn(*made.document, "target", std::move(target));
  // The pod gets them, too.
  rest::DocumentNode& metadata = *rest::FindIn(*made.document, "metadata");
  SetTexts(metadata, "labels", binding.labels);
  SetTexts(metadata, "annotations", binding.annotations);
  return made;
}

PolicyRequest EvictionRequest(const WriteContext& context, const api::Object& pod,
                              const DeleteOptions& options) {
  PolicyRequest made = OnPod(context, pod, "eviction", "policy", "Eviction");
  rest::DocumentNode how = rest::MapNode();
  SetOptions(how, options);
  if (!how.members.empty()) rest::SetIn(*made.document, "deleteOptions", std::move(how));
  return made;
}

PolicyRequest ConnectRequest(const Exchange& exchange) {
  const Route& route = exchange.route;
  const std::string_view kind = route.subresource == "exec"     ? "PodExecOptions"
                                : route.subresource == "attach" ? "PodAttachOptions"
                                                                : "PodPortForwardOptions";
  PolicyRequest made;
  made.user = std::make_unique<api::UserInfo>(exchange.user());
  policy::Request& request = made.request;
  request.operation = policy::kConnect;
  request.version = policy::Version::Of(exchange.kind());
  request.version.kind = {"", "v1", std::string(kind)};
  request.subresource = route.subresource;
  request.name = route.name;
  request.namespace_ = route.namespace_;
  request.user = made.user.get();
  rest::DocumentNode body = rest::MapNode();
  rest::SetIn(body, "kind", rest::StringNode(kind));
  rest::SetIn(body, "apiVersion", rest::StringNode("v1"));
  for (const std::string_view flag : {"stdin", "stdout", "stderr", "tty"}) {
    if (exchange.query.Has(flag) && IsYes(exchange.query.Get(flag))) {
      rest::SetIn(body, flag, rest::BoolNode(true));
    }
  }
  if (exchange.query.Has("container")) {
    rest::SetIn(body, "container", rest::StringNode(exchange.query.Get("container")));
  }
  if (exchange.query.Has("command")) {
    rest::DocumentNode words = rest::ListNode();
    for (const std::string& word : exchange.query.All("command")) {
      words.items.push_back(rest::StringNode(word));
    }
    rest::SetIn(body, "command", std::move(words));
  }
  Attach(made, std::move(body));
  return made;
}

PolicyRequest TokenPolicyRequest(const Exchange& exchange, const api::DocumentNode& body) {
  PolicyRequest made;
  made.user = std::make_unique<api::UserInfo>(exchange.user());
  policy::Request& request = made.request;
  request.operation = policy::kCreate;
  request.version = policy::Version::Of(exchange.kind());
  request.version.kind = {"authentication.k8s.io", "v1", "TokenRequest"};
  request.subresource = "token";
  request.name = exchange.route.name;
  request.namespace_ = exchange.route.namespace_;
  request.user = made.user.get();
  request.document = &body;
  return made;
}

}  // namespace dray::registry::internal

namespace dray::registry {

bool Registry::HasPolicies() const {
  return options_.policies != nullptr && options_.policies->Any();
}

Status Registry::AdmitOther(const policy::Request& request, WriteNotes* notes) const {
  return HasPolicies() ? options_.policies->Admit(request, objects_, notes) : Status();
}

Status Registry::AskPolicies(const WriteContext& context, Part part, const api::KindInfo& asked,
                             const api::Object& next, const api::Object* old) const {
  if (!HasPolicies()) return {};
  const internal::PolicyRequest request =
      internal::ObjectRequest(context, part, asked, &next, old, *objects_.served());
  return options_.policies->Admit(request.request, objects_, context.notes.get());
}

}  // namespace dray::registry
