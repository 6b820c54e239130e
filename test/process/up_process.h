// SPDX-License-Identifier: Apache-2.0
//
// `dray up` as a process of its own: started, looked at from the outside, ended or killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/client_for_test.h"

namespace dray::process {

// A folder that goes away. One thread.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const;

 private:
  std::string path_;
};

std::string ReadFile(const std::string& path);

// The binary is $DRAY_BINARY. Killed when this goes, if it still runs. One thread; what is const
// may be asked by any once AwaitReady has returned.
class UpProcess {
 public:
  // `data` is made if it is not there; a free port is taken. Another command of the same kind: apiserver.
  UpProcess(const std::string& data, const std::vector<std::string>& flags,
            const std::string& command = "up");
  ~UpProcess();
  UpProcess(const UpProcess&) = delete;
  UpProcess& operator=(const UpProcess&) = delete;

  // Empty once it is ready; else what it has said instead.
  std::string AwaitReady(std::chrono::seconds patience);
  // SIGKILL, and waits for the end. False: it had ended by itself.
  bool Kill();
  // SIGTERM, and waits half a minute; the exit code, or 128 + the signal that ended it.
  int Terminate();
  bool Running();

  std::uint16_t port() const { return port_; }
  // Everything that it has printed.
  std::string Said() const;
  std::size_t ResidentBytes() const;
  std::size_t PeakResidentBytes() const;
  std::size_t Threads() const;

  // Its authority, and the client's certificate of that name in its data: admin, viewer, scheduler.
  apiserver::ClientTls Tls(std::string_view user = "admin") const;

 private:
  std::optional<int> Wait(int flags);

  const std::string data_;
  const std::string output_;
  pid_t pid_ = -1;
  std::optional<int> ended_;
  std::uint16_t port_ = 0;
};

}  // namespace dray::process
