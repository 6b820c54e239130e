// SPDX-License-Identifier: Apache-2.0
//
// What is described here in the language of api/described_kinds.h is a table, not a kind that
// anybody serves: its fields are STRUCT.FIELD.
#include "rest/internal/raw_messages.h"

#include <string>

#include "api/described_kinds.h"
#include "base/check.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::rest::internal {
namespace {

constexpr std::string_view kMessages = R"(
kind dray/v1 RawMessages rawmessages cluster
2 Container.livenessProbe Probe?
3 Container.readinessProbe Probe?
4 Container.startupProbe Probe?
5 Container.lifecycle Lifecycle?
6 Container.securityContext SecurityContext?
7 EphemeralContainer.livenessProbe Probe?
8 EphemeralContainer.readinessProbe Probe?
9 EphemeralContainer.startupProbe Probe?
10 EphemeralContainer.lifecycle Lifecycle?
11 EphemeralContainer.securityContext SecurityContext?
12 PodSpec.securityContext PodSecurityContext?
13 PodSpec.dnsConfig PodDNSConfig?
14 JobSpec.podFailurePolicy PodFailurePolicy?
15 JobSpec.successPolicy SuccessPolicy?
16 Volume.gcePersistentDisk GCEPersistentDiskVolumeSource?
17 Volume.awsElasticBlockStore AWSElasticBlockStoreVolumeSource?
18 Volume.gitRepo GitRepoVolumeSource?
19 Volume.nfs NFSVolumeSource?
20 Volume.iscsi ISCSIVolumeSource?
21 Volume.glusterfs GlusterfsVolumeSource?
22 Volume.rbd RBDVolumeSource?
23 Volume.flexVolume FlexVolumeSource?
24 Volume.cinder CinderVolumeSource?
25 Volume.cephfs CephFSVolumeSource?
26 Volume.flocker FlockerVolumeSource?
27 Volume.downwardAPI DownwardAPIVolumeSource?
28 Volume.fc FCVolumeSource?
29 Volume.azureFile AzureFileVolumeSource?
30 Volume.vsphereVolume VsphereVirtualDiskVolumeSource?
31 Volume.quobyte QuobyteVolumeSource?
32 Volume.azureDisk AzureDiskVolumeSource?
33 Volume.photonPersistentDisk PhotonPersistentDiskVolumeSource?
34 Volume.projected ProjectedVolumeSource?
35 Volume.portworxVolume PortworxVolumeSource?
36 Volume.scaleIO ScaleIOVolumeSource?
37 Volume.storageos StorageOSVolumeSource?
38 Volume.csi CSIVolumeSource?
39 Volume.image ImageVolumeSource?
40 PersistentVolumeClaimSpec.dataSource TypedLocalObjectReference?
41 PersistentVolumeClaimSpec.dataSourceRef TypedObjectReference?

struct Probe
1.1 exec ExecAction?
1.2 httpGet HTTPGetAction?
1.3 tcpSocket TCPSocketAction?
1.4 grpc GRPCAction?
2 initialDelaySeconds int32
3 timeoutSeconds int32
4 periodSeconds int32
5 successThreshold int32
6 failureThreshold int32
7 terminationGracePeriodSeconds int64?

struct ExecAction
1 command []string

struct HTTPGetAction
1 path string
2 port intorstring
3 host string
4 scheme string
5 httpHeaders []HTTPHeader
6 protocol string?

struct HTTPHeader
1 name string
2 value string

struct TCPSocketAction
1 port intorstring
2 host string

struct GRPCAction
1 port int32
2 service string?
3 mode string?

struct Lifecycle
1 postStart LifecycleHandler?
2 preStop LifecycleHandler?
3 stopSignal string?

struct LifecycleHandler
1 exec ExecAction?
2 httpGet HTTPGetAction?
3 tcpSocket TCPSocketAction?
4 sleep SleepAction?

struct SleepAction
1 seconds int64

struct SecurityContext
1 capabilities Capabilities?
2 privileged bool?
3 seLinuxOptions SELinuxOptions?
10 windowsOptions WindowsSecurityContextOptions?
4 runAsUser int64?
8 runAsGroup int64?
5 runAsNonRoot bool?
6 readOnlyRootFilesystem bool?
7 allowPrivilegeEscalation bool?
9 procMount string?
11 seccompProfile SeccompProfile?
12 appArmorProfile AppArmorProfile?

struct Capabilities
1 add []string
2 drop []string

struct SELinuxOptions
1 user string
2 role string
3 type string
4 level string

struct WindowsSecurityContextOptions
1 gmsaCredentialSpecName string?
2 gmsaCredentialSpec string?
3 runAsUserName string?
4 hostProcess bool?

struct SeccompProfile
1 type string
2 localhostProfile string?

struct AppArmorProfile
1 type string
2 localhostProfile string?

struct PodSecurityContext
1 seLinuxOptions SELinuxOptions?
8 windowsOptions WindowsSecurityContextOptions?
2 runAsUser int64?
6 runAsGroup int64?
3 runAsNonRoot bool?
4 supplementalGroups []int64
12 supplementalGroupsPolicy string?
5 fsGroup int64?
7 sysctls []Sysctl
9 fsGroupChangePolicy string?
10 seccompProfile SeccompProfile?
11 appArmorProfile AppArmorProfile?
13 seLinuxChangePolicy string?

struct Sysctl
1 name string
2 value string

struct PodDNSConfig
1 nameservers []string
2 searches []string
3 options []PodDNSConfigOption

struct PodDNSConfigOption
1 name string
2 value string?

struct GCEPersistentDiskVolumeSource
1 pdName string
2 fsType string
3 partition int32
4 readOnly bool

struct AWSElasticBlockStoreVolumeSource
1 volumeID string
2 fsType string
3 partition int32
4 readOnly bool

struct GitRepoVolumeSource
1 repository string
2 revision string
3 directory string

struct NFSVolumeSource
1 server string
2 path string
3 readOnly bool

struct ISCSIVolumeSource
1 targetPortal string
2 iqn string
3 lun int32
4 iscsiInterface string
5 fsType string
6 readOnly bool
7 portals []string
8 chapAuthDiscovery bool
11 chapAuthSession bool
10 secretRef LocalObjectReference?
12 initiatorName string?

struct LocalObjectReference
1 name string

struct GlusterfsVolumeSource
1 endpoints string
2 path string
3 readOnly bool

struct RBDVolumeSource
1 monitors []string
2 image string
3 fsType string
4 pool string
5 user string
6 keyring string
7 secretRef LocalObjectReference?
8 readOnly bool

struct FlexVolumeSource
1 driver string
2 fsType string
3 secretRef LocalObjectReference?
4 readOnly bool
5 options map[string]

struct CinderVolumeSource
1 volumeID string
2 fsType string
3 readOnly bool
4 secretRef LocalObjectReference?

struct CephFSVolumeSource
1 monitors []string
2 path string
3 user string
4 secretFile string
5 secretRef LocalObjectReference?
6 readOnly bool

struct FlockerVolumeSource
1 datasetName string
2 datasetUUID string

struct DownwardAPIVolumeSource
1 items []DownwardAPIVolumeFile
2 defaultMode int32?
3 defaultUser int64?

struct DownwardAPIVolumeFile
1 path string
2 fieldRef ObjectFieldSelector?
3 resourceFieldRef ResourceFieldSelector?
4 mode int32?
5 user int64?

struct ObjectFieldSelector
1 apiVersion string
2 fieldPath string

struct ResourceFieldSelector
1 containerName string
2 resource string
3 divisor quantity

struct FCVolumeSource
1 targetWWNs []string
2 lun int32?
3 fsType string
4 readOnly bool
5 wwids []string

struct AzureFileVolumeSource
1 secretName string
2 shareName string
3 readOnly bool

struct VsphereVirtualDiskVolumeSource
1 volumePath string
2 fsType string
3 storagePolicyName string
4 storagePolicyID string

struct QuobyteVolumeSource
1 registry string
2 volume string
3 readOnly bool
4 user string
5 group string
6 tenant string

struct AzureDiskVolumeSource
1 diskName string
2 diskURI string
3 cachingMode string?
4 fsType string?
5 readOnly bool?
6 kind string?

struct PhotonPersistentDiskVolumeSource
1 pdID string
2 fsType string

struct ProjectedVolumeSource
1 sources []VolumeProjection
2 defaultMode int32?
3 defaultUser int64?

struct VolumeProjection
1 secret SecretProjection?
2 downwardAPI DownwardAPIProjection?
3 configMap ConfigMapProjection?
4 serviceAccountToken ServiceAccountTokenProjection?
5 clusterTrustBundle ClusterTrustBundleProjection?
6 podCertificate PodCertificateProjection?

struct SecretProjection
1.1 name string
2 items []KeyToPath
4 optional bool?

struct KeyToPath
1 key string
2 path string
3 mode int32?
4 user int64?

struct DownwardAPIProjection
1 items []DownwardAPIVolumeFile

struct ConfigMapProjection
1.1 name string
2 items []KeyToPath
4 optional bool?

struct ServiceAccountTokenProjection
1 audience string
2 expirationSeconds int64?
3 path string
4 user int64?

struct ClusterTrustBundleProjection
1 name string?
2 signerName string?
3 labelSelector LabelSelector?
5 optional bool?
4 path string
6 user int64?

struct PodCertificateProjection
1 signerName string
2 keyType string
3 maxExpirationSeconds int32?
4 credentialBundlePath string
5 keyPath string
6 certificateChainPath string
7 userAnnotations map[string]
8 user int64?

struct PortworxVolumeSource
1 volumeID string
2 fsType string
3 readOnly bool

struct ScaleIOVolumeSource
1 gateway string
2 system string
3 secretRef LocalObjectReference?
4 sslEnabled bool
5 protectionDomain string
6 storagePool string
7 storageMode string
8 volumeName string
9 fsType string
10 readOnly bool

struct StorageOSVolumeSource
1 volumeName string
2 volumeNamespace string
3 fsType string
4 readOnly bool
5 secretRef LocalObjectReference?

struct CSIVolumeSource
1 driver string
2 readOnly bool?
3 fsType string?
4 volumeAttributes map[string]
5 nodePublishSecretRef LocalObjectReference?

struct ImageVolumeSource
1 reference string
2 pullPolicy string

struct TypedLocalObjectReference
1 apiGroup string?
2 kind string
3 name string

struct TypedObjectReference
1 apiGroup string?
2 kind string
3 name string
4 namespace string?

struct PodFailurePolicy
1 rules []PodFailurePolicyRule

struct PodFailurePolicyRule
1 action string
2 onExitCodes PodFailurePolicyOnExitCodesRequirement?
3 onPodConditions []PodFailurePolicyOnPodConditionsPattern

struct PodFailurePolicyOnExitCodesRequirement
1 containerName string?
2 operator string
3 values []int32

struct PodFailurePolicyOnPodConditionsPattern
1 type string
2 status string

struct SuccessPolicy
1 rules []SuccessPolicyRule

struct SuccessPolicyRule
1 succeededIndexes string?
2 succeededCount int32?
)";

}  // namespace

const api::KindInfo& RawMessages() {
  static const api::KindInfo& kind = []() -> const api::KindInfo& {
    // Descriptions are read one after the other; those of kinds come first.
    (void)api::Kinds();
    const auto kinds = api::KindsDescribedBy(kMessages);
    DRAY_CHECK(kinds.size() == 1, "the messages of raw fields");
    return kinds.front();
  }();
  return kind;
}

const api::StructInfo* FindRawMessage(std::string_view message, std::string_view field) {
  static const auto& all = *new base::StringMap<const api::StructInfo*>([] {
    base::StringMap<const api::StructInfo*> rows;
    for (const api::FieldInfo& row : RawMessages().type->fields().fields) {
      if (row.type->shape != api::Shape::kOptional) continue;  // metadata
      rows.emplace(row.name, &row.type->element->fields());
    }
    return rows;
  }());
  const auto it = all.find(fmt::format("{}.{}", message, field));
  return it == all.end() ? nullptr : it->second;
}

}  // namespace dray::rest::internal
