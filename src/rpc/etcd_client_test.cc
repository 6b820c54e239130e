// SPDX-License-Identifier: Apache-2.0
//
// The client against a server of bytes, written from the tables of the specification: every number
// that is sent or read is checked here.
#include "rpc/etcd_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "rpc/plugin_for_test.h"
#include "rpc/raw_for_test.h"
#include "testing/status_matchers.h"

namespace dray::rpc {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using std::chrono::seconds;
using ::testing::HasSubstr;

const std::string kHeader = S(1, N(1, 7) + N(2, 8) + N(3, 42) + N(4, 2));

class EtcdClientTest : public ::testing::Test {
 protected:
  template <class T, class Call>
  StatusOr<T> Ask(const std::string& method, const std::string& response, const Call& call) {
    server_.Answer("/etcdserverpb." + method, {.messages = {response}});
    Answered<StatusOr<T>> answered;
    call(answered.done());
    StatusOr<T> out = answered.Get();
    sent_ = server_.Calls().back().second;
    return out;
  }

  const TestFolder folder_;
  RawServer server_{folder_ / "etcd.sock"};
  const std::unique_ptr<EtcdMember> member_ =
      ConnectEtcd({.address = "unix:" + (folder_ / "etcd.sock")}, {});
  std::string sent_;
};

const std::string kKv = S(1, "k") + N(2, 3) + N(3, 4) + N(4, 2) + S(5, "v") + N(6, 9);

TEST_F(EtcdClientTest, ARange) {
  const auto answer = Ask<EtcdRangeAnswer>("KV/Range", kHeader + S(2, kKv) + N(3, 1) + N(4, 5),
                                           [&](Done<EtcdRangeAnswer> done) {
                                             member_->Range({.key = "a",
                                                             .end = "b",
                                                             .limit = 10,
                                                             .revision = 6,
                                                             .serializable = true,
                                                             .keys_only = true,
                                                             .count_only = true},
                                                            seconds(5), done);
                                           });
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(sent_, Hex(S(1, "a") + S(2, "b") + N(3, 10) + N(4, 6) + N(7, 1) + N(8, 1) + N(9, 1)));
  EXPECT_EQ(answer->header.cluster, 7u);
  EXPECT_EQ(answer->header.member, 8u);
  EXPECT_EQ(answer->header.revision, 42);
  ASSERT_EQ(answer->kvs.size(), 1u);
  EXPECT_EQ(answer->kvs[0].key, "k");
  EXPECT_EQ(answer->kvs[0].value, "v");
  EXPECT_EQ(answer->kvs[0].created, 3);
  EXPECT_EQ(answer->kvs[0].modified, 4);
  EXPECT_EQ(answer->kvs[0].lease, 9);
  EXPECT_TRUE(answer->more);
  EXPECT_EQ(answer->count, 5);
}

TEST_F(EtcdClientTest, ATransactionWithOthersInIt) {
  EtcdTransaction nested;
  nested.compares.push_back(
      {.key = "c", .what = EtcdCompare::What::kCreated, .greater = true, .number = 0});
  nested.success.push_back({EtcdDelete{.key = "c"}});
  nested.failure.push_back({EtcdRange{.key = "c"}});
  EtcdTransaction outer;
  outer.compares.push_back({.key = "f", .number = 5});
  outer.success.push_back(
      {EtcdPut{.key = "p", .value = std::make_shared<const std::string>("w"), .lease = 3}});
  outer.success.push_back({std::move(nested)});
  const std::string response =
      kHeader + N(2, 1) + S(3, S(2, "")) +
      S(3, S(4, S(3, S(1, S(2, kKv)))));  // the nested one failed and ranged
  const auto answer = Ask<EtcdTransactionAnswer>(
      "KV/Txn", response,
      [&](Done<EtcdTransactionAnswer> done) { member_->Transact(outer, seconds(5), done); });
  ASSERT_THAT(answer, IsOk());
  // Fields that have their default are not sent; of a oneof they are.
  EXPECT_EQ(sent_,
            Hex(S(1, N(2, 2) + S(3, "f") + N(6, 5)) + S(2, S(2, S(1, "p") + S(2, "w") + N(3, 3))) +
                S(2, S(4, S(1, N(1, 1) + N(2, 1) + S(3, "c") + N(5, 0)) + S(2, S(3, S(1, "c"))) +
                              S(3, S(1, S(1, "c")))))));
  EXPECT_TRUE(answer->succeeded);
  ASSERT_EQ(answer->answers.size(), 2u);
  EXPECT_FALSE(answer->answers[1].transaction.succeeded);
  ASSERT_EQ(answer->answers[1].transaction.answers.size(), 1u);
  ASSERT_EQ(answer->answers[1].transaction.answers[0].kvs.size(), 1u);
  EXPECT_EQ(answer->answers[1].transaction.answers[0].kvs[0].key, "k");
}

// Answers are read by their place: one that is missing would be read behind the end.
TEST_F(EtcdClientTest, AnAnswerToOtherOperationsIsNone) {
  EtcdTransaction nested;
  nested.failure.push_back({EtcdRange{.key = "c"}});
  EtcdTransaction outer;
  outer.success.push_back({EtcdDelete{.key = "p"}});
  outer.success.push_back({std::move(nested)});
  outer.failure.push_back({EtcdRange{.key = "f"}});
  const std::string deletion = S(3, S(3, ""));
  const std::string range = S(3, S(1, ""));
  const std::string none_failed = S(3, S(4, ""));
  const std::string failed = S(3, S(4, range));
  const auto ask = [&](const std::string& response) {
    return Ask<EtcdTransactionAnswer>(
        "KV/Txn", kHeader + response,
        [&](Done<EtcdTransactionAnswer> done) { member_->Transact(outer, seconds(5), done); });
  };
  EXPECT_THAT(ask(range), IsOk());
  EXPECT_THAT(ask(N(2, 1) + deletion + failed), IsOk());
  EXPECT_THAT(ask(N(2, 1) + deletion + S(3, S(4, N(2, 1)))), IsOk());
  for (const std::string& response :
       {std::string(), deletion, range + range, N(2, 1), N(2, 1) + deletion,
        N(2, 1) + failed + deletion, N(2, 1) + deletion + range, N(2, 1) + deletion + none_failed,
        N(2, 1) + deletion + S(3, ""), N(2, 1) + deletion + failed + range}) {
    EXPECT_THAT(ask(response), StatusIs(StatusCode::kInternal, HasSubstr("operations")))
        << Hex(response);
  }
}

TEST_F(EtcdClientTest, SmallThings) {
  EXPECT_THAT(
      Ask<EtcdHeader>("KV/Compact", kHeader,
                      [&](Done<EtcdHeader> done) { member_->Compact(9, seconds(5), done); }),
      IsOk());
  EXPECT_EQ(sent_, Hex(N(1, 9)));
  const auto status = Ask<EtcdStatus>(
      "Maintenance/Status",
      kHeader + S(2, "3.5.30") + N(3, 100) + N(4, 8) + S(8, "alarm") + N(9, 50) + N(10, 1),
      [&](Done<EtcdStatus> done) { member_->Status(seconds(5), done); });
  ASSERT_THAT(status, IsOk());
  EXPECT_EQ(status->version, "3.5.30");
  EXPECT_EQ(status->size, 100);
  EXPECT_EQ(status->size_in_use, 50);
  EXPECT_EQ(status->leader, 8u);
  EXPECT_TRUE(status->learner);
  EXPECT_EQ(status->errors, std::vector<std::string>{"alarm"});
  EXPECT_THAT(Ask<std::string>("Auth/Authenticate", kHeader + S(2, "token"),
                               [&](Done<std::string> done) {
                                 member_->Authenticate("u", "p", seconds(5), done);
                               }),
              IsOkAndHolds("token"));
  EXPECT_EQ(sent_, Hex(S(1, "u") + S(2, "p")));
  EXPECT_THAT(Ask<std::int64_t>("Lease/LeaseGrant", kHeader + N(2, 77) + N(3, 15),
                                [&](Done<std::int64_t> done) {
                                  member_->GrantLease(seconds(15), seconds(5), done);
                                }),
              IsOkAndHolds(77));
  EXPECT_EQ(sent_, Hex(N(1, 15)));
}

TEST_F(EtcdClientTest, AWatchTellsWhenItIsAsked) {
  server_.Answer("/etcdserverpb.Watch/Watch",
                 {.messages = {kHeader + N(3, 1),
                               kHeader + N(7, 1) + S(11, N(1, 1) + S(2, S(1, "k") + N(3, 4))),
                               kHeader + N(4, 1) + N(5, 30) + S(6, "why")},
                  .stays_open = true});
  struct Told {
    base::Mutex mutex;
    std::vector<StatusOr<EtcdWatchAnswer>> answers;
    std::size_t size() {
      const base::MutexLock lock(mutex);
      return answers.size();
    }
  } told;
  auto watch =
      member_->Watch({.key = "a", .end = "b", .start = 5}, [&](StatusOr<EtcdWatchAnswer> answer) {
        const base::MutexLock lock(told.mutex);
        told.answers.push_back(std::move(answer));
      });
  ASSERT_TRUE(Eventually([&] { return told.size() == 1; }));
  EXPECT_EQ(server_.Calls().back().second, Hex(S(1, S(1, "a") + S(2, "b") + N(3, 5) + N(4, 1))));
  EXPECT_TRUE(told.answers[0]->created);
  watch->Next();
  ASSERT_TRUE(Eventually([&] { return told.size() == 2; }));
  EXPECT_TRUE(told.answers[1]->fragment);
  ASSERT_EQ(told.answers[1]->events.size(), 1u);
  EXPECT_TRUE(told.answers[1]->events[0].deleted);
  EXPECT_EQ(told.answers[1]->events[0].kv.modified, 4);
  watch->Next();
  ASSERT_TRUE(Eventually([&] { return told.size() == 3; }));
  EXPECT_TRUE(told.answers[2]->canceled);
  EXPECT_EQ(told.answers[2]->compacted, 30);
  EXPECT_EQ(told.answers[2]->reason, "why");
  watch->AskProgress();
  watch = nullptr;
  EXPECT_EQ(told.size(), 3u);
}

TEST_F(EtcdClientTest, AnErrorKeepsCodeAndText) {
  server_.Answer("/etcdserverpb.KV/Range",
                 {.status = grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "etcdserver: mvcc: no")});
  Answered<StatusOr<EtcdRangeAnswer>> answered;
  member_->Range({.key = "a"}, seconds(5), answered.done());
  const auto answer = answered.Get();
  EXPECT_THAT(answer, StatusIs(StatusCode::kOutOfRange, HasSubstr("etcdserver: mvcc: no")));
  EXPECT_FALSE(NeverSent(answer.status()));
}

// It can be repeated, because nobody has seen it.
TEST(EtcdClient, ACallWithoutAConnectionWasNeverSent) {
  const TestFolder folder;
  const auto member = ConnectEtcd({.address = "unix:" + (folder / "nobody.sock")}, {});
  Answered<StatusOr<EtcdRangeAnswer>> answered;
  member->Range({.key = "a"}, seconds(5), answered.done());
  EXPECT_TRUE(NeverSent(answered.Get().status()));
}

TEST(EtcdClient, APrefixEndsBeforeWhatComesAfterIt) {
  EXPECT_EQ(EtcdPrefixEnd("/dray/"), "/dray0");
  EXPECT_EQ(EtcdPrefixEnd("a\xff"), "b");
}

}  // namespace
}  // namespace dray::rpc
