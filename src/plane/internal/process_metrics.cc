// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>

namespace dray::plane::internal {
namespace {

// Of /proc/self/stat.
struct ProcessStat {
  double cpu_seconds = 0;
  double started = 0;  // seconds after the machine
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

ProcessStat ReadStat() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // The second field is the program's name in brackets, and may have anything in it.
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0, system = 0, started = 0, virtual_bytes = 0, resident_pages = 0;
  fields >> user >> system;
  for (int field = 16; field < 22; ++field) fields >> skipped;
  fields >> started >> virtual_bytes >> resident_pages;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {(user + system) / ticks, started / ticks, virtual_bytes, resident_pages * page};
}

// When the machine was started, in seconds since 1970.
double BootTime() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    double seconds = 0;
    if (word == "btime" && file >> seconds) return seconds;
  }
  return 0;
}

double OpenFiles() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  return error ? 0 : static_cast<double>(std::distance(begin(files), end(files)));
}

}  // namespace

void AddProcessMetrics(metrics::Registry& registry) {
  using metrics::Readings;
  registry.Measure(
      {"process_cpu_seconds_total", "Total user and system CPU time of the process.", {}},
      [](Readings& readings) { readings.Add({}, ReadStat().cpu_seconds); },
      metrics::Registry::Kind::kCounter);
  registry.Measure(
      {"process_start_time_seconds", "Start time of the process, in seconds since 1970.", {}},
      [](Readings& readings) { readings.Add({}, BootTime() + ReadStat().started); });
  registry.Measure({"process_resident_memory_bytes", "Resident memory of the process.", {}},
                   [](Readings& readings) { readings.Add({}, ReadStat().resident_bytes); });
  registry.Measure({"process_virtual_memory_bytes", "Virtual memory of the process.", {}},
                   [](Readings& readings) { readings.Add({}, ReadStat().virtual_bytes); });
  registry.Measure({"process_open_fds", "Open file descriptors.", {}},
                   [](Readings& readings) { readings.Add({}, OpenFiles()); });
  registry.Measure({"process_max_fds", "Maximum number of open file descriptors.", {}},
                   [](Readings& readings) {
                     rlimit limit = {};
                     ::getrlimit(RLIMIT_NOFILE, &limit);
                     readings.Add({}, static_cast<double>(limit.rlim_cur));
                   });
}

}  // namespace dray::plane::internal
