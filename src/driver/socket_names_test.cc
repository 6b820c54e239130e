// SPDX-License-Identifier: Apache-2.0
#include "driver/socket_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace dray::driver {
namespace {

using dray::testing::IsOk;
using dray::testing::StatusIs;
using ::testing::HasSubstr;

constexpr std::string_view kUid = "139cdb46-f989-4f17-9561-ca10cfb509a6";

TEST(SocketNames, AreThoseThatAgentsLookFor) {
  const auto names = SocketNamesFor({.driver = "gpu.example.com"});
  ASSERT_THAT(names, IsOk());
  EXPECT_EQ(names->folder, "/var/lib/kubelet/plugins/gpu.example.com");
  EXPECT_EQ(names->dra, "/var/lib/kubelet/plugins/gpu.example.com/dra.sock");
  EXPECT_EQ(names->registration, "/var/lib/kubelet/plugins_registry/gpu.example.com-reg.sock");
}

TEST(SocketNames, OfAnInstanceHaveItsUid) {
  const auto names =
      SocketNamesFor({.root = "/k/", .driver = "gpu.example.com", .instance = std::string(kUid)});
  ASSERT_THAT(names, IsOk());
  EXPECT_EQ(names->dra, "/k/plugins/gpu.example.com/dra-" + std::string(kUid) + ".sock");
  EXPECT_EQ(names->registration,
            "/k/plugins_registry/gpu.example.com-" + std::string(kUid) + "-reg.sock");
}

TEST(SocketAcceptance, Row43ADriverNameOf63CharactersFitsWithARollingUpdate) {
  const std::string name = std::string(51, 'a') + ".example.com";
  ASSERT_EQ(name.size(), 63u);
  const auto names = SocketNamesFor({.driver = name, .instance = std::string(kUid)});
  ASSERT_THAT(names, IsOk());
  EXPECT_LE(names->dra.size(), 108u);
  EXPECT_LE(names->registration.size(), 108u);
  // Another instance has other sockets, and another driver too.
  const auto other = SocketNamesFor({.driver = name, .instance = "another"});
  EXPECT_NE(other->dra, names->dra);
  EXPECT_NE(other->registration, names->registration);
}

// The candidates, from the longest to the shortest.
TEST(SocketNames, TheFirstThatFitsIsTaken) {
  const std::string hash = ShortHash(kUid, 8);
  const auto registration = [&](std::size_t folder) {
    const auto names = SocketNamesFor({.root = "/",
                                       .registry = "/" + std::string(folder - 1, 'r'),
                                       .driver = "gpu.example.com",
                                       .instance = std::string(kUid)});
    return names.ok() ? names->registration.substr(folder + 1) : "";
  };
  // 15 + 1 + 36 + 9 = 61 bytes, 36 bytes, 35 bytes.
  EXPECT_EQ(registration(45), "gpu.example.com-" + std::string(kUid) + "-reg.sock");
  EXPECT_EQ(registration(46), "gpu.example.com-" + hash + "-reg.sock");
  EXPECT_EQ(registration(70), "gpu.example.com-" + hash + "-reg.sock");
  EXPECT_THAT(registration(71), ::testing::StartsWith("dra-"));
  EXPECT_EQ(registration(72), "");
}

TEST(SocketNames, SayWhatIsWrong) {
  EXPECT_THAT(SocketNamesFor({.driver = "not a name"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("DNS subdomain")));
  EXPECT_THAT(SocketNamesFor({.root = "/" + std::string(120, 'r'), .driver = "a"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("shorter root folder")));
}

// SHA-256 of "abc" begins with ba7816bf 8f01cfea.
TEST(SocketNames, HashesAreTheBeginningOfSha256) {
  EXPECT_EQ(ShortHash("abc", 8), "ungWv48Bz-o");
  EXPECT_EQ(ShortHash("abc", 3), "ungW");
}

}  // namespace
}  // namespace dray::driver
