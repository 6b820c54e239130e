// SPDX-License-Identifier: Apache-2.0
#include "policy/admission.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "api/document.h"
#include "fmt/format.h"
#include "policy/inputs.h"
#include "policy/match_rules.h"

namespace dray::policy {
namespace {

constexpr std::size_t kMaxFailures = 50;
constexpr std::size_t kMaxAnnotation = 10 * 1024;
constexpr std::string_view kFailureKey = "validation.policy.admission.k8s.io/validation_failure";

// A validation that was false, for the audit log.
struct Failure {
  std::string message;
  const BindingSpec* binding;
  std::size_t index;
};

std::string Quoted(std::string_view text) {
  api::DocumentNode node;
  node.kind = api::DocumentNode::Kind::kString;
  node.text = text;
  return ToJson(node);
}

std::string ToText(const std::vector<Failure>& failures) {
  std::vector<std::string> items;
  for (const Failure& failure : failures) {
    std::vector<std::string> actions;
    for (const std::string& action : failure.binding->actions) actions.push_back(Quoted(action));
    items.push_back(fmt::format(
        R"({{"message":{},"policy":{},"binding":{},"expressionIndex":{},"validationActions":[{}]}})",
        Quoted(failure.message), Quoted(failure.binding->policy), Quoted(failure.binding->name),
        failure.index, absl::StrJoin(actions, ",")));
  }
  return fmt::format("[{}]", absl::StrJoin(items, ","));
}

// Values of one key, each once, in the order in which they came.
using Notes = std::map<std::string, std::vector<std::string>>;

void AddNote(Notes& notes, const Annotation& annotation) {
  std::string value = annotation.value.substr(0, kMaxAnnotation);
  std::vector<std::string>& values = notes[annotation.key];
  if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
}

// One request on its way through all policies.
class Admission {
 public:
  Admission(const Request& request, const World& world) : request_(request), world_(world) {}

  void Ask(const CompiledPolicy& policy, const std::vector<BindingSpec>& bindings) {
    const auto version = Matches(policy.spec().match, request_, labels_);
    if (!version.ok()) return Misconfigured(policy, nullptr, base::Message(version.status()));
    if (!*version) return;
    Notes notes;
    for (const BindingSpec& binding : bindings) Ask(policy, binding, **version, notes);
    for (const auto& [key, values] : notes) {
      verdict_.annotations[fmt::format("{}/{}", policy.spec().name, key)] =
          absl::StrJoin(values, ", ");
    }
  }

  Verdict Done() && {
    if (!failures_.empty()) {
      if (failures_.size() > kMaxFailures)
        failures_.erase(failures_.begin() + kMaxFailures, failures_.end());
      verdict_.annotations[std::string(kFailureKey)] = ToText(failures_);
    }
    return std::move(verdict_);
  }

 private:
  void Ask(const CompiledPolicy& policy, const BindingSpec& binding, const Version& version,
           Notes& notes) {
    if (binding.match) {
      const auto fits = Matches(*binding.match, request_, labels_);
      if (!fits.ok()) return Misconfigured(policy, &binding, base::Message(fits.status()));
      if (!*fits) return;
    }
    const auto params = ParamsOf(policy.spec(), binding);
    if (!params.ok()) return Misconfigured(policy, &binding, base::Message(params.status()));
    if (params->empty()) return;
    if (const Status ready = Prepare(); !ready.ok()) {
      return Misconfigured(policy, &binding, base::Message(ready));
    }
    for (const auto& one : *params) {
      Apply(policy, binding, Evaluate(policy, version, *inputs_, one.get()), notes);
    }
  }

