// SPDX-License-Identifier: Apache-2.0
//
// What is asked of a store in etcd beyond what every store does.
#include "store/etcd/etcd_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/etcd/answers.h"
#include "store/etcd/etcd_for_test.h"
#include "store/etcd/layout.h"
#include "store/etcd/members.h"
#include "testing/status_matchers.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using internal::Failure;
using internal::FailureOf;
using internal::Layout;
using ::testing::HasSubstr;

TEST(EtcdAddress, SaysWhereAndUnderWhichPrefix) {
  const auto one = ParseEtcdAddress("etcd://127.0.0.1:2379");
  ASSERT_THAT(one, IsOk());
  EXPECT_EQ(one->prefix, "/dray");
  ASSERT_EQ(one->endpoints.size(), 1u);
  EXPECT_EQ(one->endpoints[0].address, "127.0.0.1:2379");
  EXPECT_FALSE(one->endpoints[0].tls);
  const auto three = ParseEtcdAddress("etcds://a:1,[::1]:2,c:3/of/us/");
  ASSERT_THAT(three, IsOk());
  EXPECT_EQ(three->prefix, "/of/us");
  ASSERT_EQ(three->endpoints.size(), 3u);
  EXPECT_EQ(three->endpoints[1].address, "[::1]:2");
  EXPECT_TRUE(three->endpoints[2].tls);
}

TEST(EtcdAddress, WhatIsNoneIsRefusedWithWhatWouldBeRight) {
  for (const char* text : {"", "etcd://", "http://a:1", "etcd://a", "etcd://a:1,", "etcd://a:0",
                           "etcd://a:1,b:x/p", "etcd://:1", "etcd://a:1/p q"}) {
    EXPECT_THAT(ParseEtcdAddress(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("as in etcd://127.0.0.1:2379")))
        << text;
  }
}

TEST(EtcdLayout, KeysAreReadableAndNoTwoAreTheSame) {
  const Layout layout("/dray");
  EXPECT_EQ(layout.Key("/registry/pods/default/a"), "/dray/registry/pods/default/a");
  std::set<std::string> seen;
  for (const std::string key : {"a", "/a", "~a", "/~a", "~/a", "/~~a", "_a", "/_a", "/_fence/x", "",
                                "/", "//a", "_fence/x"}) {
    EXPECT_TRUE(seen.insert(layout.Key(key)).second) << key;
    EXPECT_EQ(layout.Decode(layout.Key(key)), key);
  }
  EXPECT_EQ(layout.Decode(layout.Fence("x")), std::nullopt);
  EXPECT_EQ(layout.Decode(layout.Compaction()), std::nullopt);
  EXPECT_EQ(layout.Decode("/dray2/registry/a"), std::nullopt);
  EXPECT_FALSE(seen.contains(layout.Fence("x")));
}

struct AnswerCase {
  StatusCode code;
  const char* text;
  Failure failure;
};

TEST(EtcdAnswers, SayWhetherACallHasHappened) {
  for (const AnswerCase& c : std::vector<AnswerCase>{
           {StatusCode::kOutOfRange, "etcdserver: mvcc: required revision has been compacted",
            Failure::kCompacted},
           {StatusCode::kOutOfRange, "etcdserver: mvcc: required revision is a future revision",
            Failure::kFuture},
           {StatusCode::kResourceExhausted, "etcdserver: mvcc: database space exceeded",
            Failure::kNoSpace},
           {StatusCode::kUnknown, "etcdserver: too many requests", Failure::kTooMany},
           {StatusCode::kInvalidArgument, "etcdserver: request is too large", Failure::kTooLarge},
           // Not a full disk, whatever its code says.
           {StatusCode::kResourceExhausted,
            "grpc: received message larger than max (2200000 vs. 2097152)", Failure::kTooLarge},
           {StatusCode::kInvalidArgument, "etcdserver: too many operations in txn request",
            Failure::kTooLarge},
           {StatusCode::kNotFound, "etcdserver: requested lease not found", Failure::kLease},
           {StatusCode::kUnavailable, "etcdserver: no leader", Failure::kNotSent},
           {StatusCode::kUnavailable, "etcdserver: leader changed", Failure::kUnknown},
           {StatusCode::kUnavailable, "etcdserver: server stopped", Failure::kUnknown},
           {StatusCode::kUnavailable,
            "etcdserver: request timed out, possibly due to previous leader failure",
            Failure::kUnknown},
           {StatusCode::kUnavailable, "Socket closed", Failure::kUnknown},
           {StatusCode::kUnavailable, "GOAWAY received", Failure::kUnknown},
           {StatusCode::kUnavailable,
            "failed to connect to all addresses; last error: UNKNOWN: refused", Failure::kNotSent},
           {StatusCode::kDeadlineExceeded, "Deadline Exceeded", Failure::kUnknown},
           {StatusCode::kCancelled, "Cancelled", Failure::kUnknown},
           {StatusCode::kUnauthenticated, "etcdserver: invalid auth token", Failure::kToken},
           {StatusCode::kInvalidArgument, "etcdserver: revision of auth store is old",
            Failure::kToken},
           {StatusCode::kPermissionDenied, "etcdserver: permission denied", Failure::kDenied},
           {StatusCode::kFailedPrecondition, "etcdserver: rpc not supported for learner",
            Failure::kOtherMember},
           {StatusCode::kFailedPrecondition, "etcdserver: not leader", Failure::kOtherMember},
           {StatusCode::kUnknown, "raft proposal dropped", Failure::kNotSent},
           {StatusCode::kDataLoss, "etcdserver: corrupt cluster", Failure::kCorrupt},
           {StatusCode::kInternal, "whatever else", Failure::kUnknown},
       }) {
    EXPECT_EQ(FailureOf(base::MakeStatus(c.code, c.text)), c.failure) << c.text;
  }
}

}  // namespace
}  // namespace dray::store
