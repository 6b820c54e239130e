// SPDX-License-Identifier: Apache-2.0
#include "crash/disk.h"

#include <sqlite3.h>

#include <filesystem>
#include <thread>

#include "base/check.h"

namespace dray::crash {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDatabase = "/dray.db";
constexpr std::chrono::microseconds kLook{200};

}  // namespace

std::string IntegrityOf(const std::string& data, const std::string& scratch) {
  fs::create_directories(scratch);
  for (const std::string suffix : {"", "-wal", "-journal"}) {
    const std::string to = scratch + kDatabase + suffix;
    fs::remove(to);
    const std::string from = data + kDatabase + suffix;
    if (fs::exists(from)) fs::copy_file(from, to);
  }
  if (!fs::exists(scratch + kDatabase)) return "ok";  // it was killed before it made one
  sqlite3* database = nullptr;
  DRAY_CHECK(sqlite3_open((scratch + kDatabase).c_str(), &database) == SQLITE_OK, "sqlite3_open");
  std::string verdict;
  char* error = nullptr;
  sqlite3_exec(
      database, "PRAGMA integrity_check",
      [](void* to, int, char** values, char**) {
        *static_cast<std::string*>(to) += values[0];
        return 0;
      },
      &verdict, &error);
  if (error != nullptr) verdict += error;
  sqlite3_free(error);
  sqlite3_close(database);
  return verdict;
}

bool AwaitCheckpoint(const std::string& data, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const fs::path file = data + kDatabase;
  const auto before = fs::last_write_time(file);
  while (std::chrono::steady_clock::now() < deadline) {
    if (fs::last_write_time(file) != before) return true;
    std::this_thread::sleep_for(kLook);
  }
  return false;
}

}  // namespace dray::crash
