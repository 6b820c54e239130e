// SPDX-License-Identifier: Apache-2.0
#include "audit/event.h"

#include <algorithm>

#include "base/ip_address.h"
#include "fmt/format.h"
#include "logs/record.h"

namespace dray::audit {
namespace {

using logs::AppendJsonString;

void Append(std::string& out, std::string_view key, std::string_view text) {
  out.append("\"").append(key).append("\":");
  AppendJsonString(out, text);
}

void AppendUnlessEmpty(std::string& out, std::string_view key, std::string_view text) {
  if (text.empty()) return;
  out += ',';
  Append(out, key, text);
}

void AppendList(std::string& out, std::string_view key, const std::vector<std::string>& list) {
  if (list.empty()) return;
  out.append(",\"").append(key).append("\":[");
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ',';
    AppendJsonString(out, list[i]);
  }
  out += ']';
}

void AppendUser(std::string& out, std::string_view key, const apiserver::User& user) {
  out.append(",\"").append(key).append("\":{");
  if (user.name.empty()) {  // nobody: a name is what everybody has
    out += '}';
    return;
  }
  Append(out, "username", user.name);
  AppendUnlessEmpty(out, "uid", user.uid);
  AppendList(out, "groups", user.groups);
  if (!user.extra.empty()) {
    out += R"(,"extra":{)";
    bool first = true;
    for (const auto& [name, values] : user.extra) {
      std::string list;
      AppendList(list, name, values);
      if (list.empty()) continue;
      out.append(list, first ? 1 : 0);
      first = false;
    }
    out += '}';
  }
  out += '}';
}

void AppendObject(std::string& out, const ObjectRef& object) {
  out += R"(,"objectRef":{)";
  Append(out, "resource", object.resource);
  AppendUnlessEmpty(out, "namespace", object.namespace_);
  AppendUnlessEmpty(out, "name", object.name);
  AppendUnlessEmpty(out, "uid", object.uid);
  AppendUnlessEmpty(out, "apiGroup", object.group);
  AppendUnlessEmpty(out, "apiVersion", object.version);
  AppendUnlessEmpty(out, "resourceVersion", object.resource_version);
  AppendUnlessEmpty(out, "subresource", object.subresource);
  out += '}';
}

}  // namespace

std::string ToLine(const Event& event, Stage stage, base::Time now) {
  std::string out = R"({"kind":"Event","apiVersion":"audit.k8s.io/v1")";
  AppendUnlessEmpty(out, "level", NameOf(event.level));
  AppendUnlessEmpty(out, "auditID", event.audit_id);
  AppendUnlessEmpty(out, "stage", NameOf(stage));
  AppendUnlessEmpty(out, "requestURI", event.request_uri);
  AppendUnlessEmpty(out, "verb", event.verb);
  AppendUser(out, "user", event.user);
  if (event.impersonated) AppendUser(out, "impersonatedUser", *event.impersonated);
  AppendList(out, "sourceIPs", event.source_ips);
  AppendUnlessEmpty(out, "userAgent", event.user_agent);
  if (event.object) AppendObject(out, *event.object);
  if (stage != Stage::kRequestReceived && event.code != 0) {
    out += fmt::format(R"(,"responseStatus":{{"metadata":{{}}{}{},"code":{}}})",
                       event.status.empty() ? "" : ",", event.status, event.code);
  }
  // Of a request that has only been received nothing has been read yet.
  if (stage != Stage::kRequestReceived) {
    if (!event.request_object.empty()) out += R"(,"requestObject":)" + event.request_object;
    if (!event.response_object.empty()) out += R"(,"responseObject":)" + event.response_object;
  }
  AppendUnlessEmpty(out, "requestReceivedTimestamp", event.received.ToRfc3339Micro());
  AppendUnlessEmpty(out, "stageTimestamp", now.ToRfc3339Micro());
  if (!event.annotations.empty()) {
    out += R"(,"annotations":{)";
    bool first = true;
    for (const auto& [key, value] : event.annotations) {
      if (!first) out += ',';
      first = false;
      AppendJsonString(out, key);
      out += ':';
      AppendJsonString(out, value);
    }
    out += '}';
  }
  out += "}\n";
  return out;
}

std::vector<std::string> SourceIps(const apiserver::Request& request) {
  std::vector<std::string> ips;
  const auto add = [&](std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    const auto address = base::ParseIp(text);
    if (!address) return;
    std::string ip = address->ToString();
    if (std::ranges::find(ips, ip) == ips.end()) ips.push_back(std::move(ip));
  };
  std::string_view forwarded = request.headers.Find("X-Forwarded-For");
  while (!forwarded.empty()) {
    const std::size_t comma = forwarded.find(',');
    add(forwarded.substr(0, comma));
    forwarded.remove_prefix(comma == forwarded.npos ? forwarded.size() : comma + 1);
  }
  add(request.headers.Find("X-Real-Ip"));
  add(std::string_view(request.remote).substr(0, request.remote.rfind(':')));
  return ips;
}

}  // namespace dray::audit
