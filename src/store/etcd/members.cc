// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/members.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/semver.h"
#include "fmt/format.h"
#include "store/etcd/layout.h"

namespace dray::store::internal {
namespace {

// Of 3.5: below the first, watches lose events and reads are stale (#17529, #15220); below the second,
// reads may be stale when a process is paused (#20418).
constexpr std::string_view kOldest = "3.5.13";
constexpr std::string_view kBetter = "3.5.28";

bool Below(std::string_view version, std::string_view other) {
  const auto a = base::SemVer::Parse(version);
  const auto b = base::SemVer::Parse(other);
  return !a.ok() || !b.ok() || *a < *b;
}

}  // namespace

Members::Members(EventLoop& loop, const EtcdOptions& options, std::function<void(Status)> broken)
    : loop_(loop),
      root_(Layout(options.address.prefix).root()),
      user_(options.user),
      password_(options.password),
      any_version_(options.any_version),
      warn_(options.warn ? options.warn : [](const std::string&) {}),
      broken_(std::move(broken)) {
  for (const rpc::EtcdEndpoint& endpoint : options.address.endpoints) {
    members_.push_back(
        {.name = endpoint.address, .client = rpc::ConnectEtcd(endpoint, options.tls)});
  }
}

Status Members::CheckVersion(std::string_view version, bool any_version) {
  if (any_version || !Below(version, kOldest)) return {};
  return base::FailedPrecondition(fmt::format(
      "etcd {} loses events of watches and answers with old data; {} or newer is needed", version,
      kOldest));
}

bool Members::Outdated(std::string_view version) { return Below(version, kBetter); }

bool Members::Believe(const rpc::EtcdHeader& header) {
  if (cluster_ == 0 || header.cluster == cluster_ || header.cluster == 0) return true;
  broken_(base::FailedPrecondition(
      fmt::format("etcd answers as cluster {:x}, but the data are of cluster {:x}: one of the "
                  "endpoints belongs to another database",
                  header.cluster, cluster_)));
  return false;
}

Status Members::JudgeCluster(const Member& member, std::uint64_t cluster) {
  if (cluster_ == 0 || cluster == cluster_) {
    cluster_ = cluster;
    return {};
  }
  return base::FailedPrecondition(
      fmt::format("{}: this endpoint belongs to another cluster of etcd ({:x}, the others to {:x})",
                  member.name, cluster, cluster_));
}

Status Members::Judge(Member& member, const rpc::EtcdStatus& status) {
  if (const Status version = CheckVersion(status.version, any_version_); !version.ok()) {
    return base::Annotate(version, member.name);
  }
  if (std::ranges::any_of(status.errors, [](const auto& text) {
        return text.find("CORRUPT") != std::string::npos;
      })) {
    return base::Annotate(base::Unavailable("etcd says that its data are damaged (alarm CORRUPT)"),
                          member.name);
  }
  DRAY_RETURN_IF_ERROR(JudgeCluster(member, status.header.cluster));
  const bool was_learner = std::exchange(member.learner, status.learner);
  member.met = true;
  if (Below(status.version, kOldest)) tells_progress_ = false;
  if (status.learner) {
    if (!was_learner) {
      warn_(fmt::format("{}: this member of etcd is a learner and is not asked", member.name));
    }
  } else if (Outdated(status.version)) {
    warn_(
        fmt::format("{}: etcd {} may answer with old data when a process is paused; {} or newer "
                    "does not",
                    member.name, status.version, kBetter));
  }
  return {};
}

Status Members::Refused(const Status& status) const {
  return base::FailedPrecondition(
      fmt::format("etcd refuses {} the keys that begin with \"{}\" ({}): grant the user read and "
                  "write of that prefix",
                  user_.empty() ? "this client" : fmt::format("user \"{}\"", user_), root_,
                  base::Message(status)));
}

void Members::MeetOne(std::size_t index, rpc::DoneStatus done) {
  members_[index].client->Status(kPatience, [this, index, done = std::move(done)](
                                                StatusOr<rpc::EtcdStatus> status) {
    loop_.Post([this, index, done, status = std::move(status)] {
      if (closed_) return;
      if (status.ok()) return done(Judge(members_[index], *status));
      const Failure failure = FailureOf(status.status());
      if (failure != Failure::kDenied && failure != Failure::kToken) {
        return done(base::Annotate(status.status(), members_[index].name));
      }
      if (user_.empty() || has_token_) return MeetByReading(index, done);
      Authenticate(index, [this, index, done](const Status& known) {
        if (known.ok()) return MeetOne(index, done);
        done(FailureOf(known) == Failure::kDenied ? Refused(known)
                                                  : base::Annotate(known, members_[index].name));
      });
    });
  });
}

// Its state is not for this user to see. Versions that keep it from users (3.5.30 is one) have all
// that is asked of them here: older ones tell it to anybody.
void Members::MeetByReading(std::size_t index, rpc::DoneStatus done) {
  const rpc::EtcdRange range{.key = root_, .serializable = true, .count_only = true};
  members_[index].client->Range(
      range, kPatience,
      [this, index, done = std::move(done)](StatusOr<rpc::EtcdRangeAnswer> answer) {
        loop_.Post([this, index, done, answer = std::move(answer)] {
          if (closed_) return;
          Member& member = members_[index];
          if (!answer.ok()) {
            return done(FailureOf(answer.status()) == Failure::kDenied
                            ? Refused(answer.status())
                            : base::Annotate(answer.status(), member.name));
          }
          Status judged = JudgeCluster(member, answer->header.cluster);
          member.met = judged.ok();
          done(std::move(judged));
        });
      });
}

void Members::Meet(rpc::DoneStatus done) {
  struct Meeting {
    std::size_t left;
    std::optional<Status> wrong;  // what cannot be lived with
    std::vector<std::string> away;
  };
  const auto meeting = std::make_shared<Meeting>(Meeting{.left = members_.size()});
  for (std::size_t i = 0; i < members_.size(); ++i) {
    MeetOne(i, [this, meeting, done](const Status& status) {
      if (status.code() == StatusCode::kFailedPrecondition && !meeting->wrong) {
        meeting->wrong = status;
      } else if (!status.ok()) {
        meeting->away.emplace_back(base::Message(status));
      }
      if (--meeting->left > 0) return;
      if (meeting->wrong) return done(*meeting->wrong);
      if (meeting->away.size() == members_.size()) {
        return done(base::Unavailable(
            fmt::format("no member of etcd answers: {}", fmt::join(meeting->away, "; "))));
      }
      for (const std::string& why : meeting->away) {
        warn_(fmt::format("a member of etcd does not answer: {}", why));
      }
      const auto first = std::ranges::find_if(
          members_, [](const Member& member) { return member.met && !member.learner; });
      if (first == members_.end()) {
        return done(base::Unavailable("only learners of the cluster of etcd answer"));
      }
      at_ = watch_at_ = static_cast<std::size_t>(first - members_.begin());
      done({});
    });
  }
}

void Members::Blame(std::size_t index, const Status& status) {
  switch (FailureOf(status)) {
    case Failure::kNotSent:
    case Failure::kOtherMember:
    case Failure::kUnknown:
      if (at_ == index) at_ = (at_ + 1) % members_.size();
      return;
    default:
      return;
  }
}

void Members::Prepare(std::size_t index, std::function<void(Status)> next) {
  const auto token = [this, index, next](const Status& status) {
    if (!status.ok() || user_.empty() || has_token_) return next(status);
    Authenticate(index, next);
  };
  const Member& member = members_[index];
  if (member.met && !member.learner) return token({});
  // A learner may have become a voter since.
  MeetOne(index, [this, index, token](Status status) {
    // Nobody has been asked for anything yet.
    if (status.ok() && members_[index].learner) {
      status = base::FailedPrecondition("etcdserver: not leader");
    } else if (status.code() == StatusCode::kFailedPrecondition) {
      warn_(std::string(base::Message(status)));
      status = base::FailedPrecondition("etcdserver: not leader");
    } else if (!status.ok()) {
      status = base::Unavailable("etcdserver: no leader");
    }
    token(status);
  });
}

void Members::Authenticate(std::size_t index, rpc::DoneStatus done) {
  wanting_token_.push_back(std::move(done));
  if (wanting_token_.size() > 1) return;
  members_[index].client->Authenticate(
      user_, password_, kPatience, [this](StatusOr<std::string> token) {
        loop_.Post([this, token = std::move(token)] {
          if (closed_) return;
          Status status = token.status();
          if (token.ok()) {
            has_token_ = true;
            for (const Member& member : members_) member.client->SetToken(*token);
          } else if (FailureOf(status) != Failure::kDenied) {
            // The call that needed it was not made.
            status =
                base::Unavailable(fmt::format("etcdserver: no leader ({})", base::Message(status)));
          } else {
            // Still one that etcd has said.
            status = base::MakeStatus(
                status.code(), fmt::format("{} (user \"{}\")", base::Message(status), user_));
          }
          std::vector<rpc::DoneStatus> wanting;
          wanting.swap(wanting_token_);
          for (const rpc::DoneStatus& one : wanting) one(status);
        });
      });
}

void Members::WithToken(std::function<void()> then) {
  if (user_.empty() || has_token_ || closed_) return then();
  Authenticate(watch_at_, [then = std::move(then)](const Status&) { then(); });
}

void Members::ForgetToken() {
  has_token_ = false;
  for (const Member& member : members_) member.client->SetToken("");
}

std::unique_ptr<rpc::EtcdWatch> Members::Watch(const rpc::EtcdWatchRequest& request,
                                               rpc::EtcdWatchFn tell) {
  // One that has been met; if none of the others was, the next one tells soon enough.
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[watch_at_].met && !members_[watch_at_].learner) break;
    BlameWatch();
  }
  return members_[watch_at_].client->Watch(request, std::move(tell));
}

void Members::Close() {
  closed_ = true;
  for (Member& member : members_) member.client = nullptr;
}

}  // namespace dray::store::internal
