// SPDX-License-Identifier: Apache-2.0
#include "registry/policies.h"

#include <algorithm>
#include <utility>

#include "api/namespace.h"
#include "fmt/format.h"
#include "policy/compiled_policy.h"
#include "policy/policy_spec.h"
#include "policy/type_checking.h"
#include "rbac/escalation.h"
#include "rest/api_error.h"
#include "rest/tree.h"

namespace dray::registry {
namespace {

constexpr std::string_view kGroup = "admissionregistration.k8s.io/v1";

const api::KindInfo& PolicyKind() { return *api::FindKind(kGroup, "ValidatingAdmissionPolicy"); }
const api::KindInfo& BindingKind() {
  return *api::FindKind(kGroup, "ValidatingAdmissionPolicyBinding");
}

// Policies and bindings: the longest beginning that their keys share.
std::string SharedPrefix() {
  const std::string a = PrefixOf(PolicyKind());
  const std::string b = PrefixOf(BindingKind());
  const auto end = std::ranges::mismatch(a, b).in1;
  return std::string(a.begin(), end);
}

const api::KindInfo* FindServed(const rest::ServedKinds& served, std::string_view api_version,
                                std::string_view kind) {
  for (const rest::ServedKind& row : served.all()) {
    if (row.kind->kind == kind && row.kind->ApiVersion() == api_version) return row.kind;
  }
  return nullptr;
}

class StoredWorld final : public policy::World {
 public:
  StoredWorld(const Objects& objects, const api::Authorizer& authorizer)
      : objects_(objects), authorizer_(authorizer) {}

  StatusOr<api::Object> Namespace(std::string_view name) const override {
    const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::Namespace>());
    DRAY_ASSIGN_OR_RETURN(const auto found, objects_.Find(kind, "", name));
    if (!found) return rest::NotFound(kind, name);
    return found->object();
  }
  const api::KindInfo* FindKind(std::string_view api_version,
                                std::string_view kind) const override {
    return FindServed(*objects_.served(), api_version, kind);
  }
  StatusOr<std::optional<api::Object>> Find(const api::KindInfo& kind, std::string_view namespace_,
                                            std::string_view name) const override {
    DRAY_ASSIGN_OR_RETURN(const auto found, objects_.Find(kind, namespace_, name));
    return found ? std::optional(found->object()) : std::nullopt;
  }
  StatusOr<std::vector<api::Object>> Select(const api::KindInfo& kind, std::string_view namespace_,
                                            const api::LabelMatcher& labels) const override {
    std::vector<api::Object> chosen;
    DRAY_ASSIGN_OR_RETURN(const std::vector<StoredObjectPtr> all, objects_.All(kind));
    for (const StoredObjectPtr& stored : all) {
      const api::ObjectMeta& metadata = stored->object().metadata();
      if (metadata.namespace_ != namespace_ || !labels.Matches(metadata.labels)) continue;
      chosen.push_back(stored->object());
    }
    return chosen;
  }
  const api::Authorizer& authorizer() const override { return authorizer_; }

 private:
  const Objects& objects_;
  const api::Authorizer& authorizer_;
};

Status Refusal(const policy::Request& request, const policy::Denial& denial) {
  const policy::Name& asked = request.version.resource;
  const std::string resource =
      asked.group.empty() ? asked.name : fmt::format("{}.{}", asked.name, asked.group);
  const std::string shown = request.name.empty()
                                ? fmt::format("{} is forbidden", resource)
                                : fmt::format("{} \"{}\" is forbidden", resource, request.name);
  rest::ApiError error{.code = policy::CodeOf(denial.reason),
                       .reason = denial.reason,
                       .message = fmt::format("{}: {}", shown, denial.message),
                       .details = rest::StatusDetails{
                           .name = request.name, .group = asked.group, .kind = asked.name}};
  error.details->causes.push_back({.reason = "", .message = denial.message, .field = ""});
  return rest::ToStatus(error);
}

}  // namespace

