// SPDX-License-Identifier: Apache-2.0
#include "api/volume.h"

namespace dray::api {

const StructInfo& InfoOf(const KeyToPath*) {
  using T = KeyToPath;
  static const StructInfo info =
      Struct<T>("KeyToPath", {
                                 Field<&T::key>("key", {.presence = Presence::kAlways}),
                                 Field<&T::path>("path", {.presence = Presence::kAlways}),
                                 Field<&T::mode>("mode"),
                                 Field<&T::user>("user"),
                             });
  return info;
}

const StructInfo& InfoOf(const PersistentVolumeClaimVolumeSource*) {
  using T = PersistentVolumeClaimVolumeSource;
  static const StructInfo info =
      Struct<T>("PersistentVolumeClaimVolumeSource",
                {
                    Field<&T::claim_name>("claimName", {.presence = Presence::kAlways}),
                    Field<&T::read_only>("readOnly"),
                });
  return info;
}

const StructInfo& InfoOf(const VolumeResourceRequirements*) {
  using T = VolumeResourceRequirements;
  static const StructInfo info =
      Struct<T>("VolumeResourceRequirements", {
                                                  Field<&T::limits>("limits"),
                                                  Field<&T::requests>("requests"),
                                              });
  return info;
}

const StructInfo& InfoOf(const PersistentVolumeClaimSpec*) {
  using T = PersistentVolumeClaimSpec;
  static const StructInfo info =
      Struct<T>("PersistentVolumeClaimSpec",
                {
                    Field<&T::access_modes>("accessModes"),
                    Field<&T::selector>("selector"),
                    Field<&T::resources>("resources"),
                    Field<&T::volume_name>("volumeName"),
                    Field<&T::storage_class_name>("storageClassName"),
                    Field<&T::volume_mode>("volumeMode"),
                    Field<&T::data_source>("dataSource"),
                    Field<&T::data_source_ref>("dataSourceRef"),
                    Field<&T::volume_attributes_class_name>("volumeAttributesClassName"),
                });
  return info;
}

const StructInfo& InfoOf(const PersistentVolumeClaimTemplate*) {
  using T = PersistentVolumeClaimTemplate;
  static const StructInfo info = Struct<T>(
      "PersistentVolumeClaimTemplate", {
                                           Field<&T::metadata>("metadata"),
                                           Field<&T::spec>("spec", {.presence = Presence::kAlways}),
                                       });
  return info;
}

const StructInfo& InfoOf(const EphemeralVolumeSource*) {
  using T = EphemeralVolumeSource;
  static const StructInfo info = Struct<T>(
      "EphemeralVolumeSource", {
                                   Field<&T::volume_claim_template>("volumeClaimTemplate"),
                               });
  return info;
}

const StructInfo& InfoOf(const ConfigMapVolumeSource*) {
  using T = ConfigMapVolumeSource;
  static const StructInfo info =
      Struct<T>("ConfigMapVolumeSource", {
                                             Field<&T::name>("name"),
                                             Field<&T::items>("items"),
                                             Field<&T::default_mode>("defaultMode"),
                                             Field<&T::optional>("optional"),
                                             Field<&T::default_user>("defaultUser"),
                                         });
  return info;
}

const StructInfo& InfoOf(const SecretVolumeSource*) {
  using T = SecretVolumeSource;
  static const StructInfo info =
      Struct<T>("SecretVolumeSource", {
                                          Field<&T::secret_name>("secretName"),
                                          Field<&T::items>("items"),
                                          Field<&T::default_mode>("defaultMode"),
                                          Field<&T::optional>("optional"),
                                          Field<&T::default_user>("defaultUser"),
                                      });
  return info;
}

const StructInfo& InfoOf(const EmptyDirVolumeSource*) {
  using T = EmptyDirVolumeSource;
  static const StructInfo info =
      Struct<T>("EmptyDirVolumeSource", {
                                            Field<&T::medium>("medium"),
                                            Field<&T::size_limit>("sizeLimit"),
                                            Field<&T::mode>("mode"),
                                        });
  return info;
}

const StructInfo& InfoOf(const HostPathVolumeSource*) {
  using T = HostPathVolumeSource;
  static const StructInfo info = Struct<T>(
      "HostPathVolumeSource", {
                                  Field<&T::path>("path", {.presence = Presence::kAlways}),
                                  Field<&T::type>("type"),
                              });
  return info;
}

const StructInfo& InfoOf(const Volume*) {
  using T = Volume;
  static const StructInfo info =
      Struct<T>("Volume", {
                              Field<&T::name>("name", {.presence = Presence::kAlways}),
                              Field<&T::host_path>("hostPath"),
                              Field<&T::empty_dir>("emptyDir"),
                              Field<&T::gce_persistent_disk>("gcePersistentDisk"),
                              Field<&T::aws_elastic_block_store>("awsElasticBlockStore"),
                              Field<&T::git_repo>("gitRepo"),
                              Field<&T::secret>("secret"),
                              Field<&T::nfs>("nfs"),
                              Field<&T::iscsi>("iscsi"),
                              Field<&T::glusterfs>("glusterfs"),
                              Field<&T::persistent_volume_claim>("persistentVolumeClaim"),
                              Field<&T::rbd>("rbd"),
                              Field<&T::flex_volume>("flexVolume"),
                              Field<&T::cinder>("cinder"),
                              Field<&T::cephfs>("cephfs"),
                              Field<&T::flocker>("flocker"),
                              Field<&T::downward_api>("downwardAPI"),
                              Field<&T::fc>("fc"),
                              Field<&T::azure_file>("azureFile"),
                              Field<&T::config_map>("configMap"),
                              Field<&T::vsphere_volume>("vsphereVolume"),
                              Field<&T::quobyte>("quobyte"),
                              Field<&T::azure_disk>("azureDisk"),
                              Field<&T::photon_persistent_disk>("photonPersistentDisk"),
                              Field<&T::projected>("projected"),
                              Field<&T::portworx_volume>("portworxVolume"),
                              Field<&T::scale_io>("scaleIO"),
                              Field<&T::storageos>("storageos"),
                              Field<&T::csi>("csi"),
                              Field<&T::ephemeral>("ephemeral"),
                              Field<&T::image>("image"),
                          });
  return info;
}

}  // namespace dray::api
