// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/keeper.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/uuid.h"
#include "fmt/format.h"

namespace dray::store::internal {
namespace {

constexpr std::chrono::nanoseconds kBetweenLooks = std::chrono::seconds(5);
constexpr std::chrono::nanoseconds kReadPatience = std::chrono::seconds(1);

std::string HostName() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  name.resize(name.find('\0'));
  return name;
}

// Where a process number says who it is: containers may share the name of their host, or have the same one.
// Empty: it cannot be told.
std::string Processes() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  return boot.empty() || error ? "" : boot + " " + space.string();
}

std::string Instance() {
  base::SystemRandomSource random;
  return base::NewUuid(random);
}

// A key of a server: lines of `name value`, which a person can read, too.
std::string Field(std::string_view value, std::string_view name) {
  std::size_t at = 0;
  while (at < value.size()) {
    const std::size_t end = std::min(value.find('\n', at), value.size());
    const std::string_view line = value.substr(at, end - at);
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      return std::string(line.substr(name.size() + 1));
    }
    at = end + 1;
  }
  return {};
}

const rpc::EtcdKeyValue* FindKey(const std::vector<rpc::EtcdKeyValue>& kvs,
                                 const std::string& key) {
  const auto it = std::ranges::find(kvs, key, &rpc::EtcdKeyValue::key);
  return it == kvs.end() ? nullptr : &*it;
}

// When it was written last; 0: it is not there.
std::int64_t RevisionOf(const std::vector<rpc::EtcdKeyValue>& kvs, const std::string& key) {
  const rpc::EtcdKeyValue* found = FindKey(kvs, key);
  return found == nullptr ? 0 : found->modified;
}

bool IsGone(const std::string& pid) {
  int number = 0;
  const auto [rest, error] = std::from_chars(pid.data(), pid.data() + pid.size(), number);
  if (error != std::errc() || number <= 0) return false;
  return ::kill(number, 0) != 0 && errno == ESRCH;
}

}  // namespace

Keeper::Keeper(EventLoop& loop, Members& members, const Layout& layout, const EtcdOptions& options,
               EtcdCounts& counts, Feeder& feeder, Writer& writer, std::string server,
               std::function<void(Status)> broken)
    : loop_(loop),
      members_(members),
      layout_(layout),
      options_(options),
      counts_(counts),
      feeder_(feeder),
      writer_(writer),
      server_(std::move(server)),
      instance_(Instance()),
      broken_(std::move(broken)) {}

// ---- who is there

std::string Keeper::AliveValue() const {
  return fmt::format("instance {}\nhost {}\nprocesses {}\npid {}\nmode {}\n", instance_, HostName(),
                     Processes(), ::getpid(), options_.alone ? "alone" : "shared");
}

void Keeper::Join(rpc::DoneStatus done) {
  TryJoin(Clock::now() + options_.alive + Members::kPatience, std::move(done));
}

Status Keeper::CheckOthers(const std::vector<rpc::EtcdKeyValue>& servers, bool& dead_here) {
  for (const rpc::EtcdKeyValue& kv : servers) {
    const std::string instance = Field(kv.value, "instance");
    if (instance == instance_) continue;
    const std::string name = kv.key.substr(layout_.Servers().size());
    const bool alone = Field(kv.value, "mode") == "alone";
    if (!alone && !options_.alone && name != server_) continue;
    // Of two that come at the same time the first stays.
    if (joined_at_ != 0 && kv.created > joined_at_) continue;
    const std::string host = Field(kv.value, "host");
    const std::string pid = Field(kv.value, "pid");
    blocker_ = kv.modified;
    const std::string processes = Field(kv.value, "processes");
    if (!processes.empty() && processes == Processes() && IsGone(pid)) {
      dead_here = true;
      continue;
    }
    if (name == server_ && !alone && !options_.alone) {
      return base::FailedPrecondition(fmt::format(
          "a server called \"{}\" is using {} already (host {}, process {}): each needs a name of "
          "its own",
          server_, layout_.root(), host, pid));
    }
    return base::FailedPrecondition(fmt::format(
        "{} in etcd is used by {} \"{}\" (host {}, process {}){}: end that one first, or use "
        "another "
        "prefix. One that died is forgotten after {} s",
        layout_.root(), alone ? "a process that must be alone," : "the server", name, host, pid,
        alone ? "" : ", and this one must be alone", options_.alive.count()));
  }
  return {};
}

