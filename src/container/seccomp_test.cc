// SPDX-License-Identifier: Apache-2.0
#include "container/internal/seccomp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "container/container_config.h"

namespace dray::container::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Seccomp, WhatACapabilityIsForIsAllowedWithIt) {
  const std::string plain = DefaultSeccomp({"CAP_CHOWN"});
  EXPECT_THAT(plain, HasSubstr("\"mount\""));
  EXPECT_THAT(plain, HasSubstr("\"bpf\""));
  EXPECT_THAT(plain, HasSubstr("\"clone3\""));
  const std::string admin = DefaultSeccomp({"CAP_SYS_ADMIN"});
  EXPECT_THAT(admin, Not(HasSubstr("\"mount\"")));
  EXPECT_THAT(admin, Not(HasSubstr("\"clone3\"")));
  EXPECT_THAT(admin, HasSubstr("\"init_module\""));
  EXPECT_THAT(DefaultSeccomp({"CAP_BPF"}), Not(HasSubstr("\"bpf\"")));
  // What nobody needs stays closed, whatever there is.
  EXPECT_THAT(DefaultSeccomp(AllCapabilities()), HasSubstr("\"add_key\""));
  EXPECT_TRUE(CheckSeccomp(plain).ok());
}

TEST(Seccomp, AFileThatIsNoProfileIsToldSo) {
  EXPECT_FALSE(CheckSeccomp("").ok());
  EXPECT_FALSE(CheckSeccomp("[]").ok());
  EXPECT_FALSE(CheckSeccomp("{}").ok());
  EXPECT_FALSE(CheckSeccomp(R"({"defaultAction": "ALLOW"})").ok());
  EXPECT_FALSE(
      CheckSeccomp(R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": 3}]})").ok());
  EXPECT_TRUE(CheckSeccomp(R"({"defaultAction": "SCMP_ACT_ERRNO"})").ok());
}

TEST(Seccomp, OnlyWhoAsksIsConfined) {
  const auto config = [](Seccomp seccomp, bool privileged) {
    ContainerConfig container{.name = "c", .command = {"x"}};
    container.security.seccomp = seccomp;
    container.security.privileged = privileged;
    return BuildConfig({}, container, {}, {.rootfs = "r", .seccomp = R"({"x":1})"});
  };
  EXPECT_FALSE(config(Seccomp::kUnconfined, false)->linux_.seccomp);
  EXPECT_TRUE(config(Seccomp::kRuntimeDefault, false)->linux_.seccomp);
  EXPECT_FALSE(config(Seccomp::kRuntimeDefault, true)->linux_.seccomp);
  EXPECT_EQ(config(Seccomp::kLocalhost, false)->linux_.seccomp->text, R"({"x":1})");
}

TEST(NonRoot, IsWhoeverTheImageRunsAs) {
  const auto config = [](const char* user) {
    ContainerConfig container{.name = "c", .command = {"x"}};
    container.security.non_root = true;
    return BuildConfig({}, container, {.user = user}, {.rootfs = "r"}).status();
  };
  EXPECT_TRUE(config("65532").ok());
  EXPECT_FALSE(config("").ok());
  EXPECT_FALSE(config("0:5").ok());
}

}  // namespace
}  // namespace dray::container::internal
