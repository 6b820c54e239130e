// SPDX-License-Identifier: Apache-2.0
//
// system_soak: many seeds of the whole system. Ends with 1 at the first finding.
#include <malloc.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "system/system.h"

namespace {

using namespace dray::system;

constexpr std::string_view kUsage =
    "usage: system_soak [--first SEED] [--seeds N] [--profile NAME] [--trace] [--keep-on]\n"
    "                   [--plant unknown-is-failure|leads-while-waiting|unreadable-is-absent|\n"
    "                            quota-unchecked|misses-news|keeps-devices]\n";

bool ReadNumber(std::string_view text, std::uint64_t& to) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size();
}

bool Plant(std::string_view what, Planted& planted) {
  const std::pair<std::string_view, bool Planted::*> kFaults[] = {
      {"unknown-is-failure", &Planted::unknown_is_failure},
      {"leads-while-waiting", &Planted::leads_while_waiting},
      {"unreadable-is-absent", &Planted::unreadable_is_absent},
      {"quota-unchecked", &Planted::quota_unchecked},
      {"misses-news", &Planted::misses_news},
      {"keeps-devices", &Planted::keeps_devices}};
  for (const auto& [name, fault] : kFaults) {
    if (what != name) continue;
    planted.*fault = true;
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  // What one run gives back the next one takes.
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  RunOptions options;
  std::uint64_t seeds = 1000;
  bool keep_on = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    bool known = true;
    if (flag == "--trace") {
      options.trace = true;
      continue;
    }
    if (flag == "--keep-on") {
      keep_on = true;
      continue;
    }
    if (flag == "--first") {
      known = ReadNumber(value, options.seed);
    } else if (flag == "--seeds") {
      known = ReadNumber(value, seeds);
    } else if (flag == "--profile") {
      options.profile = FindProfile(value);
      known = options.profile != nullptr;
    } else if (flag == "--plant") {
      known = Plant(value, options.planted);
    } else {
      known = false;
    }
    // An hour of the wrong seeds is a long answer to a slip.
    if (!known) {
      fmt::print(stderr, "{} {}: not understood\n{}", flag, value, kUsage);
      return 2;
    }
    ++i;
  }
  const auto began = std::chrono::steady_clock::now();
  const auto took = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  const auto cpu = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  std::map<std::string, std::uint64_t> counts;
  std::uint64_t events = 0;
  std::uint64_t found = 0;
  double simulated = 0;
  std::uint64_t run = 0;
  double told = 0;
  for (; run < seeds; ++run, ++options.seed) {
    const RunReport report = Simulate(options);
    events += report.events;
    simulated += std::chrono::duration<double>(report.time).count();
    for (const auto& [what, times] : report.counts) counts[what] += times;
    if (!report.findings.empty()) {
      ++found;
      fmt::print("seed {} ({}):\n", options.seed, report.profile);
      std::size_t shown = 0;
      for (const std::string& finding : report.findings) {
        if (++shown <= 5) fmt::print("  {}\n", finding);
      }
      if (options.profile == nullptr) {
        fmt::print("repeat with\n{}\n", Replay(options.seed));
      } else {
        fmt::print("repeat with --first {} --seeds 1 --profile '{}' --trace\n", options.seed,
                   report.profile);
      }
      std::fflush(stdout);
      if (!keep_on) {
        ++run;
        break;
      }
    }
    if (took() > told + 30) {
      told = took();
      fmt::print("{} seeds, {:.1f} per second\n", run + 1, static_cast<double>(run + 1) / told);
      std::fflush(stdout);
    }
  }
  fmt::print(
      "{} seeds in {:.1f} s ({:.1f} s of CPU, {:.3f} s each); {} events, {:.0f} simulated seconds; "
      "{} "
      "with findings\n",
      run, took(), cpu(), cpu() / static_cast<double>(run), events, simulated, found);
  for (const auto& [what, times] : counts) fmt::print("  {:24} {}\n", what, times);
  return found == 0 ? 0 : 1;
}
