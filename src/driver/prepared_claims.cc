// SPDX-License-Identifier: Apache-2.0
#include "driver/prepared_claims.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "api/json.h"
#include "files/crc32.h"
#include "files/files.h"
#include "fmt/format.h"

namespace dray::driver {
namespace {

constexpr std::string_view kFile = "/claims.json";
constexpr std::string_view kLog = "/claims.log";

// claims.json: what is in it, as a text, and whether it is still that.
struct PreparedFile {
  std::string data;
  std::int64_t checksum = 0;
};
const api::StructInfo& InfoOf(const PreparedFile*) {
  static const api::StructInfo info = api::Struct<PreparedFile>(
      "PreparedFile",
      {api::Field<&PreparedFile::data>("data"), api::Field<&PreparedFile::checksum>("checksum")});
  return info;
}

// CDI files have names that come from claims: what is no plain word stays out of paths.
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

// Written and read together.
struct PreparedClaims::Change {
  std::vector<PreparedClaimRecord> put;
  std::vector<std::string> removed;

  friend const api::StructInfo& InfoOf(const Change*) {
    static const api::StructInfo info = api::Struct<Change>(
        "PreparedClaims",
        {api::Field<&Change::put>("claims"), api::Field<&Change::removed>("removed")});
    return info;
  }
  // Not OK: one of the claims has a UID that no path may have. `where` it was read.
  Status Check(std::string_view where) const {
    for (const PreparedClaimRecord& record : put) {
      if (IsFileName(record.uid)) continue;
      return base::MakeStatus(
          StatusCode::kDataLoss,
          fmt::format("{} is damaged: \"{}\" is no UID of a claim", where, record.uid));
    }
    return {};
  }
  void ApplyTo(Records& records) && {
    for (const std::string& uid : removed) records.erase(uid);
    for (PreparedClaimRecord& record : put) {
      std::string uid = record.uid;
      records.insert_or_assign(std::move(uid), std::move(record));
    }
  }
};

bool Exclude(const PreparedDeviceRecord& has, const PreparedDeviceRecord& wants) {
  return has.pool == wants.pool && has.device == wants.device && !has.admin_access &&
         !wants.admin_access && (!has.share_id || !wants.share_id);
}

StatusOr<PreparedClaims> PreparedClaims::Open(const std::string& folder, files::Disk& disk) {
  DRAY_RETURN_IF_ERROR(files::MakeFolder(folder));
  PreparedClaims claims(folder);
  files::Journal::Contents read;
  DRAY_ASSIGN_OR_RETURN(
      claims.journal_,
      files::Journal::Open(
          disk, {.path = folder + std::string(kFile), .log_path = folder + std::string(kLog)},
          read));
  DRAY_RETURN_IF_ERROR(claims.Take(read));
  if (claims.journal_->must_fold()) DRAY_RETURN_IF_ERROR(claims.Fold(claims.records_));
  return claims;
}

Status PreparedClaims::Take(const files::Journal::Contents& read) {
  api::JsonDecoder decoder;
  if (read.whole) {
    records_.clear();
    const auto file = decoder.Decode<PreparedFile>(*read.whole);
    if (!file.ok()) return base::Annotate(file.status(), folder_ + std::string(kFile));
    if (file->checksum != files::Crc32(file->data)) {
      return base::MakeStatus(
          StatusCode::kDataLoss,
          fmt::format("{}{} is damaged: its checksum is {}, that of its data {}", folder_, kFile,
                      file->checksum, files::Crc32(file->data)));
    }
    auto whole = decoder.Decode<Change>(file->data);
    if (!whole.ok()) return base::Annotate(whole.status(), folder_ + std::string(kFile));
    DRAY_RETURN_IF_ERROR(whole->Check(folder_ + std::string(kFile)));
    (*std::move(whole)).ApplyTo(records_);
  }
  for (const std::string& text : read.changes) {
    auto change = decoder.Decode<Change>(text);
    if (!change.ok()) return base::Annotate(change.status(), folder_ + std::string(kLog));
    DRAY_RETURN_IF_ERROR(change->Check(folder_ + std::string(kLog)));
    (*std::move(change)).ApplyTo(records_);
  }
  return {};
}

Status PreparedClaims::Refresh() {
  DRAY_ASSIGN_OR_RETURN(const auto news, journal_->Refresh());
  return news ? Take(*news) : Status();
}

const PreparedClaimRecord* PreparedClaims::Find(std::string_view uid) const {
  const auto it = records_.find(uid);
  return it == records_.end() ? nullptr : &it->second;
}

Status PreparedClaims::Fold(const Records& records) {
  Change whole;
  for (const auto& [uid, record] : records) whole.put.push_back(record);
  PreparedFile file;
  file.data = api::EncodeJson(whole);
  file.checksum = files::Crc32(file.data);
  return journal_->Fold(api::EncodeJson(file));
}

Status PreparedClaims::Write(Change change, files::Sync sync) {
  if (journal_->must_fold() || journal_->full()) {
    Records records = records_;
    std::move(change).ApplyTo(records);
    DRAY_RETURN_IF_ERROR(Fold(records));
    records_ = std::move(records);
    return {};
  }
  DRAY_RETURN_IF_ERROR(journal_->Append(api::EncodeJson(change), sync));
  std::move(change).ApplyTo(records_);
  return {};
}

Status PreparedClaims::Put(std::vector<PreparedClaimRecord> records, files::Sync sync) {
  for (const PreparedClaimRecord& record : records) {
    if (!IsFileName(record.uid)) {
      return base::InvalidArgument(fmt::format("\"{}\" is no UID of a claim", record.uid));
    }
  }
  return Write({.put = std::move(records), .removed = {}}, sync);
}

Status PreparedClaims::Remove(std::string_view uid) {
  if (!records_.contains(uid)) return {};
  return Write({.put = {}, .removed = {std::string(uid)}}, files::Sync::kNo);
}

const PreparedClaimRecord* PreparedClaims::Holder(std::string_view uid,
                                                  const PreparedDeviceRecord& device) const {
  for (const auto& [other, record] : records_) {
    if (other == uid) continue;
    for (const PreparedDeviceRecord& held : record.devices) {
      if (Exclude(held, device)) return &record;
    }
  }
  return nullptr;
}

}  // namespace dray::driver
