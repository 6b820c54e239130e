// SPDX-License-Identifier: Apache-2.0
#include "node/claim_log.h"

#include <utility>

#include "files/files.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

// What writers before us left behind when they were killed.
void RemoveTemporaries(const std::string& root) {
  const auto names = files::NamesIn(root);
  if (!names.ok()) return;
  const std::string prefix = fmt::format(".{}.", kStateFileName);
  for (const std::string& name : *names) {
    if (name.starts_with(prefix) && name.ends_with(".tmp")) {
      (void)files::RemoveFile(root + "/" + name);
    }
  }
}

void Apply(ClaimChanges changes, std::map<std::string, ClaimState>& claims) {
  for (const std::string& uid : changes.gone) claims.erase(uid);
  for (ClaimState& claim : changes.now) {
    std::string uid = claim.uid;
    claims.insert_or_assign(std::move(uid), std::move(claim));
  }
}

std::vector<ClaimState> ValuesOf(const std::map<std::string, ClaimState>& claims) {
  std::vector<ClaimState> values;
  for (const auto& [uid, claim] : claims) values.push_back(claim);
  return values;
}

StatusOr<std::vector<ClaimState>> Replay(const files::Journal::Contents& read) {
  std::map<std::string, ClaimState> claims;
  if (read.whole) {
    DRAY_ASSIGN_OR_RETURN(std::vector<ClaimState> whole, DecodeClaimStates(*read.whole));
    Apply({.now = std::move(whole), .gone = {}}, claims);
  }
  for (const std::string& text : read.changes) {
    DRAY_ASSIGN_OR_RETURN(ClaimChanges changes, DecodeClaimChanges(text));
    Apply(std::move(changes), claims);
  }
  return ValuesOf(claims);
}

Status Advice(const Status& status, const std::string& root) {
  return base::MakeStatus(
      status.code(),
      fmt::format("{0}/{1}: {2}. It says which claims are prepared on this node, so that the agent "
                  "cannot do without it: drain the node, remove {1} and {3}, and start again",
                  root, kStateFileName, base::Message(status), kStateLogName));
}

}  // namespace

ClaimLog::ClaimLog(files::Journal journal, std::vector<ClaimState> claims)
    : journal_(std::move(journal)) {
  Apply({.now = std::move(claims), .gone = {}}, claims_);
}

namespace {

StatusOr<files::Journal> OpenJournal(const std::string& root, files::Disk& disk,
                                     files::Journal::Contents& read) {
  return files::Journal::Open(disk,
                              {.path = fmt::format("{}/{}", root, kStateFileName),
                               .log_path = fmt::format("{}/{}", root, kStateLogName)},
                              read);
}

}  // namespace

StatusOr<std::vector<ClaimState>> ClaimLog::Read(const std::string& root, files::Disk& disk) {
  files::Journal::Contents read;
  const auto journal = OpenJournal(root, disk, read);
  if (!journal.ok()) return journal.status();
  return Replay(read);
}

StatusOr<std::unique_ptr<ClaimLog>> ClaimLog::Open(const std::string& root, files::Disk& disk) {
  DRAY_RETURN_IF_ERROR(files::MakeFolder(root));
  RemoveTemporaries(root);
  files::Journal::Contents read;
  auto journal = OpenJournal(root, disk, read);
  if (journal.status().code() == StatusCode::kDataLoss) return Advice(journal.status(), root);
  if (!journal.ok()) return journal.status();
  auto claims = Replay(read);
  if (!claims.ok()) return Advice(claims.status(), root);
  std::unique_ptr<ClaimLog> log(new ClaimLog(*std::move(journal), *std::move(claims)));
  const base::MutexLock lock(log->mutex_);
  // A machine on which nothing was ever prepared has a file that says so.
  if (!read.whole) {
    DRAY_RETURN_IF_ERROR(log->journal_.Fold(EncodeClaimStates({}, true)));
  } else if (log->journal_.must_fold() || log->journal_.changed()) {
    DRAY_RETURN_IF_ERROR(log->FoldNow());
  }
  return log;
}

std::vector<ClaimState> ClaimLog::Claims() const {
  const base::MutexLock lock(mutex_);
  return ValuesOf(claims_);
}

Status ClaimLog::Write(const ClaimChanges& changes) {
  const base::MutexLock lock(mutex_);
  Apply(changes, claims_);
  if (journal_.must_fold() || journal_.full()) return FoldNow();
  return journal_.Append(EncodeClaimChanges(changes),
                         changes.must_last ? files::Sync::kYes : files::Sync::kNo);
}

Status ClaimLog::Fold() {
  const base::MutexLock lock(mutex_);
  // After a failure it is left to whoever knows what is true now.
  if (journal_.must_fold() || !journal_.changed()) return {};
  return FoldNow();
}

Status ClaimLog::FoldNow() { return journal_.Fold(EncodeClaimStates(ValuesOf(claims_))); }

}  // namespace dray::node
