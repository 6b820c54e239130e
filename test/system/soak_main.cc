// SPDX-License-Identifier: Apache-2.0
//
// system_soak: many seeds of the whole system. Ends with 1 at the first finding.
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "system/system.h"

int main(int argc, char** argv) {
  using namespace dray::system;
  // What one run gives back the next one takes.
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  RunOptions options;
  std::uint64_t seeds = 1000;
  bool keep_on = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--first") options.seed = std::strtoull(value, nullptr, 10), ++i;
    if (flag == "--seeds") seeds = std::strtoull(value, nullptr, 10), ++i;
    if (flag == "--profile") options.profile = FindProfile(value), ++i;
    if (flag == "--trace") options.trace = true;
    if (flag == "--keep-on") keep_on = true;
    if (flag == "--plant") {
      const std::string_view what = value;
      options.planted.unknown_is_failure = what == "unknown-is-failure";
      options.planted.leads_while_waiting = what == "leads-while-waiting";
      options.planted.unreadable_is_absent = what == "unreadable-is-absent";
      options.planted.quota_unchecked = what == "quota-unchecked";
      options.planted.misses_news = what == "misses-news";
      options.planted.keeps_devices = what == "keeps-devices";
      ++i;
    }
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
