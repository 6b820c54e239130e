// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/writer.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "store/internal/batch.h"

namespace dray::store::internal {
namespace {

using Kind = Operation::Kind;

// Whoever is shown what is pending builds on it at once, so that few have to be remembered.
constexpr std::size_t kMostShown = 1024;
constexpr std::chrono::nanoseconds kBetweenExpiries = std::chrono::milliseconds(200);

}  // namespace

Status Writer::NotWritten(std::string_view why) {
  return base::Aborted(fmt::format("nothing was written: {}", why));
}

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
      broken_callback_(std::move(broken)),
      fence_{.key = layout.Fence(server_)} {}

void Writer::Start(Feeder& feeder, const RequestLimits& limits, rpc::DoneStatus done) {
  feeder_ = &feeder;
  limits_ = limits;
  started_ = std::move(done);
  // Whatever is there was written by a process that had this name before. Reads it, then writes it
  // if it is still the same: a second one that starts at the same time finds that it has moved.
  members_.Until<rpc::EtcdRangeAnswer>(
      Clock::now() + options_.write_patience,
      [key = fence_.key](rpc::EtcdMember& member, rpc::Done<rpc::EtcdRangeAnswer> answered) {
        member.Range({.key = key}, Members::kPatience, std::move(answered));
      },
      [this](StatusOr<rpc::EtcdRangeAnswer> answer) {
        if (!answer.ok()) return std::exchange(started_, nullptr)(answer.status());
        fence_.revision = answer->kvs.empty() ? 0 : answer->kvs[0].modified;
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
      write->ticket = ++tickets_;
      FindPredecessors(*write);
      write->hidden = IsTooLate(*write);
      ShowPending(write);
      entering_.push_back(std::move(write));
      if (entering_.size() == 1) loop_.Post([this] { Enter(); });
      return;
    }
  }
  done(std::move(status));
}

std::optional<EntryPtr> Writer::FindPending(std::string_view key) const {
  const base::MutexLock lock(mutex_);
  const auto found = pending_.find(key);
  if (found == pending_.end()) return std::nullopt;
  const auto& [write, operation] = found->second;
  const Operation& one = write->transaction.operations[operation];
  if (one.kind == Kind::kDelete) return EntryPtr();
  if (shown_.emplace(write->ticket, write).second) {
    shown_order_.push_back(write->ticket);
    if (shown_order_.size() > kMostShown) {
      shown_.erase(shown_order_.front());
      shown_order_.pop_front();
    }
  }
  const Revision provisional{kProvisional + write->ticket};
  return std::make_shared<const Entry>(
      Entry{.key = one.key, .value = one.value, .created = provisional, .modified = provisional});
}

// Unless nobody is to build on it.
void Writer::ShowPending(const PendingPtr& write) {
  write->hidden = write->hidden || std::ranges::any_of(write->behind, [](const PendingPtr& before) {
                    return before != nullptr && before->hidden;
                  });
  if (write->hidden) return;
  const auto& operations = write->transaction.operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].kind == Kind::kCheck) continue;
    pending_.insert_or_assign(operations[i].key, PendingPlace{write, i});
  }
}

// It expects something else than what those under way will leave.
bool Writer::IsTooLate(const PendingWrite& write) const {
  for (const Operation& operation : write.transaction.operations) {
    if (!operation.expected) continue;
    const auto before = pending_.find(operation.key);
    if (before == pending_.end()) continue;
    if (operation.expected->value != kProvisional + before->second.write->ticket) return true;
  }
  return false;
}

// These are not written, and so nobody who is behind them. Before anybody is told: whoever is tries again
// at once, and would build on the last of them, which is refused because of the first; and its callers
// on that try, and so on, without a request that could succeed.
void Writer::HideFailed(const std::vector<PendingPtr>& failed) {
  if (failed.empty()) return;
  const base::MutexLock lock(mutex_);
  bool shown = false;
  for (const PendingPtr& write : failed) shown |= !std::exchange(write->hidden, true);
  if (!shown) return;
  pending_.clear();
  for (const PendingPtr& write : PartsOf({known_.begin(), known_.end()})) ShowPending(write);
  for (const PendingPtr& write : PartsOf(in_air_)) ShowPending(write);
  for (const PendingPtr& write : queue_) ShowPending(write);
  for (const PendingPtr& write : entering_) ShowPending(write);
}

