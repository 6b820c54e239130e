// SPDX-License-Identifier: Apache-2.0
#include "driver/prepared_claims.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/json.h"
#include "files/files.h"
#include "fmt/format.h"

namespace dray::driver {
namespace {

constexpr std::string_view kSuffix = ".json";

// Names of files come from claims: what is no plain word stays out of paths.
bool IsFileName(std::string_view uid) {
  return !uid.empty() && uid.size() <= 128 && uid.front() != '.' &&
         std::ranges::all_of(uid, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '-' || c == '_' || c == '.';
         });
}

}  // namespace

const api::StructInfo& InfoOf(const PreparedDeviceRecord*) {
  using T = PreparedDeviceRecord;
  static const api::StructInfo info =
      api::Struct<T>("PreparedDevice", {
                                           api::Field<&T::request>("request"),
                                           api::Field<&T::pool>("pool"),
                                           api::Field<&T::device>("device"),
                                           api::Field<&T::share_id>("shareID"),
                                           api::Field<&T::admin_access>("adminAccess"),
                                           api::Field<&T::cdi_ids>("cdiDeviceIDs"),
                                       });
  return info;
}

const api::StructInfo& InfoOf(const PreparedClaimRecord*) {
  using T = PreparedClaimRecord;
  static const api::StructInfo info =
      api::Struct<T>("PreparedClaim", {
                                          api::Field<&T::namespace_>("namespace"),
                                          api::Field<&T::name>("name"),
                                          api::Field<&T::uid>("uid"),
                                          api::Field<&T::complete>("complete"),
                                          api::Field<&T::boot_id>("bootID"),
                                          api::Field<&T::devices>("devices"),
                                      });
  return info;
}

StatusOr<PreparedClaims> PreparedClaims::Open(std::string folder) {
  DRAY_RETURN_IF_ERROR(files::MakeFolder(folder));
  PreparedClaims claims(std::move(folder));
  DRAY_RETURN_IF_ERROR(claims.Refresh());
  return claims;
}

StatusOr<PreparedClaimRecord> PreparedClaims::Read(const std::string& file) const {
  const std::string path = fmt::format("{}/{}", folder_, file);
  DRAY_ASSIGN_OR_RETURN(const std::string text, files::ReadWhole(path));
  api::JsonDecoder decoder;
  auto record = decoder.Decode<PreparedClaimRecord>(text);
  if (!record.ok()) return base::Annotate(record.status(), path);
  if (record->uid + std::string(kSuffix) != file) {
    return base::InvalidArgument(fmt::format("{}: it is about claim \"{}\"", path, record->uid));
  }
  return record;
}

Status PreparedClaims::Refresh() {
  DRAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files::NamesIn(folder_));
  std::map<std::string, PreparedClaimRecord, std::less<>> records;
  for (const std::string& name : names) {
    if (!name.ends_with(kSuffix) || name.starts_with(".")) continue;
    auto record = Read(name);
    // Removed by another process since it was listed.
    if (record.status().code() == StatusCode::kNotFound) continue;
    if (!record.ok()) return record.status();
    std::string uid = record->uid;
    records.emplace(std::move(uid), *std::move(record));
  }
  records_ = std::move(records);
  return {};
}

const PreparedClaimRecord* PreparedClaims::Find(std::string_view uid) const {
  const auto it = records_.find(uid);
  return it == records_.end() ? nullptr : &it->second;
}

Status PreparedClaims::Put(PreparedClaimRecord record) {
  if (!IsFileName(record.uid)) {
    return base::InvalidArgument(fmt::format("\"{}\" is no UID of a claim", record.uid));
  }
  DRAY_RETURN_IF_ERROR(files::WriteWhole(fmt::format("{}/{}{}", folder_, record.uid, kSuffix),
                                         api::EncodeJson(record)));
  std::string uid = record.uid;
  records_.insert_or_assign(std::move(uid), std::move(record));
  return {};
}

Status PreparedClaims::Remove(std::string_view uid) {
  if (!IsFileName(uid)) return {};
  DRAY_RETURN_IF_ERROR(files::RemoveFile(fmt::format("{}/{}{}", folder_, uid, kSuffix)));
  if (const auto it = records_.find(uid); it != records_.end()) records_.erase(it);
  return {};
}

const PreparedClaimRecord* PreparedClaims::Holder(std::string_view uid,
                                                  const AllocatedDevice& device) const {
  if (device.admin_access) return nullptr;
  for (const auto& [other, record] : records_) {
    if (other == uid) continue;
    for (const PreparedDeviceRecord& held : record.devices) {
      if (held.pool != device.pool || held.device != device.device || held.admin_access) continue;
      if (!held.share_id || !device.share_id) return &record;
    }
  }
  return nullptr;
}

}  // namespace dray::driver
