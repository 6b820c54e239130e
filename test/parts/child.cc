// SPDX-License-Identifier: Apache-2.0
#include "parts/child.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "base/check.h"

namespace dray::parts {
namespace {

constexpr std::size_t kLast = 2'000;

std::int64_t SizeOf(const std::string& file) {
  struct stat about = {};
  return ::stat(file.c_str(), &about) == 0 ? about.st_size : 0;
}

}  // namespace

Child::Child(ChildOptions options) : options_(std::move(options)) {}

Child::Child(Child&& other) noexcept
    : options_(other.options_),
      pid_(std::exchange(other.pid_, 0)),
      frozen_(other.frozen_),
      asked_(other.asked_),
      starts_(other.starts_),
      said_before_(other.said_before_),
      disk_(std::move(other.disk_)) {}

Child::~Child() {
  if (pid_ <= 0) return;
  Kill();
  ::waitpid(pid_, nullptr, 0);
}

void Child::Start() {
  DRAY_CHECK(pid_ == 0, options_.name + " runs");
  said_before_ = SizeOf(options_.log);
  std::vector<char*> argv;
  for (const std::string& argument : options_.command) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  const int log = ::open(options_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  DRAY_CHECK(log >= 0, options_.log);
  disk_ = options_.own_disk ? std::make_unique<SlowDisk>() : nullptr;
  pid_ = ::fork();
  DRAY_CHECK(pid_ >= 0, "fork");
  if (pid_ == 0) {
    // Nothing here takes memory: other threads of the parent may have held the heap's lock.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    if (disk_ != nullptr) disk_->InChild();
    ::close_range(3, ~0U, 0);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(log);
  if (disk_ != nullptr) DRAY_CHECK(disk_->InParent(), "a disk of its own for " + options_.name);
  frozen_ = asked_ = false;
  ++starts_;
}

void Child::Signal(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

void Child::Kill() {
  asked_ = true;
  Signal(SIGKILL);
}

void Child::Terminate() {
  asked_ = true;
  Signal(SIGTERM);
}

void Child::Freeze() {
  frozen_ = true;
  Signal(SIGSTOP);
}

void Child::Thaw() {
  frozen_ = false;
  Signal(SIGCONT);
}

void Child::SlowDown(std::chrono::milliseconds sync) {
  if (disk_ != nullptr) disk_->Delay(sync);
}

std::optional<Ending> Child::Ended() {
  if (pid_ <= 0) return std::nullopt;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = 0;
  frozen_ = false;
  Ending ending{.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
                .asked = asked_,
                .last = Said()};
  if (ending.last.size() > kLast) ending.last.erase(0, ending.last.size() - kLast);
  return ending;
}

std::string Child::Said() const {
  std::ifstream file(options_.log, std::ios::binary);
  file.seekg(said_before_);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool Child::AwaitSaid(const std::string& text, std::chrono::seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (Said().find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

int PortFor(int start) {
  for (int port = start; port < 32'768; ++port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool free = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    ::close(socket);
    if (free) return port;
  }
  DRAY_CHECK(false, "no port is free");
  return 0;
}

}  // namespace dray::parts
