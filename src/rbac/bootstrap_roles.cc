// SPDX-License-Identifier: Apache-2.0
#include "rbac/internal/bootstrap_roles.h"

namespace dray::rbac::internal {
namespace {

#define DRAY_READ "get list watch"
#define DRAY_WRITE "create update patch delete deletecollection"

constexpr std::string_view kToAdmin = "rbac.authorization.k8s.io/aggregate-to-admin";
constexpr std::string_view kToEdit = "rbac.authorization.k8s.io/aggregate-to-edit";
constexpr std::string_view kToView = "rbac.authorization.k8s.io/aggregate-to-view";
constexpr std::string_view kToViewer =
    "rbac.authorization.k8s.io/aggregate-to-view dray/aggregate-to-viewer";

constexpr RuleRow kEverything[] = {{"*", "*", "*"}, {.verbs = "*", .urls = "*"}};

constexpr RuleRow kDiscovery[] = {{.verbs = "get",
                                   .urls = "/livez /readyz /healthz /version /version/ /openapi "
                                           "/openapi/* /api /api/* /apis /apis/*"}};
constexpr RuleRow kMonitoring[] = {
    {.verbs = "get",
     .urls = "/metrics /metrics/* /livez /readyz /healthz /livez/* /readyz/* /healthz/*"},
    {"get", "core", "nodes/metrics"}};
constexpr RuleRow kBasicUser[] = {
    {"create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"},
    {"create", "authentication.k8s.io", "selfsubjectreviews"}};
constexpr RuleRow kPublic[] = {
    {.verbs = "get", .urls = "/livez /readyz /healthz /version /version/"}};
constexpr RuleRow kHealthParts[] = {{.verbs = "get", .urls = "/livez/* /readyz/* /healthz/*"}};

constexpr RuleRow kAdmin[] = {
    {"create", "authorization.k8s.io", "localsubjectaccessreviews"},
    {DRAY_READ " " DRAY_WRITE, "rbac.authorization.k8s.io", "roles rolebindings"}};

constexpr RuleRow kEdit[] = {
    {DRAY_READ, "core", "pods/attach pods/proxy pods/exec pods/portforward secrets services/proxy"},
    {"impersonate", "core", "serviceaccounts"},
    {DRAY_WRITE, "core", "pods pods/attach pods/proxy pods/exec pods/portforward"},
    {"create", "core", "pods/eviction"},
    {DRAY_WRITE, "core",
     "replicationcontrollers replicationcontrollers/scale serviceaccounts services services/proxy "
     "persistentvolumeclaims configmaps secrets"},
    {"create", "core", "serviceaccounts/token"},
    {DRAY_WRITE, "core events.k8s.io", "events"},
    {DRAY_WRITE, "apps",
     "statefulsets statefulsets/scale daemonsets deployments deployments/scale "
     "deployments/rollback replicasets replicasets/scale"},
    {DRAY_WRITE, "autoscaling", "horizontalpodautoscalers"},
    {DRAY_WRITE, "batch", "jobs cronjobs"},
    {DRAY_WRITE, "policy", "poddisruptionbudgets"},
    {DRAY_WRITE, "networking.k8s.io", "networkpolicies ingresses"},
    {DRAY_WRITE, "scheduling.k8s.io", "workloads podgroups"},
    {DRAY_READ " " DRAY_WRITE, "coordination.k8s.io", "leases"},
    {DRAY_WRITE, "resource.k8s.io", "resourceclaims resourceclaimtemplates"},
};

constexpr RuleRow kView[] = {
    {DRAY_READ, "core",
     "pods replicationcontrollers replicationcontrollers/scale serviceaccounts services "
     "services/status endpoints persistentvolumeclaims persistentvolumeclaims/status configmaps"},
    {DRAY_READ, "core",
     "limitranges resourcequotas bindings pods/status resourcequotas/status namespaces/status "
     "replicationcontrollers/status pods/log"},
    {DRAY_READ, "core", "namespaces"},
    {DRAY_READ, "core events.k8s.io", "events"},
    {DRAY_READ, "discovery.k8s.io", "endpointslices"},
    {DRAY_READ, "apps",
     "controllerrevisions statefulsets statefulsets/status statefulsets/scale daemonsets "
     "daemonsets/status deployments deployments/status deployments/scale replicasets "
     "replicasets/status replicasets/scale"},
    {DRAY_READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"},
    {DRAY_READ, "batch", "jobs cronjobs cronjobs/status jobs/status"},
    {DRAY_READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"},
    {DRAY_READ, "networking.k8s.io", "networkpolicies ingresses ingresses/status"},
    {DRAY_READ, "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"},
    {DRAY_READ, "scheduling.k8s.io", "workloads podgroups podgroups/status"},
};

// Of whoever looks at the whole cluster: everything but secrets, and processes in containers.
constexpr RuleRow kViewer[] = {
    {DRAY_READ, "core",
     "nodes nodes/status persistentvolumes persistentvolumes/status podtemplates"},
    {DRAY_READ,
     "admissionregistration.k8s.io apiextensions.k8s.io apps autoscaling batch "
     "certificates.k8s.io coordination.k8s.io discovery.k8s.io events.k8s.io networking.k8s.io "
     "node.k8s.io policy rbac.authorization.k8s.io resource.k8s.io scheduling.k8s.io "
     "storage.k8s.io",
     "*"},
    {.verbs = "get", .urls = "/metrics /metrics/*"},
};

constexpr RuleRow kScheduler[] = {
    {"create patch update", "core events.k8s.io", "events"},
    {"create", "coordination.k8s.io", "leases"},
    {"get update list watch", "coordination.k8s.io", "leases", "kube-scheduler"},
    {DRAY_READ, "core", "nodes"},
    {"get list watch delete", "core", "pods"},
    {"create", "core", "pods/binding bindings"},
    {"patch update", "core", "pods/status"},
    {DRAY_READ, "core", "services replicationcontrollers"},
    {DRAY_READ, "apps", "replicasets"},
    {DRAY_READ, "apps", "statefulsets"},
    {DRAY_READ, "policy", "poddisruptionbudgets"},
    {DRAY_READ, "core", "persistentvolumeclaims persistentvolumes"},
    {"create", "authentication.k8s.io", "tokenreviews"},
    {"create", "authorization.k8s.io", "subjectaccessreviews"},
    {DRAY_READ, "storage.k8s.io", "csinodes"},
    {DRAY_READ, "storage.k8s.io", "volumeattachments"},
    {DRAY_READ, "core", "namespaces"},
    {DRAY_READ, "storage.k8s.io", "csidrivers"},
    {DRAY_READ, "storage.k8s.io", "csistoragecapacities"},
    {DRAY_READ, "resource.k8s.io", "deviceclasses"},
    {"get list watch update patch", "resource.k8s.io", "resourceclaims"},
    {"get list watch update patch", "resource.k8s.io", "resourceclaims/status"},
    {"update", "core", "pods/finalizers"},
    {DRAY_READ, "resource.k8s.io", "resourceslices"},
    {"create delete", "resource.k8s.io", "resourceclaims"},
    {DRAY_READ, "resource.k8s.io", "devicetaintrules"},
    {"update patch", "resource.k8s.io", "resourceclaims/binding"},
    {DRAY_READ, "scheduling.k8s.io", "podgroups"},
    {"update patch", "scheduling.k8s.io", "podgroups/status"},
};
constexpr RuleRow kVolumeScheduler[] = {
    {"get list watch update patch", "core", "persistentvolumes"},
    {DRAY_READ, "storage.k8s.io", "storageclasses"},
    {"get list watch update patch", "core", "persistentvolumeclaims"},
};
// What dray's scheduler can use besides: priorities of pods that wait, and an end for old events.
constexpr RuleRow kDrayScheduler[] = {
    {DRAY_READ, "scheduling.k8s.io", "priorityclasses"},
    {"get list delete", "core events.k8s.io", "events"},
};
constexpr RuleRow kElection[] = {
    {"create get list watch update patch", "coordination.k8s.io", "leases"}};

// Of the controllers where they are a process of their own, and of simulated nodes. Owners, namespaces and
// quotas concern every kind, also those that somebody defines.
constexpr RuleRow kControllers[] = {
    {"get list watch update patch delete", "*", "*"},
    {"create", "core", "configmaps events persistentvolumeclaims pods serviceaccounts"},
    {"create", "events.k8s.io", "events"},
    {"create", "apps", "controllerrevisions replicasets"},
    {"create", "batch", "jobs"},
    {"create", "resource.k8s.io", "resourceclaims"},
    {"create", "coordination.k8s.io", "leases"},
    {"create", "authentication.k8s.io", "tokenreviews"},
    {"create", "authorization.k8s.io", "subjectaccessreviews"},
    // Of roles that gather others: what they gather the controllers need not have.
    {"escalate", "rbac.authorization.k8s.io", "clusterroles"},
    {"approve sign", "certificates.k8s.io", "signers",
     "kubernetes.io/kube-apiserver-client kubernetes.io/kube-apiserver-client-kubelet "
     "kubernetes.io/kubelet-serving"},
};

constexpr RuleRow kDriver[] = {
    {DRAY_READ, "resource.k8s.io", "resourceclaims resourceslices deviceclasses"},
    {DRAY_READ, "core", "nodes pods"},
    {DRAY_WRITE, "resource.k8s.io", "resourceslices"},
    {"get update patch", "resource.k8s.io", "resourceclaims/status"},
};

constexpr RuleRow kDelegator[] = {{"create", "authentication.k8s.io", "tokenreviews"},
                                  {"create", "authorization.k8s.io", "subjectaccessreviews"}};
constexpr RuleRow kIssuer[] = {
    {.verbs = "get",
     .urls = "/.well-known/openid-configuration /.well-known/openid-configuration/ "
             "/openid/v1/jwks /openid/v1/jwks/"}};
constexpr RuleRow kKubeletAdmin[] = {
    {DRAY_READ, "core", "nodes"},
    {"proxy", "core", "nodes"},
    {"*", "core",
     "nodes/proxy nodes/metrics nodes/stats nodes/log nodes/pods nodes/healthz nodes/configz"}};

// A machine that joins asks for its first certificate; a node for the next one.
constexpr RuleRow kBootstrapper[] = {
    {"create get list watch", "certificates.k8s.io", "certificatesigningrequests"}};
constexpr RuleRow kNodeClient[] = {
    {"create", "certificates.k8s.io", "certificatesigningrequests/nodeclient"}};
constexpr RuleRow kSelfNodeClient[] = {
    {"create", "certificates.k8s.io", "certificatesigningrequests/selfnodeclient"}};
#define DRAY_APPROVES(name, signer) \
  constexpr RuleRow name[] = {{"approve", "certificates.k8s.io", "signers", signer}}
DRAY_APPROVES(kApprovesServing, "kubernetes.io/kubelet-serving");
DRAY_APPROVES(kApprovesClients, "kubernetes.io/kube-apiserver-client");
DRAY_APPROVES(kApprovesKubelets, "kubernetes.io/kube-apiserver-client-kubelet");
#undef DRAY_APPROVES

#undef DRAY_READ
#undef DRAY_WRITE

constexpr RoleRow kRoles[] = {
    {"cluster-admin", kEverything},
    {"system:discovery", kDiscovery},
    {"system:monitoring", kMonitoring},
    {"system:basic-user", kBasicUser},
    {"system:public-info-viewer", kPublic},
    {.name = "admin", .gathers = kToAdmin},
    {.name = "edit", .labels = kToAdmin, .gathers = kToEdit},
    {.name = "view", .labels = kToEdit, .gathers = kToView},
    {"system:aggregate-to-admin", kAdmin, kToAdmin},
    {"system:aggregate-to-edit", kEdit, kToEdit},
    {"system:aggregate-to-view", kView, kToView},
    {"system:node", {}},  // of rbac/node_authorizer.h
    {"system:auth-delegator", kDelegator},
    {"system:kubelet-api-admin", kKubeletAdmin},
    {"system:service-account-issuer-discovery", kIssuer},
    {"system:node-bootstrapper", kBootstrapper},
    {"system:certificates.k8s.io:certificatesigningrequests:nodeclient", kNodeClient},
    {"system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", kSelfNodeClient},
    {"system:certificates.k8s.io:kubelet-serving-approver", kApprovesServing},
    {"system:certificates.k8s.io:kube-apiserver-client-approver", kApprovesClients},
    {"system:certificates.k8s.io:kube-apiserver-client-kubelet-approver", kApprovesKubelets},
    {"system:kube-scheduler", kScheduler},
    {"system:volume-scheduler", kVolumeScheduler},
    {"dray:scheduler", kDrayScheduler},
    {"dray:controllers", kControllers},
    {"dray:driver", kDriver},
    {"dray:health", kHealthParts},
    {.name = "dray:viewer", .gathers = kToViewer},
    {"dray:aggregate-to-viewer", kViewer, "dray/aggregate-to-viewer"},
    {.name = "dray:leader-election", .rules = kElection, .namespace_ = "kube-system"},
};

constexpr BindingRow kBindings[] = {
    {.role = "cluster-admin", .groups = "system:masters"},
    {.role = "system:monitoring", .groups = "system:monitoring"},
    {.role = "system:discovery", .groups = "system:authenticated"},
    {.role = "system:basic-user", .groups = "system:authenticated"},
    {.role = "system:public-info-viewer", .groups = "system:authenticated system:unauthenticated"},
    {.role = "system:node"},
    // As kubeadm does it: whoever has a token of the group that nodes join with gets a certificate.
    {.role = "system:node-bootstrapper",
     .groups = "system:bootstrappers",
     .name = "dray:node-bootstrapper"},
    {.role = "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
     .groups = "system:bootstrappers",
     .name = "dray:node-autoapprove-bootstrap"},
    {.role = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
     .groups = "system:nodes",
     .name = "dray:node-autoapprove-certificate-rotation"},
    {.role = "system:kube-scheduler", .users = "system:kube-scheduler"},
    {.role = "system:volume-scheduler", .users = "system:kube-scheduler"},
    {.role = "dray:scheduler", .users = "system:kube-scheduler"},
    {.role = "dray:controllers", .users = "system:kube-controller-manager"},
    {.role = "system:service-account-issuer-discovery", .groups = "system:serviceaccounts"},
    {.role = "dray:driver", .groups = "dray:drivers"},
    {.role = "dray:health", .groups = "system:authenticated system:unauthenticated"},
    {.role = "dray:viewer", .groups = "dray:viewers"},
    {.role = "dray:leader-election", .users = "system:kube-scheduler", .namespace_ = "kube-system"},
};

}  // namespace

std::span<const RoleRow> RoleRows() { return kRoles; }
std::span<const BindingRow> BindingRows() { return kBindings; }

}  // namespace dray::rbac::internal
