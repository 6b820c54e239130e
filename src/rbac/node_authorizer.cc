// SPDX-License-Identifier: Apache-2.0
#include "rbac/node_authorizer.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "api/document.h"
#include "api/field_selector.h"
#include "api/pod.h"
#include "api/resource_slice.h"
#include "fmt/format.h"
#include "rbac/pod_references.h"
#include "rbac/rules.h"

namespace dray::rbac {
namespace {

using Decision = api::AuthorizationDecision;
using Words = std::initializer_list<std::string_view>;

constexpr std::string_view kResourceGroup = "resource.k8s.io";
constexpr std::string_view kLeaseNamespace = "kube-node-lease";

Decision Yes() { return {.allowed = true}; }
Decision No(std::string why = {}) { return {.allowed = false, .reason = std::move(why)}; }

bool OneOf(std::string_view word, Words words) {
  return std::ranges::find(words, word) != words.end();
}

struct Wish {
  std::string_view node;
  const api::AuthorizationRequest& request;
  const NodeObjects& objects;

  Decision Unrelated() const {
    return No(fmt::format("no relationship found between node '{}' and this object", node));
  }
  // Something that a pod on the node names.
  Decision Referred(std::set<std::string, std::less<>> PodReferences::*names) const {
    if (request.name.empty()) return No("No Object name found");
    for (const api::Object& pod : objects.PodsOn(node, request.namespace_)) {
      if ((ReferencesOf(*pod.As<api::Pod>()).*names).contains(request.name)) return Yes();
    }
    return Unrelated();
  }
  bool SelectsNode(std::string_view field) const {
    const auto selector = api::FieldSelector::Parse(request.field_selector);
    return selector.ok() && selector->RequiredValue(field) == node;
  }

