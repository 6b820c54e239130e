// SPDX-License-Identifier: Apache-2.0
//
// The kind `strategy`: what a server makes of an object before it stores it, which of its
// surroundings it asks, and which errors that leads to.
#include <map>
#include <set>
#include <stdexcept>

#include "api/authorization.h"
#include "api/field_selector.h"
#include "api/strategy.h"
#include "api/validation.h"
#include "conformance/case_files.h"
#include "conformance/suite.h"
#include "fmt/format.h"

namespace dray::conformance {
namespace {

using api::DocumentNode;
using Outcome = std::optional<std::string>;

// `context.namespaces`; without it every namespace may have admin access.
class RecordedNamespaces final : public api::NamespaceLabels {
 public:
  explicit RecordedNamespaces(const DocumentNode* context)
      : namespaces_(context != nullptr ? Get(*context, "namespaces") : nullptr) {}

  StatusOr<api::Map<std::string>> LabelsOf(std::string_view namespace_) const override {
    if (namespaces_ == nullptr) {
      return api::Map<std::string>{{std::string(api::kAdminAccessLabel), "true"}};
    }
    for (const DocumentNode& entry : namespaces_->items) {
      if (TextOf(entry, "name") != namespace_) continue;
      api::Map<std::string> labels;
      if (const DocumentNode* recorded = Get(entry, "labels")) {
        for (const api::Member& label : recorded->members) labels[label.key] = label.value.text;
      }
      return labels;
    }
    return base::NotFound(fmt::format("namespace \"{}\" not found", namespace_));
  }

 private:
  const DocumentNode* namespaces_;
};

// `context.authorizer` decides everything, or `context.allowed` lists what is permitted. Counts the
// calls.
class RecordedAuthorizer final : public api::Authorizer {
 public:
  explicit RecordedAuthorizer(const DocumentNode* context) {
    if (context == nullptr) return;
    for (std::string& text : TextsOf(*context, "allowed")) allowed_.insert(std::move(text));
    allow_all_ = TextOf(*context, "authorizer") == "allow";
    const DocumentNode* fails = Get(*context, "authorizerFails");
    fails_ = fails != nullptr && fails->boolean;
  }

  api::AuthorizationDecision Authorize(const api::AuthorizationRequest& request) const override {
    const std::string key = fmt::format("{}/{}/{}/{}", request.verb, request.resource,
                                        request.subresource, request.name);
    ++calls_[key];
    if (fails_) return {.allowed = false, .error = base::Internal("authorizer failed")};
    if (allow_all_ || allowed_.contains(key)) return {.allowed = true};
    return {.allowed = false, .reason = "no rule matched"};
  }

  const std::map<std::string, int>& calls() const { return calls_; }