// Whom it comes right behind. One of whom nothing is known any more is as good as one that failed.
void Writer::FindPredecessors(PendingWrite& write) {
  static const PendingPtr kForgotten = [] {
    auto failed = std::make_shared<PendingWrite>();
    failed->fate = PendingWrite::Fate::kNot;
    failed->hidden = true;
    return failed;
  }();
  const auto& operations = write.transaction.operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (!operations[i].expected || operations[i].expected->value < kProvisional) continue;
    write.behind.resize(operations.size());
    const auto shown = shown_.find(operations[i].expected->value - kProvisional);
    write.behind[i] = shown == shown_.end() ? kForgotten : shown->second;
  }
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
  while (!queue_.empty() && in_air_.empty() && !fencing_ && !sending_ && !paused_ && broken_.ok()) {
    // A full database refuses plain puts and lets nested ones pass: whoever would fill it further is
    // sent alone.
    const bool one = full_ || singly_ > 0;
    if (singly_ > 0) --singly_;
    Group group = TakeGroup(queue_, limits_, one);
    in_air_ = std::move(group.writes);
    HideFailed(group.lost);
    std::ranges::move(group.lost, std::back_inserter(known_));
    if (!in_air_.empty()) Grant();
    if (!group.lost.empty()) OnRevision(feeder_->revision());
  }
}

// The leases of what is in it first. Of this nothing was sent before, so nothing of it has happened.
void Writer::Grant() {
  const auto now = Clock::now();
  LeaseIds leases;
  for (const auto& [ttl, keys] : TtlsOf(in_air_)) {
    leases[ttl] = leases_.Find(ttl, keys, now);
    if (leases[ttl] == 0) return Grant(ttl);
  }
  for (const auto& [ttl, keys] : TtlsOf(in_air_)) leases_.Use(ttl, keys);
  Send(leases);
}

void Writer::Grant(std::chrono::seconds ttl) {
  sending_ = true;
  members_.Once<std::int64_t>(
      [lasts = Leases::Lasts(ttl)](rpc::EtcdMember& member, rpc::Done<std::int64_t> answered) {
        member.GrantLease(lasts, Members::kPatience, std::move(answered));
      },
      [this, ttl, asked = Clock::now()](StatusOr<std::int64_t> lease) {
        sending_ = false;
        if (!broken_.ok()) return;
        if (lease.ok()) {
          leases_.Granted(ttl, *lease, asked);
          return Grant();
        }
        if (FailureOf(lease.status()) != Failure::kUnknown) return OnFailure(lease.status());
        Again(Members::kPause, NotWritten(base::Message(lease.status())));
      });
}

