// SPDX-License-Identifier: Apache-2.0
//
// What lies in the files of an agent and of drivers, left by an older version, a kubelet or a power cut: it is read or
// refused, and what was read is written so that it reads the same. The first byte says which file it is.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "container/internal/state_files.h"
#include "driver/prepared_claims.h"
#include "files/crc32.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "logs/record.h"
#include "node/claim_state.h"

namespace {

const dray::files::TemporaryFolder& Folder() {
  static const dray::files::TemporaryFolder folder;
  return folder;
}

void CheckClaims(std::string_view bytes) {
  const auto claims = dray::node::DecodeClaimStates(bytes);
  if (!claims.ok()) {
    DRAY_CHECK(claims.status().code() == dray::StatusCode::kDataLoss);
    return;
  }
  const std::string written = dray::node::EncodeClaimStates(*claims);
  const auto again = dray::node::DecodeClaimStates(written);
  DRAY_CHECK(again.ok(), written);
  DRAY_CHECK(dray::node::EncodeClaimStates(*again) == written, written);
  DRAY_CHECK(again->size() == claims->size());
}

// The same data with the checksum that it should have, which no accident would find.
std::string Sealed(std::string_view data, std::string_view data_field,
                   std::string_view checksum_field) {
  std::string file = fmt::format(R"({{"{}":)", data_field);
  dray::logs::AppendJsonString(file, data);
  return file + fmt::format(R"(,"{}":{}}})", checksum_field, dray::files::Crc32(data));
}

void CheckChanges(std::string_view bytes) {
  const auto changes = dray::node::DecodeClaimChanges(bytes);
  if (!changes.ok()) return;
  const auto again = dray::node::DecodeClaimChanges(dray::node::EncodeClaimChanges(*changes));
  DRAY_CHECK(again.ok() && *again == *changes, std::string(bytes));
}

void CheckPrepared(std::string_view bytes) {
  const std::string folder = Folder() / "prepared";
  DRAY_CHECK(dray::files::RemoveTree(folder).ok());
  DRAY_CHECK(dray::files::MakeFolder(folder).ok());
  DRAY_CHECK(
      dray::files::WriteWhole(folder + "/claims.json", bytes, 0600, dray::files::Sync::kNo).ok());
  auto claims = dray::driver::PreparedClaims::Open(folder);
  if (!claims.ok()) {
    DRAY_CHECK(!claims.status().message().empty());
    return;
  }
  const auto all = claims->all();
  std::vector<dray::driver::PreparedClaimRecord> records;
  for (const auto& [uid, record] : all) records.push_back(record);
  DRAY_CHECK(claims->Put(records, dray::files::Sync::kNo).ok(), std::string(bytes));
  const auto again = dray::driver::PreparedClaims::Open(folder);
  DRAY_CHECK(again.ok() && again->all() == all, std::string(bytes));
}

template <typename Record>
void CheckRecord(std::string_view bytes) {
  using dray::container::internal::ReadRecord;
  using dray::container::internal::WriteRecord;
  const std::string path = Folder() / "record.json";
  const std::string copy = Folder() / "copy.json";
  DRAY_CHECK(dray::files::WriteWhole(path, bytes, 0644, dray::files::Sync::kNo).ok());
  const auto record = ReadRecord<Record>(path);
  if (!record.ok()) return;
  DRAY_CHECK(WriteRecord(path, *record).ok());
  const auto again = ReadRecord<Record>(path);
  DRAY_CHECK(again.ok(), std::string(bytes));
  DRAY_CHECK(WriteRecord(copy, *again).ok());
  DRAY_CHECK(*dray::files::ReadWhole(path) == *dray::files::ReadWhole(copy), std::string(bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dray::container::internal;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 10) {
    case 0:
      CheckClaims(bytes);
      break;
    case 1:
      CheckClaims(Sealed(bytes, "Data", "Checksum"));
      break;
    case 2:
      CheckChanges(bytes);
      break;
    case 3:
      CheckRecord<SandboxRecord>(bytes);
      break;
    case 4:
      CheckRecord<ContainerRecord>(bytes);
      break;
    case 5:
      CheckRecord<ShimSpec>(bytes);
      break;
    case 6:
      CheckRecord<ExitRecord>(bytes);
      break;
    case 7:
      CheckRecord<PauseSpec>(bytes);
      break;
    case 8:
      CheckPrepared(bytes);
      break;
    default:
      CheckPrepared(Sealed(bytes, "data", "checksum"));
      break;
  }
  return 0;
}
