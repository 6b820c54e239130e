// SPDX-License-Identifier: Apache-2.0
//
// Autoscalers (autoscaling/v1 is autoscaler_versions.cc's), runtime classes, certificates of pods, webhooks. The language is
// described_kinds.h's.
#include "api/internal/descriptions.h"

namespace dray::api::internal {

std::string_view AutoscalingDescriptions() {
  return R"(
kind autoscaling/v2 HorizontalPodAutoscaler horizontalpodautoscalers namespaced status all short=hpa : How many pods a workload should have, by what they use. It is stored; nothing measures and nothing scales.
column Reference spec.scaleTargetRef as=kind-and-name : What is scaled.
column Targets spec.metrics as=metric-targets none=<none> : What is aimed for.
column MinPods spec.minReplicas none=<unset> : The fewest pods.
column MaxPods spec.maxReplicas : The most pods.
column Replicas status.currentReplicas none=0 : How many there are.
2 spec HorizontalPodAutoscalerSpec required : What is scaled, and by what.
3 status HorizontalPodAutoscalerStatus : What was measured.

struct HorizontalPodAutoscalerSpec : What is scaled, and by what.
1 scaleTargetRef CrossVersionObjectReference always : What is scaled.
2 minReplicas int32? default=1 min=1 : The fewest pods.
3 maxReplicas int32 always required min=1 : The most pods.
4 metrics []MetricSpec : What is measured, and what is aimed for.
5 behavior HorizontalPodAutoscalerBehavior? : How fast it may go.

struct CrossVersionObjectReference atomic : An object of the same namespace.
1 kind string always required form=path-name : Its kind.
2 name string always required form=path-name : Its name.
3 apiVersion string : Its group and version.

struct MetricSpec : Something that is measured, with its target.
1 type string always required one-of=ContainerResource,External,Object,Pods,Resource : Which of the others is set.
2 object ObjectMetricSource? : Of an object.
3 pods PodsMetricSource? : Of each pod.
4 resource ResourceMetricSource? : What each pod uses of cpu or memory.
7 containerResource ContainerResourceMetricSource? : What a container of each pod uses of cpu or memory.
5 external ExternalMetricSource? : Of something outside.

struct ObjectMetricSource : A measure of an object.
1 describedObject CrossVersionObjectReference always : The object.
2 target MetricTarget always : What is aimed for.
3 metric MetricIdentifier always : What is measured.

struct PodsMetricSource : A measure of each pod.
1 metric MetricIdentifier always : What is measured.
2 target MetricTarget always : What is aimed for.

struct ResourceMetricSource : What pods use of a resource.
1 name string always required : cpu, memory.
2 target MetricTarget always : What is aimed for.

struct ContainerResourceMetricSource : What a container of each pod uses of a resource.
1 name string always required : cpu, memory.
2 target MetricTarget always : What is aimed for.
3 container string always required : The container.

struct ExternalMetricSource : A measure of something outside.
1 metric MetricIdentifier always : What is measured.
2 target MetricTarget always : What is aimed for.

struct MetricTarget : What is aimed for.
1 type string always required one-of=AverageValue,Utilization,Value : Which of the others is set.
2 value quantity? : A value.
3 averageValue quantity? : A value for each pod.
4 averageUtilization int32? min=1 : A share, in percent, of what each pod asks for.

struct MetricIdentifier : What is measured.
1 name string always required : Its name.
2 selector LabelSelector? : Its labels.

struct HorizontalPodAutoscalerBehavior : How fast an autoscaler may go.
1 scaleUp HPAScalingRules? : Upwards.
2 scaleDown HPAScalingRules? : Downwards.

struct HPAScalingRules : How fast an autoscaler may go in a direction.
3 stabilizationWindowSeconds int32? min=0 max=3600 : Over how long past wishes count.
1 selectPolicy string? one-of=Disabled,Max,Min : Which of the policies counts.
2 policies []HPAScalingPolicy : How many pods in which time.
4 tolerance quantity? : How far from the target it may be.

struct HPAScalingPolicy : How many pods in which time.
1 type string always required one-of=Percent,Pods : Whether the value counts pods or percent of them.
2 value int32 always min=1 : How many.
3 periodSeconds int32 always min=1 max=1800 : In which time.

struct HorizontalPodAutoscalerStatus : What an autoscaler has measured.
1 observedGeneration int64? : The generation of the spec that this status is about.
2 lastScaleTime time? : When it last changed something.
3 currentReplicas int32 : How many pods there are.
4 desiredReplicas int32 always : How many there should be.
5 currentMetrics []MetricStatus always : What was measured.
6 conditions []HorizontalPodAutoscalerCondition keys=type : What is the case for the autoscaler.

struct HorizontalPodAutoscalerCondition : A condition of an autoscaler.
1 type string always : What the condition is about.
2 status string always : True, False or Unknown.
3 lastTransitionTime time? : When the status last changed.
4 reason string : Machine-readable reason.
5 message string : Human-readable message.
6 observedGeneration int64? : Which wish this is about.

struct MetricStatus : Something that was measured.
1 type string always : Which of the others is set.
2 object ObjectMetricStatus? : Of an object.
3 pods PodsMetricStatus? : Of each pod.
4 resource ResourceMetricStatus? : What each pod uses of cpu or memory.
7 containerResource ContainerResourceMetricStatus? : What a container of each pod uses of cpu or memory.
5 external ExternalMetricStatus? : Of something outside.

struct ObjectMetricStatus : What was measured of an object.
1 metric MetricIdentifier always : What is measured.
2 current MetricValueStatus always : The value.
3 describedObject CrossVersionObjectReference always : The object.

struct PodsMetricStatus : What was measured of pods.
1 metric MetricIdentifier always : What is measured.
2 current MetricValueStatus always : The value.

struct ResourceMetricStatus : What pods use of a resource.
1 name string always : cpu, memory.
2 current MetricValueStatus always : The value.

struct ContainerResourceMetricStatus : What a container of each pod uses of a resource.
1 name string always : cpu, memory.
2 current MetricValueStatus always : The value.
3 container string always : The container.

struct ExternalMetricStatus : What was measured outside.
1 metric MetricIdentifier always : What is measured.
2 current MetricValueStatus always : The value.

struct MetricValueStatus : A measured value.
1 value quantity? : The value.
2 averageValue quantity? : The value for each pod.
3 averageUtilization int32? : The share, in percent, of what each pod asks for.
)";
}