void Keeper::TryJoin(Clock::time_point end, rpc::DoneStatus done) {
  members_.Until<rpc::EtcdRangeAnswer>(
      end,
      [range =
           rpc::EtcdRange{.key = layout_.Servers(), .end = rpc::EtcdPrefixEnd(layout_.Servers())}](
          rpc::EtcdMember& member, rpc::Done<rpc::EtcdRangeAnswer> answered) {
        member.Range(range, Members::kPatience, std::move(answered));
      },
      [this, end, done = std::move(done)](StatusOr<rpc::EtcdRangeAnswer> answer) {
        if (!answer.ok()) return done(answer.status());
        bool dead_here = false;
        alive_at_ = RevisionOf(answer->kvs, layout_.Server(server_));
        const Status others = CheckOthers(answer->kvs, dead_here);
        if (!others.ok()) {
          // It may have died, which its lease tells soon; one that lives writes its key again.
          if (first_blocker_ == 0) first_blocker_ = blocker_;
          if (Clock::now() >= end || blocker_ != first_blocker_) return done(others);
          return loop_.After(std::chrono::milliseconds(250),
                             [this, end, done] { TryJoin(end, done); });
        }
        // Says whether somebody was faster, too.
        WriteAlive([this, done](Status status) {
          if (status.ok()) return EndWhoWasAlone(done);
          if (lease_ == 0) return done(std::move(status));
          const auto leave = [lease = lease_](rpc::EtcdMember& member, rpc::Done<int> answered) {
            member.RevokeLease(lease, Members::kPatience,
                               [answered](const Status&) { answered(0); });
          };
          members_.Once<int>(leave, [done, status](const StatusOr<int>&) { done(status); });
        });
      });
}

// Whoever was alone here, and is cut off from etcd, does not know yet that it is not any more. With its
// fence moved nothing arrives that it still sends, and it ends.
void Keeper::EndWhoWasAlone(rpc::DoneStatus done) {
  if (options_.alone) return done({});  // of the same name: moves it itself
  const auto request = std::make_shared<rpc::EtcdTransaction>();
  request->success.push_back(
      {rpc::EtcdPut{.key = layout_.Fence(kAlone),
                    .value = std::make_shared<const std::string>("server " + server_)}});
  members_.Once<rpc::EtcdTransactionAnswer>(
      [request](rpc::EtcdMember& member, rpc::Done<rpc::EtcdTransactionAnswer> answered) {
        member.Transact(*request, Members::kPatience, std::move(answered));
      },
      [done = std::move(done)](const StatusOr<rpc::EtcdTransactionAnswer>& answer) {
        done(answer.status());
      });
}

// A new lease each time: one call less to get wrong than keeping one alive, and a key's creation
// stays what it was.
void Keeper::WriteAlive(rpc::DoneStatus done) {
  const auto grant = [ttl = options_.alive](rpc::EtcdMember& member,
                                            rpc::Done<std::int64_t> answered) {
    member.GrantLease(ttl, Members::kPatience, std::move(answered));
  };
  members_.Once<std::int64_t>(grant, [this, done = std::move(done)](StatusOr<std::int64_t> lease) {
    if (!lease.ok()) return done(lease.status());
    PutAlive(*lease, done);
  });
}

// Over its own key alone: a process that slept for longer than its lease may not write over that of who
// has taken its place.
void Keeper::PutAlive(std::int64_t lease, rpc::DoneStatus done) {
  const auto request = std::make_shared<rpc::EtcdTransaction>();
  request->compares.push_back({.key = layout_.Server(server_), .number = alive_at_});
  request->success.push_back(
      {rpc::EtcdPut{.key = layout_.Server(server_),
                    .value = std::make_shared<const std::string>(AliveValue()),
                    .lease = lease}});
  const rpc::EtcdOperation servers{
      rpc::EtcdRange{.key = layout_.Servers(), .end = rpc::EtcdPrefixEnd(layout_.Servers())}};
  request->success.push_back(servers);
  request->failure.push_back(servers);
  members_.Once<rpc::EtcdTransactionAnswer>(
      [request](rpc::EtcdMember& member, rpc::Done<rpc::EtcdTransactionAnswer> answered) {
        member.Transact(*request, Members::kPatience, std::move(answered));
      },
      [this, done = std::move(done), lease](StatusOr<rpc::EtcdTransactionAnswer> answer) {
        if (!answer.ok()) return done(answer.status());
        if (!answer->succeeded) return AliveIsNot(answer->answers[0].kvs, lease, done);
        lease_ = lease;
        const auto& servers = answer->answers[1].kvs;
        if (const auto* own = FindKey(servers, layout_.Server(server_)); own != nullptr) {
          joined_at_ = own->created;
          alive_at_ = own->modified;
        }
        bool ignored = false;
        done(CheckOthers(servers, ignored));
      });
}

