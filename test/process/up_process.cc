// SPDX-License-Identifier: Apache-2.0
#include "process/up_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/check.h"

namespace dray::process {
namespace {

constexpr std::chrono::seconds kToEnd{30};

// A line of /proc/PID/status, in its unit.
std::size_t StatusLine(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":")) return std::stoul(line.substr(name.size() + 1));
  }
  return 0;
}

}  // namespace

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "dray-up-XXXXXX").string();
  DRAY_CHECK(::mkdtemp(pattern.data()) != nullptr, "mkdtemp");
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::File(std::string_view name) const { return path_ + "/" + std::string(name); }

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

UpProcess::UpProcess(const std::string& data, const std::vector<std::string>& flags,
                     const std::string& command)
    : data_(data), output_(data + ".out") {
  const char* binary = ::getenv("DRAY_BINARY");
  DRAY_CHECK(binary != nullptr, "DRAY_BINARY says where dray is");
  std::vector<std::string> arguments = {binary, command, "--data", data, "--listen", "127.0.0.1:0"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const int output = ::open(output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  DRAY_CHECK(output >= 0, output_);
  pid_ = ::fork();
  DRAY_CHECK(pid_ >= 0, "fork");
  if (pid_ == 0) {
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::execv(binary, argv.data());
    ::_exit(127);
  }
  ::close(output);
}

UpProcess::~UpProcess() { Kill(); }

std::optional<int> UpProcess::Wait(int flags) {
  if (ended_) return ended_;
  int status = 0;
  if (::waitpid(pid_, &status, flags) == pid_) {
    ended_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return ended_;
}

bool UpProcess::Running() { return !Wait(WNOHANG); }

std::string UpProcess::AwaitReady(std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline) {
    const bool running = Running();
    const std::string said = Said();
    if (said.find("\nready:") != std::string::npos) {
      const auto colon = said.find(':', said.find("https://") + sizeof("https:"));
      port_ = static_cast<std::uint16_t>(std::stoi(said.substr(colon + 1)));
      return {};
    }
    if (!running) return "it has ended: " + said;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return "it is not ready in time: " + Said();
}

bool UpProcess::Kill() {
  if (!Running()) return false;
  ::kill(pid_, SIGKILL);
  return Wait(0) == 128 + SIGKILL;
}

int UpProcess::Terminate() {
  if (Running()) ::kill(pid_, SIGTERM);
  const auto deadline = std::chrono::steady_clock::now() + kToEnd;
  while (Running() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  Kill();
  return *ended_;
}

std::string UpProcess::Said() const { return ReadFile(output_); }

std::size_t UpProcess::ResidentBytes() const { return StatusLine(pid_, "VmRSS") * 1024; }
std::size_t UpProcess::PeakResidentBytes() const { return StatusLine(pid_, "VmHWM") * 1024; }
std::size_t UpProcess::Threads() const { return StatusLine(pid_, "Threads"); }

apiserver::ClientTls UpProcess::Tls(std::string_view user) const {
  const std::string pki = data_ + "/pki/";
  const std::string name(user);
  return {.authority = ReadFile(pki + "ca.crt"),
          .client = apiserver::KeyPair{.certificate = ReadFile(pki + name + ".crt"),
                                       .key = ReadFile(pki + name + ".key")}};
}

}  // namespace dray::process
