// SPDX-License-Identifier: Apache-2.0
//
// A real etcd that is reached over TLS alone: whoever shows a certificate is its common name, and may
// say a user and a password besides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "fmt/format.h"
#include "store/etcd/copy.h"
#include "store/etcd/etcd_real_for_test.h"
#include "store/memory/memory_store.h"
#include "store/store_for_test.h"
#include "testing/status_matchers.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Serves root, dray and other; dray has the prefix /dray/.
class EtcdTlsTest : public EtcdAcceptanceReal {
 protected:
  void SetUp() override {
    DRAY_NEEDS_ETCD();
    EtcdAcceptanceReal::SetUp();
    certificates_ = std::make_shared<EtcdCertificates>(folder_.File("."));
    // Tokens that are not used for a second are worth nothing.
    cluster_ = std::make_unique<EtcdCluster>(
        EtcdClusterOptions{.flags = {"--auth-token-ttl", "1"}, .certificates = certificates_});
    for (const char* command : {"user add root:root", "user grant-role root root",
                                "user add dray:secret", "user add other:secret", "role add dray",
                                "role grant-permission dray readwrite /dray/ --prefix=true",
                                "user grant-role dray dray", "auth enable"}) {
      const auto [code, output] = RunProgram(cluster_->Ctl(command));
      ASSERT_EQ(code, 0) << command << ": " << output;
    }
    options_.address = cluster_->Address("/dray");
    options_.tls = certificates_->Tls("dray");
  }

  TempFolder folder_;
  std::shared_ptr<EtcdCertificates> certificates_;
  std::unique_ptr<EtcdCluster> cluster_;
};

TEST_F(EtcdTlsTest, ACertificateIsAUser) {
  auto watch = *store().WatchFrom("", store().revision(), [] {});
  const Outcome outcome = Commit(Transaction().Put("a", "1"));
  EXPECT_EQ(watch->Next(10)->size(), 1u);
  EXPECT_THAT(Current(store()), IsOk());
  const auto [code, output] = RunProgram(cluster_->Ctl("get /dray/~a -w fields"));
  EXPECT_EQ(code, 0);
  EXPECT_THAT(output, HasSubstr(fmt::format("\"ModRevision\" : {}", outcome.revision.value)));
}

TEST_F(EtcdTlsTest, WhoHasNoRightsIsToldWhatIsMissing) {
  options_.tls = certificates_->Tls("other");
  EXPECT_THAT(OpenEtcdStore(options_),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("permission denied"), HasSubstr("\"/dray/\""))));
}

// Whom nobody vouches for gets no connection, and is told so in time.
TEST_F(EtcdTlsTest, WhoCannotBeTrustedIsNotServed) {
  const TempFolder elsewhere;
  EtcdCertificates others(elsewhere.File("."));
  const rpc::EtcdTls right = options_.tls;
  const std::vector<std::pair<const char*, rpc::EtcdTls>> wrong = {
      {"shows no certificate", {.authorities = right.authorities}},
      {"a certificate that another authority has signed",
       {.authorities = right.authorities,
        .certificate = others.Tls("dray").certificate,
        .key = others.Tls("dray").key}},
      {"a server that another authority has signed",
       {.authorities = others.Tls("dray").authorities,
        .certificate = right.certificate,
        .key = right.key}}};
  for (const auto& [what, tls] : wrong) {
    options_.tls = tls;
    const auto began = std::chrono::steady_clock::now();
    EXPECT_THAT(OpenEtcdStore(options_),
                StatusIs(StatusCode::kUnavailable, HasSubstr("no member of etcd answers")))
        << what;
    EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(60)) << what;
  }
  // Without TLS neither.
  EtcdOptions plain = options_;
  for (auto& endpoint : plain.address.endpoints) endpoint.tls = false;
  EXPECT_THAT(OpenEtcdStore(plain), StatusIs(StatusCode::kUnavailable, HasSubstr("")));
  options_.tls = right;
  EXPECT_NE(OpenOne(options_), nullptr);
}

// etcd lets root alone throw history away. Nothing else depends on that.
TEST_F(EtcdTlsTest, WhoMayNotCompactSaysSoOnce) {
  base::Mutex mutex;
  std::vector<std::string> warnings;
  options_.compaction_interval = milliseconds(50);
  options_.warn = [&](const std::string& text) {
    const base::MutexLock lock(mutex);
    warnings.push_back(text);
  };
  const std::string key = "/dray/_compaction";
  const auto version = [&] {
    return RunProgram(cluster_->Ctl("get " + key + " -w fields")).second;
  };
  store();
  const std::string before = version();
  ASSERT_TRUE(Eventually([&] {
    const base::MutexLock lock(mutex);
    return !warnings.empty() && version() != before;
  }));
  Commit(Transaction().Put("a", "1"));
  store_ = nullptr;
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("users with the role root")));
  EXPECT_EQ(counts_.compactions, 0u);
}

// A user and a password say who it is, whatever the certificate says.
TEST_F(EtcdTlsTest, ATokenThatExpiresIsRenewed) {
  options_.tls = certificates_->Tls("other");
  options_.user = "dray";
  options_.password = "secret";
  auto watch = *store().WatchFrom("", store().revision(), [] {});
  for (int i = 0; i < 2; ++i) {
    Commit(Transaction().Put("a", std::to_string(i)));
    // Until etcd knows the token no more: nothing tells when that is.
    std::this_thread::sleep_for(milliseconds(1500));
    ASSERT_THAT(Current(store()), IsOk()) << i;
  }
  EXPECT_EQ(counts_.fences, 0u);
  EXPECT_EQ(watch->Next(10)->size(), 2u);
}

TEST_F(EtcdTlsTest, APasswordThatWasChangedIsSaid) {
  options_.write_patience = seconds(4);
  options_.tls = certificates_->Tls("other");
  options_.user = "dray";
  options_.password = "secret";
  Commit(Transaction().Put("a", "1"));
  const auto [code, output] =
      RunProgram("printf 'changed\\n' | " + cluster_->Ctl("user passwd dray --interactive=false"));
  ASSERT_EQ(code, 0) << output;
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_THAT(store().CommitAndWait(Transaction().Put("a", "2")),
              StatusIs(StatusCode::kAborted,
                       AllOf(HasSubstr("user \"dray\""), HasSubstr("authentication failed"))));
  EXPECT_EQ(*store().Find("a")->value, "1");
}

TEST_F(EtcdTlsTest, WhatIsCopiedGoesOverTlsToo) {
  const auto from = MakeMemoryStore();
  for (int i = 0; i < 20; ++i) {
    ASSERT_THAT(from->CommitAndWait(Transaction().Put(std::to_string(i), "x")), IsOk());
  }
  const auto copied = CopyToEtcd(*from, options_, [](const std::string&) {});
  ASSERT_THAT(copied, IsOk());
  EXPECT_EQ(copied->keys, 20u);
}

}  // namespace
}  // namespace dray::store