void Writer::Send(const LeaseIds& leases) {
  Watch(in_air_);
  sent_at_ = feeder_->revision().value;
  relisted_ = false;
  sending_ = true;
  began_ = Clock::now();
  ++counts_.groups;
  counts_.nested += in_air_.size();
  counts_.transactions += PartsOf(in_air_).size();
  if (options_.on_begin) options_.on_begin();
  // A full database lets pass what writes nothing: deletions.
  fence_.mark = full_ ? std::string() : fmt::format("{} {}", fence_value_, ++marks_);
  const auto request = std::make_shared<rpc::EtcdTransaction>(MakeRequest(in_air_, fence_, leases));
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
  const std::int64_t fence = fence_.revision;
  if (!ReadAnswer(*std::move(answer), fence_, in_air_)) {
    if (fence_.revision == 0)
      return BeginFence({});  // somebody tidied it away, and nothing was written
    fence_.revision = fence;
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
  Report(/*ok=*/true);
  std::vector<PendingPtr> again;
  std::vector<PendingPtr> failed;
  for (const PendingPtr& write : std::exchange(in_air_, {})) {
    Settle(*write);
    const bool conflict = write->conflict.has_value();
    if (conflict && !write->parts.empty()) {
      Dissolve(write, again);
    } else {
      known_.push_back(write);
    }
    if (conflict) failed.push_back(known_.back());
  }
  queue_.insert(queue_.begin(), again.begin(), again.end());
  HideFailed(failed);
}

// Of several that were made into one, one has a conflict, and the others do not know yet.
void Writer::Dissolve(const PendingPtr& write, std::vector<PendingPtr>& again) {
  Unwatch(*write);
  Blamed blamed = BlamePart(*write);
  known_.push_back(std::move(blamed.write));
  std::ranges::move(blamed.others, std::back_inserter(again));
}

void Writer::Report(bool ok) {
  if (!began_) return;
  const auto began = *std::exchange(began_, std::nullopt);
  if (!options_.on_commit) return;
  CommitReport report{.ok = ok, .wrote = Clock::now() - began, .waiting = queue_.size()};
  for (const PendingPtr& write : PartsOf(in_air_)) {
    ++report.transactions;
    for (const Operation& operation : write->transaction.operations) {
      report.changes += operation.kind == Kind::kCheck ? 0 : 1;
    }
  }
  options_.on_commit(report);
}

void Writer::OnFailure(const Status& status) {
  const Failure failure = FailureOf(status);
  const std::string text(base::Message(status));
  if (failure != Failure::kUnknown) Report(/*ok=*/false);
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
      if (const std::size_t parts = PartsOf(in_air_).size(); parts > 1) {
        // Which of them it is shows when each is sent alone.
        singly_ = parts;
        return Again({}, {});
      }
      return Refuse(failure == Failure::kNoSpace
                        ? base::MakeStatus(StatusCode::kResourceExhausted,
                                           "the database of etcd is full: " + text)
                        : base::InvalidArgument("etcd refuses the request: " + text));
    case Failure::kLease:
      leases_.Forget();
      return Again(Members::kPause, NotWritten(text));
    case Failure::kDenied:
    case Failure::kToken:
    case Failure::kCompacted:
    case Failure::kFuture:
      return Refuse(NotWritten(text));
    case Failure::kCorrupt:
      return broken_callback_(base::Unavailable("etcd says that its data are damaged: " + text));
    case Failure::kUnknown:
      return BeginFence(status);
  }
}

// It has not happened and will not: it goes to the front of the queue.
void Writer::Again(std::chrono::nanoseconds pause, const Status& why) {
  const auto now = Clock::now();
  const std::vector<PendingPtr> group = TakeFromAir();
  for (auto write = group.rbegin(); write != group.rend(); ++write) {
    if (!why.ok() && now >= (*write)->end) continue;
    queue_.push_front(*write);
  }
  if (!why.ok()) {
    std::vector<PendingPtr> over;
    std::ranges::copy_if(group, std::back_inserter(over),
                         [now](const PendingPtr& write) { return now >= write->end; });
    Tell(over, why);
  }
  if (pause.count() == 0) return Pump();
  paused_ = true;
  loop_.After(pause, [this] {
    paused_ = false;
    Pump();
  });
}

void Writer::Refuse(const Status& status) {
  Tell(TakeFromAir(), status);
  Pump();
}

// One by one, as they were handed over.
std::vector<PendingPtr> Writer::TakeFromAir() {
  for (const PendingPtr& write : in_air_) Unwatch(*write);
  return PartsOf(std::exchange(in_air_, {}));
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
  Tell(over, NotWritten("etcd does not answer"));
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
  Tell(all, NotWritten(base::Message(why)));
  all.assign(known_.begin(), known_.end());
  std::ranges::move(in_air_, std::back_inserter(all));
  all = PartsOf(all);
  known_.clear();
  in_air_.clear();
  writing_.clear();
  Tell(all, base::Unavailable(base::Message(why)));
  if (started_) std::exchange(started_, nullptr)(why);
  if (closed_) std::exchange(closed_, nullptr)();
}

}  // namespace dray::store::internal
