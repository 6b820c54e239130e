// SPDX-License-Identifier: Apache-2.0
#include "audit/auditor.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "apiserver/forwarding_stream.h"
#include "base/status.h"
#include "fmt/format.h"
#include "logs/record.h"
#include "rest/tree.h"

namespace dray::audit {
namespace {

constexpr std::size_t kMaxUserAgent = 1024;  // as in Kubernetes
constexpr std::string_view kTruncated = "...TRUNCATED";

// Resources whose bodies hold what lets somebody in.
bool IsSecret(const Attributes& asked) {
  if (asked.resource == "secrets") return true;
  if (asked.resource == "tokenreviews") return true;
  return asked.resource == "serviceaccounts" && asked.subresource == "token";
}

void DropManagedFields(rest::DocumentNode& object) {
  if (!rest::IsMap(object)) return;
  rest::DocumentNode* metadata = rest::FindIn(object, "metadata");
  if (metadata != nullptr && rest::IsMap(*metadata)) rest::EraseIn(*metadata, "managedFields");
  rest::DocumentNode* items = rest::FindIn(object, "items");
  if (items == nullptr || !rest::IsList(*items)) return;
  for (rest::DocumentNode& item : items->items) DropManagedFields(item);
}

// The fields of a Status, but for those that every event has by itself; `words`: with what it says.
std::string StatusFields(const rest::DocumentNode& status, bool words) {
  std::string fields;
  for (const api::Member& member : status.members) {
    if (member.key == "kind" || member.key == "apiVersion" || member.key == "metadata" ||
        member.key == "code") {
      continue;
    }
    if (!words && (member.key == "message" || member.key == "details")) continue;
    fields +=
        fmt::format("{}\"{}\":{}", fields.empty() ? "" : ",", member.key, ToJson(member.value));
  }
  return fields;
}

class AuditedStream final : public apiserver::ForwardingStream {
 public:
  AuditedStream(std::unique_ptr<apiserver::StreamSource> inner, std::unique_ptr<Trail> trail)
      : ForwardingStream(std::move(inner)), trail_(std::move(trail)) {}
  ~AuditedStream() override { trail_->Ended(); }

