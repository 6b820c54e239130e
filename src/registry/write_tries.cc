// SPDX-License-Identifier: Apache-2.0
//
// Registry::Write: how a write is tried until it is stored or refused. What an attempt is, registry.cc
// and its neighbours say.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "registry/internal/attempt.h"
#include "registry/internal/write_lines.h"
#include "registry/registry.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

// Of the first in line: others that stand in no line may still come in between, each of them once.
constexpr int kMaxTries = 100;
// Where others write to the store, creations that build on each other lose together when somebody comes
// in between, and go together again: a line would make one of many. Who has lost so often stands in line.
constexpr int kTriesTogether = 3;

}  // namespace

// A write that is tried until it is done or refused; owns itself while the store has it. Whatever
// follows from what the store reports is done where `post` says: the store's thread only writes.
class Registry::Write : public std::enable_shared_from_this<Write> {
 public:
  Write(const Registry& registry, std::function<StatusOr<Attempt>()> attempt, bool dry_run,
        Done done)
      : registry_(registry),
        attempt_(std::move(attempt)),
        dry_run_(dry_run),
        done_(std::move(done)) {}

  // `key`: what it changes, if that is there already. Who changes the same takes turns from the
  // beginning: trying beside each other is work that only one of them does not do in vain.
  void Start(std::string key) {
    if (key.empty() || dry_run_) return Try();
    line_ = std::move(key);
    if (registry_.lines_->Join(line_, [self = shared_from_this()] { self->Try(); })) Try();
  }

 private:
  void Try() {
    auto attempt = attempt_();
    const bool decided = !attempt.ok() || attempt->transaction.operations.empty();
    // What is written is compared; a refusal, and that there is nothing to write, are not: where
    // others write to the store, they may follow from what is not so any more.
    if ((decided || dry_run_) && !current_ && registry_.OthersWrite()) return LookAgain();
    if (!attempt.ok()) return Finish(attempt.status());
    if (attempt->transaction.operations.empty()) return Finish(std::move(attempt->result));
    if (dry_run_) return Rehearse(*std::move(attempt));
    if (const std::string* key = KeyWithLine(attempt->transaction)) return Join(*key);
    const std::optional<std::size_t> index = attempt->index;
    std::shared_ptr<api::Object> result;
    if (!index) result = std::make_shared<api::Object>(std::move(attempt->result));
    store::Transaction sealed = std::move(*attempt).Seal();
    Status storable = Attempt::CheckStorable(sealed, registry_.objects_.store());
    if (!storable.ok()) return Finish(std::move(storable));
    registry_.objects_.store().Commit(std::move(sealed), [self = shared_from_this(), index, result](
                                                             StatusOr<store::Outcome> outcome) {
      self->registry_.Post([self, index, result, outcome = std::move(outcome)] {
        self->Committed(outcome, index, result.get());
      });
    });
  }

  // Once more, with what is stored at this moment.
  void LookAgain() {
    current_ = true;
    registry_.objects_.store().Current([self = shared_from_this()](const Status& shown) {
      self->registry_.Post([self, shown] {
        if (!shown.ok()) return self->Finish(rest::WriteNotDone(base::Message(shown)));
        self->Try();
      });
    });
  }

  // Nothing is stored, and what could not be stored is refused all the same.
  void Rehearse(Attempt attempt) {
    api::Object result = attempt.result;
    const Status storable =
        Attempt::CheckStorable(std::move(attempt).Seal(), registry_.objects_.store());
    if (!storable.ok()) return Finish(storable);
    Finish(std::move(result));
  }

  // What the write may lose a race for, and others stand in line for already.
  const std::string* KeyWithLine(const store::Transaction& transaction) const {
    if (!line_.empty() || registry_.OthersWrite()) return nullptr;
    for (const store::Operation& operation : transaction.operations) {
      if (operation.expected && registry_.lines_->Busy(operation.key)) return &operation.key;
    }
    return nullptr;
  }

  void Join(const std::string& key) {
    line_ = key;
    if (registry_.lines_->Join(key, [self = shared_from_this()] { self->Try(); })) TryAgain();
  }

  void TryAgain() {
    registry_.Post([self = shared_from_this()] { self->Try(); });
  }

  void Committed(const StatusOr<store::Outcome>& outcome, std::optional<std::size_t> index,
                 const api::Object* result) {
    if (!outcome.ok()) return Finish(WhyNot(outcome.status()));
    current_ = false;
    if (!outcome->conflict) {
      return Finish(index ? Objects::ObjectOf(*outcome->entries[*index]) : *result);
    }
    // The next try sees what is there now: a key that is taken, a revision that has moved.
    if (line_.empty()) {
      if (registry_.OthersWrite() && ++tries_ <= kTriesTogether) return TryAgain();
      return Join(outcome->conflict->key);
    }
    if (++tries_ >= kMaxTries) {
      return Finish(rest::TooManyRequests("too many writers at once, try again", 1));
    }
    TryAgain();
  }

  static Status WhyNot(const Status& status) {
    if (status.code() == StatusCode::kAborted) return rest::WriteNotDone(base::Message(status));
    if (status.code() == StatusCode::kUnavailable) return rest::WriteUnknown(base::Message(status));
    return status;
  }

  void Finish(StatusOr<api::Object> result) {
    if (!line_.empty()) {
      if (auto next = registry_.lines_->Leave(line_)) registry_.Post(std::move(next));
    }
    done_(std::move(result));
  }

  const Registry& registry_;
  const std::function<StatusOr<Attempt>()> attempt_;
  const bool dry_run_;
  const Done done_;
  std::string line_;      // the key whose line it stands in; empty: in none
  bool current_ = false;  // the attempt was made of what was stored once the write had begun
  int tries_ = 0;
};

void Registry::Run(std::string key, std::function<StatusOr<Attempt>()> attempt, bool dry_run,
                   Done done) const {
  std::make_shared<Write>(*this, std::move(attempt), dry_run, std::move(done))
      ->Start(std::move(key));
}

bool Registry::OthersWrite() const { return objects_.store().early() == nullptr; }

void Registry::Post(std::function<void()> task) const {
  if (options_.post) return options_.post(std::move(task));
  task();
}

}  // namespace dray::registry