// The key is not as it was written last: an answer was lost and it was written all the same, it has
// expired, or somebody else has come meanwhile.
void Keeper::AliveIsNot(const std::vector<rpc::EtcdKeyValue>& servers, std::int64_t lease,
                        const rpc::DoneStatus& done) {
  const rpc::EtcdKeyValue* own = FindKey(servers, layout_.Server(server_));
  const bool is_own = own != nullptr && Field(own->value, "instance") == instance_;
  // Whoever has come since was first.
  if (!is_own) joined_at_ = 0;
  bool ignored = false;
  if (Status others = CheckOthers(servers, ignored); !others.ok()) return done(std::move(others));
  alive_at_ = own == nullptr ? 0 : own->modified;
  if (!closed_) PutAlive(lease, done);
}

void Keeper::Note(const Status& status) {
  const base::MutexLock lock(mutex_);
  if (status.ok()) heard_ = Clock::now();
  last_ = base::MakeStatus(status.code(), base::Message(status));
}

Status Keeper::Reachable() const {
  const base::MutexLock lock(mutex_);
  if (last_.ok() && Clock::now() - heard_ < 2 * kBetweenLooks + kReadPatience) return {};
  if (!last_.ok() && Clock::now() - heard_ < options_.barrier_patience) return {};
  return base::Unavailable(fmt::format(
      "etcd does not answer: {}", last_.ok() ? "nothing was heard of late" : base::Message(last_)));
}

void Keeper::Start() {
  // Join has just written the key.
  loop_.After(std::chrono::nanoseconds(options_.alive) / 3, [this] { Beat(); });
  LookAtMembers();
  if (options_.compaction_interval.count() > 0) {
    loop_.After(options_.compaction_interval, [this] { Compact(); });
  }
}

void Keeper::Beat() {
  if (closed_) return;
  const auto next = [this] {
    loop_.After(std::chrono::nanoseconds(options_.alive) / 3, [this] { Beat(); });
  };
  WriteAlive([this, next](const Status& status) {
    // Another one has come while nothing was heard of this one, and decides now.
    if (status.code() == StatusCode::kFailedPrecondition &&
        !base::Message(status).starts_with("etcdserver: ")) {
      return broken_(status);
    }
    // Plain puts are refused when the database is full, and so say it.
    if (FailureOf(status) == Failure::kNoSpace) {
      writer_.SetFull(true);
      if (options_.warn && !std::exchange(warned_full_, true)) {
        options_.warn(
            "the database of etcd is full: writes are refused until somebody compacts, "
            "defragments and disarms the alarm");
      }
    } else if (status.ok()) {
      writer_.SetFull(false);
      warned_full_ = false;
    }
    next();
  });
}

void Keeper::LookAtMembers() {
  if (closed_) return;
  const auto ask = [](rpc::EtcdMember& member, rpc::Done<rpc::EtcdStatus> answered) {
    member.Status(Members::kPatience, std::move(answered));
  };
  members_.Once<rpc::EtcdStatus>(ask, [this](const StatusOr<rpc::EtcdStatus>& status) {
    if (status.ok()) {
      for (const std::string& error : status->errors) {
        if (error.find("CORRUPT") != std::string::npos) {
          return broken_(base::Unavailable("etcd says that its data are damaged (alarm CORRUPT)"));
        }
        if (error.find("NOSPACE") != std::string::npos) writer_.SetFull(true);
      }
    }
    // And one that needs a majority.
    Latest([this](const StatusOr<Revision>& latest) { Note(latest.status()); });
    loop_.After(kBetweenLooks, [this] { LookAtMembers(); });
  });
}

// ---- what is current

void Keeper::Latest(std::function<void(StatusOr<Revision>)> done) {
  readers_.push_back({.number = ++readers_so_far_,
                      .done = std::move(done),
                      .end = Clock::now() + options_.barrier_patience});
  AskCurrent();
  ExpireReaders();
}

