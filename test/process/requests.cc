// SPDX-License-Identifier: Apache-2.0
#include "process/requests.h"

#include <thread>
#include <utility>

#include "api/document.h"
#include "api/json.h"
#include "base/check.h"
#include "fmt/format.h"

namespace dray::process {

std::string Text(const Call& call) {
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n{}", call.method, call.path, call.headers);
  if (call.body.empty()) return text + "\r\n";
  return text + fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n\r\n{}", call.content_type,
                            call.body.size(), call.body);
}

apiserver::ClientResponse Requests::Do(const Call& call) {
  if (client_ == nullptr) client_ = std::make_unique<apiserver::TestClient>(port_, tls_);
  apiserver::ClientResponse response;
  if (client_->connected() && client_->Send(Text(call))) response = client_->ReadResponse();
  if (response.status == 0) client_ = nullptr;
  return response;
}

bool Requests::DoAndHangUp(const Call& call, std::chrono::microseconds later) {
  if (client_ == nullptr) client_ = std::make_unique<apiserver::TestClient>(port_, tls_);
  const bool sent = client_->connected() && client_->Send(Text(call));
  if (sent) std::this_thread::sleep_for(later);
  client_ = nullptr;
  return sent;
}

std::optional<Listed> Requests::List(const api::KindInfo& kind) {
  const apiserver::ClientResponse response = Do({.path = PathOf(kind)});
  if (response.status != 200) return std::nullopt;
  std::vector<api::Diagnostic> diagnostics;
  const api::DocumentNode document = api::ParseJson(response.body, diagnostics);
  Listed listed;
  for (const api::ObjectNode& node : api::ObjectsIn(document, diagnostics)) {
    auto object = api::DecodeObject(node, api::Severity::kError, diagnostics);
    if (object) listed.objects.push_back(*std::move(object));
  }
  for (const api::Diagnostic& d : diagnostics) DRAY_CHECK(false, d.reason + ": " + d.message);
  listed.revision =
      std::stoll(document.Find("metadata")->value.Find("resourceVersion")->value.text);
  return listed;
}

std::string PathOf(const api::KindInfo& kind, std::string_view space, std::string_view name) {
  std::string path = kind.group.empty() ? fmt::format("/api/{}", kind.version)
                                        : fmt::format("/apis/{}/{}", kind.group, kind.version);
  if (!space.empty()) path += fmt::format("/namespaces/{}", space);
  path += fmt::format("/{}", kind.plural);
  if (!name.empty()) path += fmt::format("/{}", name);
  return path;
}

api::Object Decoded(std::string_view json) {
  api::JsonDecoder decoder;
  auto object = api::DecodeObject(decoder, json);
  DRAY_CHECK(object.ok(), fmt::format("{}: {}", object.status().ToString(), json));
  return *std::move(object);
}

std::int64_t RevisionOf(const api::Object& object) {
  return std::stoll(object.metadata().resource_version);
}

}  // namespace dray::process
