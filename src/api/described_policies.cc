// SPDX-License-Identifier: Apache-2.0
//
// Admission policies. The language is described_kinds.h's; what expressions mean is room policy's.
// They share structs with webhooks, and are one text with them.
#include <string>

#include "api/internal/descriptions.h"

namespace dray::api::internal {

namespace {

constexpr std::string_view kPolicies = R"(
kind admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy validatingadmissionpolicies cluster status generation : Expressions that may refuse a write. A binding puts it into force.
column Validations spec.validations as=count : How many expressions there are.
column ParamKind spec.paramKind as=api-version-and-kind none=<unset> : The kind of its parameters.
2 spec ValidatingAdmissionPolicySpec : What it looks at, and what it wants.
3 status ValidatingAdmissionPolicyStatus : What was found about its expressions.

struct ValidatingAdmissionPolicySpec : What a policy looks at, and what it wants.
1 paramKind ParamKind? : The kind of objects that bindings name as parameters.
2 matchConstraints MatchResources? required : The requests that it looks at.
3 validations []Validation : What must be true for a request to pass.
4 failurePolicy string? default=Fail one-of=Fail,Ignore : What happens when an expression fails, or parameters are missing.
5 auditAnnotations []AuditAnnotation most=20 : What is written into the audit log.
6 matchConditions []MatchCondition keys=name most=64 : Expressions that must all be true for it to look at a request.
7 variables []Variable keys=name most=1000 : Expressions with a name, for the others to use.

struct ParamKind atomic : A kind.
1 apiVersion string required : Its group and version.
2 kind string required : Its name.

struct Validation : Something that must be true.
1 expression string always required : The expression, in CEL; it is true or false.
2 message string : The message of the refusal when it is false.
3 reason string? one-of=Forbidden,Invalid,RequestEntityTooLarge : The reason in the answer.
4 messageExpression string : An expression for the message.

struct AuditAnnotation : Something for the audit log.
1 key string always required : Its name.
2 valueExpression string always required : An expression for its text; null for none.

struct Variable atomic : An expression with a name.
1 name string always required : What the others call it: variables.NAME.
2 expression string always required : The expression, in CEL.

struct MatchResources atomic : Requests, by what they are about.
1 namespaceSelector LabelSelector? : The namespaces, by their labels; all if it is empty.
2 objectSelector LabelSelector? : The objects, by their labels before or after; all if it is empty.
3 resourceRules []NamedRuleWithOperations : What is done with which resources: one of them must fit.
4 excludeResourceRules []NamedRuleWithOperations : None of these may fit.
7 matchPolicy string? default=Equivalent one-of=Equivalent,Exact : Whether a rule for one version of a resource is for the others, too.

struct NamedRuleWithOperations atomic : What is done with which resources.
1 resourceNames []string : Only objects with these names; all if it is empty.
2.1 operations []string required one-of=*,CONNECT,CREATE,DELETE,UPDATE : What is done.
2.2.1 apiGroups []string required : Groups; * for all.
2.2.2 apiVersions []string required : Versions; * for all.
2.2.3 resources []string required : Resources; * for all, pods/* for their subresources.
2.2.4 scope string? default=* one-of=*,Cluster,Namespaced : Whether objects of namespaces are meant.

struct ValidatingAdmissionPolicyStatus : What was found about a policy's expressions.
1 observedGeneration int64 : Which wish this is about.
2 typeChecking TypeChecking? : Where expressions do not fit the kinds that they will see.
3 conditions []Condition keys=type : What is the case for the policy.

struct TypeChecking : Where expressions do not fit the kinds that they will see.
1 expressionWarnings []ExpressionWarning : One for each expression.

struct ExpressionWarning : Where an expression does not fit.
2 fieldRef string always required : The field that has the expression.
3 warning string always required : What does not fit, for each kind.

kind admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings cluster generation : Puts a policy into force: where, with which parameters, and what happens to what it refuses.
column PolicyName spec.policyName : The policy.
column ParamRef spec.paramRef as=parameters none=<unset> : Its parameters.
2 spec ValidatingAdmissionPolicyBindingSpec : Which policy, and how.

struct ValidatingAdmissionPolicyBindingSpec : Which policy is in force, and how.
1 policyName string required form=subdomain : The policy. As long as it is not there, the binding does nothing.
2 paramRef ParamRef? : The policy's parameters.
3 matchResources MatchResources? : Requests to which it is limited, beyond what the policy says.
4 validationActions []string required set one-of=Audit,Deny,Warn : What happens when a validation is false.

struct ParamRef atomic : Parameters, by name or by labels.
1 name string : Their name.
2 namespace string : Their namespace; that of the request if it is empty.
3 selector LabelSelector? : Their labels: each that fits is looked at.
4 parameterNotFoundAction string? required one-of=Allow,Deny : What happens if there are none.

kind admissionregistration.k8s.io/v1 MutatingAdmissionPolicy mutatingadmissionpolicies cluster generation : Expressions that change an object before it is written. It is stored and never evaluated: one that must be is refused.
column Mutations spec.mutations as=count : How many changes there are.
column ParamKind spec.paramKind as=api-version-and-kind none=<unset> : The kind of its parameters.
2 spec MutatingAdmissionPolicySpec : What it looks at, and what it changes.

struct MutatingAdmissionPolicySpec : What a policy looks at, and what it changes.
1 paramKind ParamKind? : The kind of objects that bindings name as parameters.
2 matchConstraints MatchResources? required : The requests that it looks at.
3 variables []Variable : Expressions with a name, for the others to use.
4 mutations []Mutation required : The changes.
5 failurePolicy string? default=Fail one-of=Fail,Ignore : What happens when an expression fails.
6 matchConditions []MatchCondition keys=name most=64 : Expressions that must all be true for it to look at a request.
7 reinvocationPolicy string required one-of=IfNeeded,Never : Whether it is asked again when others changed the object.

struct Mutation : A change.
2 patchType string always required one-of=ApplyConfiguration,JSONPatch : Which of the others is set.
3 applyConfiguration ApplyConfiguration? : What is applied.
4 jsonPatch JSONPatch? : A JSON patch.

struct ApplyConfiguration : Something to apply.
1 expression string : An expression for it, in CEL.

struct JSONPatch : A JSON patch.
1 expression string : An expression for it, in CEL.

kind admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings cluster generation : Puts a policy that changes objects into force. It is stored; nothing is changed.
column PolicyName spec.policyName : The policy.
column ParamRef spec.paramRef as=parameters none=<unset> : Its parameters.
2 spec MutatingAdmissionPolicyBindingSpec : Which policy, and how.

struct MutatingAdmissionPolicyBindingSpec : Which policy is in force, and how.
1 policyName string required form=subdomain : The policy.
2 paramRef ParamRef? : The policy's parameters.
3 matchResources MatchResources? : Requests to which it is limited, beyond what the policy says.
)";

}  // namespace

std::string_view AdmissionDescriptions() {
  static const std::string all = std::string(WebhookDescriptions()).append(kPolicies);
  return all;
}

}  // namespace dray::api::internal