// One question for all who came before it was sent; who comes later may have been told of more.
void Keeper::AskCurrent() {
  if (asking_ || closed_) return;
  std::size_t waiting = 0;
  Clock::time_point end = Clock::now();
  for (const Reader& reader : readers_) {
    if (reader.revision != 0) continue;
    ++waiting;
    end = std::max(end, reader.end);
  }
  if (waiting == 0) return;
  asking_ = true;
  ++counts_.barriers;
  const std::uint64_t last = readers_so_far_;
  const auto ask = [key = writer_.fence()](rpc::EtcdMember& member,
                                           rpc::Done<rpc::EtcdRangeAnswer> answered) {
    member.Range({.key = key, .count_only = true}, kReadPatience, std::move(answered));
  };
  members_.Until<rpc::EtcdRangeAnswer>(
      end, ask,
      [this, last, seen_before = feeder_.revision().value](StatusOr<rpc::EtcdRangeAnswer> answer) {
        asking_ = false;
        if (closed_) return;
        Note(answer.status());
        if (!answer.ok()) return AskCurrent();
        const std::int64_t revision = answer->header.revision;
        if (!feeder_.Plausible(revision, seen_before)) return;
        for (Reader& reader : readers_) {
          if (reader.number <= last && reader.revision == 0) reader.revision = revision;
        }
        feeder_.Expect(revision, /*ask=*/true);
        OnRevision();
        AskCurrent();
      });
}

void Keeper::OnRevision() {
  const std::int64_t now = feeder_.revision().value;
  std::vector<Reader> ready;
  std::erase_if(readers_, [&](Reader& reader) {
    if (reader.revision == 0 || reader.revision > now) return false;
    ready.push_back(std::move(reader));
    return true;
  });
  for (const Reader& reader : ready) reader.done(Revision{reader.revision});
}

void Keeper::ExpireReaders() {
  if (expiring_ || readers_.empty()) return;
  expiring_ = true;
  loop_.After(Members::kPause, [this] {
    expiring_ = false;
    const auto now = Clock::now();
    std::vector<Reader> over;
    std::erase_if(readers_, [&](Reader& reader) {
      if (now < reader.end && !closed_) return false;
      over.push_back(std::move(reader));
      return true;
    });
    // Whoever was told this is right to find that the store is away when it asks.
    if (!closed_ && std::ranges::any_of(over, [](const Reader& r) { return r.revision == 0; })) {
      Note(base::MakeStatus(StatusCode::kDeadlineExceeded, "it does not say what is current"));
    }
    for (const Reader& reader : over) {
      reader.done(base::MakeStatus(
          StatusCode::kDeadlineExceeded,
          reader.revision == 0
              ? "etcd does not say what is current"
              : fmt::format("revision {} of etcd has not come to this server", reader.revision)));
    }
    ExpireReaders();
  });
}

// ---- history

// Whoever finds the key as it was an interval ago writes it and compacts to what was current then;
// the others see that it has changed. So one does, and if it dies another one within two intervals.
void Keeper::Compact() {
  if (closed_) return;
  loop_.After(options_.compaction_interval, [this] { Compact(); });
  const std::string key = layout_.Compaction();
  const std::int64_t to = compact_to_;
  const auto request = std::make_shared<rpc::EtcdTransaction>();
  request->compares.push_back({.key = key, .number = compaction_key_});
  request->success.push_back(
      {rpc::EtcdPut{.key = key, .value = std::make_shared<const std::string>(std::to_string(to))}});
  request->failure.push_back({rpc::EtcdRange{.key = key}});
  members_.Once<rpc::EtcdTransactionAnswer>(
      [request](rpc::EtcdMember& member, rpc::Done<rpc::EtcdTransactionAnswer> answered) {
        member.Transact(*request, Members::kPatience, std::move(answered));
      },
      [this, to](StatusOr<rpc::EtcdTransactionAnswer> answer) {
        // The next time then; whether it was written shows in the key.
        if (closed_ || !answer.ok()) return;
        compact_to_ = answer->header.revision;
        if (!answer->succeeded) {
          const auto& kvs = answer->answers[0].kvs;
          compaction_key_ = kvs.empty() ? 0 : kvs[0].modified;
          return;
        }
        compaction_key_ = answer->header.revision;
        ForgetDead();
        if (to == 0) return;
        members_.Once<rpc::EtcdHeader>(
            [to](rpc::EtcdMember& member, rpc::Done<rpc::EtcdHeader> answered) {
              member.Compact(to, Members::kPatience, std::move(answered));
            },
            [this](const StatusOr<rpc::EtcdHeader>& done) {
              if (done.ok()) ++counts_.compactions;
              if (done.ok() || FailureOf(done.status()) != Failure::kDenied) return;
              if (!options_.warn || std::exchange(warned_compaction_, true)) return;
              options_.warn(
                  "etcd lets only users with the role root throw old history away: give dray's "
                  "user "
                  "that role, or start etcd with --auto-compaction-mode=periodic "
                  "--auto-compaction-retention=10m");
            });
      });
}

