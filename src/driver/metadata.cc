// SPDX-License-Identifier: Apache-2.0
#include "driver/metadata.h"

#include <algorithm>
#include <array>

#include "api/json.h"
#include "cdi/folder.h"
#include "files/files.h"
#include "fmt/format.h"

namespace dray::driver {
namespace {

constexpr std::array<std::string_view, 2> kVersions = {"metadata.resource.k8s.io/v1beta1",
                                                       "metadata.resource.k8s.io/v1alpha1"};
constexpr std::string_view kInContainer = "/var/run/kubernetes.io/dra-device-attributes";

bool IsPlain(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

StatusOr<std::string> FolderOf(const MetadataFolders& folders, const rpc::ClaimName& claim) {
  if (!IsPlain(claim.namespace_) || !IsPlain(claim.name) || !IsPlain(claim.uid)) {
    return base::InvalidArgument(fmt::format("\"{}/{}\" ({}) is not the name of a claim",
                                             claim.namespace_, claim.name, claim.uid));
  }
  return fmt::format("{}/dra-device-metadata/{}_{}", folders.plugin, claim.namespace_, claim.name);
}

std::string CdiPrefix(const MetadataFolders& folders, const rpc::ClaimName& claim) {
  return fmt::format("{}_metadata_{}_", folders.driver, claim.uid);
}

}  // namespace

const api::StructInfo& InfoOf(const MetadataDevice*) {
  using T = MetadataDevice;
  constexpr api::FieldOptions kAlways = {.presence = api::Presence::kAlways};
  static const api::StructInfo info =
      api::Struct<T>("Device", {
                                   api::Field<&T::driver>("driver", kAlways),
                                   api::Field<&T::pool>("pool", kAlways),
                                   api::Field<&T::name>("name", kAlways),
                                   api::Field<&T::attributes>("attributes"),
                                   api::Field<&T::network_data>("networkData"),
                               });
  return info;
}

const api::StructInfo& InfoOf(const MetadataRequest*) {
  using T = MetadataRequest;
  static const api::StructInfo info =
      api::Struct<T>("DeviceMetadataRequest",
                     {
                         api::Field<&T::name>("name", {.presence = api::Presence::kAlways}),
                         api::Field<&T::devices>("devices"),
                     });
  return info;
}

const api::StructInfo& InfoOf(const MetadataMeta*) {
  using T = MetadataMeta;
  static const api::StructInfo info =
      api::Struct<T>("ObjectMeta", {
                                       api::Field<&T::name>("name"),
                                       api::Field<&T::namespace_>("namespace"),
                                       api::Field<&T::uid>("uid"),
                                       api::Field<&T::generation>("generation"),
                                   });
  return info;
}

const api::StructInfo& InfoOf(const DeviceMetadata*) {
  using T = DeviceMetadata;
  static const api::StructInfo info =
      api::Struct<T>("DeviceMetadata",
                     {
                         api::Field<&T::metadata>("metadata", {.presence = api::Presence::kAlways}),
                         api::Field<&T::pod_claim_name>("podClaimName"),
                         api::Field<&T::requests>("requests"),
                     });
  return info;
}

std::string MetadataText(const DeviceMetadata& metadata) {
  std::string text;
  for (const std::string_view version : kVersions) {
    api::EncodeJson(api::TypeInfoOf<DeviceMetadata>(), &metadata, text,
                    fmt::format(R"("kind":"DeviceMetadata","apiVersion":"{}")", version));
    text += '\n';
  }
  return text;
}

std::string MetadataPath(const ClaimView& claim, std::string_view request,
                         std::string_view driver) {
  return claim.pod_claim_name ? fmt::format("{}/resourceclaimtemplates/{}/{}/{}-metadata.json",
                                            kInContainer, *claim.pod_claim_name, request, driver)
                              : fmt::format("{}/resourceclaims/{}/{}/{}-metadata.json",
                                            kInContainer, claim.name.name, request, driver);
}

StatusOr<std::string> WriteMetadata(const MetadataFolders& folders, const ClaimView& claim,
                                    std::string_view request,
                                    const std::vector<MetadataRequest>& requests) {
  DRAY_ASSIGN_OR_RETURN(const std::string claim_folder, FolderOf(folders, claim.name));
  if (!IsPlain(request)) {
    return base::InvalidArgument(fmt::format("\"{}\" is not the name of a request", request));
  }
  const DeviceMetadata metadata{.metadata = {.name = claim.name.name,
                                             .namespace_ = claim.name.namespace_,
                                             .uid = claim.name.uid},
                                .pod_claim_name = claim.pod_claim_name,
                                .requests = requests};
  const std::string folder = fmt::format("{}/{}", claim_folder, request);
  const std::string file = folder + "/metadata.json";
  DRAY_RETURN_IF_ERROR(files::MakeFolder(folder));
  DRAY_RETURN_IF_ERROR(files::WriteWhole(file, MetadataText(metadata), 0644, files::Sync::kNo));
  cdi::Spec spec;
  spec.kind = folders.vendor + "/metadata";
  cdi::Device& device = spec.devices.emplace_back();
  device.name = fmt::format("{}_{}", claim.name.uid, request);
  device.container_edits.mounts.push_back(
      {.host_path = file,
       .container_path = MetadataPath(claim, request, folders.driver),
       .options = {"ro", "bind"}});
  DRAY_RETURN_IF_ERROR(
      cdi::SaveSpec(folders.cdi, fmt::format("{}{}.json", CdiPrefix(folders, claim.name), request),
                    spec, files::Sync::kNo));
  return fmt::format("{}={}", spec.kind, device.name);
}

Status RemoveMetadata(const MetadataFolders& folders, const rpc::ClaimName& claim) {
  DRAY_ASSIGN_OR_RETURN(const std::string claim_folder, FolderOf(folders, claim));
  DRAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files::NamesIn(folders.cdi));
  const std::string prefix = CdiPrefix(folders, claim);
  for (const std::string& name : names) {
    if (!name.starts_with(prefix) || !name.ends_with(".json")) continue;
    DRAY_RETURN_IF_ERROR(cdi::RemoveSpec(folders.cdi, name));
  }
  return files::RemoveTree(claim_folder);
}

}  // namespace dray::driver
