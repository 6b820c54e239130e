// SPDX-License-Identifier: Apache-2.0
//
// etcd as a process beside what is measured: its data are on the disk that everything else uses, and
// every write is on it before it is acknowledged.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "apiserver/client_for_test.h"
#include "base/check.h"
#include "fmt/format.h"

namespace dray::plane {

// A line of /proc/PID/status, in MiB.
inline double MebibytesOf(pid_t process, std::string_view line) {
  std::ifstream file(fmt::format("/proc/{}/status", process));
  for (std::string text; std::getline(file, text);) {
    if (text.starts_with(line)) return std::stod(text.substr(line.size() + 1)) / 1024;
  }
  return 0;
}

// Of the processor, so far.
inline double SecondsOf(pid_t process) {
  clockid_t clock = 0;
  timespec now{};
  DRAY_CHECK(::clock_getcpuclockid(process, &clock) == 0, "a process has a clock");
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class EtcdProcess {
 public:
  // Empty: there is none; tools/fetch-etcd brings one.
  static std::string Program() {
    const char* named = ::getenv("DRAY_ETCD");
    const char* source = ::getenv("DRAY_SOURCE");
    for (const std::string& path :
         {std::string(named == nullptr ? "" : named),
          std::string(source == nullptr ? "." : source) + "/build/etcd/etcd"}) {
      if (!path.empty() && ::access(path.c_str(), X_OK) == 0) return path;
    }
    return "";
  }

  EtcdProcess() {
    folder_ = (std::filesystem::temp_directory_path() / "dray-etcd-XXXXXX").string();
    DRAY_CHECK(::mkdtemp(folder_.data()) != nullptr, "mkdtemp");
    // Somebody else may take a port between looking and using it.
    for (int port = 23'790 + ::getpid() % 1'000 * 2; !Start(port); port += 2) {
      DRAY_CHECK(port < 32'000, "etcd does not start");
    }
  }
  ~EtcdProcess() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  EtcdProcess(const EtcdProcess&) = delete;
  EtcdProcess& operator=(const EtcdProcess&) = delete;

  // As --store takes it; each with a prefix of its own.
  std::string Address(std::string_view prefix = "dray") const {
    return fmt::format("etcd://127.0.0.1:{}/{}", port_, prefix);
  }
  double Seconds() const { return SecondsOf(process_); }
  double PeakMebibytes() const { return MebibytesOf(process_, "VmHWM:"); }

 private:
  // False: it has ended.
  bool Start(int port) {
    const std::string client = fmt::format("http://127.0.0.1:{}", port);
    const std::string peer = fmt::format("http://127.0.0.1:{}", port + 1);
    std::vector<std::string> arguments = {Program(),
                                          "--data-dir",
                                          fmt::format("{}/{}", folder_, port),
                                          "--listen-client-urls",
                                          client,
                                          "--advertise-client-urls",
                                          client,
                                          "--listen-peer-urls",
                                          peer,
                                          "--initial-advertise-peer-urls",
                                          peer,
                                          "--initial-cluster",
                                          "default=" + peer,
                                          "--max-txn-ops",
                                          "1100",
                                          "--quota-backend-bytes",
                                          "8589934592",
                                          "--log-level",
                                          "error"};
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    process_ = ::fork();
    DRAY_CHECK(process_ >= 0, "fork");
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int nowhere = ::open("/dev/null", O_WRONLY);
      ::dup2(nowhere, STDERR_FILENO);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    for (;;) {
      if (::waitpid(process_, nullptr, WNOHANG) == process_) return false;
      apiserver::TestClient ask(static_cast<std::uint16_t>(port));
      if (ask.connected() && ask.Get("/health").body.find("true") != std::string::npos) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    port_ = port;
    return true;
  }

  std::string folder_;
  pid_t process_ = -1;
  int port_ = 0;
};

}  // namespace dray::plane