void WriteNotes::Add(const policy::Verdict& verdict) {
  if (verdict.warnings.empty() && verdict.annotations.empty()) return;
  const base::MutexLock lock(mutex_);
  for (const std::string& warning : verdict.warnings) {
    if (std::ranges::find(warnings_, warning) == warnings_.end()) warnings_.push_back(warning);
  }
  for (const auto& [key, value] : verdict.annotations) annotations_[key] = value;
}

std::vector<std::string> WriteNotes::warnings() const {
  const base::MutexLock lock(mutex_);
  return warnings_;
}

std::map<std::string, std::string> WriteNotes::annotations() const {
  const base::MutexLock lock(mutex_);
  return annotations_;
}

// Whichever policies are in force at a moment.
struct PolicyAdmission::InForce {
  policy::PolicySet set;
  // Not empty: what cannot be read, so that nobody knows what it forbids.
  std::string unread;
};

namespace {

// What is stored of a kind.
struct AllOf {
  std::vector<StoredObjectPtr> read;
  std::vector<std::string> unread;  // names
};

AllOf AllStored(const Objects& objects, const api::KindInfo& kind) {
  AllOf all;
  const std::string prefix = PrefixOf(kind);
  const auto range = objects.store().Range(prefix);
  if (!range.ok()) return {{}, {"*"}};
  for (const store::EntryPtr& entry : range->entries) {
    auto stored = objects.Read(*entry);
    if (stored.ok()) {
      all.read.push_back(*std::move(stored));
    } else {
      all.unread.push_back(entry->key.substr(prefix.size()));
    }
  }
  return all;
}

}  // namespace

// Refresh is called by its admission, which lets in one thread at a time.
class PolicyAdmission::Stored final : public Following {
 public:
  Stored(PolicyAdmission& admission, const Objects& objects)
      : admission_(admission), objects_(objects) {}
  ~Stored() override {
    const base::MutexLock lock(admission_.mutex_);
    admission_.stored_ = nullptr;
    admission_.in_force_ = nullptr;
    admission_.changed_ = false;
    admission_.none_ = true;
  }
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;

  std::shared_ptr<const InForce> Read() {
    Rearm();
    std::vector<std::shared_ptr<const policy::CompiledPolicy>> policies;
    std::map<std::string, Compiled> compiled;
    const AllOf stored_policies = AllStored(objects_, PolicyKind());
    const AllOf stored_bindings = AllStored(objects_, BindingKind());
    for (const StoredObjectPtr& stored : stored_policies.read) {
      const api::ObjectMeta& metadata = stored->object().metadata();
      Compiled& row = compiled[metadata.name];
      row.generation = metadata.generation;
      row.uid = metadata.uid;
      const auto before = compiled_.find(metadata.name);
      if (before != compiled_.end() && before->second.uid == row.uid &&
          before->second.generation == row.generation) {
        row.policy = before->second.policy;
      } else {
        row.policy = std::make_shared<const policy::CompiledPolicy>(
            policy::PolicySpec::Read(stored->object()));
      }
      policies.push_back(row.policy);
    }
    compiled_ = std::move(compiled);
    std::vector<policy::BindingSpec> bindings;
    for (const StoredObjectPtr& stored : stored_bindings.read) {
      bindings.push_back(policy::BindingSpec::Read(stored->object()));
    }
    std::string unread = Unread(stored_policies, stored_bindings, bindings);
    return std::make_shared<const InForce>(
        InForce{{std::move(policies), std::move(bindings)}, std::move(unread)});
  }

 private:
  // What may be in force and cannot be read: a policy that is not bound is not, nor is a binding without
  // a policy.
  static std::string Unread(const AllOf& policies, const AllOf& all_bindings,
                            const std::vector<policy::BindingSpec>& bindings) {
    const bool any_policy = !policies.read.empty() || !policies.unread.empty();
    if (any_policy && !all_bindings.unread.empty()) {
      return fmt::format("ValidatingAdmissionPolicyBinding \"{}\"", all_bindings.unread.front());
    }
    const auto bound = std::ranges::find_if(policies.unread, [&](const std::string& name) {
      return name == "*" ||
             std::ranges::find(bindings, name, &policy::BindingSpec::policy) != bindings.end();
    });
    if (bound == policies.unread.end()) return {};
    return fmt::format("ValidatingAdmissionPolicy \"{}\"", *bound);
  }

