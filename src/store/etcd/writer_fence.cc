// SPDX-License-Identifier: Apache-2.0
//
// The fence: what becomes of a request whose answer is missing.
#include "store/etcd/writer.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace dray::store::internal {
namespace {

using Kind = Operation::Kind;

}  // namespace

void Writer::BeginFence(const Status& why) {
  if (!why.ok()) ++counts_.fences;
  fencing_ = true;
  fenced_ = 0;
  mark_gone_ = fence_.mark.empty();
  fencing_since_ = Clock::now();
  fence_value_ = base::NewUuid(random_);
  WriteFence();
}

void Writer::WriteFence() {
  if (members_.closed() || !broken_.ok()) return;
  sending_ = true;
  rpc::EtcdTransaction request;
  request.compares.push_back({.key = fence_.key, .number = fence_.revision});
  request.success.push_back({rpc::EtcdPut{
      .key = fence_.key, .value = std::make_shared<const std::string>(fence_value_)}});
  request.failure.push_back({rpc::EtcdRange{.key = fence_.key}});
  members_.Once<rpc::EtcdTransactionAnswer>(
      [request, patience = options_.answer_patience / 2](
          rpc::EtcdMember& member, rpc::Done<rpc::EtcdTransactionAnswer> answered) {
        member.Transact(request, patience, std::move(answered));
      },
      [this, seen_before = feeder_->revision().value](StatusOr<rpc::EtcdTransactionAnswer> answer) {
        sending_ = false;
        OnFence(std::move(answer), seen_before);
      });
}

void Writer::OnFence(StatusOr<rpc::EtcdTransactionAnswer> answer, std::int64_t seen_before) {
  if (!broken_.ok()) return;
  if (answer.ok()) {
    if (!feeder_->Plausible(answer->header.revision, seen_before)) return;
    if (answer->succeeded) return FenceIs(answer->header.revision, 0);
    const auto& kvs = answer->answers[0].kvs;
    // A try whose answer was lost has succeeded.
    if (!kvs.empty() && kvs[0].value == fence_value_) return FenceIs(kvs[0].modified, 0);
    // The request itself has, and cannot once more.
    if (!kvs.empty() && !fence_.mark.empty() && kvs[0].value == fence_.mark) {
      return FenceIs(kvs[0].modified, kvs[0].modified);
    }
    if (kvs.empty() && fence_.revision != 0 && !options_.alone) {
      // Nobody but whoever tidies up takes it away; what compares with its old revision fails now, and
      // if the request has happened before, its mark has gone with it.
      // Whoever must be alone is not any more, if somebody else tidies up.
      fence_.revision = 0;
      mark_gone_ = true;
      return WriteFence();
    }
    return FenceMoved(kvs.empty() ? "" : kvs[0].value);
  }
  const Failure failure = FailureOf(answer.status());
  if (started_ && (failure == Failure::kDenied || failure == Failure::kNoSpace ||
                   Clock::now() - fencing_since_ > options_.write_patience)) {
    return std::exchange(started_, nullptr)(answer.status());
  }
  if (!in_air_.empty() && Clock::now() - fencing_since_ > FencePatience()) {
    // Goes on until it succeeds, but nobody waits for that.
    Report(/*ok=*/false);
    Tell(TakeFromAir(), base::Unavailable(fmt::format("it is not known whether it was written: {}",
                                                      base::Message(answer.status()))));
  }
  loop_.After(Members::kPause, [this] { WriteFence(); });
}

void Writer::FenceIs(std::int64_t revision, std::int64_t happened) {
  fence_.revision = revision;
  happened_ = happened;
  if (started_) {
    fencing_ = false;
    return std::exchange(started_, nullptr)(Status());
  }
  fenced_ = revision;
  feeder_->Expect(revision);
  Resolve();
}

// The cache has everything up to the fence: what is not there was not written, and will not be. Alone in
// its request it was written if the mark was.
void Writer::Resolve() {
  if (fenced_ == 0) return;
  if (feeder_->revision().value < fenced_) {
    if (in_air_.empty() || Clock::now() - fencing_since_ <= FencePatience()) return;
  }
  const bool reached = feeder_->revision().value >= fenced_;
  Report(reached);
  std::vector<PendingPtr> again;
  std::vector<PendingPtr> late;
  std::vector<PendingPtr> unknown;
  const bool alone = in_air_.size() == 1;
  for (const PendingPtr& write : std::exchange(in_air_, {})) {
    if (reached && happened_ != 0 && (alone || WasWritten(*write, happened_))) {
      write->revision = happened_;
      Settle(*write);
      known_.push_back(write);
      continue;
    }
    Unwatch(*write);
    const bool is_unknown = !reached || (happened_ != 0 && relisted_ && MayBeGone(*write)) ||
                            (mark_gone_ && MayHaveHappened(*write));
    for (const PendingPtr& part : PartsOf({write})) {
      if (is_unknown) {
        unknown.push_back(part);
      } else {
        (Clock::now() < part->end ? again : late).push_back(part);
      }
    }
  }
  queue_.insert(queue_.begin(), again.begin(), again.end());
  Tell(late, NotWritten("etcd did not answer in time"));
  std::string_view why = "the watch of etcd does not come so far";
  if (reached && mark_gone_) {
    why = "another server may have done the same at that moment";
  } else if (reached) {
    why = "others have written since, and the history is gone";
  }
  Tell(unknown, base::Unavailable(fmt::format("it is not known whether it was written: {}", why)));
  if (!reached) return;
  fencing_ = false;
  fenced_ = 0;
  OnRevision(feeder_->revision());
  Pump();
}

// Everything was read anew: what was written may have been written over since.
bool Writer::MayBeGone(const PendingWrite& write) const {
  return std::ranges::any_of(write.transaction.operations, [this](const Operation& operation) {
    if (operation.kind == Kind::kCheck) return false;
    const EntryPtr now = cache_.Find(operation.key);
    return now == nullptr || now->modified.value > sent_at_;
  });
}

// Without a mark: something that looks like it was seen, or may have been missed.
bool Writer::MayHaveHappened(const PendingWrite& write) const {
  if (relisted_) return MayBeGone(write);
  const auto& operations = write.transaction.operations;
  bool writes = false;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].kind == Kind::kCheck) continue;
    if (write.seen[i].empty()) return false;
    writes = true;
  }
  return writes;
}

void Writer::FenceMoved(const std::string& whose) {
  broken_callback_(base::FailedPrecondition(
      fmt::format("another process writes to etcd as server \"{}\"{}: each needs a name of its own",
                  server_, whose.empty() ? "" : " (" + whose + ")")));
}

}  // namespace dray::store::internal
