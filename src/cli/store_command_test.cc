// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cli/cli_test_support.h"

namespace dray::cli {
namespace {

using ::testing::HasSubstr;

// With a real etcd: test/e2e/etcd.sh.
TEST(StoreCommand, SaysWhatIsWrong) {
  const TempFolder folder;
  const auto error = [&](std::vector<std::string> args) {
    args.insert(args.begin(), {"store", "copy"});
    const Outcome outcome = RunLine(args);
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  const std::string etcd = "etcd://127.0.0.1:1";
  EXPECT_THAT(error({"--from", "sqlite:a", "--to", "sqlite:b"}), HasSubstr("the other etcd://"));
  EXPECT_THAT(error({"--from", "sqlite:a", "--to", "http://a:1"}),
              HasSubstr("--to: \"http://a:1\": must begin with etcd://"));
  EXPECT_THAT(error({"--from", "sqlite:" + folder.path() + "/none.db", "--to", etcd}),
              HasSubstr("does not exist"));
  EXPECT_THAT(error({"--from", etcd, "--to", "sqlite:b", "--etcd-certfile", "c"}),
              HasSubstr("--etcd-certfile and --etcd-keyfile must be given together"));
  EXPECT_THAT(error({"--from", etcd, "--to", "sqlite:b", "--etcd-cafile", "/nowhere"}),
              HasSubstr("--etcd-cafile: /nowhere cannot be read"));
  EXPECT_THAT(error({"--from", etcd, "--to", "sqlite:b", "--etcd-prefix", "dray"}),
              HasSubstr("must begin with a slash"));
  EXPECT_THAT(error({"--from", etcd, "--to", "sqlite:" + folder.path() + "/b.db"}),
              HasSubstr("no member of etcd answers"));
}

}  // namespace
}  // namespace dray::cli
