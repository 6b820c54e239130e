// SPDX-License-Identifier: Apache-2.0
//
// Members: which member of the cluster is asked, with which token, and whether it may be believed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rpc/etcd_client.h"
#include "store/etcd/answers.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/event_loop.h"

namespace dray::store::internal {

inline const rpc::EtcdHeader* HeaderOf(const rpc::EtcdHeader& header) { return &header; }
template <class Answer>
const rpc::EtcdHeader* HeaderOf(const Answer& answer) {
  if constexpr (requires { answer.header; }) {
    return &answer.header;
  } else {
    return nullptr;
  }
}

// Lives on the loop's thread: everything is called there, and calls back there.
class Members {
 public:
  using Clock = EventLoop::Clock;
  template <class Answer>
  using CallFn = std::function<void(rpc::EtcdMember&, rpc::Done<Answer>)>;

  // `broken` is told what no later answer can mend.
  Members(EventLoop& loop, const EtcdOptions& options, std::function<void(Status)> broken);

  // The oldest etcd that is taken, and the oldest that is not warned of.
  static Status CheckVersion(std::string_view version, bool any_version);
  static bool Outdated(std::string_view version);

  // Asks every member who it is. One must answer; all who do belong to one cluster, whose versions
  // are taken; learners are left out. Then `done`.
  void Meet(rpc::DoneStatus done);
  // What to grant to whom, when etcd refuses: etcd does not say it.
  Status Refused(const Status& status) const;
  // Whether progress may be believed (docs/spec/etcd.md chapter 3).
  bool tells_progress() const { return tells_progress_; }

  // One call to one member, which is another one the next time if this one was no good. A token that
  // is too old is renewed, and the call made again: etcd has refused it.
  template <class Answer>
  void Once(CallFn<Answer> call, rpc::Done<Answer> done) {
    Once<Answer>(std::move(call), std::move(done), /*again=*/!user_.empty());
  }

  // What changes nothing, again and again until it is answered, by any member, or the time is over.
  template <class Answer>
  void Until(Clock::time_point end, CallFn<Answer> call, rpc::Done<Answer> done) {
    Once<Answer>(call, [this, end, call, done = std::move(done)](StatusOr<Answer> answer) {
      if (answer.ok() || !Repeatable(answer.status()) || Clock::now() + kPause >= end || closed_) {
        return done(std::move(answer));
      }
      loop_.After(kPause, [this, end, call, done] { Until<Answer>(end, call, done); });
    });
  }

  // A watch, by a member that is not the one of the watch before if that was blamed.
  std::unique_ptr<rpc::EtcdWatch> Watch(const rpc::EtcdWatchRequest& request,
                                        rpc::EtcdWatchFn tell);
  void BlameWatch() { watch_at_ = (watch_at_ + 1) % members_.size(); }
  // Calls it when there is a token to open a watch with, or none can be had.
  void WithToken(std::function<void()> then);
  // The next call gets a new token first.
  void ForgetToken();

  // All calls end.
  void Close();
  bool closed() const { return closed_; }

  // Of a header: another cluster is another database.
  bool Believe(const rpc::EtcdHeader& header);

  static constexpr std::chrono::nanoseconds kPause = std::chrono::milliseconds(50);
  static constexpr std::chrono::nanoseconds kPatience =
      std::chrono::seconds(3);  // for small things

 private:
  struct Member {
    std::string name;
    std::unique_ptr<rpc::EtcdMember> client;
    bool met = false;      // is of this cluster, and of a version that is taken
    bool learner = false;  // serves nothing that is needed here
  };

  static bool Repeatable(const Status& status) {
    switch (FailureOf(status)) {
      case Failure::kNotSent:
      case Failure::kOtherMember:
      case Failure::kTooMany:
      case Failure::kUnknown:
        return true;
      default:
        return false;
    }
  }
  // The other members are asked next; this one is at fault.
  void Blame(std::size_t index, const Status& status);
  // Then `next` is called, with what is wrong with the member if something is.
  void Prepare(std::size_t index, std::function<void(Status)> next);
  void MeetOne(std::size_t index, rpc::DoneStatus done);
  void MeetByReading(std::size_t index, rpc::DoneStatus done);
  Status Judge(Member& member, const rpc::EtcdStatus& status);
  Status JudgeCluster(const Member& member, std::uint64_t cluster);
  void Authenticate(std::size_t index, rpc::DoneStatus done);

  template <class Answer>
  void Once(CallFn<Answer> call, rpc::Done<Answer> done, bool again) {
    if (closed_) return done(base::MakeStatus(StatusCode::kCancelled, "the store is closed"));
    const std::size_t index = at_;
    Prepare(
        index, [this, index, call = std::move(call), done = std::move(done), again](Status status) {
          if (status.ok() && closed_) status = base::MakeStatus(StatusCode::kCancelled, "closed");
          if (!status.ok()) {
            Blame(index, status);
            return done(std::move(status));
          }
          auto answered = [this, index, call, done, again](StatusOr<Answer> answer) {
            if (answer.ok()) {
              if (const auto* header = HeaderOf(*answer); header != nullptr && !Believe(*header)) {
                return done(base::Unavailable("the answer came from another cluster of etcd"));
              }
              return done(std::move(answer));
            }
            if (FailureOf(answer.status()) == Failure::kToken && again && !closed_) {
              ForgetToken();
              return Once<Answer>(call, done, /*again=*/false);
            }
            Blame(index, answer.status());
            done(std::move(answer));
          };
          call(*members_[index].client, [this, answered](StatusOr<Answer> answer) {
            auto shared = std::make_shared<StatusOr<Answer>>(std::move(answer));
            loop_.Post([answered, shared] { answered(std::move(*shared)); });
          });
        });
  }

  EventLoop& loop_;
  const std::string root_;  // what all keys begin with
  const std::string user_;
  const std::string password_;
  const bool any_version_;
  const std::function<void(const std::string&)> warn_;
  const std::function<void(Status)> broken_;
  std::vector<Member> members_;
  std::size_t at_ = 0;
  std::size_t watch_at_ = 0;
  std::uint64_t cluster_ = 0;  // 0: not known yet
  bool tells_progress_ = true;
  bool has_token_ = false;
  std::vector<rpc::DoneStatus> wanting_token_;
  bool closed_ = false;
};

}  // namespace dray::store::internal
