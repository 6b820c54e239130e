// SPDX-License-Identifier: Apache-2.0
//
// The JSON of images, by field tables: index, manifest and configuration of the OCI image
// specification, and the manifest.json of a docker archive. What is not listed is passed over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/field_table.h"

namespace dray::image {

struct Platform {
  std::string architecture;
  std::string os;
  friend bool operator==(const Platform&, const Platform&) = default;
};
const api::StructInfo& InfoOf(const Platform*);

struct Descriptor {
  std::string media_type;
  std::string digest;
  std::int64_t size = 0;
  api::Map<std::string> annotations;
  api::Box<Platform> platform;
  friend bool operator==(const Descriptor&, const Descriptor&) = default;
};
const api::StructInfo& InfoOf(const Descriptor*);

struct Index {
  std::int64_t schema_version = 2;
  std::string media_type;
  std::vector<Descriptor> manifests;
};
const api::StructInfo& InfoOf(const Index*);

struct Manifest {
  std::int64_t schema_version = 2;
  std::string media_type;
  Descriptor config;
  std::vector<Descriptor> layers;
};
const api::StructInfo& InfoOf(const Manifest*);

// What a container of the image does unless it is told otherwise.
struct ImageConfig {
  std::string user;
  std::vector<std::string> env;
  std::vector<std::string> entrypoint;
  std::vector<std::string> cmd;
  std::string working_dir;
  api::Map<std::string> labels;
  std::string stop_signal;
  friend bool operator==(const ImageConfig&, const ImageConfig&) = default;
};
const api::StructInfo& InfoOf(const ImageConfig*);

struct RootFs {
  std::string type = "layers";
  std::vector<std::string> diff_ids;
  friend bool operator==(const RootFs&, const RootFs&) = default;
};
const api::StructInfo& InfoOf(const RootFs*);

struct ImageDocument {
  std::string architecture;
  std::string os;
  ImageConfig config;
  RootFs rootfs;
};
const api::StructInfo& InfoOf(const ImageDocument*);

struct DockerImage {
  std::string config;
  std::vector<std::string> repo_tags;
  std::vector<std::string> layers;
};
const api::StructInfo& InfoOf(const DockerImage*);

inline constexpr std::string_view kIndexType = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view kManifestType = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kConfigType = "application/vnd.oci.image.config.v1+json";
inline constexpr std::string_view kLayerType = "application/vnd.oci.image.layer.v1.tar";
inline constexpr std::string_view kLayoutText = "{\"imageLayoutVersion\":\"1.0.0\"}";
// Annotations of an index's manifests that name the image: in full, or a tag.
inline constexpr std::string_view kContainerdName = "io.containerd.image.name";
inline constexpr std::string_view kRefName = "org.opencontainers.image.ref.name";

}  // namespace dray::image
