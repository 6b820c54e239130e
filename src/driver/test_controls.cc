// SPDX-License-Identifier: Apache-2.0
#include "driver/test_controls.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <thread>
#include <utility>

#include "driver/device_file.h"
#include "driver/socket_names.h"
#include "files/files.h"
#include "fmt/format.h"

namespace dray::driver {
namespace {

constexpr std::array<std::string_view, 4> kCalls = {"prepare", "unprepare", "info", "register"};
constexpr std::size_t kMostCalls = 100'000;
constexpr std::size_t kLongestLine = 4096;

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

std::string NamesOf(const std::vector<rpc::ClaimName>& claims) {
  std::string text;
  for (const rpc::ClaimName& claim : claims) {
    text += fmt::format(" {}/{}/{}", claim.namespace_, claim.name, claim.uid);
  }
  return text;
}

}  // namespace

std::string TestControls::Command(std::string_view line) {
  std::string answer;
  const Status done = Obey(line, answer);
  return done.ok() ? answer + "ok\n" : fmt::format("error: {}\n", base::Message(done));
}

Status TestControls::Obey(std::string_view line, std::string& answer) {
  const std::vector<std::string_view> words = Words(line);
  if (words.empty())
    return base::InvalidArgument("fail, block, unblock, health, calls or prepared");
  const std::string_view verb = words[0];
  if (verb == "health") return SetHealth(words, line);
  if (verb == "prepared" && words.size() == 1) {
    for (const std::string& uid : hooks_.prepared()) answer += uid + "\n";
    return {};
  }
  const base::MutexLock lock(mutex_);
  if (verb == "calls" && words.size() == 1) {
    for (const std::string& call : calls_) answer += call + "\n";
    return {};
  }
  if (verb != "fail" && verb != "block" && verb != "unblock") {
    return base::InvalidArgument(fmt::format(
        "unknown command \"{}\"; available are fail, block, unblock, health, calls and prepared",
        verb));
  }
  if (words.size() < 2 || std::ranges::find(kCalls, words[1]) == kCalls.end()) {
    return base::InvalidArgument(fmt::format("{} what? One of {}", verb, fmt::join(kCalls, ", ")));
  }
  Rule& rule = rules_[std::string(words[1])];
  if (verb == "fail") {
    int count = 1;
    if (words.size() > 2) {
      const auto [end, error] =
          std::from_chars(words[2].data(), words[2].data() + words[2].size(), count);
      if (error != std::errc() || end != words[2].data() + words[2].size() || count < 0) {
        return base::InvalidArgument(fmt::format("\"{}\" is not a number of calls", words[2]));
      }
    }
    rule.failures = count;
  } else {
    rule.blocked = verb == "block";
  }
  changed_.NotifyAll();
  return {};
}

Status TestControls::SetHealth(const std::vector<std::string_view>& words, std::string_view line) {
  if (words.size() < 3)
    return base::InvalidArgument("health POOL/DEVICE Healthy|Unhealthy|Unknown [TEXT]");
  const std::size_t slash = words[1].rfind('/');
  if (slash == std::string_view::npos) {
    return base::InvalidArgument(fmt::format("\"{}\" is no POOL/DEVICE", words[1]));
  }
  DRAY_ASSIGN_OR_RETURN(const rpc::Health health, ParseHealth(words[2]));
  std::string message;
  if (words.size() > 3) {
    message = line.substr(static_cast<std::size_t>(words[3].data() - line.data()));
  }
  return hooks_.set_health(std::string(words[1].substr(0, slash)),
                           std::string(words[1].substr(slash + 1)), health, message);
}

void TestControls::Release() {
  const base::MutexLock lock(mutex_);
  released_ = true;
  changed_.NotifyAll();
}

Status TestControls::Enter(const std::string& call, std::string_view about) {
  const base::MutexLock lock(mutex_);
  if (calls_.size() < kMostCalls) {
    calls_.push_back(fmt::format("{} {}{}", clock_.Now().ToRfc3339Micro(), call, about));
  }
  while (rules_[call].blocked && !released_) changed_.Wait(mutex_);
  Rule& rule = rules_[call];
  if (rule.failures == 0) return {};
  --rule.failures;
  return base::Internal(fmt::format("{} fails: told to by its controls", call));
}

StatusOr<rpc::PrepareAnswer> TestControls::Prepare(const std::vector<rpc::ClaimName>& claims) {
  DRAY_RETURN_IF_ERROR(Enter("prepare", NamesOf(claims)));
  return inner_->Prepare(claims);
}
StatusOr<rpc::UnprepareAnswer> TestControls::Unprepare(const std::vector<rpc::ClaimName>& claims) {
  DRAY_RETURN_IF_ERROR(Enter("unprepare", NamesOf(claims)));
  return inner_->Unprepare(claims);
}
Status TestControls::WatchHealth(std::shared_ptr<rpc::HealthReports> reports) {
  return inner_->WatchHealth(std::move(reports));
}
StatusOr<rpc::PluginInfo> TestControls::Info() {
  DRAY_RETURN_IF_ERROR(Enter("info", ""));
  return inner_->Info();
}
Status TestControls::Registered(bool registered, const std::string& error) {
  DRAY_RETURN_IF_ERROR(Enter("register", registered ? "" : fmt::format(" refused: {}", error)));
  return inner_->Registered(registered, error);
}

namespace {

// One connection at a time is served; controls are for tests and people.
class Listener final : public ControlSocket {
 public:
  Listener(files::Fd socket, files::Fd wake, std::string path, TestControls& controls)
      : socket_(std::move(socket)),
        wake_(std::move(wake)),
        path_(std::move(path)),
        controls_(controls),
        thread_([this] { Serve(); }) {}
  ~Listener() override {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof(one));
    thread_.join();
    ::unlink(path_.c_str());
  }

