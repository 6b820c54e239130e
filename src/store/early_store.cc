// SPDX-License-Identifier: Apache-2.0
#include "store/early_store.h"

#include <utility>

namespace dray::store {
namespace {

class EarlyStore final : public Store {
 public:
  explicit EarlyStore(Store& store) : store_(store) {}

  void Commit(Transaction transaction, CommitFn done) override {
    EarlyWrites* early = store_.early();
    if (early == nullptr) return store_.Commit(std::move(transaction), std::move(done));
    done(early->Submit(std::move(transaction)));
  }
  EarlyWrites* early() const override { return store_.early(); }
  void Current(ReadyFn ready) override { store_.Current(std::move(ready)); }
  void WaitFor(Revision at, ReadyFn ready) override { store_.WaitFor(at, std::move(ready)); }
  EntryPtr Find(std::string_view key) const override { return FindEarly(store_, key); }
  EntryPtr FindPending(std::string_view key) const override { return store_.FindPending(key); }
  StatusOr<RangeResult> Range(std::string_view prefix, const RangeOptions& options) const override {
    return store_.Range(prefix, options);
  }
  using Store::WatchFrom;
  StatusOr<std::unique_ptr<Watch>> WatchFrom(std::string_view prefix, Revision from,
                                             std::function<void()> wake,
                                             std::string_view topic) override {
    return store_.WatchFrom(prefix, from, std::move(wake), topic);
  }
  void SetTopics(std::string prefix, TopicFn topic_of) override {
    store_.SetTopics(std::move(prefix), std::move(topic_of));
  }
  void Attach(const Entry& version, std::shared_ptr<const void> attachment) override {
    store_.Attach(version, std::move(attachment));
  }
  Revision revision() const override { return store_.revision(); }
  Revision oldest_revision() const override { return store_.oldest_revision(); }
  Status Health() const override { return store_.Health(); }
  Status Reachable() const override { return store_.Reachable(); }

 private:
  Store& store_;
};

}  // namespace

std::unique_ptr<Store> MakeEarlyStore(Store& store) { return std::make_unique<EarlyStore>(store); }

}  // namespace dray::store
