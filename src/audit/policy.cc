// SPDX-License-Identifier: Apache-2.0
#include "audit/policy.h"

#include <algorithm>

#include "logs/record.h"

namespace dray::audit {
namespace {

bool Has(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool Fits(const GroupResources& wanted, const Attributes& asked) {
  if (wanted.group != asked.group) return false;
  if (wanted.resources.empty()) return true;
  if (!wanted.resource_names.empty() && !Has(wanted.resource_names, asked.name)) return false;
  for (const std::string& text : wanted.resources) {
    if (text == "*") return true;
    const std::size_t slash = text.find('/');
    const std::string_view resource = std::string_view(text).substr(0, slash);
    if (slash == std::string::npos) {
      if (asked.subresource.empty() && resource == asked.resource) return true;
      continue;
    }
    const std::string_view part = std::string_view(text).substr(slash + 1);
    // "pods/*" fits pods, too, as in Kubernetes.
    if (part == "*") {
      if (resource == asked.resource) return true;
    } else if (part == asked.subresource && (resource == "*" || resource == asked.resource)) {
      return true;
    }
  }
  return false;
}

bool PathFits(std::string_view wanted, std::string_view path) {
  if (wanted == "*" || wanted == path) return true;
  return wanted.ends_with('*') && path.starts_with(wanted.substr(0, wanted.size() - 1));
}

bool Fits(const Rule& rule, std::string_view user, const std::vector<std::string>& groups,
          const Attributes& asked) {
  if (!rule.users.empty() && !Has(rule.users, user)) return false;
  if (!rule.user_groups.empty() && std::ranges::none_of(groups, [&](const auto& group) {
        return Has(rule.user_groups, group);
      })) {
    return false;
  }
  if (!rule.verbs.empty() && !Has(rule.verbs, asked.verb)) return false;
  if (!rule.namespaces.empty() || !rule.resources.empty()) {
    if (!asked.is_resource) return false;
    if (!rule.namespaces.empty() && !Has(rule.namespaces, asked.namespace_)) return false;
    return rule.resources.empty() || std::ranges::any_of(rule.resources, [&](const auto& wanted) {
             return Fits(wanted, asked);
           });
  }
  if (rule.non_resource_urls.empty()) return true;
  if (asked.is_resource) return false;
  return std::ranges::any_of(rule.non_resource_urls,
                             [&](const auto& url) { return PathFits(url, asked.path); });
}

void AppendList(std::string& out, std::string_view key, const std::vector<std::string>& list) {
  if (list.empty()) return;
  out.append(",\"").append(key).append("\":[");
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ',';
    logs::AppendJsonString(out, list[i]);
  }
  out += ']';
}

void AppendStages(std::string& out, Stages stages) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    if (stages.Has(stage)) names.emplace_back(NameOf(stage));
  }
  AppendList(out, "omitStages", names);
}

}  // namespace

std::string_view NameOf(Level level) {
  switch (level) {
    case Level::kNone:
      return "None";
    case Level::kMetadata:
      return "Metadata";
    case Level::kRequest:
      return "Request";
    case Level::kRequestResponse:
      return "RequestResponse";
  }
  return "";
}

std::string_view NameOf(Stage stage) {
  switch (stage) {
    case Stage::kRequestReceived:
      return "RequestReceived";
    case Stage::kResponseStarted:
      return "ResponseStarted";
    case Stage::kResponseComplete:
      return "ResponseComplete";
    case Stage::kPanic:
      return "Panic";
  }
  return "";
}

Decision Policy::For(std::string_view user, const std::vector<std::string>& groups,
                     const Attributes& attributes) const {
  for (const Rule& rule : rules) {
    if (!Fits(rule, user, groups, attributes)) continue;
    return {.level = rule.level,
            .omit_stages = omit_stages | rule.omit_stages,
            .omit_managed_fields = rule.omit_managed_fields.value_or(omit_managed_fields)};
  }
  return {};
}

Policy DefaultPolicy() {
  Policy policy;
  policy.omit_stages.Add(Stage::kRequestReceived);
  policy.rules = {
      // Whoever was not let in, whatever they wanted, and who takes everything away as a copy.
      {.level = Level::kMetadata, .users = {""}},
      {.level = Level::kMetadata, .non_resource_urls = {"/snapshot"}},
      {.level = Level::kNone, .verbs = {"get", "list", "watch", "head", "options"}},
      // What processes say all the time, to say that they are there and what they have done.
      {.level = Level::kNone,
       .resources = {{.group = "coordination.k8s.io",
                      .resources = {"leases"},
                      .resource_names = {}},
                     {.group = "", .resources = {"events"}, .resource_names = {}},
                     {.group = "events.k8s.io", .resources = {"events"}, .resource_names = {}}}},
      // Questions that users ask about themselves.
      {.level = Level::kNone,
       .resources = {{.group = "authentication.k8s.io", .resources = {}, .resource_names = {}},
                     {.group = "authorization.k8s.io", .resources = {}, .resource_names = {}}}},
      {.level = Level::kMetadata},
  };
  return policy;
}

std::string ToJson(const Policy& policy) {
  std::string out = R"({"apiVersion":"audit.k8s.io/v1","kind":"Policy")";
  AppendStages(out, policy.omit_stages);
  if (policy.omit_managed_fields) out += R"(,"omitManagedFields":true)";
  out += R"(,"rules":[)";
  for (std::size_t i = 0; i < policy.rules.size(); ++i) {
    const Rule& rule = policy.rules[i];
    out.append(i > 0 ? ",{" : "{").append(R"("level":")").append(NameOf(rule.level)).append("\"");
    AppendList(out, "users", rule.users);
    AppendList(out, "userGroups", rule.user_groups);
    AppendList(out, "verbs", rule.verbs);
    if (!rule.resources.empty()) {
      out += R"(,"resources":[)";
      for (std::size_t j = 0; j < rule.resources.size(); ++j) {
        out.append(j > 0 ? ",{" : "{").append(R"("group":)");
        logs::AppendJsonString(out, rule.resources[j].group);
        AppendList(out, "resources", rule.resources[j].resources);
        AppendList(out, "resourceNames", rule.resources[j].resource_names);
        out += '}';
      }
      out += ']';
    }
    AppendList(out, "namespaces", rule.namespaces);
    AppendList(out, "nonResourceURLs", rule.non_resource_urls);
    AppendStages(out, rule.omit_stages);
    if (rule.omit_managed_fields) {
      out.append(R"(,"omitManagedFields":)").append(*rule.omit_managed_fields ? "true" : "false");
    }
    out += '}';
  }
  return out + "]}";
}

}  // namespace dray::audit
