// SPDX-License-Identifier: Apache-2.0
#include "container/internal/process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>

#include "testing/status_matchers.h"

namespace dray::container::internal {
namespace {

using ::dray::testing::IsOk;
using ::testing::ElementsAre;

// The descriptors that a program finds when it starts, as a shell sees them without opening anything;
// it keeps its own things from 10 on.
std::vector<std::string> FoundBy(const std::map<int, int>& more) {
  const auto result = RunCommand(
      {"sh", "-c", "for n in 0 1 2 3 4 5 6 7 8 9; do [ ! -e /proc/$$/fd/$n ] || echo $n; done"},
      std::chrono::seconds(20), more);
  EXPECT_THAT(result, IsOk());
  std::vector<std::string> found;
  if (!result.ok()) return found;
  std::istringstream lines(result->out);
  for (std::string line; std::getline(lines, line);) found.push_back(line);
  return found;
}

TEST(Spawn, AProgramGetsWhatItIsGivenAndNothingElse) {
  // As a library leaves them: sockets and files that are not marked. Some are below those that are
  // given.
  std::vector<files::Fd> ours;
  for (int i = 0; i < 12; ++i) ours.emplace_back(::socket(AF_INET, SOCK_STREAM, 0));
  for (const files::Fd& fd : ours) ASSERT_EQ(::fcntl(fd.get(), F_GETFD), 0);
  EXPECT_THAT(FoundBy({}), ElementsAre("0", "1", "2"));
  EXPECT_THAT(FoundBy({{3, ours[0].get()}, {4, ours[1].get()}}),
              ElementsAre("0", "1", "2", "3", "4"));
  EXPECT_THAT(FoundBy({{6, ours[0].get()}, {8, ours[1].get()}}),
              ElementsAre("0", "1", "2", "6", "8"));
}

}  // namespace
}  // namespace dray::container::internal
