// SPDX-License-Identifier: Apache-2.0
//
// Endpoint slices, ingresses, network policies. The language is described_kinds.h's.
#include "api/internal/descriptions.h"

namespace dray::api::internal {

std::string_view EndpointSliceDescriptions() {
  return R"(
kind discovery.k8s.io/v1 EndpointSlice endpointslices namespaced generation : Some of the addresses behind a service. It is stored; nothing forwards to them.
column AddressType addressType : What the addresses are.
column Ports ports as=slice-ports none=<unset> : The ports.
column Endpoints endpoints as=slice-endpoints none=<unset> : The addresses.
4 addressType string always required immutable one-of=IPv4,IPv6,FQDN : What the addresses are.
2 endpoints []Endpoint always most=1000 : The endpoints.
3 ports []EndpointPort always most=20000 : The ports that each of them has.

struct Endpoint : A place behind a service.
1 addresses []string always set required most=100 : Its addresses, all of the slice's type.
2 conditions EndpointConditions : Whether it can be used.
3 hostname string? form=label : Its name.
4 targetRef ObjectReference? : The object, usually a pod, that it belongs to.
5 deprecatedTopology map[string] : Where it is, as older versions said it.
6 nodeName string? : The node that it is on.
7 zone string? : The zone that it is in.
8 hints EndpointHints? : Who should use it.

struct EndpointPort atomic : A port of endpoints.
1 name string? form=label : Its name: that of the service's port.
2 protocol string? default=TCP one-of=TCP,UDP,SCTP : TCP, UDP or SCTP.
3 port int32? min=1 max=65535 : Its number. None: all ports.
4 appProtocol string? form=label-key : What is spoken there.

struct EndpointConditions : Whether an endpoint can be used.
1 ready bool? : Whether it takes traffic.
2 serving bool? : Whether it answers, also while it ends.
3 terminating bool? : Whether it is ending.

struct EndpointHints : Who should use an endpoint.
1 forZones []ForZone most=8 : The zones that should use it.
2 forNodes []ForNode most=8 : The nodes that should use it.

struct ForZone : A zone that should use an endpoint.
1 name string always required : Its name.

struct ForNode : A node that should use an endpoint.
1 name string always required : Its name.
)";
}

std::string_view NetworkDescriptions() {
  return R"(
kind networking.k8s.io/v1 Ingress ingresses namespaced status generation short=ing : Which service gets what comes in from outside. It is stored; nothing takes the traffic.
column Class spec.ingressClassName none=<none> : Who takes care of it.
column Hosts spec.rules as=hosts none=* : The names that it is for.
column Address status.loadBalancer.ingress as=addresses : Where traffic comes in.
column Ports spec.tls as=ingress-ports : The ports.
2 spec IngressSpec : Which service gets what.
3 status IngressStatus : Where traffic comes in.

struct IngressSpec : Which service gets what comes in.
4 ingressClassName string? form=subdomain : The IngressClass whose controller takes care of it.
1 defaultBackend IngressBackend? : Who gets what no rule is about.
2 tls []IngressTLS : Certificates for names.
3 rules []IngressRule : Who gets what.

struct IngressRule : Who gets what comes in for a name.
1 host string : The name; *.example.com stands for all names there.
2.1 http HTTPIngressRuleValue? : Who gets which path.

struct HTTPIngressRuleValue : Who gets which path.
1 paths []HTTPIngressPath always required : The paths.

struct HTTPIngressPath : Who gets what comes in for a path.
1 path string : The path.
3 pathType string? always required one-of=Exact,ImplementationSpecific,Prefix : How the path is compared.
2 backend IngressBackend always : Who gets it.

struct IngressBackend : Who gets traffic: a service, or another object.
4 service IngressServiceBackend? : A service.
3 resource TypedLocalObjectReference? : Another object of the namespace.

struct IngressServiceBackend : A port of a service.
1 name string always required : The service.
2 port ServiceBackendPort : Its port, by name or by number.

struct ServiceBackendPort atomic : A port of a service, by name or by number.
1 name string : Its name.
2 number int32 min=0 max=65535 : Its number.

struct TypedLocalObjectReference atomic : An object of the same namespace.
1 apiGroup string? always : Its group.
2 kind string always required : Its kind.
3 name string always required : Its name.

struct IngressTLS : A certificate for names.
1 hosts []string : The names.
2 secretName string : The Secret with the certificate and its key.

struct IngressStatus : Where traffic comes in.
1 loadBalancer IngressLoadBalancerStatus : What a load balancer made of it.

struct IngressLoadBalancerStatus : Where a load balancer takes traffic.
1 ingress []IngressLoadBalancerIngress : The places.

struct IngressLoadBalancerIngress : A place where a load balancer takes traffic.
1 ip string form=ip : Its address.
2 hostname string form=subdomain : Its name.
4 ports []IngressPortStatus : The ports there.

struct IngressPortStatus : A port of a load balancer.
1 port int32 always : Its number.
2 protocol string always one-of=TCP,UDP,SCTP : Its protocol.
3 error string? : What went wrong with it.

kind networking.k8s.io/v1 IngressClass ingressclasses cluster generation : Who takes care of ingresses.
column Controller spec.controller : Who takes care of them.
column Parameters spec.parameters as=typed-reference none=<none> : Its settings.
2 spec IngressClassSpec : Who takes care of them.

struct IngressClassSpec : Who takes care of the ingresses of a class.
1 controller string required immutable form=path-name : The controller's name, with a domain.
2 parameters IngressClassParametersReference? : The object with its settings.

struct IngressClassParametersReference : An object with settings of a class.
1 apiGroup string? : Its group.
2 kind string always required : Its kind.
3 name string always required : Its name.
4 scope string? always one-of=Cluster,Namespace default=Cluster : Whether it is in a namespace.
5 namespace string? : Its namespace.

kind networking.k8s.io/v1 NetworkPolicy networkpolicies namespaced generation short=netpol : Who may talk to pods. It is stored; nothing enforces it.
column Pod-Selector spec.podSelector as=selector none=<none> : The pods that it is about.
2 spec NetworkPolicySpec : Who may talk to which pods.

struct NetworkPolicySpec : Who may talk to which pods.
1 podSelector LabelSelector always : The pods that it is about.
2 ingress []NetworkPolicyIngressRule : What may come in.
3 egress []NetworkPolicyEgressRule : What may go out.
4 policyTypes []string one-of=Ingress,Egress : Whether it is about what comes in, what goes out, or both.

struct NetworkPolicyIngressRule : What may come in.
1 ports []NetworkPolicyPort : At which ports. None: at all.
2 from []NetworkPolicyPeer : Allowed sources. None: all sources.

struct NetworkPolicyEgressRule : What may go out.
1 ports []NetworkPolicyPort : To which ports. None: to all.
2 to []NetworkPolicyPeer : Allowed destinations. None: all destinations.

struct NetworkPolicyPort : Ports that may be used.
1 protocol string? default=TCP one-of=TCP,UDP,SCTP : TCP, UDP or SCTP.
2 port intorstring? form=port : The port, or its name.
3 endPort int32? min=1 max=65535 : The last port of a range that begins with port.

struct NetworkPolicyPeer : A peer that traffic is allowed with.
1 podSelector LabelSelector? : Pods with these labels.
2 namespaceSelector LabelSelector? : Pods of namespaces with these labels.
3 ipBlock IPBlock? : Addresses.

struct IPBlock : A range of addresses.
1 cidr string always required form=cidr : The range.
2 except []string form=cidr : Ranges in it that are not meant.
)";
}

}  // namespace dray::api::internal
