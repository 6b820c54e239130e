// SPDX-License-Identifier: Apache-2.0
//
// Readers of snapshots while a writer goes on; for the thread sanitizer, and for what they see.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "cel/compile.h"
#include "cel/device_env.h"
#include "inventory/evaluation.h"
#include "inventory/node_devices.h"
#include "testing/slice_builder.h"

namespace dray::inventory {
namespace {

using testing::Device;
using testing::Node;
using testing::Slice;

constexpr int kNodes = 20;
constexpr int kRounds = 60;

// All devices of a slice have the round in which it was written.
api::ResourceSlice MakeSlice(int node, int round) {
  Slice slice("slice-" + std::to_string(node));
  slice.Pool("p" + std::to_string(node)).OnNode("n" + std::to_string(node));
  for (int i = 0; i < 4; ++i) {
    slice.With(Device("d" + std::to_string(i)).Int("round", round).Int("even", round % 2));
  }
  return slice;
}

TEST(SnapshotThreads, ReadersSeeWholeSlicesWhileAWriterGoesOn) {
  const auto dictionary = std::make_shared<Dictionary>();
  Inventory inventory(dictionary);
  for (int node = 0; node < kNodes; ++node) inventory.Put(MakeSlice(node, 0));
  const auto compiled =
      cel::Compile(R"(device.attributes["gpu.example.com"].even == 0)", cel::DeviceEnvironment({}));
  ASSERT_TRUE(compiled.ok()) << compiled.error;
  const BoundProgram program(*cel::Program::Compile(*compiled.checked), dictionary);

  base::Mutex mutex;
  Snapshot shared = inventory.snapshot();
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  const auto read = [&] {
    while (!done.load()) {
      const Snapshot snapshot = [&] {
        const base::MutexLock lock(mutex);
        return shared;
      }();
      for (int node = 0; node < kNodes; ++node) {
        const auto devices = Gather(snapshot, Node("n" + std::to_string(node)), Features::All());
        if (!devices.ok() || (*devices)->devices().size() != 4) {
          ++wrong;
          continue;
        }
        const NameId key = *dictionary->Find("round");
        const NodeDevice& first = (*devices)->devices()[0];
        const ValueId round = first.slice->FindAttribute(*first.row, key);
        const bool even = dictionary->At(round).value.as_int() % 2 == 0;
        for (const NodeDevice& device : (*devices)->devices()) {
          if (device.slice->FindAttribute(*device.row, key) != round) ++wrong;
          const Verdict verdict = program.Match(*device.slice, *device.row, nullptr);
          if (verdict != (even ? Verdict::kYes : Verdict::kNo)) ++wrong;
        }
      }
    }
  };
  std::vector<std::jthread> readers;
  for (int i = 0; i < 2; ++i) readers.emplace_back(read);
  for (int round = 1; round <= kRounds; ++round) {
    for (int node = 0; node < kNodes; ++node) inventory.Put(MakeSlice(node, round));
    const base::MutexLock lock(mutex);
    shared = inventory.snapshot();
  }
  done = true;
  readers.clear();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace dray::inventory