// Fences of servers that are not there any more. One that comes back finds its own gone, and knows by
// that that nothing is under way.
void Keeper::ForgetDead() {
  const auto list = [this](const std::string& prefix, rpc::Done<rpc::EtcdRangeAnswer> done) {
    members_.Once<rpc::EtcdRangeAnswer>(
        [prefix](rpc::EtcdMember& member, rpc::Done<rpc::EtcdRangeAnswer> answered) {
          member.Range({.key = prefix, .end = rpc::EtcdPrefixEnd(prefix), .keys_only = true},
                       Members::kPatience, std::move(answered));
        },
        std::move(done));
  };
  list(layout_.Fences(), [this, list](StatusOr<rpc::EtcdRangeAnswer> fences) {
    if (!fences.ok() || closed_) return;
    list(layout_.Servers(), [this, fences = *fences](StatusOr<rpc::EtcdRangeAnswer> servers) {
      if (!servers.ok() || closed_) return;
      const auto request = std::make_shared<rpc::EtcdTransaction>();
      for (const rpc::EtcdKeyValue& fence : fences.kvs) {
        const std::string name = fence.key.substr(layout_.Fences().size());
        const bool alive = std::ranges::any_of(servers->kvs, [&](const rpc::EtcdKeyValue& server) {
          return server.key == layout_.Server(name);
        });
        if (alive || name == server_ || request->success.size() >= 60) continue;
        request->compares.push_back({.key = fence.key, .number = fence.modified});
        request->success.push_back({rpc::EtcdDelete{.key = fence.key}});
      }
      if (request->success.empty()) return;
      members_.Once<rpc::EtcdTransactionAnswer>(
          [request](rpc::EtcdMember& member, rpc::Done<rpc::EtcdTransactionAnswer> answered) {
            member.Transact(*request, Members::kPatience, std::move(answered));
          },
          [](const StatusOr<rpc::EtcdTransactionAnswer>&) {});
    });
  });
}

// ---- the beginning and the end

void Keeper::FindLimits(std::function<void(StatusOr<std::size_t>)> done) {
  struct Trial {
    std::vector<std::size_t> sizes{kMaxOperations + 1, 513, 257};
    std::function<void(std::shared_ptr<Trial>)> next;
  };
  const auto trial = std::make_shared<Trial>();
  trial->next = [this, done = std::move(done)](const std::shared_ptr<Trial>& self) {
    if (self->sizes.empty()) {
      self->next = nullptr;
      return done(std::size_t{128});
    }
    const std::size_t size = self->sizes.front();
    const auto request = std::make_shared<rpc::EtcdTransaction>();
    request->compares.assign(size, {.key = layout_.root(), .number = 0});
    members_.Until<rpc::EtcdTransactionAnswer>(
        Clock::now() + options_.write_patience,
        [request](rpc::EtcdMember& member, rpc::Done<rpc::EtcdTransactionAnswer> answered) {
          member.Transact(*request, Members::kPatience, std::move(answered));
        },
        [self, size, done](const StatusOr<rpc::EtcdTransactionAnswer>& answer) {
          if (answer.ok() || FailureOf(answer.status()) != Failure::kTooLarge) {
            self->next = nullptr;
            if (answer.ok()) return done(size);
            return done(answer.status());
          }
          self->sizes.erase(self->sizes.begin());
          const auto next = self->next;
          next(self);
        });
  };
  const auto next = trial->next;
  next(trial);
}

void Keeper::Break(const Status& why) {
  for (Reader& reader : std::exchange(readers_, {})) {
    reader.done(base::MakeStatus(why.code(), base::Message(why)));
  }
}

void Keeper::Leave(std::function<void()> left) {
  closed_ = true;
  Break(base::Unavailable("the store is closed"));
  if (lease_ == 0) return left();
  members_.Once<int>(
      [lease = lease_](rpc::EtcdMember& member, rpc::Done<int> answered) {
        member.RevokeLease(lease, kReadPatience, [answered](const Status&) { answered(0); });
      },
      [left](const StatusOr<int>&) { left(); });
}

}  // namespace dray::store::internal