  Decision Settings(std::set<std::string, std::less<>> PodReferences::*names) const {
    if (!OneOf(request.verb, {"get", "list", "watch"})) {
      return No("can only read resources of this type");
    }
    if (!request.subresource.empty()) return No("cannot read subresource");
    if (request.namespace_.empty()) return No("can only read namespaced object of this type");
    return Referred(names);
  }
  Decision Gets(std::set<std::string, std::less<>> PodReferences::*names) const {
    if (request.verb != "get") return No("can only get individual resources of this type");
    if (!request.subresource.empty()) return No("cannot get subresource");
    return Referred(names);
  }
  Decision VolumeClaims() const {
    if (request.subresource != "status") return Gets(&PodReferences::volume_claims);
    if (!OneOf(request.verb, {"update", "patch"})) {
      return No("can only get/update/patch this type");
    }
    return Referred(&PodReferences::volume_claims);
  }
  // A volume is a pod's if it is bound to a claim of the pod.
  Decision Volumes() const {
    if (request.verb != "get") return No("can only get individual resources of this type");
    if (!request.subresource.empty()) return No("cannot get subresource");
    const auto volume = objects.Find("", "persistentvolumes", "", request.name);
    if (!volume) return Unrelated();
    std::vector<api::Diagnostic> diagnostics;
    const api::DocumentNode tree = api::ParseJson(volume->ToJson(), diagnostics);
    const api::Member* spec = tree.Find("spec");
    const api::Member* claim = spec == nullptr ? nullptr : spec->value.Find("claimRef");
    const api::Member* space = claim == nullptr ? nullptr : claim->value.Find("namespace");
    const api::Member* name = claim == nullptr ? nullptr : claim->value.Find("name");
    if (space == nullptr || name == nullptr) return Unrelated();
    for (const api::Object& pod : objects.PodsOn(node, space->value.text)) {
      if (ReferencesOf(*pod.As<api::Pod>()).volume_claims.contains(name->value.text)) return Yes();
    }
    return Unrelated();
  }
  Decision Accounts() const {
    if (request.verb == "get" && request.subresource.empty()) {
      return Gets(&PodReferences::service_accounts);
    }
    if (request.verb != "create" || request.name.empty()) {
      return No("can only create tokens for individual service accounts");
    }
    if (request.subresource != "token") {
      return No("can only create token subresource of serviceaccount");
    }
    return Referred(&PodReferences::service_accounts);
  }
  Decision Leases() const {
    if (!OneOf(request.verb, {"get", "create", "update", "patch", "delete"})) {
      return No("can only get, create, update, patch, or delete a node lease");
    }
    if (request.namespace_ != kLeaseNamespace) {
      return No(
          fmt::format("can only access leases in the \"{}\" system namespace", kLeaseNamespace));
    }
    // The name of one that is being made is in its body.
    if (request.verb != "create" && request.name != node) {
      return No("can only access node lease with the same name as the requesting node");
    }
    return Yes();
  }
  Decision CsiNodes() const {
    if (!request.subresource.empty()) return No("cannot authorize CSINode subresources");
    if (!OneOf(request.verb, {"get", "create", "update", "patch", "delete"})) {
      return No("can only get, create, update, patch, or delete a CSINode");
    }
    if (request.verb != "create" && request.name != node) {
      return No("can only access CSINode with the same name as the requesting node");
    }
    return Yes();
  }
  Decision Slices() const {
    if (!request.subresource.empty()) return No("cannot authorize ResourceSlice subresources");
    if (request.verb == "create") return Yes();
    if (OneOf(request.verb, {"get", "update", "patch", "delete"})) {
      const auto slice = objects.Find(kResourceGroup, "resourceslices", "", request.name);
      // That there is none may be known: whoever deletes twice is told so.
      if (!slice) return Yes();
      return slice->As<api::ResourceSlice>()->spec.node_name == std::string(node) ? Yes()
                                                                                  : Unrelated();
    }
    if (OneOf(request.verb, {"list", "watch", "deletecollection"})) {
      if (SelectsNode("spec.nodeName")) return Yes();
      return No("can only list/watch/deletecollection resourceslices with nodeName field selector");
    }
    return No(
        "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, "
        "update, patch, delete, deletecollection");
  }
  Decision Nodes() const {
    if (request.subresource == "status")
      return {.allowed = OneOf(request.verb, {"update", "patch"})};
    if (!request.subresource.empty()) return No();
    if (OneOf(request.verb, {"create", "update", "patch"})) return Yes();
    if (!OneOf(request.verb, {"get", "list", "watch"})) return No();
    if (request.name == node) return Yes();
    if (request.name.empty()) {
      return No(fmt::format("node '{}' cannot read all nodes, only its own Node object", node));
    }
    return No(
        fmt::format("node '{}' cannot read '{}', only its own Node object", node, request.name));
  }
  Decision Pods() const {
    if (request.subresource == "status")
      return {.allowed = OneOf(request.verb, {"update", "patch"})};
    if (request.subresource == "eviction") return {.allowed = request.verb == "create"};
    if (!request.subresource.empty()) return No();
    if (request.verb == "delete") return Yes();
    if (!OneOf(request.verb, {"get", "list", "watch"})) return No();
    if (request.verb != "get" && SelectsNode("spec.nodeName")) return Yes();
    if (request.name.empty()) {
      return No("can only list/watch pods with spec.nodeName field selector");
    }
    const auto pod = objects.Find("", "pods", request.namespace_, request.name);
    // An agent that still knows a pod has to learn that it is gone.
    if (!pod || pod->As<api::Pod>()->spec.node_name == node) return Yes();
    return Unrelated();
  }
};

using Names = std::vector<std::string>;
api::PolicyRule Rule(Names verbs, std::string group, Names resources) {
  return {.verbs = std::move(verbs),
          .api_groups = {std::move(group)},
          .resources = std::move(resources)};
}

}  // namespace

std::optional<std::string_view> NodeIdentity(const api::UserInfo& user) {
  if (std::ranges::find(user.groups, kNodesGroup) == user.groups.end()) return std::nullopt;
  const std::string_view name = user.name;
  if (!name.starts_with(kNodeUserPrefix)) return std::string_view();
  return name.substr(kNodeUserPrefix.size());
}

const std::vector<api::PolicyRule>& NodeRules() {
  static const std::vector<api::PolicyRule> rules = {
      Rule({"create"}, "authentication.k8s.io", {"tokenreviews"}),
      Rule({"create"}, "authorization.k8s.io",
           {"subjectaccessreviews", "localsubjectaccessreviews"}),
      Rule({"get", "list", "watch"}, "", {"services"}),
      Rule({"create", "get", "list", "watch"}, "", {"nodes"}),
      Rule({"update", "patch"}, "", {"nodes/status"}),
      Rule({"update", "patch"}, "", {"nodes"}),
      {.verbs = {"create", "update", "patch"},
       .api_groups = {"", "events.k8s.io"},
       .resources = {"events"}},
      Rule({"get", "list", "watch"}, "", {"pods"}),
      Rule({"delete"}, "", {"pods"}),
      Rule({"update", "patch"}, "", {"pods/status"}),
      Rule({"create"}, "", {"pods/eviction"}),
      Rule({"get", "list", "watch"}, "", {"secrets", "configmaps"}),
      Rule({"get"}, "", {"persistentvolumeclaims", "persistentvolumes"}),
      Rule({"get", "update", "patch"}, "", {"persistentvolumeclaims/status"}),
      Rule({"get"}, "", {"endpoints"}),
      Rule({"create", "get", "list", "watch"}, "certificates.k8s.io",
           {"certificatesigningrequests"}),
      Rule({"get", "create", "update", "patch", "delete"}, "coordination.k8s.io", {"leases"}),
      Rule({"get"}, "storage.k8s.io", {"volumeattachments"}),
      Rule({"get", "list", "watch"}, "storage.k8s.io", {"csidrivers"}),
      Rule({"get", "create", "update", "patch", "delete"}, "storage.k8s.io", {"csinodes"}),
      Rule({"create"}, "", {"serviceaccounts/token"}),
      Rule({"get"}, "", {"serviceaccounts"}),
      Rule({"get", "list", "watch"}, "node.k8s.io", {"runtimeclasses"}),
      Rule({"get"}, std::string(kResourceGroup), {"resourceclaims"}),
      Rule({"deletecollection"}, std::string(kResourceGroup), {"resourceslices"}),
      Rule({"get", "list", "watch"}, "certificates.k8s.io", {"podcertificaterequests"}),
  };
  return rules;
}

std::optional<Decision> AuthorizeNode(const api::AuthorizationRequest& request,
                                      const NodeObjects& objects) {
  const auto node = NodeIdentity(request.user);
  if (!node) return std::nullopt;
  if (node->empty()) return No(fmt::format("unknown node for user \"{}\"", request.user.name));
  const Wish wish{*node, request, objects};
  if (request.IsResource() && request.api_group.empty()) {
    if (request.resource == "secrets") return wish.Settings(&PodReferences::secrets);
    if (request.resource == "configmaps") return wish.Settings(&PodReferences::config_maps);
    if (request.resource == "persistentvolumeclaims") return wish.VolumeClaims();
    if (request.resource == "persistentvolumes") return wish.Volumes();
    if (request.resource == "serviceaccounts") return wish.Accounts();
    if (request.resource == "nodes") return wish.Nodes();
    if (request.resource == "pods") return wish.Pods();
  }
  if (request.IsResource() && request.api_group == kResourceGroup) {
    if (request.resource == "resourceclaims") return wish.Gets(&PodReferences::resource_claims);
    if (request.resource == "resourceslices") return wish.Slices();
  }
  if (request.api_group == "coordination.k8s.io" && request.resource == "leases") {
    return wish.Leases();
  }
  if (request.api_group == "storage.k8s.io" && request.resource == "csinodes") {
    return wish.CsiNodes();
  }
  if (Allows(NodeRules(), request)) return Yes();
  return No();
}

}  // namespace dray::rbac
