// SPDX-License-Identifier: Apache-2.0
//
// Services with their endpoints; volumes and claims for them. The language is described_kinds.h's.
#include "api/internal/descriptions.h"

namespace dray::api::internal {

std::string_view ServiceDescriptions() {
  return R"(
kind v1 Service services namespaced status all short=svc : A name, an address and ports for a set of pods. It is stored; nothing forwards to the pods.
column Type spec.type : How the service can be reached.
column Cluster-IP spec.clusterIP none=<none> : Its address in the cluster.
column External-IP spec as=external-ip : Its addresses outside.
column Port(s) spec.ports as=service-ports none=<none> : The ports that are offered.
column Selector spec.selector as=labels none=<none> wide : Which pods are behind it.
2 spec ServiceSpec : What is offered, and which pods are behind it.
3 status ServiceStatus : Where a load balancer offers it.

struct ServiceSpec : What a service offers, and which pods are behind it.
1 ports []ServicePort keys=port,protocol : The ports that are offered.
2 selector map[string] atomic : The labels of the pods behind it. None: its endpoints are written by a controller of their own.
3 clusterIP string : The address in the cluster; None for a service without one.
18 clusterIPs []string most=2 : The addresses in the cluster, one per family. The first one is clusterIP.
4 type string default=ClusterIP one-of=ClusterIP,ExternalName,LoadBalancer,NodePort : How it can be reached.
5 externalIPs []string form=ip : Addresses outside at which nodes take traffic for it.
7 sessionAffinity string default=None one-of=ClientIP,None : Whether a client always gets to the same pod.
8 loadBalancerIP string : The address that a load balancer should have.
9 loadBalancerSourceRanges []string form=cidr : Who may use the load balancer.
10 externalName string form=subdomain : The name that it stands for, of a service of type ExternalName.
11 externalTrafficPolicy string one-of=Cluster,Local : Whether traffic from outside stays on the node where it came in.
12 healthCheckNodePort int32 min=0 max=65535 : The port at which a load balancer asks whether a node is fine.
13 publishNotReadyAddresses bool : Whether pods that are not ready count.
14 sessionAffinityConfig SessionAffinityConfig? : How long a client stays with a pod.
19 ipFamilies []string one-of=IPv4,IPv6 most=2 : The families of its addresses.
17 ipFamilyPolicy string? one-of=SingleStack,PreferDualStack,RequireDualStack : Whether it has addresses of both families.
20 allocateLoadBalancerNodePorts bool? : Whether a service of type LoadBalancer also has ports on nodes.
21 loadBalancerClass string? form=label-key : Which load balancer is meant.
22 internalTrafficPolicy string? default=Cluster one-of=Cluster,Local : Whether traffic from the cluster stays on its node.
23 trafficDistribution string? one-of=PreferClose,PreferSameZone,PreferSameNode : Which endpoints are preferred.

struct ServicePort : A port that a service offers.
1 name string form=label : Its name. Needed when there are several.
2 protocol string default=TCP one-of=TCP,UDP,SCTP : TCP, UDP or SCTP.
6 appProtocol string? form=label-key : What is spoken there.
3 port int32 always min=1 max=65535 : The port of the service.
4 targetPort intorstring? form=port : The port of the pods, or its name there.
5 nodePort int32 min=0 max=65535 : The port on each node, for services of type NodePort and LoadBalancer.

struct SessionAffinityConfig : How clients stay with their pods.
1 clientIP ClientIPConfig? : By their address.

struct ClientIPConfig : How clients stay with a pod by their address.
1 timeoutSeconds int32? min=1 max=86400 : For how long.

struct ServiceStatus : Observed state of a service.
1 loadBalancer LoadBalancerStatus : What a load balancer made of it.
2 conditions []Condition keys=type : What is the case for the service.

struct LoadBalancerStatus : Where a load balancer takes traffic.
1 ingress []LoadBalancerIngress : The places.

struct LoadBalancerIngress : A place where a load balancer takes traffic.
1 ip string : Its address.
2 hostname string : Its name.
3 ipMode string? one-of=Proxy,VIP : How traffic gets from there to the nodes.
4 ports []PortStatus : The ports there.

struct PortStatus : A port of a load balancer.
1 port int32 always : Its number.
2 protocol string always one-of=TCP,UDP,SCTP : Its protocol.
3 error string? : What went wrong with it.

kind v1 ReplicationController replicationcontrollers namespaced status generation all short=rc : As many pods as it says, as before there were ReplicaSets. None can be made here: it is listed, for programs that look for them.
2 spec ReplicationControllerSpec : How many pods there should be, and what they are like.
3 status ReplicationControllerStatus : How many there are.

struct ReplicationControllerSpec : How many pods there should be, and what they are like.
1 replicas int32? default=1 min=0 : How many.
4 minReadySeconds int32 min=0 : How long one has to be ready before it counts as available.
2 selector map[string] atomic : The labels of its pods.
3 template PodTemplateSpec? : What its pods are like.

struct ReplicationControllerStatus : How many pods there are.
1 replicas int32 always : How many there are.
2 fullyLabeledReplicas int32 : How many have all labels of the template.
4 readyReplicas int32 : How many are ready.
5 availableReplicas int32 : How many have been ready for long enough.
3 observedGeneration int64 : The generation that this is about.
6 conditions []ReplicationControllerCondition keys=type : What is the case.

struct ReplicationControllerCondition : Something that is the case.
1 type string always : What.
2 status string always : True, False or Unknown.
3 lastTransitionTime time? : Since when.
4 reason string : Machine-readable reason.
5 message string : Human-readable message.

kind v1 Endpoints endpoints namespaced short=ep : The addresses behind a service. EndpointSlices are the newer form.
column Endpoints subsets as=endpoints none=<none> : The addresses.
2 subsets []EndpointSubset : Addresses with the ports that they share.

struct EndpointSubset : Addresses that have the same ports.
1 addresses []EndpointAddress : Those that are ready.
2 notReadyAddresses []EndpointAddress : Those that are not ready.
3 ports []EndpointPort : Their ports.

struct EndpointAddress atomic : An address behind a service.
1 ip string always required form=ip : The address.
3 hostname string form=label : Its name.
4 nodeName string? : The node that it is on.
2 targetRef ObjectReference? : The object, usually a pod, that it belongs to.

struct EndpointPort atomic : A port of an endpoint.
1 name string form=label : Its name: that of the service's port.
2 port int32 always min=1 max=65535 : Its number.
3 protocol string default=TCP one-of=TCP,UDP,SCTP : TCP, UDP or SCTP.
4 appProtocol string? form=label-key : What is spoken there.
)";
}