 private:
  // False: it is time to end.
  bool WaitFor(int fd) {
    std::array<pollfd, 2> waits = {pollfd{.fd = fd, .events = POLLIN},
                                   pollfd{.fd = wake_.get(), .events = POLLIN}};
    while (::poll(waits.data(), waits.size(), -1) < 0) {
      if (errno != EINTR) return false;
    }
    return waits[1].revents == 0;
  }
  void Serve() {
    while (WaitFor(socket_.get())) {
      const files::Fd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (client.valid() && !Talk(client.get())) return;
    }
  }
  bool Talk(int fd) {
    std::string pending;
    for (;;) {
      if (!WaitFor(fd)) return false;
      std::array<char, 1024> bytes{};
      const ssize_t n = ::recv(fd, bytes.data(), bytes.size(), 0);
      if (n <= 0) return true;
      pending.append(bytes.data(), static_cast<std::size_t>(n));
      for (std::size_t end = pending.find('\n'); end != std::string::npos;
           end = pending.find('\n')) {
        const std::string answer = controls_.Command(std::string_view(pending).substr(0, end));
        pending.erase(0, end + 1);
        if (!Send(fd, answer)) return true;
      }
      if (pending.size() > kLongestLine) return true;
    }
  }
  static bool Send(int fd, std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  const files::Fd socket_;
  const files::Fd wake_;
  const std::string path_;
  TestControls& controls_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace

StatusOr<std::unique_ptr<ControlSocket>> ServeControls(const std::string& path,
                                                       TestControls& controls) {
  if (path.size() > kLongestSocketPath) {
    return base::InvalidArgument(
        fmt::format("{}: a socket's path has at most {} bytes", path, kLongestSocketPath));
  }
  files::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  files::Fd wake(::eventfd(0, EFD_CLOEXEC));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  ::unlink(path.c_str());
  if (!socket.valid() || !wake.valid() ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket.get(), 16) != 0) {
    return files::Failed("listen on", path, errno);
  }
  return std::unique_ptr<ControlSocket>(
      std::make_unique<Listener>(std::move(socket), std::move(wake), path, controls));
}

}  // namespace dray::driver
