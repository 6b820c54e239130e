// SPDX-License-Identifier: Apache-2.0
//
// Checks on our own invariants. Never on what came from outside: that is an error with a test.
//
//   DRAY_CHECK   going on would be worse than stopping (a device given twice); always on
//   DRAY_DCHECK  a local invariant; on in debug builds
//   DRAY_BUG     can go on: aborts in debug builds, is counted and logged to stderr in release
#pragma once

#include <cstdint>
#include <string_view>

namespace dray::base {

[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view message);
void ReportBug(const char* file, int line, std::string_view message);
// How many times ReportBug was called in this process. Thread-safe.
std::uint64_t BugCount();

}  // namespace dray::base

#define DRAY_CHECK(condition, ...)                                                                \
  do {                                                                                            \
    if (!(condition)) [[unlikely]]                                                                \
      ::dray::base::CheckFailed(__FILE__, __LINE__, #condition, ::std::string_view{__VA_ARGS__}); \
  } while (false)

#ifdef NDEBUG
#define DRAY_DCHECK(condition, ...) \
  do {                              \
  } while (false && (condition))
#else
#define DRAY_DCHECK(condition, ...) DRAY_CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#endif

#define DRAY_BUG(message) ::dray::base::ReportBug(__FILE__, __LINE__, message)
