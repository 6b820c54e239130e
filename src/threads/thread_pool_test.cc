// SPDX-License-Identifier: Apache-2.0
#include "threads/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace dray::threads {
namespace {

TEST(ThreadPool, WhatWorkersShareIsDoneOnceAndSeenAfterwards) {
  for (const std::size_t workers : {1, 2, 5}) {
    ThreadPool pool(workers);
    EXPECT_EQ(pool.workers(), workers);
    for (int round = 0; round < 200; ++round) {
      std::vector<int> done(64);
      std::atomic<std::size_t> next = 0;
      pool.Run([&](std::size_t worker) {
        ASSERT_LT(worker, workers);
        for (std::size_t i = next++; i < done.size(); i = next++) ++done[i];
      });
      EXPECT_EQ(done, std::vector<int>(64, 1));
    }
  }
}

TEST(ThreadPool, TheCallerIsWorkerZeroAndNoTwoAreTheSame) {
  ThreadPool pool(4);
  std::vector<std::thread::id> ids(4);
  std::atomic<int> there = 0;
  pool.Run([&](std::size_t worker) {
    EXPECT_EQ(ids[worker], std::thread::id());
    ids[worker] = std::this_thread::get_id();
    // Until all have come: they are really at it at the same time.
    ++there;
    while (there.load() < 4) std::this_thread::yield();
  });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  for (std::size_t a = 0; a < ids.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) EXPECT_NE(ids[a], ids[b]);
  }
}

TEST(ThreadPool, NobodyWaitsForAWorkerThatHasNotBegun) {
  ThreadPool pool(3);
  std::atomic<int> running = 0;
  for (int round = 0; round < 2'000; ++round) {
    pool.Run([&](std::size_t) {
      ++running;
      --running;
    });
    // Nothing of it goes on after the return.
    EXPECT_EQ(running.load(), 0);
  }
}

TEST(ThreadPool, EndsAtOnceWithoutWork) {
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) ThreadPool pool(4);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20));
}

TEST(Workers, AreAsConfiguredButNotMoreThanCores) {
  const std::size_t cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  EXPECT_EQ(WorkersFor(1), 1U);
  EXPECT_EQ(WorkersFor(100'000), cores);
  EXPECT_EQ(WorkersFor(0), std::min<std::size_t>(16, cores));
}

}  // namespace
}  // namespace dray::threads
