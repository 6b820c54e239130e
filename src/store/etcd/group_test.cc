// SPDX-License-Identifier: Apache-2.0
//
// Grouping, held against what would have become of the same transactions one after the other.
#include "store/etcd/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <utility>
#include <variant>

#include "fmt/format.h"

namespace dray::store::internal {
namespace {

using Kind = Operation::Kind;
using Fate = PendingWrite::Fate;

// etcd, as far as requests of this room need it: all compares see what was there before the request.
class ModelEtcd {
 public:
  struct Version {
    std::string value;
    std::int64_t created = 0;
    std::int64_t modified = 0;
  };

  rpc::EtcdTransactionAnswer Do(const rpc::EtcdTransaction& request) {
    before_ = keys_;
    written_.clear();
    rpc::EtcdTransactionAnswer answer = Run(request);
    if (!written_.empty()) ++revision_;
    answer.header.revision = revision_;
    return answer;
  }
  void Put(const std::string& key, const std::string& value) {
    ++revision_;
    const auto there = keys_.find(key);
    keys_[key] = {value, there == keys_.end() ? revision_ : there->second.created, revision_};
  }
  const std::map<std::string, Version>& keys() const { return keys_; }
  std::int64_t RevisionOf(const std::string& key) const {
    const auto it = keys_.find(key);
    return it == keys_.end() ? 0 : it->second.modified;
  }

 private:
  bool Holds(const rpc::EtcdCompare& compare) const {
    const auto it = before_.find(compare.key);
    const bool created = compare.what == rpc::EtcdCompare::What::kCreated;
    const std::int64_t actual = it == before_.end() ? 0
                                : created           ? it->second.created
                                                    : it->second.modified;
    return compare.greater ? actual > compare.number : actual == compare.number;
  }
  rpc::EtcdTransactionAnswer Run(const rpc::EtcdTransaction& request) {
    rpc::EtcdTransactionAnswer answer{.succeeded = true};
    for (const auto& compare : request.compares) answer.succeeded &= Holds(compare);
    for (const auto& operation : answer.succeeded ? request.success : request.failure) {
      rpc::EtcdOperationAnswer& one = answer.answers.emplace_back();
      if (const auto* put = std::get_if<rpc::EtcdPut>(&operation.what)) {
        EXPECT_TRUE(written_.insert(put->key).second) << "etcd refuses duplicate keys";
        const auto there = keys_.find(put->key);
        keys_[put->key] = {*put->value,
                           there == keys_.end() ? revision_ + 1 : there->second.created,
                           revision_ + 1};
      } else if (const auto* gone = std::get_if<rpc::EtcdDelete>(&operation.what)) {
        EXPECT_TRUE(written_.insert(gone->key).second) << "etcd refuses duplicate keys";
        keys_.erase(gone->key);
      } else if (const auto* range = std::get_if<rpc::EtcdRange>(&operation.what)) {
        if (const auto it = keys_.find(range->key); it != keys_.end()) {
          one.kvs.push_back({.key = range->key,
                             .value = it->second.value,
                             .created = it->second.created,
                             .modified = it->second.modified});
        }
      } else {
        one.transaction = Run(std::get<rpc::EtcdTransaction>(operation.what));
      }
    }
    return answer;
  }

