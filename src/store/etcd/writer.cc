// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/writer.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "store/internal/batch.h"

namespace dray::store::internal {
namespace {

using Kind = Operation::Kind;

constexpr std::chrono::nanoseconds kClosingPatience = std::chrono::seconds(3);
constexpr std::chrono::nanoseconds kBetweenExpiries = std::chrono::milliseconds(200);

Status NotWritten(std::string_view why) {
  return base::Aborted(fmt::format("nothing was written: {}", why));
}

}  // namespace

Writer::Writer(EventLoop& loop, Members& members, const Layout& layout, const EtcdOptions& options,
               EtcdCounts& counts, Timeline& cache, std::string server,
               std::function<void(Status)> broken)
    : loop_(loop),
      members_(members),
      layout_(layout),
      options_(options),
      counts_(counts),
      cache_(cache),
      server_(std::move(server)),
      fence_key_(layout.Fence(server_)),
      broken_callback_(std::move(broken)) {}

void Writer::Start(Feeder& feeder, const RequestLimits& limits, rpc::DoneStatus done) {
  feeder_ = &feeder;
  limits_ = limits;
  started_ = std::move(done);
  // Whatever is there was written by a process that had this name before. Reads it, then writes it
  // if it is still the same: a second one that starts at the same time finds that it has moved.
  members_.Until<rpc::EtcdRangeAnswer>(
      Clock::now() + options_.write_patience,
      [key = fence_key_](rpc::EtcdMember& member, rpc::Done<rpc::EtcdRangeAnswer> answered) {
        member.Range({.key = key}, Members::kPatience, std::move(answered));
      },
      [this](StatusOr<rpc::EtcdRangeAnswer> answer) {
        if (!answer.ok()) return std::exchange(started_, nullptr)(answer.status());
        fence_ = answer->kvs.empty() ? 0 : answer->kvs[0].modified;
        BeginFence({});
      });
}

void Writer::Write(Transaction transaction, CommitFn done) {
  Status status = CheckTransaction(transaction);
  auto write = std::make_shared<PendingWrite>();
  if (status.ok()) {
    write->transaction = std::move(transaction);
    for (const Operation& operation : write->transaction.operations) {
      write->keys.push_back(layout_.Key(operation.key));
    }
    write->bytes = BytesOf(*write);
    write->end = Clock::now() + options_.write_patience;
    status = CheckSize(*write, limits_);
  }
  if (status.ok()) {
    const base::MutexLock lock(mutex_);
    status = refusing_;
    if (status.ok()) {
      write->done = std::move(done);
      entering_.push_back(std::move(write));
      if (entering_.size() == 1) loop_.Post([this] { Enter(); });
      return;
    }
  }
  done(std::move(status));
}

void Writer::Enter() {
  std::vector<PendingPtr> entering;
  {
    const base::MutexLock lock(mutex_);
    entering.swap(entering_);
  }
  std::ranges::move(entering, std::back_inserter(queue_));
  Pump();
  ArmExpire();
}

void Writer::Pump() {
  if (queue_.empty() || !in_air_.empty() || fencing_ || sending_ || paused_ || !broken_.ok()) {
    return;
  }
  // A full database refuses plain puts and lets nested ones pass: whoever would fill it further is
  // sent alone.
  const bool one = full_ || singly_ > 0;
  if (singly_ > 0) --singly_;
  in_air_ = TakeGroup(queue_, limits_, one);
  Send();
}

void Writer::Send() {
  Watch(in_air_);
  sent_at_ = feeder_->revision().value;
  relisted_ = false;
  sending_ = true;
  ++counts_.groups;
  counts_.transactions += in_air_.size();
  const auto request =
      std::make_shared<rpc::EtcdTransaction>(MakeRequest(in_air_, fence_key_, fence_));
  members_.Once<rpc::EtcdTransactionAnswer>(
      [request, patience = options_.answer_patience](
          rpc::EtcdMember& member, rpc::Done<rpc::EtcdTransactionAnswer> answered) {
        member.Transact(*request, patience, std::move(answered));
      },
      [this](StatusOr<rpc::EtcdTransactionAnswer> answer) {
        sending_ = false;
        OnAnswer(std::move(answer));
      });
}

void Writer::OnAnswer(StatusOr<rpc::EtcdTransactionAnswer> answer) {
  if (!broken_.ok()) return;
  if (!answer.ok()) return OnFailure(answer.status());
  if (!feeder_->Plausible(answer->header.revision, sent_at_)) return;
  const std::int64_t revision = answer->header.revision;
  const std::int64_t fence = fence_;
  if (!ReadAnswer(*std::move(answer), fence_, in_air_)) {
    if (fence_ == 0) return BeginFence({});  // somebody tidied it away, and nothing was written
    fence_ = fence;
    return FenceMoved("");
  }
  Answered();
  // Whoever is told reads what it wrote, and, of a conflict, what it ran into.
  feeder_->Expect(revision);
  OnRevision(feeder_->revision());
  Pump();
}

// Everything in the air has its revision or its conflict.
void Writer::Answered() {
  std::ranges::move(in_air_, std::back_inserter(known_));
  in_air_.clear();
}

void Writer::OnFailure(const Status& status) {
  const Failure failure = FailureOf(status);
  const std::string text(base::Message(status));
  switch (failure) {
    case Failure::kNotSent:
    case Failure::kOtherMember:
      return Again(Members::kPause, NotWritten(text));
    case Failure::kTooMany:
      return Again(2 * Members::kPause, base::MakeStatus(StatusCode::kResourceExhausted, text));
    case Failure::kNoSpace:
      full_ = true;
      [[fallthrough]];
    case Failure::kTooLarge:
      if (in_air_.size() > 1) {
        // Which of them it is shows when each is sent alone.
        singly_ = in_air_.size();
        return Again({}, {});
      }
      return Refuse(failure == Failure::kNoSpace
                        ? base::MakeStatus(StatusCode::kResourceExhausted,
                                           "the database of etcd is full: " + text)
                        : base::InvalidArgument("etcd refuses the request: " + text));
    case Failure::kDenied:
    case Failure::kToken:
    case Failure::kCompacted:
    case Failure::kFuture:
    case Failure::kLease:
      return Refuse(NotWritten(text));
    case Failure::kCorrupt:
      return broken_callback_(base::Unavailable("etcd says that its data are damaged: " + text));
    case Failure::kUnknown:
      return BeginFence(status);
  }
}

// It has not happened and will not: it goes to the front of the queue.
void Writer::Again(std::chrono::nanoseconds pause, const Status& why) {
  for (const PendingPtr& write : in_air_) Unwatch(*write);
  const auto now = Clock::now();
  std::vector<PendingPtr> group;
  group.swap(in_air_);
  for (auto write = group.rbegin(); write != group.rend(); ++write) {
    if (!why.ok() && now >= (*write)->end) continue;
    queue_.push_front(*write);
  }
  for (const PendingPtr& write : group) {
    if (!why.ok() && now >= write->end) Tell(write, why);
  }
  if (pause.count() == 0) return Pump();
  paused_ = true;
  loop_.After(pause, [this] {
    paused_ = false;
    Pump();
  });
}

void Writer::Refuse(const Status& status) {
  std::vector<PendingPtr> group;
  group.swap(in_air_);
  for (const PendingPtr& write : group) {
    Unwatch(*write);
    Tell(write, status);
  }
  Pump();
}

// ---- the fence

void Writer::BeginFence(const Status& why) {
  if (!why.ok()) ++counts_.fences;
  fencing_ = true;
  fenced_ = 0;
  fencing_since_ = Clock::now();
  fence_value_ = base::NewUuid(random_);
  WriteFence();
}

void Writer::WriteFence() {
  if (members_.closed() || !broken_.ok()) return;
  sending_ = true;
  rpc::EtcdTransaction request;
  request.compares.push_back({.key = fence_key_, .number = fence_});
  request.success.push_back({rpc::EtcdPut{
      .key = fence_key_, .value = std::make_shared<const std::string>(fence_value_)}});
  request.failure.push_back({rpc::EtcdRange{.key = fence_key_}});
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
    if (answer->succeeded) return FenceIs(answer->header.revision);
    const auto& kvs = answer->answers[0].kvs;
    // A try whose answer was lost has succeeded.
    if (!kvs.empty() && kvs[0].value == fence_value_) return FenceIs(kvs[0].modified);
    if (kvs.empty() && fence_ != 0) {
      // Nobody but whoever tidies up takes it away; what compares with its old revision fails now.
      fence_ = 0;
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
    std::vector<PendingPtr> group;
    group.swap(in_air_);
    for (const PendingPtr& write : group) {
      Unwatch(*write);
      Tell(write, base::Unavailable(fmt::format("it is not known whether it was written: {}",
                                                base::Message(answer.status()))));
    }
  }
  loop_.After(Members::kPause, [this] { WriteFence(); });
}

void Writer::FenceIs(std::int64_t revision) {
  fence_ = revision;
  if (started_) {
    fencing_ = false;
    return std::exchange(started_, nullptr)(Status());
  }
  fenced_ = revision;
  feeder_->Expect(revision);
  Resolve();
}

// The cache has everything up to the fence: what is not there was not written, and will not be.
void Writer::Resolve() {
  if (fenced_ == 0) return;
  if (feeder_->revision().value < fenced_) {
    if (in_air_.empty() || Clock::now() - fencing_since_ <= FencePatience()) return;
  }
  const bool reached = feeder_->revision().value >= fenced_;
  std::vector<PendingPtr> group;
  group.swap(in_air_);
  std::vector<PendingPtr> again;
  for (const PendingPtr& write : group) {
    if (!reached) {
      Unwatch(*write);
      Tell(write,
           base::Unavailable("it is not known whether it was written: the watch of etcd does "
                             "not come so far"));
      continue;
    }
    if (const auto at = WrittenAt(*write, fenced_)) {
      write->revision = *at;
      known_.push_back(write);
      continue;
    }
    Unwatch(*write);
    const bool lost =
        relisted_ &&
        std::ranges::any_of(write->transaction.operations, [this](const Operation& operation) {
          const EntryPtr now = cache_.Find(operation.key);
          return operation.kind != Kind::kCheck && (now ? now->modified.value > sent_at_ : true);
        });
    if (lost) {
      Tell(write, base::Unavailable("it is not known whether it was written: others have written "
                                    "since, and the history is gone"));
    } else if (Clock::now() < write->end) {
      again.push_back(write);
    } else {
      Tell(write, NotWritten("etcd did not answer in time"));
    }
  }
  queue_.insert(queue_.begin(), again.begin(), again.end());
  if (!reached) return;
  fencing_ = false;
  fenced_ = 0;
  OnRevision(feeder_->revision());
  Pump();
}

void Writer::FenceMoved(const std::string& whose) {
  broken_callback_(base::FailedPrecondition(
      fmt::format("another process writes to etcd as server \"{}\"{}: each needs a name of its own",
                  server_, whose.empty() ? "" : " (" + whose + ")")));
}

// ---- what the watch shows

void Writer::Watch(const std::vector<PendingPtr>& group) {
  for (const PendingPtr& write : group) {
    write->seen.assign(write->keys.size(), nullptr);
    for (std::size_t i = 0; i < write->keys.size(); ++i) {
      const Operation& operation = write->transaction.operations[i];
      if (operation.kind != Kind::kCheck) writing_[operation.key].push_back({write.get(), i});
    }
  }
}

void Writer::Unwatch(const PendingWrite& write) {
  for (const Operation& operation : write.transaction.operations) {
    const auto it = writing_.find(operation.key);
    if (it == writing_.end()) continue;
    std::erase_if(it->second, [&](const Place& place) { return place.write == &write; });
    if (it->second.empty()) writing_.erase(it);
  }
}

namespace {

bool IsOf(const PendingWrite& write, const Operation& operation, const Entry& entry, bool deleted) {
  if (write.conflict) return false;
  if (write.revision != 0) return write.revision == entry.modified.value;
  // Not answered yet. Who else has written these bytes meanwhile has the same made of them.
  return deleted ? operation.kind == Kind::kDelete
                 : operation.kind == Kind::kPut && *operation.value == *entry.value;
}

}  // namespace

void Writer::OnVersion(Entry& entry, bool deleted) {
  const auto it = writing_.find(entry.key);
  if (it == writing_.end()) return;
  for (const Place& place : it->second) {
    const Operation& operation = place.write->transaction.operations[place.operation];
    if (!IsOf(*place.write, operation, entry, deleted)) continue;
    if (!deleted) entry.value = operation.value;
    if (operation.attach) entry.attachment = operation.attach(entry);
    return;
  }
}

void Writer::OnPublished(const EntryPtr& entry) {
  const auto it = writing_.find(entry->key);
  if (it == writing_.end()) return;
  const EntryPtr now = cache_.Find(entry->key);
  const bool deleted = now == nullptr || now->modified != entry->modified;
  for (const Place& place : it->second) {
    const Operation& operation = place.write->transaction.operations[place.operation];
    if (!IsOf(*place.write, operation, *entry, deleted)) continue;
    place.write->seen[place.operation] = entry;
    return;
  }
}

void Writer::OnRevision(Revision revision) {
  while (!known_.empty() && known_.front()->revision <= revision.value) {
    const PendingPtr write = std::move(known_.front());
    known_.pop_front();
    Finish(write);
  }
  if (fenced_ != 0) Resolve();
  if (closed_ && idle()) std::exchange(closed_, nullptr)();
}

// Nothing was seen of what happened in between: what is there now says what can be said.
void Writer::OnRelist() {
  relisted_ = true;
  for (const PendingPtr& write : in_air_) {
    for (std::size_t i = 0; i < write->keys.size(); ++i) {
      const Operation& operation = write->transaction.operations[i];
      const EntryPtr now = cache_.Find(operation.key);
      if (operation.kind == Kind::kPut && now && now->modified.value > sent_at_ &&
          *now->value == *operation.value) {
        write->seen[i] = now;
      }
    }
  }
}

void Writer::Finish(const PendingPtr& write) {
  Unwatch(*write);
  const auto& operations = write->transaction.operations;
  Outcome outcome{.revision = {write->revision}};
  if (write->conflict) {
    outcome.conflict = std::move(write->conflict);
    const EntryPtr now = cache_.Find(outcome.conflict->key);
    // With its attachment, if that is what it was.
    if (now && now->modified == outcome.conflict->actual) outcome.conflict->entry = now;
    write->done(std::move(outcome));
    return;
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].kind == Kind::kCheck) {
      outcome.entries.push_back(nullptr);
      continue;
    }
    EntryPtr entry = write->seen[i];
    if (entry == nullptr || entry->modified != outcome.revision) {
      // Its event was not seen, because everything was read anew.
      Entry made{.key = operations[i].key,
                 .value = operations[i].value ? operations[i].value
                                              : std::make_shared<const std::string>(),
                 .created = outcome.revision,
                 .modified = outcome.revision};
      const EntryPtr now = cache_.Find(made.key);
      if (now) made.created = std::min(now->created, made.created);
      if (operations[i].attach) made.attachment = operations[i].attach(made);
      entry = std::make_shared<const Entry>(std::move(made));
    }
    outcome.entries.push_back(std::move(entry));
  }
  write->done(std::move(outcome));
}

