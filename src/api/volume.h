// SPDX-License-Identifier: Apache-2.0
//
// Volumes of a pod. The sources that decide where a pod can run, or that every pod has, are typed;
// the others are carried as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/map.h"
#include "api/meta.h"
#include "api/values.h"
#include "base/quantity.h"

namespace dray::api {

struct KeyToPath {
  std::string key;
  std::string path;
  std::optional<std::int32_t> mode;
  std::optional<std::int64_t> user;
  UnknownFields unknown;
  friend bool operator==(const KeyToPath&, const KeyToPath&) = default;
};
const StructInfo& InfoOf(const KeyToPath*);

struct PersistentVolumeClaimVolumeSource {
  std::string claim_name;
  bool read_only = false;
  UnknownFields unknown;
  friend bool operator==(const PersistentVolumeClaimVolumeSource&,
                         const PersistentVolumeClaimVolumeSource&) = default;
};
const StructInfo& InfoOf(const PersistentVolumeClaimVolumeSource*);

struct VolumeResourceRequirements {
  Map<base::Quantity> limits;
  Map<base::Quantity> requests;
  UnknownFields unknown;
  friend bool operator==(const VolumeResourceRequirements&,
                         const VolumeResourceRequirements&) = default;
};
const StructInfo& InfoOf(const VolumeResourceRequirements*);

struct PersistentVolumeClaimSpec {
  std::vector<std::string> access_modes;
  Box<LabelSelector> selector;
  VolumeResourceRequirements resources;
  std::string volume_name;
  std::optional<std::string> storage_class_name;  // unset: the cluster's default; empty: none
  std::optional<std::string> volume_mode;
  Box<RawJson> data_source;
  Box<RawJson> data_source_ref;
  std::optional<std::string> volume_attributes_class_name;
  UnknownFields unknown;
  friend bool operator==(const PersistentVolumeClaimSpec&,
                         const PersistentVolumeClaimSpec&) = default;
};
const StructInfo& InfoOf(const PersistentVolumeClaimSpec*);

struct PersistentVolumeClaimTemplate {
  ObjectMeta metadata;
  PersistentVolumeClaimSpec spec;
  UnknownFields unknown;
  friend bool operator==(const PersistentVolumeClaimTemplate&,
                         const PersistentVolumeClaimTemplate&) = default;
};
const StructInfo& InfoOf(const PersistentVolumeClaimTemplate*);

// A claim made for the pod and deleted with it.
struct EphemeralVolumeSource {
  Box<PersistentVolumeClaimTemplate> volume_claim_template;
  UnknownFields unknown;
  friend bool operator==(const EphemeralVolumeSource&, const EphemeralVolumeSource&) = default;
};
const StructInfo& InfoOf(const EphemeralVolumeSource*);

struct ConfigMapVolumeSource {
  std::string name;
  std::vector<KeyToPath> items;
  std::optional<std::int32_t> default_mode;
  std::optional<bool> optional;
  std::optional<std::int64_t> default_user;
  UnknownFields unknown;
  friend bool operator==(const ConfigMapVolumeSource&, const ConfigMapVolumeSource&) = default;
};
const StructInfo& InfoOf(const ConfigMapVolumeSource*);

struct SecretVolumeSource {
  std::string secret_name;
  std::vector<KeyToPath> items;
  std::optional<std::int32_t> default_mode;
  std::optional<bool> optional;
  std::optional<std::int64_t> default_user;
  UnknownFields unknown;
  friend bool operator==(const SecretVolumeSource&, const SecretVolumeSource&) = default;
};
const StructInfo& InfoOf(const SecretVolumeSource*);

struct EmptyDirVolumeSource {
  std::string medium;  // empty or Memory, HugePages...
  std::optional<base::Quantity> size_limit;
  std::optional<std::int32_t> mode;
  UnknownFields unknown;
  friend bool operator==(const EmptyDirVolumeSource&, const EmptyDirVolumeSource&) = default;
};
const StructInfo& InfoOf(const EmptyDirVolumeSource*);

struct HostPathVolumeSource {
  std::string path;
  std::optional<std::string> type;
  UnknownFields unknown;
  friend bool operator==(const HostPathVolumeSource&, const HostPathVolumeSource&) = default;
};
const StructInfo& InfoOf(const HostPathVolumeSource*);

// A union: besides the name exactly one is set.
struct Volume {
  std::string name;
  Box<HostPathVolumeSource> host_path;
  Box<EmptyDirVolumeSource> empty_dir;
  Box<RawJson> gce_persistent_disk;
  Box<RawJson> aws_elastic_block_store;
  Box<RawJson> git_repo;
  Box<SecretVolumeSource> secret;
  Box<RawJson> nfs;
  Box<RawJson> iscsi;
  Box<RawJson> glusterfs;
  Box<PersistentVolumeClaimVolumeSource> persistent_volume_claim;
  Box<RawJson> rbd;
  Box<RawJson> flex_volume;
  Box<RawJson> cinder;
  Box<RawJson> cephfs;
  Box<RawJson> flocker;
  Box<RawJson> downward_api;
  Box<RawJson> fc;
  Box<RawJson> azure_file;
  Box<ConfigMapVolumeSource> config_map;
  Box<RawJson> vsphere_volume;
  Box<RawJson> quobyte;
  Box<RawJson> azure_disk;
  Box<RawJson> photon_persistent_disk;
  Box<RawJson> projected;
  Box<RawJson> portworx_volume;
  Box<RawJson> scale_io;
  Box<RawJson> storageos;
  Box<RawJson> csi;
  Box<EphemeralVolumeSource> ephemeral;
  Box<RawJson> image;
  UnknownFields unknown;
  friend bool operator==(const Volume&, const Volume&) = default;
};
const StructInfo& InfoOf(const Volume*);

}  // namespace dray::api
