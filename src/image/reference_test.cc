// SPDX-License-Identifier: Apache-2.0
#include "image/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace dray::image {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::HasSubstr;

const std::string kDigest = "sha256:" + std::string(64, 'a');

struct NameCase {
  std::string written;
  std::string full;
};
class NameTest : public ::testing::TestWithParam<NameCase> {};

TEST_P(NameTest, IsReadAsDockerReadsIt) {
  const auto reference = ParseReference(GetParam().written);
  ASSERT_THAT(reference, IsOk());
  EXPECT_EQ(reference->ToString(), GetParam().full);
  // The full name is its own full name.
  EXPECT_EQ(*ParseReference(GetParam().full), *reference);
}

INSTANTIATE_TEST_SUITE_P(Image, NameTest,
                         ::testing::ValuesIn(std::vector<NameCase>{
                             {"busybox", "docker.io/library/busybox:latest"},
                             {"busybox:1.35", "docker.io/library/busybox:1.35"},
                             {"me/demo", "docker.io/me/demo:latest"},
                             {"docker.io/busybox", "docker.io/library/busybox:latest"},
                             {"index.docker.io/a/b", "docker.io/a/b:latest"},
                             {"localhost/x", "localhost/x:latest"},
                             {"localhost:5000/x", "localhost:5000/x:latest"},
                             {"registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.9"},
                             {"a.b/c_d/e__f/g--h:T-1_x", "a.b/c_d/e__f/g--h:T-1_x"},
                             {"busybox@" + kDigest, "docker.io/library/busybox@" + kDigest},
                             {"busybox:1@" + kDigest, "docker.io/library/busybox:1@" + kDigest},
                         }));

TEST(Reference, WhatIsNoNameIsRefused) {
  for (const char* text : {"", ":", "Busybox", "a//b", "a/", "/a", "a:", "a b", "a:b c", "-a",
                           "a..b", "a@sha256:12", "a@md5:aa", "http://a/b", "a.b:x/c", "../a"}) {
    EXPECT_THAT(ParseReference(text), StatusIs(StatusCode::kInvalidArgument, HasSubstr(text)));
  }
  EXPECT_FALSE(ParseReference(std::string(300, 'a')).ok());
}

}  // namespace
}  // namespace dray::image