std::string_view VolumeDescriptions() {
  return R"(
kind v1 PersistentVolumeClaim persistentvolumeclaims namespaced status short=pvc : A claim for a volume. It is stored; no controller provisions or binds volumes.
column Status status.phase : Whether it has a volume.
column Volume spec.volumeName : The volume.
column Capacity status.capacity as=storage : How large it is.
column Access_Modes status.accessModes as=access-modes : How it may be used.
column StorageClass spec.storageClassName : The class of storage.
column VolumeAttributesClass spec.volumeAttributesClassName none=<unset> : The class of attributes.
column VolumeMode spec.volumeMode wide : Whether it has a file system.
2 spec PersistentVolumeClaimSpec : What kind of volume is wanted.
3 status PersistentVolumeClaimStatus : The volume that was found.

struct PersistentVolumeClaimStatus : Observed state of a claim for a volume.
1 phase string one-of=Pending,Bound,Lost : Pending, Bound or Lost.
2 accessModes []string : How the volume may be used.
3 capacity map[quantity] : How large the volume is.
4 conditions []PersistentVolumeClaimCondition keys=type : What is the case for the claim.
5 allocatedResources map[quantity] : How large the volume is becoming.
7 allocatedResourceStatuses map[string] : How far a change of its size is.
8 currentVolumeAttributesClassName string? : The class of attributes that the volume has.
9 modifyVolumeStatus ModifyVolumeStatus? : How far a change of its attributes is.
10 healthStatus VolumeHealthStatus? : Whether the volume is fine.

struct PersistentVolumeClaimCondition : A condition of a claim for a volume.
1 type string always required : What the condition is about.
2 status string always required : True, False or Unknown.
3 lastProbeTime time? : When it was last probed.
4 lastTransitionTime time? : When the status last changed.
5 reason string : Machine-readable reason.
6 message string : Human-readable message.

struct ModifyVolumeStatus : How far a change of a volume's attributes is.
1 targetVolumeAttributesClassName string : The class that the volume is to have.
2 status string always one-of=Pending,InProgress,Infeasible : How far it is.

struct VolumeHealthStatus : Whether a volume is fine.
1 healthConditions []VolumeHealthCondition keys=status,reason : What is the matter with it.
2 lastTransitionTime time? : When that last changed.

struct VolumeHealthCondition : Something that is the matter with a volume.
1 status string always required : How bad it is.
2 reason string always required : What it is, in a word.
3 message string : What it is, in a sentence.

kind v1 PersistentVolume persistentvolumes cluster status short=pv : A volume of the cluster. It is stored; nothing makes, binds or deletes what is behind it.
column Capacity spec.capacity as=storage : How large it is.
column Access_Modes spec.accessModes as=access-modes : How it may be used.
column Reclaim_Policy spec.persistentVolumeReclaimPolicy : What becomes of it without its claim.
column Status status.phase : Whether a claim has it.
column Claim spec.claimRef as=reference : The claim that has it.
column StorageClass spec.storageClassName : The class of storage.
column VolumeAttributesClass spec.volumeAttributesClassName none=<unset> : The class of attributes.
column Reason status.reason : What is wrong with it.
column VolumeMode spec.volumeMode wide : Whether it has a file system.
2 spec PersistentVolumeSpec : What the volume is.
3 status PersistentVolumeStatus : Its phase, and why.

struct PersistentVolumeSpec : What a volume is.
1 capacity map[quantity] required : How large it is.
2.1 gcePersistentDisk raw? : A disk of Google's cloud.
2.2 awsElasticBlockStore raw? : A disk of Amazon's cloud.
2.3 hostPath raw? : A folder of the node.
2.4 glusterfs raw? : A Gluster file system.
2.5 nfs raw? : A file system over the network.
2.6 rbd raw? : A block device of Ceph.
2.7 iscsi raw? : A disk over the network.
2.8 cinder raw? : A disk of OpenStack.
2.9 cephfs raw? : A file system of Ceph.
2.10 fc raw? : A disk over fibre channel.
2.11 flocker raw? : A volume of Flocker.
2.12 flexVolume raw? : A volume of a driver that is a program on the node.
2.13 azureFile raw? : A file share of Microsoft's cloud.
2.14 vsphereVolume raw? : A disk of vSphere.
2.15 quobyte raw? : A volume of Quobyte.
2.16 azureDisk raw? : A disk of Microsoft's cloud.
2.17 photonPersistentDisk raw? : A disk of Photon.
2.18 portworxVolume raw? : A volume of Portworx.
2.19 scaleIO raw? : A volume of ScaleIO.
2.20 local raw? : A disk of one node.
2.21 storageos raw? : A volume of StorageOS.
2.22 csi raw? : A volume of a CSI driver.
3 accessModes []string required one-of=ReadWriteOnce,ReadOnlyMany,ReadWriteMany,ReadWriteOncePod : How it may be used.
4 claimRef ObjectReference? : The claim that has it.
5 persistentVolumeReclaimPolicy string default=Retain one-of=Delete,Recycle,Retain : What becomes of it when its claim is deleted.
6 storageClassName string form=subdomain : The class of storage that it belongs to.
7 mountOptions []string : Options with which it is mounted.
8 volumeMode string? default=Filesystem one-of=Block,Filesystem immutable : Whether it has a file system or is a bare device.
9 nodeAffinity VolumeNodeAffinity? : The nodes that can use it.
10 volumeAttributesClassName string? form=subdomain : The class of its attributes.

struct VolumeNodeAffinity : The nodes that can use a volume.
1 required NodeSelector? : What must hold of a node.

struct PersistentVolumeStatus : Who has a volume.
1 phase string one-of=Pending,Available,Bound,Released,Failed : Pending, Available, Bound, Released or Failed.
2 message string : Human-readable message.
3 reason string : Machine-readable reason.
4 lastPhaseTransitionTime time? : When the phase last changed.
)";
}

}  // namespace dray::api::internal
