// SPDX-License-Identifier: Apache-2.0
//
// What a killed server has left on the disk, looked at without changing it, and when it is about to
// change it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

namespace dray::crash {

// SQLite's own verdict ("ok") on a copy of the database and its log.
std::string IntegrityOf(const std::string& data, const std::string& scratch);

// Waits until the database itself is written to, which only happens when the log is moved into it.
// False: it did not happen in time.
bool AwaitCheckpoint(const std::string& data, std::chrono::milliseconds patience);

}  // namespace dray::crash