void Writer::Tell(const PendingPtr& write, const Status& status) {
  write->done(base::MakeStatus(status.code(), base::Message(status)));
}

// ---- time, and the end

void Writer::ArmExpire() {
  if (expiring_ || idle()) return;
  expiring_ = true;
  loop_.After(kBetweenExpiries, [this] {
    expiring_ = false;
    Expire();
    ArmExpire();
  });
}

// Who waits in the queue has not been sent.
void Writer::Expire() {
  const auto now = Clock::now();
  std::vector<PendingPtr> over;
  std::erase_if(queue_, [&](const PendingPtr& write) {
    if (now < write->end) return false;
    over.push_back(write);
    return true;
  });
  for (const PendingPtr& write : over) Tell(write, NotWritten("etcd does not answer"));
  Resolve();
  if (closed_ && idle()) std::exchange(closed_, nullptr)();
}

std::chrono::nanoseconds Writer::FencePatience() const {
  return closing_ ? std::min(kClosingPatience, options_.fence_patience) : options_.fence_patience;
}

void Writer::Close(std::function<void()> closed) {
  {
    const base::MutexLock lock(mutex_);
    if (refusing_.ok()) refusing_ = base::Unavailable("the store is closed");
  }
  closing_ = true;
  Enter();
  for (const PendingPtr& write : queue_) {
    write->end = std::min(write->end, Clock::now() + kClosingPatience);
  }
  if (idle()) return closed();
  closed_ = std::move(closed);
}

void Writer::Break(const Status& why) {
  if (!broken_.ok()) return;
  broken_ = why;
  std::vector<PendingPtr> all;
  {
    const base::MutexLock lock(mutex_);
    refusing_ = why;
    all.swap(entering_);
  }
  std::ranges::move(queue_, std::back_inserter(all));
  queue_.clear();
  for (const PendingPtr& write : all) Tell(write, NotWritten(base::Message(why)));
  all.assign(known_.begin(), known_.end());
  std::ranges::move(in_air_, std::back_inserter(all));
  known_.clear();
  in_air_.clear();
  writing_.clear();
  for (const PendingPtr& write : all) Tell(write, base::Unavailable(base::Message(why)));
  if (started_) std::exchange(started_, nullptr)(why);
  if (closed_) std::exchange(closed_, nullptr)();
}

}  // namespace dray::store::internal