  // From here on `changed_` is set at the next change. What has happened before is read afterwards.
  void Rearm() {
    for (int tries = 0; tries < 2; ++tries) {
      if (watch_ == nullptr) {
        store::Store& store = objects_.store();
        auto watch = store.WatchFrom(SharedPrefix(), store.revision(),
                                     [this] { admission_.changed_ = true; });
        if (!watch.ok()) break;
        watch_ = *std::move(watch);
      }
      for (;;) {
        const auto events = watch_->Next(1'000);
        if (events.ok() && events->empty()) return;
        if (!events.ok()) break;
      }
      watch_ = nullptr;  // behind the history: begin anew
    }
    admission_.changed_ = true;  // cannot be told: look each time
  }

  struct Compiled {
    std::string uid;
    std::int64_t generation = 0;
    std::shared_ptr<const policy::CompiledPolicy> policy;
  };
  PolicyAdmission& admission_;
  const Objects& objects_;
  std::map<std::string, Compiled> compiled_;  // by name: only what has changed is compiled again
  std::unique_ptr<store::Watch> watch_;
};

PolicyAdmission::PolicyAdmission(const api::Authorizer& authorizer) : authorizer_(authorizer) {}
PolicyAdmission::~PolicyAdmission() = default;

std::unique_ptr<PolicyAdmission::Following> PolicyAdmission::Follow(const Objects& objects) {
  auto following = std::make_unique<Stored>(*this, objects);
  const base::MutexLock lock(mutex_);
  stored_ = following.get();
  changed_ = true;
  return following;
}

std::shared_ptr<const PolicyAdmission::InForce> PolicyAdmission::Current() const {
  const base::MutexLock lock(mutex_);
  if (stored_ == nullptr) return nullptr;
  if (changed_.load()) {
    // Others ask Any() meanwhile: they wait here for what is being read, and do not pass by.
    none_ = false;
    changed_ = false;
    in_force_ = stored_->Read();
    none_ = in_force_->set.empty() && in_force_->unread.empty();
  }
  return in_force_;
}

Status PolicyAdmission::Admit(const policy::Request& request, const Objects& objects,
                              WriteNotes* notes) const {
  if (!Any() || policy::IsExempt(request.version.resource.group, request.version.resource.name))
    return {};
  const auto now = Current();
  if (now == nullptr) return {};
  if (!now->unread.empty() && request.version.resource.group != "coordination.k8s.io") {
    return Refusal(
        request, {.message = now->unread + " is stored and cannot be read: what it forbids is not "
                                           "known, so everything is until it has been deleted",
                  .reason = "Forbidden"});
  }
  if (now->set.empty()) return {};
  const StoredWorld world(objects, authorizer_);
  policy::Verdict verdict = now->set.Admit(request, world);
  evaluated_ += verdict.evaluated;
  if (notes != nullptr) notes->Add(verdict);
  return verdict.denial ? Refusal(request, *verdict.denial) : Status();
}

Status CheckPolicyParams(const api::UserInfo& user, const api::Authorizer& authorizer,
                         const Objects& objects, const api::Object& next, const api::Object* old) {
  const bool policy = policy::IsPolicy(next.kind());
  if (!policy && !policy::IsBinding(next.kind())) return {};
  if (rbac::IsMaster(user)) return {};
  const auto refuse = [&](std::string why) {
    return rest::Forbidden(next.kind(), next.metadata().name, std::move(why));
  };
  api::AuthorizationRequest asked{.user = user,
                                  .verb = "get",
                                  .api_group = "*",
                                  .resource = "*",
                                  .namespace_ = "*",
                                  .name = "*"};
  const auto of_kind = [&](const policy::ParamKind& params) {
    const std::size_t slash = params.api_version.find('/');
    asked.api_group = slash == std::string::npos ? "" : params.api_version.substr(0, slash);
    const auto served = objects.served();
    const api::KindInfo* kind = FindServed(*served, params.api_version, params.kind);
    if (kind != nullptr) asked.resource = kind->plural;
  };
  if (policy) {
    const auto spec = policy::PolicySpec::Read(next);
    if (!spec.params) return {};
    if (old != nullptr && policy::PolicySpec::Read(*old).params == spec.params) return {};
    of_kind(*spec.params);
    if (authorizer.Authorize(asked).allowed) return {};
    return refuse(
        fmt::format("user \"{}\" must have \"get\" permission on all objects of the referenced "
                    "paramKind (kind={}, apiVersion={})",
                    user.name, spec.params->kind, spec.params->api_version));
  }
  const auto spec = policy::BindingSpec::Read(next);
  if (!spec.params) return {};
  if (old != nullptr) {
    const auto before = policy::BindingSpec::Read(*old);
    if (before.params == spec.params && before.policy == spec.policy) return {};
  }
  const auto found = objects.Find(PolicyKind(), "", spec.policy);
  const bool known = found.ok() && found->has_value();
  if (known) {
    const auto params = policy::PolicySpec::Read((*found)->object()).params;
    if (params) of_kind(*params);
  }
  asked.verb = spec.params->name.empty() ? "list" : "get";
  asked.name = spec.params->name;
  asked.namespace_ = spec.params->namespace_;
  if (authorizer.Authorize(asked).allowed) return {};
  if (!known) {
    return refuse(
        fmt::format("unable to get policy {} to determine minimum required permissions "
                    "and user \"{}\" does not have \"{}\" permission for all groups, "
                    "versions and resources",
                    spec.policy, user.name, asked.verb));
  }
  return refuse(
      fmt::format("user \"{}\" does not have \"{}\" permission on the object referenced by "
                  "paramRef",
                  user.name, asked.verb));
}

void ObservePolicy(api::Object& object, const Objects& objects) {
  if (!policy::IsPolicy(object.kind())) return;
  const auto kept = objects.served();
  const rest::ServedKinds& served = *kept;
  const policy::KnownKinds kinds{
      .of_resource = [&](std::string_view group, std::string_view version,
                         std::string_view resource) -> const api::KindInfo* {
        const rest::ServedKind* row = served.FindResource(group, version, resource);
        return row == nullptr ? nullptr : row->kind;
      },
      .find = [&](std::string_view api_version,
                  std::string_view kind) { return FindServed(served, api_version, kind); }};
  rest::DocumentNode warnings = rest::ListNode();
  for (const policy::ExpressionWarning& found :
       policy::CheckTypes(policy::PolicySpec::Read(object), kinds)) {
    rest::DocumentNode warning = rest::MapNode();
    rest::SetIn(warning, "fieldRef", rest::StringNode(found.field));
    rest::SetIn(warning, "warning", rest::StringNode(found.text));
    warnings.items.push_back(std::move(warning));
  }
  rest::DocumentNode checking = rest::MapNode();
  if (!warnings.items.empty()) {
    rest::SetIn(checking, "expressionWarnings", std::move(warnings));
  }
  rest::DocumentNode status = rest::MapNode();
  rest::SetIn(status, "observedGeneration", rest::NumberNode(object.metadata().generation));
  rest::SetIn(status, "typeChecking", std::move(checking));
  const api::StructInfo& info = object.kind().hub->fields();
  const api::FieldInfo& field = info.fields.at(static_cast<std::size_t>(info.Find("status")));
  void* value = field.At(object.MutableData());
  field.type->reset(value);
  std::vector<api::Diagnostic> diagnostics;
  api::DecodeNode(status, *field.type, value, api::Severity::kWarning, diagnostics);
}

api::ErrorList CheckPolicyExpressions(const api::Object& object) {
  if (!policy::IsPolicy(object.kind())) return {};
  return policy::CompiledPolicy(policy::PolicySpec::Read(object)).Errors();
}

}  // namespace dray::registry