std::string_view NodeDescriptions() {
  return R"(
kind node.k8s.io/v1 RuntimeClass runtimeclasses cluster : A way of running containers that pods can ask for. It is stored; every pod is run by the node's one runtime.
column Handler handler : What the runtime calls it.
2 handler string always required immutable form=label : What the container runtime calls it.
3 overhead Overhead? : What it takes beside the containers.
4 scheduling Scheduling? : The nodes that have it.

struct Overhead : What a way of running containers takes beside them.
1 podFixed map[quantity] : For each pod.

struct Scheduling : The nodes that have a way of running containers.
1 nodeSelector map[string] atomic : Their labels, which pods get as a node selector.
2 tolerations []Toleration : Tolerations that pods get for it.
)";
}

std::string_view CertificateDescriptions() {
  return R"(
kind certificates.k8s.io/v1 PodCertificateRequest podcertificaterequests namespaced status : A kubelet's request for a certificate of a pod. It is stored; nothing signs it.
column PodName spec.podName : The pod.
column ServiceAccountName spec.serviceAccountName : Its account.
column NodeName spec.nodeName : Its node.
column SignerName spec.signerName : The signer.
column State status.conditions as=condition none=Pending : Observed state.
2 spec PodCertificateRequestSpec always immutable : The requested certificate and its signer.
3 status PodCertificateRequestStatus : The certificate.

struct PodCertificateRequestSpec : The requested certificate and its signer.
1 signerName string always required : The signer.
2 podName string always required form=subdomain : The pod.
3 podUID string always required : The pod's uid.
4 serviceAccountName string always required form=subdomain : Its account.
5 serviceAccountUID string always required : The account's uid.
6 nodeName string always required form=subdomain : The node that the pod is on.
7 nodeUID string always required : The node's uid.
8 maxExpirationSeconds int32? min=3600 max=7862400 default=86400 : For how long the certificate may be good.
12 stubPKCS10Request bytes always required : The request in PKCS#10, as base64, which shows that the kubelet has the key.
11 unverifiedUserAnnotations map[string] : What the pod says to the signer.

struct PodCertificateRequestStatus : The outcome of a certificate request.
1 conditions []Condition keys=type : Whether it was issued, denied or failed.
2 certificateChain string : The certificate and those that vouch for it.
4 notBefore time? : When it begins to be good.
5 beginRefreshAt time? : When the kubelet should ask for another one.
6 notAfter time? : When it ends being good.
)";
}

