// SPDX-License-Identifier: Apache-2.0
//
// Kinds of storage.k8s.io. The language is described_kinds.h's.
#include "api/internal/descriptions.h"

namespace dray::api::internal {

std::string_view StorageDescriptions() {
  return R"(
kind storage.k8s.io/v1 StorageClass storageclasses cluster short=sc : A class of storage that volumes are made of. It is stored; nothing makes volumes.
column Provisioner provisioner : Who makes the volumes.
column ReclaimPolicy reclaimPolicy : What becomes of a volume without its claim.
column VolumeBindingMode volumeBindingMode : When a volume is chosen.
column AllowVolumeExpansion allowVolumeExpansion none=false : Whether volumes can be made larger.
2 provisioner string always required immutable form=path-name : Who makes the volumes.
3 parameters map[string] immutable : Parameters for the provisioner.
4 reclaimPolicy string? default=Delete one-of=Delete,Retain immutable : What becomes of a volume when its claim is deleted.
5 mountOptions []string : Options with which volumes are mounted.
6 allowVolumeExpansion bool? : Whether volumes can be made larger.
7 volumeBindingMode string? default=Immediate one-of=Immediate,WaitForFirstConsumer immutable : Whether a volume is chosen at once or with the first pod that uses it.
8 allowedTopologies []TopologySelectorTerm : Where volumes may be.

struct TopologySelectorTerm atomic : A place where volumes may be.
1 matchLabelExpressions []TopologySelectorLabelRequirement : What must hold of it.

struct TopologySelectorLabelRequirement : A label with one of some values.
1 key string always required : The label.
2 values []string always required : The values.

kind storage.k8s.io/v1 CSINode csinodes cluster status : The CSI drivers of a node, which its kubelet tells.
column Drivers spec.drivers as=count : How many drivers there are.
2 spec CSINodeSpec always : The drivers.
3 status CSINodeStatus : Whether their storage is fine.

struct CSINodeSpec : The CSI drivers of a node.
1 drivers []CSINodeDriver always keys=name : The drivers.

struct CSINodeDriver : A CSI driver of a node.
1 name string always required form=driver-name : The driver's name.
2 nodeID string always required : What the driver calls the node.
3 topologyKeys []string always : The labels of the node that say where its volumes are.
4 allocatable VolumeNodeResources? : How many volumes the node can have.

struct VolumeNodeResources : How many volumes a node can have.
1 count int32? min=0 : How many.

struct CSINodeStatus : Whether the storage of a node is fine.
1 storageHealth []StorageHealth keys=name : The drivers whose storage is not.

struct StorageHealth : Whether the storage of a driver is fine.
1 name string always required : The driver.
2 healthConditions []StorageHealthCondition : What is the matter with it.

struct StorageHealthCondition : Something that is the matter with storage.
1 status string always required : How bad it is.
2 reason string always required : What it is, in a word.
3 message string : What it is, in a sentence.
4 accessMode string? : The access mode that it is about.
5 volumeMode string? : The volume mode that it is about.
6 lastTransitionTime time? : When it last changed.

kind storage.k8s.io/v1 CSIDriver csidrivers cluster generation : What a CSI driver wants of kubelets and schedulers.
column AttachRequired spec.attachRequired : Whether volumes are attached to nodes first.
column PodInfoOnMount spec.podInfoOnMount : Whether the driver is told about the pod.
column StorageCapacity spec.storageCapacity : Whether it tells how much room there is.
column TokenRequests spec.tokenRequests as=audiences none=<unset> : The tokens that it wants.
column RequiresRepublish spec.requiresRepublish : Whether it is asked again and again.
column Modes spec.volumeLifecycleModes as=join none=<none> : What kinds of volumes it has.
2 spec CSIDriverSpec always : What it wants.

struct CSIDriverSpec : What a CSI driver wants.
1 attachRequired bool? default=true immutable : Whether volumes are attached to nodes before they are mounted.
2 podInfoOnMount bool? default=false : Whether the driver is told about the pod when it mounts.
3 volumeLifecycleModes []string set one-of=Persistent,Ephemeral : What kinds of volumes it has.
4 storageCapacity bool? default=false : Whether schedulers look at how much room it has.
5 fsGroupPolicy string? default=ReadWriteOnceWithFSType one-of=File,None,ReadWriteOnceWithFSType : Whether owners of files are changed for pods.
6 tokenRequests []TokenRequest : The tokens of pods that it wants.
7 requiresRepublish bool? default=false : Whether it is asked again and again to mount.
8 seLinuxMount bool? default=false : Whether it can mount with a context of SELinux.
9 nodeAllocatableUpdatePeriodSeconds int64? min=10 : How often kubelets ask how many volumes a node can have.
10 serviceAccountTokenInSecrets bool? : Whether tokens come with the secrets.
11 preventPodSchedulingIfMissing bool? : Whether pods only go to nodes that have the driver.

struct TokenRequest : A token that a driver wants.
1 audience string always : Whom the token is for.
2 expirationSeconds int64? min=600 max=4294967296 : For how long it is good.

kind storage.k8s.io/v1 CSIStorageCapacity csistoragecapacities namespaced : How much room a CSI driver has somewhere.
column StorageClassName storageClassName : The class of storage.
column Capacity capacity : How much room there is.
2 nodeTopology LabelSelector? immutable : Which nodes can use it.
3 storageClassName string always required immutable form=subdomain : The class of storage.
4 capacity quantity? : How much room there is.
5 maximumVolumeSize quantity? : How large a volume can be.

kind storage.k8s.io/v1 VolumeAttachment volumeattachments cluster status : The wish to have a volume at a node. It is stored; nothing attaches volumes.
column Attacher spec.attacher : Who attaches it.
column PV spec.source.persistentVolumeName : The volume.
column Node spec.nodeName : The node.
column Attached status.attached none=false : Whether it is there.
2 spec VolumeAttachmentSpec always immutable : Which volume, and where.
3 status VolumeAttachmentStatus : Whether it is there.

struct VolumeAttachmentSpec : Which volume is wanted where.
1 attacher string always required : Who attaches it.
2 source VolumeAttachmentSource always : The volume.
3 nodeName string always required form=subdomain : The node.

struct VolumeAttachmentSource : A volume.
1 persistentVolumeName string? : The name of a PersistentVolume.
2 inlineVolumeSpec raw? : What the volume is, if it is no PersistentVolume.

struct VolumeAttachmentStatus : Whether a volume is attached.
1 attached bool always : Whether it is there.
2 attachmentMetadata map[string] : What the node has to know of it.
3 attachError VolumeError? : Why it could not be attached.
4 detachError VolumeError? : Why it could not be detached.

struct VolumeError : What went wrong with a volume.
1 time time? : When.
2 message string : What.
3 errorCode int32? : The code of gRPC.
)";
}

}  // namespace dray::api::internal
