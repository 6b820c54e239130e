// SPDX-License-Identifier: Apache-2.0
//
// The numbers that Kubernetes's protobuf gives to fields. `a=2.1` is field 1 of a message that is
// field 2 and has no place of its own in JSON. A struct that differs by version or group has a row
// for each: "v1beta1/Device".
#include "rest/internal/proto_numbers.h"

namespace dray::rest::internal {

std::span<const ProtoNumbers> AllProtoNumbers() {
  static constexpr ProtoNumbers kRows[] = {
      {"Affinity", "nodeAffinity=1 podAffinity=2 podAntiAffinity=3"},
      {"AggregationRule", "clusterRoleSelectors=1"},
      {"AllocatedDeviceStatus",
       "driver=1 pool=2 device=3 conditions=4 data=5 networkData=6 shareID=7"},
      {"AllocationResult", "devices=1 nodeSelector=3 allocationTimestamp=5"},
      {"AttachedVolume", "name=1 devicePath=2"},
      {"Binding", "metadata=1 target=2"},
      {"BoundObjectReference", "kind=1 apiVersion=2 name=3 uid=4"},
      {"CELDeviceSelector", "expression=1"},
      {"CapacityRequestPolicy", "default=1 validValues=3 validRange=4"},
      {"CapacityRequestPolicyRange", "min=1 max=2 step=3"},
      {"CapacityRequirements", "requests=1"},
      {"ClusterRole", "metadata=1 rules=2 aggregationRule=3"},
      {"ClusterRoleBinding", "metadata=1 subjects=2 roleRef=3"},
      {"Condition", "type=1 status=2 observedGeneration=3 lastTransitionTime=4 reason=5 message=6"},
      {"ConfigMapEnvSource", "optional=2 name=1.1"},
      {"ConfigMapKeySelector", "key=2 optional=3 name=1.1"},
      {"ConfigMapVolumeSource", "items=2 defaultMode=3 optional=4 defaultUser=5 name=1.1"},
      {"Container",
       "name=1 image=2 command=3 args=4 workingDir=5 ports=6 env=7 resources=8 volumeMounts=9 "
       "livenessProbe=10 readinessProbe=11 lifecycle=12 terminationMessagePath=13 "
       "imagePullPolicy=14 securityContext=15 stdin=16 stdinOnce=17 tty=18 envFrom=19 "
       "terminationMessagePolicy=20 volumeDevices=21 startupProbe=22 resizePolicy=23 "
       "restartPolicy=24 restartPolicyRules=25"},
      {"ContainerExtendedResourceRequest", "containerName=1 resourceName=2 requestName=3"},
      {"ContainerImage", "names=1 sizeBytes=2"},
      {"ContainerPort", "name=1 hostPort=2 containerPort=3 protocol=4 hostIP=5"},
      {"ContainerResizePolicy", "resourceName=1 restartPolicy=2"},
      {"ContainerRestartRule", "action=1 exitCodes=2"},
      {"ContainerRestartRuleOnExitCodes", "operator=1 values=2"},
      {"ContainerState", "waiting=1 running=2 terminated=3"},
      {"ContainerStateRunning", "startedAt=1"},
      {"ContainerStateTerminated",
       "exitCode=1 signal=2 reason=3 message=4 startedAt=5 finishedAt=6 containerID=7"},
      {"ContainerStateWaiting", "reason=1 message=2"},
      {"ContainerStatus",
       "name=1 state=2 lastState=3 ready=4 restartCount=5 image=6 imageID=7 containerID=8 "
       "started=9 allocatedResources=10 resources=11 volumeMounts=12 user=13 "
       "allocatedResourcesStatus=14 stopSignal=15"},
      {"ContainerUser", "linux=1"},
      {"Counter", "value=1"},
      {"CounterSet", "name=1 counters=2"},
      {"DaemonEndpoint", "Port=1"},
      {"DeleteOptions",
       "gracePeriodSeconds=1 preconditions=2 orphanDependents=3 propagationPolicy=4 dryRun=5 "
       "ignoreStoreReadErrorWithClusterBreakingPotential=6"},
      {"Deployment", "metadata=1 spec=2 status=3"},
      {"DeploymentCondition",
       "type=1 status=2 reason=4 message=5 lastUpdateTime=6 lastTransitionTime=7"},
      {"DeploymentSpec",
       "replicas=1 selector=2 template=3 strategy=4 minReadySeconds=5 revisionHistoryLimit=6 "
       "paused=7 progressDeadlineSeconds=9"},
      {"DeploymentStatus",
       "observedGeneration=1 replicas=2 updatedReplicas=3 availableReplicas=4 "
       "unavailableReplicas=5 conditions=6 readyReplicas=7 collisionCount=8 terminatingReplicas=9"},
      {"DeploymentStrategy", "type=1 rollingUpdate=2"},
      {"Device",
       "name=1 attributes=2 capacity=3 consumesCounters=4 nodeName=5 nodeSelector=6 allNodes=7 "
       "taints=8 bindsToNode=9 bindingConditions=10 bindingFailureConditions=11 "
       "allowMultipleAllocations=12 nodeAllocatableResources=14"},
      {"DeviceAllocationConfiguration", "source=1 requests=2 opaque=3.1"},
      {"DeviceAllocationResult", "results=1 config=2"},
      {"DeviceAttribute", "int=2 bool=3 string=4 version=5 ints=6 bools=7 strings=8 versions=9"},
      {"DeviceCapacity", "value=1 requestPolicy=2"},
      {"DeviceClaim", "requests=1 constraints=2 config=3"},
      {"DeviceClaimConfiguration", "requests=1 opaque=2.1"},
      {"DeviceClass", "metadata=1 spec=2"},
      {"DeviceClassConfiguration", "opaque=1.1"},
      {"DeviceClassSpec", "selectors=1 config=2 extendedResourceName=4"},
      {"DeviceConstraint", "requests=1 matchAttribute=2 distinctAttribute=3"},
      {"DeviceCounterConsumption", "counterSet=1 counters=2 compatibilityGroups=3"},
      {"DeviceDerivedAttribute", "name=1 expression=2"},
      {"DeviceRequest", "name=1 exactly=2 firstAvailable=3"},
      {"DeviceRequestAllocationResult",
       "request=1 driver=2 pool=3 device=4 adminAccess=5 tolerations=6 bindingConditions=7 "
       "bindingFailureConditions=8 shareID=9 consumedCapacity=10 skipNodeOperations=11"},
      {"DeviceSelector", "cel=1"},
      {"DeviceSubRequest",
       "name=1 deviceClassName=2 selectors=3 allocationMode=4 count=5 tolerations=6 capacity=7 "
       "derivedAttributes=8"},
      {"DeviceTaint", "key=1 value=2 effect=3 timeAdded=4"},
      {"DeviceTaintRule", "metadata=1 spec=2 status=3"},
      {"DeviceTaintRuleSpec", "deviceSelector=1 taint=2"},
      {"DeviceTaintRuleStatus", "conditions=1"},
      {"DeviceTaintSelector", "driver=2 pool=3 device=4"},
      {"DeviceToleration", "key=1 operator=2 value=3 effect=4 tolerationSeconds=5"},
      {"EmptyDirVolumeSource", "medium=1 sizeLimit=2 mode=3"},
      {"EnvFromSource", "prefix=1 configMapRef=2 secretRef=3"},
      {"EnvVar", "name=1 value=2 valueFrom=3"},
      {"EnvVarSource",
       "fieldRef=1 resourceFieldRef=2 configMapKeyRef=3 secretKeyRef=4 fileKeyRef=5"},
      {"EphemeralContainer",
       "targetContainerName=2 name=1.1 image=1.2 command=1.3 args=1.4 workingDir=1.5 ports=1.6 "
       "env=1.7 resources=1.8 volumeMounts=1.9 livenessProbe=1.10 readinessProbe=1.11 "
       "lifecycle=1.12 terminationMessagePath=1.13 imagePullPolicy=1.14 securityContext=1.15 "
       "stdin=1.16 stdinOnce=1.17 tty=1.18 envFrom=1.19 terminationMessagePolicy=1.20 "
       "volumeDevices=1.21 startupProbe=1.22 resizePolicy=1.23 restartPolicy=1.24 "
       "restartPolicyRules=1.25"},
      {"EphemeralVolumeSource", "volumeClaimTemplate=1"},
      {"Event",
       "metadata=1 involvedObject=2 reason=3 message=4 source=5 firstTimestamp=6 lastTimestamp=7 "
       "count=8 type=9 eventTime=10 series=11 action=12 related=13 reportingComponent=14 "
       "reportingInstance=15"},
      {"EventSeries", "count=1 lastObservedTime=2"},
      {"EventSource", "component=1 host=2"},
      {"Eviction", "metadata=1 deleteOptions=2"},
      {"EvictionResponder", "name=1 priority=2"},
      {"ExactDeviceRequest",
       "deviceClassName=1 selectors=2 allocationMode=3 count=4 adminAccess=5 tolerations=6 "
       "capacity=7 derivedAttributes=8"},
      {"FileKeySelector", "volumeName=1 path=2 key=3 optional=4"},
      {"HostAlias", "ip=1 hostnames=2"},
      {"HostIP", "ip=1"},
      {"HostPathVolumeSource", "path=1 type=2"},
      {"ImageVolumeStatus", "imageRef=1"},
      {"Job", "metadata=1 spec=2 status=3"},
      {"JobCondition", "type=1 status=2 lastProbeTime=3 lastTransitionTime=4 reason=5 message=6"},
      {"JobSpec",
       "parallelism=1 completions=2 activeDeadlineSeconds=3 selector=4 manualSelector=5 template=6 "
       "backoffLimit=7 ttlSecondsAfterFinished=8 completionMode=9 suspend=10 podFailurePolicy=11 "
       "backoffLimitPerIndex=12 maxFailedIndexes=13 podReplacementPolicy=14 managedBy=15 "
       "successPolicy=16 scheduling=17"},
      {"JobStatus",
       "conditions=1 startTime=2 completionTime=3 active=4 succeeded=5 failed=6 completedIndexes=7 "
       "uncountedTerminatedPods=8 ready=9 failedIndexes=10 terminating=11"},
      {"KeyToPath", "key=1 path=2 mode=3 user=4"},
      {"LabelSelector", "matchLabels=1 matchExpressions=2"},
      {"LabelSelectorRequirement", "key=1 operator=2 values=3"},
      {"Lease", "metadata=1 spec=2"},
      {"LeaseSpec",
       "holderIdentity=1 leaseDurationSeconds=2 acquireTime=3 renewTime=4 leaseTransitions=5 "
       "strategy=6 preferredHolder=7"},
      {"LinuxContainerUser", "uid=1 gid=2 supplementalGroups=3"},
      {"ListMeta", "selfLink=1 resourceVersion=2 continue=3 remainingItemCount=4"},
      {"LocalObjectReference", "name=1"},
      {"LocalSubjectAccessReview", "metadata=1 spec=2"},
      {"ManagedFieldsEntry",
       "manager=1 operation=2 apiVersion=3 time=4 fieldsType=6 fieldsV1=7 subresource=8"},
      {"Namespace", "metadata=1 spec=2 status=3"},
      {"NamespaceCondition", "type=1 status=2 lastTransitionTime=4 reason=5 message=6"},
      {"NamespaceSpec", "finalizers=1"},
      {"NamespaceStatus", "phase=1 conditions=2"},
      {"NetworkDeviceData", "interfaceName=1 ips=2 hardwareAddress=3"},
      {"Node", "metadata=1 spec=2 status=3"},
      {"NodeAddress", "type=1 address=2"},
      {"NodeAffinity",
       "requiredDuringSchedulingIgnoredDuringExecution=1 "
       "preferredDuringSchedulingIgnoredDuringExecution=2"},
      {"NodeAllocatableMappedResources", "name=1 quantity=2"},
      {"NodeAllocatableMapping", "capacityKey=1 capacityMultiplier=2 deviceMultiplier=3"},
      {"NodeAllocatableOverhead", "perPod=1 perContainer=2"},
      {"NodeAllocatableOverheadResources", "name=1 perPod=2 perContainer=3"},
      {"NodeAllocatableResource", "mapping=3 overhead=4"},
      {"NodeAllocatableResourceClaimStatus",
       "resourceClaimName=1 containers=2 mapping=4 overhead=5"},
      {"NodeCondition",
       "type=1 status=2 lastHeartbeatTime=3 lastTransitionTime=4 reason=5 message=6"},
      {"NodeDaemonEndpoints", "kubeletEndpoint=1"},
      {"NodeFeatures", "supplementalGroupsPolicy=1"},
      {"NodePodPreemptionPolicy", "disableResizePreemption=1"},
      {"NodeRuntimeHandler", "name=1 features=2"},
      {"NodeRuntimeHandlerFeatures", "recursiveReadOnlyMounts=1 userNamespaces=2"},
      {"NodeSelector", "nodeSelectorTerms=1"},
      {"NodeSelectorRequirement", "key=1 operator=2 values=3"},
      {"NodeSelectorTerm", "matchExpressions=1 matchFields=2"},
      {"NodeSpec",
       "podCIDR=1 externalID=2 providerID=3 unschedulable=4 taints=5 configSource=6 podCIDRs=7 "
       "podPreemptionPolicy=8"},
      {"NodeStatus",
       "capacity=1 allocatable=2 phase=3 conditions=4 addresses=5 daemonEndpoints=6 nodeInfo=7 "
       "images=8 volumesInUse=9 volumesAttached=10 config=11 runtimeHandlers=12 features=13 "
       "declaredFeatures=14"},
      {"NodeSwapStatus", "capacity=1"},
      {"NodeSystemInfo",
       "machineID=1 systemUUID=2 bootID=3 kernelVersion=4 osImage=5 containerRuntimeVersion=6 "
       "kubeletVersion=7 kubeProxyVersion=8 operatingSystem=9 architecture=10 swap=11 "
       "runningInUserNamespace=12"},
      {"NonResourceAttributes", "path=1 verb=2"},
      {"ObjectFieldSelector", "apiVersion=1 fieldPath=2"},
      {"ObjectMeta",
       "name=1 generateName=2 namespace=3 selfLink=4 uid=5 resourceVersion=6 generation=7 "
       "creationTimestamp=8 deletionTimestamp=9 deletionGracePeriodSeconds=10 labels=11 "
       "annotations=12 ownerReferences=13 finalizers=14 managedFields=17"},
      {"ObjectReference",
       "kind=1 namespace=2 name=3 uid=4 apiVersion=5 resourceVersion=6 fieldPath=7"},
      {"OpaqueDeviceConfiguration", "driver=1 parameters=2"},
      {"OwnerReference", "kind=1 name=3 uid=4 apiVersion=5 controller=6 blockOwnerDeletion=7"},
      {"PersistentVolumeClaimSpec",
       "accessModes=1 resources=2 volumeName=3 selector=4 storageClassName=5 volumeMode=6 "
       "dataSource=7 dataSourceRef=8 volumeAttributesClassName=9"},
      {"PersistentVolumeClaimTemplate", "metadata=1 spec=2"},
      {"PersistentVolumeClaimVolumeSource", "claimName=1 readOnly=2"},
      {"Pod", "metadata=1 spec=2 status=3"},
      {"PodAffinity",
       "requiredDuringSchedulingIgnoredDuringExecution=1 "
       "preferredDuringSchedulingIgnoredDuringExecution=2"},
      {"PodAffinityTerm",
       "labelSelector=1 namespaces=2 topologyKey=3 namespaceSelector=4 matchLabelKeys=5 "
       "mismatchLabelKeys=6"},
      {"PodAntiAffinity",
       "requiredDuringSchedulingIgnoredDuringExecution=1 "
       "preferredDuringSchedulingIgnoredDuringExecution=2"},
      {"PodCondition",
       "type=1 status=2 lastProbeTime=3 lastTransitionTime=4 reason=5 message=6 "
       "observedGeneration=7"},
      {"PodExtendedResourceClaimStatus", "requestMappings=1 resourceClaimName=2"},
      {"PodIP", "ip=1"},
      {"PodOS", "name=1"},
      {"PodReadinessGate", "conditionType=1"},
      {"PodResourceClaim", "name=1 resourceClaimName=3 resourceClaimTemplateName=4"},
      {"PodResourceClaimStatus", "name=1 resourceClaimName=2"},
      {"PodSchedulingGate", "name=1"},
      {"PodSchedulingGroup", "podGroupName=1"},
      {"PodSpec",
       "volumes=1 containers=2 restartPolicy=3 terminationGracePeriodSeconds=4 "
       "activeDeadlineSeconds=5 dnsPolicy=6 nodeSelector=7 serviceAccountName=8 serviceAccount=9 "
       "nodeName=10 hostNetwork=11 hostPID=12 hostIPC=13 securityContext=14 imagePullSecrets=15 "
       "hostname=16 subdomain=17 affinity=18 schedulerName=19 initContainers=20 "
       "automountServiceAccountToken=21 tolerations=22 hostAliases=23 priorityClassName=24 "
       "priority=25 dnsConfig=26 shareProcessNamespace=27 readinessGates=28 runtimeClassName=29 "
       "enableServiceLinks=30 preemptionPolicy=31 overhead=32 topologySpreadConstraints=33 "
       "ephemeralContainers=34 setHostnameAsFQDN=35 os=36 hostUsers=37 schedulingGates=38 "
       "resourceClaims=39 resources=40 hostnameOverride=41 schedulingGroup=43 "
       "evictionResponders=44"},
      {"PodStatus",
       "phase=1 conditions=2 message=3 reason=4 hostIP=5 podIP=6 startTime=7 containerStatuses=8 "
       "qosClass=9 initContainerStatuses=10 nominatedNodeName=11 podIPs=12 "
       "ephemeralContainerStatuses=13 resize=14 resourceClaimStatuses=15 hostIPs=16 "
       "observedGeneration=17 extendedResourceClaimStatus=18 allocatedResources=19 resources=20 "
       "nodeAllocatableResourceClaimStatuses=21 volumeHealth=22"},
      {"PodTemplateSpec", "metadata=1 spec=2"},
      {"PodVolumeHealth", "name=1 healthConditions=2 lastTransitionTime=3"},
      {"PolicyRule", "verbs=1 apiGroups=2 resources=3 resourceNames=4 nonResourceURLs=5"},
      {"Preconditions", "uid=1 resourceVersion=2"},
      {"PreferredSchedulingTerm", "weight=1 preference=2"},
      {"PriorityClass", "metadata=1 value=2 globalDefault=3 description=4 preemptionPolicy=5"},
      {"ReplicaSet", "metadata=1 spec=2 status=3"},
      {"ReplicaSetCondition", "type=1 status=2 lastTransitionTime=3 reason=4 message=5"},
      {"ReplicaSetSpec", "replicas=1 selector=2 template=3 minReadySeconds=4"},
      {"ReplicaSetStatus",
       "replicas=1 fullyLabeledReplicas=2 observedGeneration=3 readyReplicas=4 availableReplicas=5 "
       "conditions=6 terminatingReplicas=7"},
      {"ResourceAttributes",
       "namespace=1 verb=2 group=3 version=4 resource=5 subresource=6 name=7 fieldSelector=8 "
       "labelSelector=9"},
      {"ResourceClaim", "metadata=1 spec=2 status=3"},
      {"ResourceClaimConsumerReference", "apiGroup=1 resource=3 name=4 uid=5"},
      {"ResourceClaimSpec", "devices=1"},
      {"ResourceClaimStatus", "allocation=1 reservedFor=2 devices=4"},
      {"ResourceClaimTemplate", "metadata=1 spec=2"},
      {"ResourceClaimTemplateSpec", "metadata=1 spec=2"},
      {"ResourceFieldSelector", "containerName=1 resource=2 divisor=3"},
      {"ResourceHealth", "resourceID=1 health=2 message=6"},
      {"ResourcePool", "name=1 generation=2 resourceSliceCount=3"},
      {"ResourceQuota", "metadata=1 spec=2 status=3"},
      {"ResourceQuotaSpec", "hard=1 scopes=2 scopeSelector=3"},
      {"ResourceQuotaStatus", "hard=1 used=2"},
      {"ResourceRequirements", "limits=1 requests=2 claims=3"},
      {"ResourceSlice", "metadata=1 spec=2"},
      {"ResourceSliceSpec",
       "driver=1 pool=2 nodeName=3 nodeSelector=4 allNodes=5 devices=6 perDeviceNodeSelection=7 "
       "sharedCounters=8 partitionTypeAttribute=9 skipNodeOperations=10"},
      {"ResourceStatus", "name=1 resources=2"},
      {"Role", "metadata=1 rules=2"},
      {"RoleBinding", "metadata=1 subjects=2 roleRef=3"},
      {"RoleRef", "apiGroup=1 kind=2 name=3"},
      {"RollingUpdateDeployment", "maxUnavailable=1 maxSurge=2"},
      {"Scale", "metadata=1 spec=2"},
      {"ScaleSpec", "replicas=1"},
      {"ScopeSelector", "matchExpressions=1"},
      {"ScopedResourceSelectorRequirement", "scopeName=1 operator=2 values=3"},
      {"SecretEnvSource", "optional=2 name=1.1"},
      {"SecretKeySelector", "key=2 optional=3 name=1.1"},
      {"SecretVolumeSource", "secretName=1 items=2 defaultMode=3 optional=4 defaultUser=5"},
      {"SelectorAttributes", "rawSelector=1 requirements=2"},
      {"SelectorRequirement", "key=1 operator=2 values=3"},
      {"SelfSubjectAccessReview", "metadata=1 spec=2"},
      {"SelfSubjectAccessReviewSpec", "resourceAttributes=1 nonResourceAttributes=2"},
      {"SelfSubjectReview", "metadata=1"},
      {"SelfSubjectRulesReview", "metadata=1 spec=2"},
      {"SelfSubjectRulesReviewSpec", "namespace=1"},
      {"Subject", "kind=1 apiGroup=2 name=3 namespace=4"},
      {"SubjectAccessReview", "metadata=1 spec=2"},
      {"SubjectAccessReviewSpec",
       "resourceAttributes=1 nonResourceAttributes=2 user=3 groups=4 extra=5 uid=6"},
      {"Taint", "key=1 value=2 effect=3 timeAdded=4"},
      {"Toleration", "key=1 operator=2 value=3 effect=4 tolerationSeconds=5"},
      {"TokenRequest", "metadata=1 spec=2"},
      {"TokenRequestSpec", "audiences=1 boundObjectRef=3 expirationSeconds=4"},
      {"TokenReview", "metadata=1 spec=2"},
      {"TokenReviewSpec", "token=1 audiences=2"},
      {"TopologySpreadConstraint",
       "maxSkew=1 topologyKey=2 whenUnsatisfiable=3 labelSelector=4 minDomains=5 "
       "nodeAffinityPolicy=6 nodeTaintsPolicy=7 matchLabelKeys=8"},
      {"UncountedTerminatedPods", "succeeded=1 failed=2"},
      {"Volume",
       "name=1 hostPath=2.1 emptyDir=2.2 gcePersistentDisk=2.3 awsElasticBlockStore=2.4 "
       "gitRepo=2.5 secret=2.6 nfs=2.7 iscsi=2.8 glusterfs=2.9 persistentVolumeClaim=2.10 rbd=2.11 "
       "flexVolume=2.12 cinder=2.13 cephfs=2.14 flocker=2.15 downwardAPI=2.16 fc=2.17 "
       "azureFile=2.18 configMap=2.19 vsphereVolume=2.20 quobyte=2.21 azureDisk=2.22 "
       "photonPersistentDisk=2.23 portworxVolume=2.24 scaleIO=2.25 projected=2.26 storageos=2.27 "
       "csi=2.28 ephemeral=2.29 image=2.30"},
      {"VolumeDevice", "name=1 devicePath=2"},
      {"VolumeHealthCondition", "status=1 reason=2 message=3"},
      {"VolumeMount",
       "name=1 readOnly=2 mountPath=3 subPath=4 mountPropagation=5 subPathExpr=6 "
       "recursiveReadOnly=7 bindMountOptions=8"},
      {"VolumeMountStatus", "name=1 mountPath=2 readOnly=3 recursiveReadOnly=4 volumeStatus=5"},
      {"VolumeResourceRequirements", "limits=1 requests=2"},
      {"VolumeStatus", "image=1"},
      {"WeightedPodAffinityTerm", "weight=1 podAffinityTerm=2"},
      {"core/ResourceClaim", "name=1 request=2"},
      {"events.k8s.io/Event",
       "metadata=1 eventTime=2 series=3 reportingController=4 reportingInstance=5 action=6 "
       "reason=7 regarding=8 related=9 note=10 type=11 deprecatedSource=12 "
       "deprecatedFirstTimestamp=13 deprecatedLastTimestamp=14 deprecatedCount=15"},
      {"v1beta1/BasicDevice",
       "attributes=1 capacity=2 consumesCounters=3 nodeName=4 nodeSelector=5 allNodes=6 taints=7 "
       "bindsToNode=8 bindingConditions=9 bindingFailureConditions=10 allowMultipleAllocations=11 "
       "nodeAllocatableResources=14"},
      {"v1beta1/Device", "name=1 basic=2"},
      {"v1beta1/DeviceSubRequest",
       "name=1 deviceClassName=2 selectors=3 allocationMode=4 count=5 tolerations=7 capacity=8 "
       "derivedAttributes=9"},
      {"v1beta1/DeviceRequest",
       "name=1 deviceClassName=2 selectors=3 allocationMode=4 count=5 adminAccess=6 "
       "firstAvailable=7 tolerations=8 capacity=9 derivedAttributes=10"},
  };
  return kRows;
}

}  // namespace dray::rest::internal
