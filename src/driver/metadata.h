// SPDX-License-Identifier: Apache-2.0
//
// Device metadata in containers: a file that tells a container which devices it was given, with
// their attributes. The driver writes it and a CDI device that mounts it.
//
// Spec: KEP-5304; docs/spec/node.md chapter 19.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_table.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/status.h"
#include "cdi/spec.h"
#include "driver/claim_view.h"

namespace dray::driver {

inline constexpr std::size_t kMostMetadataAttributes = 32;

struct MetadataDevice {
  std::string driver;
  std::string pool;
  std::string name;
  api::Map<api::DeviceAttribute> attributes;
  api::Box<api::NetworkDeviceData> network_data;
};
const api::StructInfo& InfoOf(const MetadataDevice*);

struct MetadataRequest {
  std::string name;  // with a subrequest
  std::vector<MetadataDevice> devices;
};
const api::StructInfo& InfoOf(const MetadataRequest*);

struct MetadataMeta {
  std::string name;
  std::string namespace_;
  std::string uid;
  std::int64_t generation = 1;
};
const api::StructInfo& InfoOf(const MetadataMeta*);

struct DeviceMetadata {
  MetadataMeta metadata;
  std::optional<std::string> pod_claim_name;
  std::vector<MetadataRequest> requests;
};
const api::StructInfo& InfoOf(const DeviceMetadata*);

// The text of the file: the same object in every version, newest first.
std::string MetadataText(const DeviceMetadata& metadata);

// Where the files of one driver are.
struct MetadataFolders {
  std::string driver;
  std::string vendor;  // of CDI kinds
  std::string plugin;  // the driver's own folder
  std::string cdi;
};

// Writes what the container sees of one request (without subrequest), and gives the qualified name of
// the CDI device that shows it.
StatusOr<std::string> WriteMetadata(const MetadataFolders& folders, const ClaimView& claim,
                                    std::string_view request,
                                    const std::vector<MetadataRequest>& requests);
// Everything of the claim. Nothing there is fine.
Status RemoveMetadata(const MetadataFolders& folders, const rpc::ClaimName& claim);

// Where a container finds it.
std::string MetadataPath(const ClaimView& claim, std::string_view request, std::string_view driver);

}  // namespace dray::driver