  // A null one: the policy has none, or the binding gives it none.
  using Params = std::vector<std::unique_ptr<api::DocumentNode>>;
  StatusOr<Params> ParamsOf(const PolicySpec& policy, const BindingSpec& binding) const {
    Params params;
    if (!policy.params || !binding.params) {
      params.push_back(nullptr);
      return params;
    }
    const ParamRef& ref = *binding.params;
    const api::KindInfo* kind = world_.FindKind(policy.params->api_version, policy.params->kind);
    if (kind == nullptr) {
      return base::NotFound(fmt::format("paramKind kind `{}` not known", policy.params->Shown()));
    }
    std::string space = ref.namespace_;
    if (!kind->namespaced && !space.empty()) {
      return base::InvalidArgument(
          "paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
    }
    if (kind->namespaced && space.empty()) space = request_.namespace_;
    if (kind->namespaced && space.empty()) {
      return base::InvalidArgument(
          "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources");
    }
    std::vector<api::Object> found;
    if (!ref.name.empty()) {
      DRAY_ASSIGN_OR_RETURN(auto one, world_.Find(*kind, space, ref.name));
      if (one) found.push_back(*std::move(one));
    } else if (ref.selector) {
      DRAY_ASSIGN_OR_RETURN(found, world_.Select(*kind, space, *ref.selector));
    }
    if (found.empty() && ref.deny_if_none) {
      return base::NotFound(
          "no params found for policy binding with `Deny` parameterNotFoundAction");
    }
    for (const api::Object& object : found) params.push_back(DocumentOf(object, *kind));
    return params;
  }

  // Of a Namespace there is none around it.
  Status Prepare() {
    if (inputs_ != nullptr) return {};
    const bool is_space =
        request_.version.kind.group.empty() && request_.version.kind.name == "Namespace";
    if (!request_.namespace_.empty() && !is_space) {
      DRAY_ASSIGN_OR_RETURN(space_, world_.Namespace(request_.namespace_));
    }
    inputs_ = std::make_unique<Inputs>(request_, space_ ? &*space_ : nullptr, world_.authorizer());
    return {};
  }

  void Apply(const CompiledPolicy& policy, const BindingSpec& binding, Judgement judgement,
             Notes& notes) {
    verdict_.evaluated += judgement.evaluated;
    for (std::size_t i = 0; i < judgement.decisions.size(); ++i) {
      Decision& decision = judgement.decisions[i];
      if (!decision.denied) continue;
      for (const std::string& action : binding.actions) {
        if (action == "Deny") {
          Deny(policy, &binding, decision.message, decision.reason);
        } else if (action == "Audit") {
          failures_.push_back({decision.message, &binding, i});
        } else if (action == "Warn") {
          verdict_.warnings.push_back(
              fmt::format("Validation failed for ValidatingAdmissionPolicy '{}' with binding "
                          "'{}': {}",
                          policy.spec().name, binding.name, decision.message));
        }
      }
    }
    for (const Annotation& annotation : judgement.annotations) {
      if (annotation.error.empty()) {
        AddNote(notes, annotation);
      } else {
        Deny(policy, &binding, annotation.error, "");
      }
    }
  }

  void Misconfigured(const CompiledPolicy& policy, const BindingSpec* binding,
                     std::string_view why) {
    if (policy.spec().ignore_failures) return;
    Deny(policy, binding,
         fmt::format("failed to configure {}: {}", binding == nullptr ? "policy" : "binding", why),
         "");
  }

  void Deny(const CompiledPolicy& policy, const BindingSpec* binding, std::string_view message,
            std::string_view reason) {
    if (verdict_.denial) return;
    const std::string with =
        binding == nullptr ? std::string() : fmt::format(" with binding '{}'", binding->name);
    verdict_.denial = Denial{fmt::format("ValidatingAdmissionPolicy '{}'{} denied request: {}",
                                         policy.spec().name, with, message),
                             reason.empty() ? "Invalid" : std::string(reason)};
  }

  const Request& request_;
  const World& world_;
  const LabelsOfNamespace labels_ =
      [this](std::string_view name) -> StatusOr<api::Map<std::string>> {
    DRAY_ASSIGN_OR_RETURN(const api::Object space, world_.Namespace(name));
    return space.metadata().labels;
  };
  std::optional<api::Object> space_;
  std::unique_ptr<Inputs> inputs_;
  std::vector<Failure> failures_;
  Verdict verdict_;
};

}  // namespace

int CodeOf(std::string_view reason) {
  if (reason == "Forbidden") return 403;
  if (reason == "Unauthorized") return 401;
  if (reason == "RequestEntityTooLarge") return 413;
  return 422;
}

PolicySet::PolicySet(std::vector<std::shared_ptr<const CompiledPolicy>> policies,
                     std::vector<BindingSpec> bindings) {
  std::ranges::sort(bindings, {}, &BindingSpec::name);
  for (std::shared_ptr<const CompiledPolicy>& policy : policies) {
    Row row{std::move(policy), {}};
    for (const BindingSpec& binding : bindings) {
      if (binding.policy == row.policy->spec().name) row.bindings.push_back(binding);
    }
    if (!row.bindings.empty()) rows_.push_back(std::move(row));
  }
  std::ranges::sort(rows_, {}, [](const Row& row) { return row.policy->spec().name; });
}

Verdict PolicySet::Admit(const Request& request, const World& world) const {
  Admission admission(request, world);
  for (const Row& row : rows_) admission.Ask(*row.policy, row.bindings);
  return std::move(admission).Done();
}

}  // namespace dray::policy
