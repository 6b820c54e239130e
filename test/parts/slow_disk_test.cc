// SPDX-License-Identifier: Apache-2.0
#include "parts/slow_disk.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "parts/child.h"

namespace dray::parts {
namespace {

using std::chrono::milliseconds;

// `sync -d` is one fdatasync.
TEST(SlowDisk, WhatAProcessWantsOnItsDiskTakesAsLongAsItIsTold) {
  if (!SlowDisk::CanBe()) GTEST_SKIP() << "this kernel, or this container, has no seccomp_unotify";
  std::string folder = std::filesystem::temp_directory_path() / "dray-disk-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  Child child({.name = "sync",
               .command = {"/bin/sh", "-c", "sleep 0.2; sync -d \"$0\" && echo synced", folder},
               .log = folder + "/log",
               .own_disk = true});
  for (const milliseconds delay : {milliseconds(0), milliseconds(1500)}) {
    const auto began = std::chrono::steady_clock::now();
    child.Start();
    child.SlowDown(delay);
    std::optional<Ending> ending;
    while (!(ending = child.Ended())) std::this_thread::sleep_for(milliseconds(5));
    EXPECT_EQ(ending->code, 0) << ending->last;
    EXPECT_EQ(ending->last, "synced\n");
    EXPECT_GE(std::chrono::steady_clock::now() - began, delay);
  }
  std::filesystem::remove_all(folder);
}

// Whoever waits for its disk can be killed.
TEST(SlowDisk, WhoWaitsForItEndsWhenItIsKilled) {
  if (!SlowDisk::CanBe()) GTEST_SKIP() << "this kernel, or this container, has no seccomp_unotify";
  std::string folder = std::filesystem::temp_directory_path() / "dray-disk-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  Child child({.name = "sync",
               .command = {"/bin/sh", "-c", "sleep 0.2; echo begins; exec sync -d \"$0\"", folder},
               .log = folder + "/log",
               .own_disk = true});
  child.Start();
  child.SlowDown(std::chrono::hours(1));
  ASSERT_TRUE(child.AwaitSaid("begins", std::chrono::seconds(60)));
  child.Kill();
  std::optional<Ending> ending;
  while (!(ending = child.Ended())) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(ending->code, 137);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace dray::parts