  std::map<std::string, Version> keys_;
  std::map<std::string, Version> before_;
  std::set<std::string> written_;
  std::int64_t revision_ = 1;
};

// As the writer hands them over, until all have their fate. Nothing else happens meanwhile.
struct Ran {
  std::size_t requests = 0;
  std::size_t most_operations = 0;
};
Ran RunAll(std::deque<PendingPtr> queue, const RequestLimits& limits, ModelEtcd& etcd) {
  Ran ran;
  Fence fence{.key = "/fence"};
  while (!queue.empty()) {
    Group group = TakeGroup(queue, limits, /*one=*/false);
    if (group.writes.empty()) continue;
    fence.mark = std::to_string(ran.requests);
    const rpc::EtcdTransaction request = MakeRequest(group.writes, fence);
    ++ran.requests;
    for (const PendingPtr& write : group.writes) {
      ran.most_operations = std::max(ran.most_operations, write->keys.size());
    }
    EXPECT_LE(std::max(request.compares.size(), request.success.size()), limits.operations);
    for (const auto& nested : request.success) {
      if (const auto* inner = std::get_if<rpc::EtcdTransaction>(&nested.what)) {
        EXPECT_LE(request.success.size() + std::max({inner->compares.size(), inner->success.size(),
                                                     inner->failure.size()}),
                  limits.operations);
      }
    }
    EXPECT_TRUE(ReadAnswer(etcd.Do(request), fence, group.writes));
    EXPECT_EQ(fence.revision, etcd.RevisionOf("/fence"));
    std::deque<PendingPtr> again;
    for (const PendingPtr& write : group.writes) {
      Settle(*write);
      if (!write->conflict || write->parts.empty()) continue;
      Blamed blamed = BlamePart(*write);
      EXPECT_NE(blamed.write, nullptr);
      again.insert(again.end(), blamed.others.begin(), blamed.others.end());
    }
    queue.insert(queue.begin(), again.begin(), again.end());
  }
  return ran;
}

PendingPtr Pending(Transaction transaction) {
  auto write = std::make_shared<PendingWrite>();
  write->transaction = std::move(transaction);
  for (const Operation& operation : write->transaction.operations) {
    write->keys.push_back("/d/" + operation.key);
  }
  write->bytes = BytesOf(*write);
  return write;
}
void Behind(PendingWrite& write, std::size_t operation, const PendingPtr& before) {
  write.behind.resize(write.keys.size());
  write.behind[operation] = before;
  write.transaction.operations[operation].expected = Revision{kProvisional};
}

// As quota has it: each makes a key of its own and adds one to what the one before it has counted.
TEST(TakeGroup, WhoBuildsOnAnotherGoesWithIt) {
  ModelEtcd etcd;
  etcd.Put("/d/quota", "0");
  const Revision first{etcd.RevisionOf("/d/quota")};
  std::deque<PendingPtr> queue;
  for (int i = 1; i <= 300; ++i) {
    queue.push_back(Pending(Transaction()
                                .Check("mark", Revision{})
                                .Put(fmt::format("pod{}", i), "x", Revision{})
                                .Put("quota", std::to_string(i), first)));
    if (i > 1) Behind(*queue.back(), 2, queue[queue.size() - 2]);
  }
  const std::deque<PendingPtr> all = queue;
  const Ran ran = RunAll(queue, {}, etcd);
  EXPECT_EQ(etcd.keys().at("/d/quota").value, "300");
  EXPECT_EQ(etcd.keys().size(), 302u);  // and the fence
  // 127 operations of etcd's 128, of which two are the mark and the quota.
  EXPECT_EQ(ran.most_operations, 127u);
  EXPECT_EQ(ran.requests, 3u);
  for (const PendingPtr& write : all) EXPECT_EQ(write->fate, Fate::kWritten);
}

TEST(TakeGroup, WhoFailsTakesThoseBehindItAlong) {
  ModelEtcd etcd;
  etcd.Put("/d/quota", "0");
  etcd.Put("/d/pod3", "there already");
  const Revision first{etcd.RevisionOf("/d/quota")};
  std::deque<PendingPtr> queue;
  for (int i = 1; i <= 5; ++i) {
    queue.push_back(Pending(Transaction()
                                .Put(fmt::format("pod{}", i), "x", Revision{})
                                .Put("quota", std::to_string(i), first)));
    if (i > 1) Behind(*queue.back(), 1, queue[queue.size() - 2]);
  }
  const std::deque<PendingPtr> all = queue;
  RunAll(queue, {}, etcd);
  EXPECT_EQ(etcd.keys().at("/d/quota").value, "2");
  EXPECT_EQ(all[1]->fate, Fate::kWritten);
  ASSERT_TRUE(all[2]->conflict.has_value());
  EXPECT_EQ(all[2]->conflict->key, "pod3");
  EXPECT_FALSE(all[2]->lost);
  for (const std::size_t i : {3u, 4u}) {
    ASSERT_TRUE(all[i]->conflict.has_value());
    EXPECT_EQ(all[i]->conflict->key, "quota");
    EXPECT_TRUE(all[i]->lost);
  }
}

// The first version of a key that one request wrote twice was never there: who expects it has a
// conflict, though the revision is that of the second.
TEST(TakeGroup, AVersionThatWasWrittenOverAtOnceCannotBeExpected) {
  ModelEtcd etcd;
  std::deque<PendingPtr> queue;
  const PendingPtr one = Pending(Transaction().Put("q", "1", Revision{}));
  const PendingPtr two = Pending(Transaction().Put("q", "2"));
  Behind(*two, 0, one);
  const PendingPtr late = Pending(Transaction().Put("q", "from 1"));
  Behind(*late, 0, one);
  queue = {one, two};
  const Ran ran = RunAll(queue, {}, etcd);
  EXPECT_EQ(ran.requests, 1u);
  EXPECT_EQ(one->revision, two->revision);
  RunAll({late}, {}, etcd);
  EXPECT_TRUE(late->lost);
  EXPECT_EQ(etcd.keys().at("/d/q").value, "2");
}

// What would become of them one after the other, obviously.
struct Model {
  std::map<std::string, std::pair<std::string, int>> keys;  // value, and which transaction put it
  bool Do(const PendingWrite& write, int number, const std::map<const PendingWrite*, int>& numbers,
          const ModelEtcd& initial) {
    const auto& operations = write.transaction.operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const auto there = keys.find(operations[i].key);
      if (operations[i].kind == Kind::kDelete && there == keys.end()) return false;
      const int by = there == keys.end() ? 0 : there->second.second;
      if (i < write.behind.size() && write.behind[i] != nullptr) {
        if (by != numbers.at(write.behind[i].get())) return false;
      } else if (operations[i].expected == Revision{}) {
        if (there != keys.end()) return false;
      } else if (operations[i].expected) {
        // Only what was there in the beginning has a revision that anybody knows.
        if (there == keys.end() || by != -1) return false;
        if (initial.RevisionOf("/d/" + operations[i].key) != operations[i].expected->value) {
          return false;
        }
      }
    }
    for (const Operation& operation : operations) {
      if (operation.kind == Kind::kPut) keys[operation.key] = {*operation.value, number};
      if (operation.kind == Kind::kDelete) keys.erase(operation.key);
    }
    return true;
  }
};

class RandomGroups : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomGroups, AreAsOneAfterTheOther) {
  std::mt19937 random(GetParam());
  std::size_t merged = 0;
  for (int round = 0; round < 150; ++round) {
    ModelEtcd etcd;
    Model model;
    const int keys = 2 + static_cast<int>(random() % 8);
    const auto some_key = [&] {
      return fmt::format("k{}", random() % static_cast<unsigned>(keys));
    };
    for (int i = 0; i < keys; ++i) {
      if (random() % 2 == 0) continue;
      etcd.Put(fmt::format("/d/k{}", i), "0");
      model.keys[fmt::format("k{}", i)] = {"0", -1};
    }
    const ModelEtcd initial = etcd;
    std::deque<PendingPtr> queue;
    std::map<const PendingWrite*, int> numbers;
    std::map<std::string, std::vector<PendingPtr>> writers;
    for (int number = 1; number <= 40; ++number) {
      Transaction transaction;
      std::set<std::string> used;
      std::map<std::size_t, PendingPtr> behind;
      for (unsigned n = 1 + random() % 3; n > 0; --n) {
        const std::string key = some_key();
        if (!used.insert(key).second) continue;
        Operation operation{.key = key};
        const unsigned kind = random() % 8;
        operation.kind = kind == 0 ? Kind::kDelete : kind == 1 ? Kind::kCheck : Kind::kPut;
        if (operation.kind == Kind::kPut) {
          operation.value = std::make_shared<const std::string>(std::to_string(number));
        }
        const unsigned expect = random() % 8;
        if (expect == 0 || operation.kind == Kind::kCheck) {
          operation.expected = Revision{random() % 2 == 0 ? 0 : initial.RevisionOf("/d/" + key)};
        }
        if (expect > 2 && !writers[key].empty()) {
          // Mostly the last one, as who asks for what is pending has it.
          const auto& of = writers[key];
          behind[transaction.operations.size()] =
              random() % 8 == 0 ? of[random() % of.size()] : of.back();
        }
        transaction.operations.push_back(std::move(operation));
      }
      const PendingPtr write = Pending(std::move(transaction));
      for (const auto& [i, before] : behind) Behind(*write, i, before);
      for (const Operation& operation : write->transaction.operations) {
        if (operation.kind == Kind::kPut) writers[operation.key].push_back(write);
      }
      numbers[write.get()] = number;
      queue.push_back(write);
    }
    std::vector<bool> wanted;
    for (const PendingPtr& write : queue) {
      wanted.push_back(model.Do(*write, numbers[write.get()], numbers, initial));
    }
    const std::deque<PendingPtr> all = queue;
    const RequestLimits limits{.operations = random() % 2 == 0 ? 128u : 8u};
    const Ran ran = RunAll(queue, limits, etcd);
    merged += ran.most_operations > 3 ? 1 : 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(all[i]->fate, wanted[i] ? Fate::kWritten : Fate::kNot)
          << "round " << round << " transaction " << i + 1;
    }
    std::map<std::string, std::string> there;
    std::map<std::string, std::string> should;
    for (const auto& [key, version] : etcd.keys()) {
      if (key != "/fence") there[key.substr(3)] = version.value;
    }
    for (const auto& [key, version] : model.keys) should[key] = version.first;
    ASSERT_EQ(there, should) << "round " << round;
  }
  EXPECT_GT(merged, 10u) << "hardly any of them were made into one";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGroups, ::testing::Range(1u, 9u));

}  // namespace
}  // namespace dray::store::internal