 private:
  const std::unique_ptr<Trail> trail_;
};

}  // namespace

void Trail::Impersonated(const apiserver::User& user) { event_.impersonated = user; }

void Trail::Annotate(std::string_view key, std::string_view value) {
  event_.annotations[std::string(key)] = value;
}

void Trail::Decided(bool allowed, std::string_view reason) {
  event_.annotations["authorization.k8s.io/decision"] = allowed ? "allow" : "forbid";
  event_.annotations["authorization.k8s.io/reason"] = reason;
}

void Trail::About(const Identity& object) {
  if (!event_.object) return;
  const auto fill = [](std::string& to, std::string_view from) {
    if (to.empty()) to = from;
  };
  fill(event_.object->name, object.name);
  fill(event_.object->namespace_, object.namespace_);
  fill(event_.object->uid, object.uid);
  fill(event_.object->resource_version, object.resource_version);
}

std::string Trail::Cleaned(std::string_view body, bool yaml) const {
  auto tree = rest::ReadTree(body, yaml);
  if (!tree.ok()) return {};
  if (decision_.omit_managed_fields) DropManagedFields(*tree);
  return ToJson(*tree);
}

void Trail::ReadBody(std::string_view body, std::string_view media_type) {
  if (!WantsRequestObject() || body.empty() || !event_.request_object.empty()) return;
  // What cannot be read has been refused, and the answer says so.
  event_.request_object = Cleaned(body, media_type.ends_with("yaml"));
}

void Trail::Answered(const apiserver::Response& response) {
  event_.code = response.status;
  const bool has_body = response.stream == nullptr && response.body != nullptr;
  if (has_body && response.body->starts_with(R"({"kind":"Status")")) {
    const auto status = rest::ReadTree(*response.body);
    // What is wrong with a body is told with parts of it.
    const bool of_body = response.status == 400 || response.status == 422;
    if (status.ok() && rest::IsMap(*status)) {
      event_.status = StatusFields(*status, !(secret_ && of_body));
    }
  }
  if (has_body && event_.level >= Level::kRequestResponse && !secret_ &&
      response.body->starts_with('{')) {
    event_.response_object = Cleaned(*response.body, false);
  }
  Write(response.stream != nullptr ? Stage::kResponseStarted : Stage::kResponseComplete);
}

void Trail::Ended() { Write(Stage::kResponseComplete); }

void Trail::Dropped() {
  event_.code = 500;
  Write(Stage::kPanic);
}

void Trail::Write(Stage stage) {
  if (decision_.omit_stages.Has(stage)) return;
  auditor_.writer_.Write(ToLine(event_, stage, auditor_.clock_.Now()));
}

std::unique_ptr<Trail> Auditor::MakeTrail(const apiserver::Request& request,
                                          const Attributes& attributes) {
  const Decision decision = policy_.For(request.user.name, request.user.groups, attributes);
  levels_[static_cast<std::size_t>(decision.level)].fetch_add(1, std::memory_order_relaxed);
  if (decision.level == Level::kNone) return nullptr;
  std::unique_ptr<Trail> trail(new Trail(*this, decision));
  Event& event = trail->event_;
  event.level = decision.level;
  event.audit_id = request.audit_id;
  event.request_uri = request.path;
  if (!request.query.empty()) event.request_uri.append("?").append(request.query);
  event.verb = attributes.verb;
  event.user = request.user;
  event.source_ips = SourceIps(request);
  event.user_agent = request.headers.Find("User-Agent");
  if (event.user_agent.size() > kMaxUserAgent) {
    event.user_agent = event.user_agent.substr(0, kMaxUserAgent).append(kTruncated);
  }
  if (attributes.is_resource) {
    event.object = ObjectRef{.resource = std::string(attributes.resource),
                             .namespace_ = std::string(attributes.namespace_),
                             .name = std::string(attributes.name),
                             .uid = {},
                             .group = std::string(attributes.group),
                             .version = std::string(attributes.version),
                             .resource_version = {},
                             .subresource = std::string(attributes.subresource)};
    trail->secret_ = IsSecret(attributes);
  }
  event.received = clock_.Now() - request.receiving;
  return trail;
}

std::unique_ptr<Trail> Auditor::Begin(const apiserver::Request& request,
                                      const Attributes& attributes) {
  std::unique_ptr<Trail> trail = MakeTrail(request, attributes);
  if (trail != nullptr) trail->Write(Stage::kRequestReceived);
  return trail;
}

void Auditor::Refused(const apiserver::Request& request, const Attributes& attributes, int code,
                      std::string_view why) {
  const std::unique_ptr<Trail> trail = MakeTrail(request, attributes);
  if (trail == nullptr) return;
  trail->event_.code = code;
  trail->event_.status = R"("message":)";
  logs::AppendJsonString(trail->event_.status, why);
  // As Kubernetes has it: who is not let in has no other stage.
  trail->Write(code == 401 ? Stage::kResponseStarted : Stage::kResponseComplete);
}

AuditCounts Auditor::counts() const {
  const logs::LineWriterCounts lines = writer_.counts();
  AuditCounts counts{.events = lines.lines, .errors = lines.dropped + lines.failed};
  for (std::size_t i = 0; i < kLevels; ++i) counts.levels[i] = levels_[i].load();
  return counts;
}

std::string Attempted(const apiserver::Headers& headers, bool certificate) {
  const std::string_view authorization = headers.Find("Authorization");
  const auto scheme = base::ToAbsl(authorization.substr(0, authorization.find(' ')));
  std::vector<std::string_view> tried;
  if (absl::EqualsIgnoreCase(scheme, "basic")) tried.push_back("basic");
  if (absl::EqualsIgnoreCase(scheme, "bearer")) tried.push_back("bearer");
  if (certificate) tried.push_back("x509");
  if (tried.empty()) return "Authentication failed, no credentials provided";
  return fmt::format("Authentication failed, attempted: {}", fmt::join(tried, ", "));
}

std::unique_ptr<apiserver::StreamSource> Audited(std::unique_ptr<apiserver::StreamSource> stream,
                                                 std::unique_ptr<Trail> trail) {
  return std::make_unique<AuditedStream>(std::move(stream), std::move(trail));
}

}  // namespace dray::audit