std::string_view WebhookDescriptions() {
  return R"(
kind admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration validatingwebhookconfigurations cluster generation : Webhooks that may refuse objects. They are stored and never called: one that must be called is refused.
column Webhooks webhooks as=count : How many there are.
2 webhooks []ValidatingWebhook keys=name : The webhooks.

struct ValidatingWebhook : A webhook that may refuse objects.
1 name string always required form=webhook-name : Its name, with a domain.
2 clientConfig WebhookClientConfig always : Where it is.
3 rules []RuleWithOperations : What it is asked about.
4 failurePolicy string? default=Fail one-of=Fail,Ignore : What happens when it cannot be asked.
9 matchPolicy string? default=Equivalent one-of=Equivalent,Exact : Whether other versions of an object count.
5 namespaceSelector LabelSelector? : The namespaces that it is asked about.
10 objectSelector LabelSelector? : The objects that it is asked about.
6 sideEffects string? always required one-of=None,NoneOnDryRun : Whether it does anything but answer.
7 timeoutSeconds int32? default=10 min=1 max=30 : How long it may take.
8 admissionReviewVersions []string always required : The versions of questions that it understands.
11 matchConditions []MatchCondition keys=name most=64 : Expressions that must hold for it to be asked.

kind admissionregistration.k8s.io/v1 MutatingWebhookConfiguration mutatingwebhookconfigurations cluster generation : Webhooks that may change objects. They are stored and never called: one that must be called is refused.
column Webhooks webhooks as=count : How many there are.
2 webhooks []MutatingWebhook keys=name : The webhooks.

struct MutatingWebhook : A webhook that may change objects.
1 name string always required form=webhook-name : Its name, with a domain.
2 clientConfig WebhookClientConfig always : Where it is.
3 rules []RuleWithOperations : What it is asked about.
4 failurePolicy string? default=Fail one-of=Fail,Ignore : What happens when it cannot be asked.
9 matchPolicy string? default=Equivalent one-of=Equivalent,Exact : Whether other versions of an object count.
5 namespaceSelector LabelSelector? : The namespaces that it is asked about.
11 objectSelector LabelSelector? : The objects that it is asked about.
6 sideEffects string? always required one-of=None,NoneOnDryRun : Whether it does anything but answer.
7 timeoutSeconds int32? default=10 min=1 max=30 : How long it may take.
8 admissionReviewVersions []string always required : The versions of questions that it understands.
10 reinvocationPolicy string? default=Never one-of=IfNeeded,Never : Whether it is asked again when others changed the object.
12 matchConditions []MatchCondition keys=name most=64 : Expressions that must hold for it to be asked.

struct WebhookClientConfig : Where a webhook is.
3 url string? : At this address.
1 service ServiceReference? : At this service.
2 caBundle bytes : Whose certificates are believed, as base64.

struct ServiceReference : A service.
1 namespace string always required : Its namespace.
2 name string always required : Its name.
3 path string? : The path there.
4 port int32? default=443 min=1 max=65535 : Its port.

struct RuleWithOperations : What a webhook is asked about.
1 operations []string required one-of=*,CONNECT,CREATE,DELETE,UPDATE : What is done.
2.1 apiGroups []string required : Groups; * for all.
2.2 apiVersions []string required : Versions; * for all.
2.3 resources []string required : Resources; * for all, pods/* for their subresources.
2.4 scope string? default=* one-of=*,Cluster,Namespaced : Whether objects of namespaces are meant.

struct MatchCondition : An expression that must hold.
1 name string always required form=label-key : Its name.
2 expression string always required : The expression, in CEL.
)";
}

}  // namespace dray::api::internal