 private:
  std::set<std::string> allowed_;
  bool allow_all_ = false;
  bool fails_ = false;
  mutable std::map<std::string, int> calls_;
};

api::RequestInfo RequestOf(const DocumentNode* context) {
  api::RequestInfo request;
  if (context == nullptr) return request;
  request.verb = TextOf(*context, "verb");
  request.namespace_ = TextOf(*context, "requestNamespace");
  const DocumentNode* user = Get(*context, "user");
  if (user == nullptr) return request;
  request.user.name = TextOf(*user, "name");
  request.user.groups = TextsOf(*user, "groups");
  if (const DocumentNode* extra = Get(*user, "extra")) {
    for (const api::Member& entry : extra->members) {
      request.user.extra[entry.key] = TextsOf(*extra, entry.key);
    }
  }
  return request;
}

// The current time of a case; "<now>" in expectations stands for it.
base::Time NowOf(const DocumentNode* context) {
  const std::string text = context != nullptr ? TextOf(*context, "now") : "";
  if (text.empty()) return base::Time::FromUnix(1'700'000'000);
  const auto time = base::Time::ParseRfc3339(text);
  if (!time.ok()) throw std::runtime_error("context.now is not a time");
  return *time;
}

// Without nulls, empty lists and empty maps, which the cases do not tell apart from nothing.
bool IsNothing(const DocumentNode& node) {
  switch (node.kind) {
    case DocumentNode::Kind::kNull:
      return true;
    case DocumentNode::Kind::kList:
      return node.items.empty();
    case DocumentNode::Kind::kMap:
      return node.members.empty();
    default:
      return false;
  }
}
void Normalize(DocumentNode& node) {
  for (DocumentNode& item : node.items) Normalize(item);
  for (api::Member& member : node.members) Normalize(member.value);
  std::erase_if(node.members, [](const api::Member& member) { return IsNothing(member.value); });
  std::ranges::sort(node.members, {}, &api::Member::key);
}

void ReplaceNow(DocumentNode& node, const std::string& now) {
  if (node.kind == DocumentNode::Kind::kString && node.text == "<now>") node.text = now;
  for (DocumentNode& item : node.items) ReplaceNow(item, now);
  for (api::Member& member : node.members) ReplaceNow(member.value, now);
}

// Both sides go through the struct and back, so that amounts and times compare by value.
std::string NormalText(const api::Object& object) {
  std::vector<api::Diagnostic> diagnostics;
  DocumentNode tree = api::ParseJson(object.ToJson(), diagnostics);
  Normalize(tree);
  return api::ToJson(tree);
}

Outcome CompareObject(const DocumentNode& recorded, const api::Object& actual, base::Time now) {
  DocumentNode expectation = recorded;
  ReplaceNow(expectation, now.ToRfc3339());
  const auto expected = ObjectAt(expectation, "expectObject");
  if (!expected) throw std::runtime_error("the case expects neither an object nor errors");
  const std::string want = NormalText(*expected);
  const std::string got = NormalText(actual);
  if (want == got) return std::nullopt;
  return fmt::format("want {}\n got {}", want, got);
}

struct Subject {
  std::string operation;
  api::Object object;
  std::optional<api::Object> old;
  api::StrategyOptions options;
  const DocumentNode* context;
};

Subject SubjectOf(const DocumentNode& recorded) {
  auto object = ObjectAt(recorded, "object");
  if (!object) throw std::runtime_error("the case has no object");
  const DocumentNode* context = Get(recorded, "context");
  Subject subject{TextOf(recorded, "operation"),
                  *std::move(object),
                  ObjectAt(recorded, "oldObject"),
                  {.gates = GatesOf(recorded), .now = NowOf(context), .kubernetes_only = true},
                  context};
  const bool update = subject.operation == "update" || subject.operation == "updateStatus";
  if (update && !subject.old) throw std::runtime_error("an update without oldObject");
  return subject;
}

// Prepares the object and returns the errors of the checks and of validation.
api::ErrorList Process(Subject& subject) {
  const RecordedNamespaces namespaces(subject.context);
  const RecordedAuthorizer authorizer(subject.context);
  const api::ValidationOptions validation{.gates = subject.options.gates, .kubernetes_only = true};
  api::ErrorList errors;
  if (subject.operation == "create") {
    api::PrepareForCreate(subject.object, subject.options);
    errors = api::CheckAdminAccess(subject.object, namespaces);
    api::Append(errors, api::ValidateCreate(subject.object, validation));
  } else if (subject.operation == "update") {
    api::PrepareForUpdate(subject.object, *subject.old, subject.options);
    errors = api::ValidateUpdate(subject.object, *subject.old, validation);
  } else if (subject.operation == "updateStatus") {
    api::PrepareForStatusUpdate(subject.object, *subject.old, subject.options);
    if (const auto* claim = subject.object.As<api::ResourceClaim>()) {
      errors = api::AuthorizeStatusUpdate(*claim, *subject.old->As<api::ResourceClaim>(),
                                          RequestOf(subject.context), subject.options.gates,
                                          authorizer, namespaces);
    }
    api::Append(errors, api::ValidateStatusUpdate(subject.object, *subject.old, validation));
  } else if (subject.operation == "default") {
    api::SetDefaults(subject.object, subject.options.now);
  } else {
    throw std::runtime_error(fmt::format("unknown operation \"{}\"", subject.operation));
  }
  return errors;
}

Outcome RunPreparation(const DocumentNode& recorded) {
  Subject subject = SubjectOf(recorded);
  const api::ErrorList errors = Process(subject);
  if (const auto difference = Difference(ErrorsAt(recorded, "expectError"), errors)) {
    return difference;
  }
  if (Get(recorded, "expectError") != nullptr) return std::nullopt;
  return CompareObject(recorded, subject.object, subject.options.now);
}

Outcome RunWarnings(const DocumentNode& recorded) {
  const auto want = TextsOf(recorded, "expectWarnings");
  const auto got = api::WarningsFor(SubjectOf(recorded).object);
  if (want == got) return std::nullopt;
  return fmt::format("want {} warnings, got {}", want.size(), got.size());
}

Outcome RunFieldSelector(const DocumentNode& recorded) {
  const auto selector = api::FieldSelector::Parse(TextOf(recorded, "fieldSelector"));
  if (!selector.ok()) return std::string(base::Message(selector.status()));
  const bool got = selector->Matches(SubjectOf(recorded).object);
  if (got == Get(recorded, "expectMatch")->boolean) return std::nullopt;
  return got ? "matches, but should not" : "does not match, but should";
}

const api::ResourceClaimStatus& StatusOf(const api::Object& object) {
  const auto* claim = object.As<api::ResourceClaim>();
  if (claim == nullptr) throw std::runtime_error("the case is not about a claim");
  return claim->status;
}

Outcome RunModifiedDrivers(const DocumentNode& recorded) {
  const Subject subject = SubjectOf(recorded);
  const auto want = TextsOf(recorded, "expectDrivers");
  const auto got = api::ModifiedDrivers(StatusOf(*subject.old), StatusOf(subject.object));
  if (want == got) return std::nullopt;
  return fmt::format("want {} drivers, got {}", want.size(), got.size());
}

Outcome RunAuthorization(const DocumentNode& recorded) {
  const Subject subject = SubjectOf(recorded);
  const RecordedAuthorizer authorizer(subject.context);
  const bool binding = TextOf(recorded, "check") == "binding";
  const auto check = binding ? api::CheckBinding : api::CheckDeviceStatus;
  const api::ErrorList errors = check(StatusOf(subject.object), StatusOf(*subject.old),
                                      RequestOf(subject.context), authorizer);
  const auto recorded_errors = ErrorsAt(recorded, "expectError");
  if (const auto difference = Difference(recorded_errors, errors)) return difference;
  for (std::size_t i = 0; i < errors.size() && i < recorded_errors.size(); ++i) {
    if (errors[i].detail == recorded_errors[i].detail) continue;
    return fmt::format("want \"{}\", got \"{}\"", recorded_errors[i].detail, errors[i].detail);
  }
  std::map<std::string, int> want;
  for (const api::Member& call : Get(recorded, "expectCalls")->members) {
    want[call.key] = std::stoi(call.value.text);
  }
  if (want == authorizer.calls()) return std::nullopt;
  return fmt::format("want {} calls, got {}", want.size(), authorizer.calls().size());
}

Outcome Run(const DocumentNode& recorded) {
  if (Get(recorded, "expectWarnings") != nullptr) return RunWarnings(recorded);
  if (Get(recorded, "expectMatch") != nullptr) return RunFieldSelector(recorded);
  if (recorded.Find("expectDrivers") != nullptr) return RunModifiedDrivers(recorded);
  if (Get(recorded, "check") != nullptr) return RunAuthorization(recorded);
  return RunPreparation(recorded);
}

}  // namespace

std::vector<Case> LoadStrategyCases(const std::filesystem::path& folder) {
  return CasesOf(folder, Run);
}

}  // namespace dray::conformance
