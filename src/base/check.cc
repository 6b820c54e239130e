// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace dray::base {
namespace {
std::atomic<std::uint64_t> bug_count{0};
}  // namespace

void CheckFailed(const char* file, int line, const char* condition, std::string_view message) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s%.*s\n", file, line, condition,
               message.empty() ? "" : ": ", static_cast<int>(message.size()), message.data());
  std::abort();
}

void ReportBug(const char* file, int line, std::string_view message) {
  bug_count.fetch_add(1, std::memory_order_relaxed);
  std::fprintf(stderr, "%s:%d: bug: %.*s\n", file, line, static_cast<int>(message.size()),
               message.data());
#ifndef NDEBUG
  std::abort();
#endif
}

std::uint64_t BugCount() { return bug_count.load(std::memory_order_relaxed); }

}  // namespace dray::base
