// SPDX-License-Identifier: Apache-2.0
#include "container/internal/shim_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <list>
#include <optional>
#include <utility>

#include "api/json.h"
#include "base/clock.h"
#include "container/internal/cgroups.h"
#include "container/internal/log_writer.h"
#include "container/internal/process.h"
#include "container/internal/shim_frames.h"
#include "container/internal/state_files.h"
#include "container/log_format.h"
#include "fmt/format.h"

namespace dray::container::internal {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostBehind = 4 << 20;  // of a client that does not read
constexpr std::size_t kMostClients = 16;
// How long output is waited for when the first process has ended and others hold its pipes.
constexpr milliseconds kLastWords{500};
// How long those who are attached may take to read them: without reading a byte, and in all.
constexpr milliseconds kGoodbye{3000};
constexpr milliseconds kLongestGoodbye{30000};

StatusOr<files::Fd> Listen(const char* name) {
  files::Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, name, sizeof(address.sun_path) - 1);
  ::unlink(name);
  if (!listener.valid() ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener.get(), 8) != 0) {
    return files::Failed("listen on", name, errno);
  }
  return listener;
}

// The terminal's own end, which runc hands over.
StatusOr<files::Fd> ReceiveTerminal(int listener) {
  pollfd polled{listener, POLLIN, 0};
  if (::poll(&polled, 1, 5000) <= 0) return base::Unavailable("runc gave no terminal");
  const files::Fd connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection.valid()) return base::Unavailable("runc gave no terminal");
  char text[4096];
  iovec part{text, sizeof(text)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (::recvmsg(connection.get(), &message, MSG_CMSG_CLOEXEC) < 0) {
    return base::Unavailable("runc gave no terminal");
  }
  const cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_type != SCM_RIGHTS) {
    return base::Unavailable("runc gave no terminal");
  }
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(head), sizeof(fd));
  return files::Fd(fd);
}

struct RuncLogLine {
  std::string level;
  std::string msg;
};
const api::StructInfo& InfoOf(const RuncLogLine*) {
  using T = RuncLogLine;
  static const api::StructInfo info =
      api::Struct<T>("RuncLogLine", {api::Field<&T::level>("level"), api::Field<&T::msg>("msg")});
  return info;
}

// Why runc failed: the last error of its log.
std::string RuncSays() {
  const auto text = files::ReadWhole("runc.log");
  std::string said;
  if (!text.ok()) return said;
  for (std::string_view left = *text; !left.empty();) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    api::JsonDecoder decoder;
    const auto line = decoder.Decode<RuncLogLine>(left.substr(0, end));
    if (line.ok() && line->level == "error") said = line->msg;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return said;
}

class Shim {
 public:
  explicit Shim(ShimSpec spec)
      : spec_(std::move(spec)),
        log_({.path = spec_.log_path,
              .max_bytes = spec_.log_max_bytes,
              .max_files = spec_.log_max_files},
             clock_) {}

  Status Create() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    // Nobody's descriptor but the lock, which is no child's.
    ::fcntl(kLockFd, F_SETFD, FD_CLOEXEC);
    ::fcntl(kReadyFd, F_SETFD, FD_CLOEXEC);
    DRAY_RETURN_IF_ERROR(WriteRecord("shim.pid.json", PidRecord{.pid = ::getpid()}));
    DRAY_RETURN_IF_ERROR(log_.Open());
    sigset_t blocked;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
    signals_ = files::Fd(::signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK));
    DRAY_ASSIGN_OR_RETURN(listener_, Listen(kShimSocket));

    std::vector<std::string> argv = {
        spec_.runc, "--root", spec_.runc_root, "--log", "runc.log",   "--log-format",
        "json",     "create", "--bundle",      ".",     "--pid-file", "init.pid"};
    SpawnOptions options;
    Pipe out;
    Pipe err;
    Pipe in;
    files::Fd console;
    if (spec_.tty) {
      DRAY_ASSIGN_OR_RETURN(console, Listen("console.sock"));
      argv.insert(argv.end(), {"--console-socket", "console.sock"});
    } else {
      DRAY_ASSIGN_OR_RETURN(out, MakePipe());
      DRAY_ASSIGN_OR_RETURN(err, MakePipe());
      options.fds = {{1, out.write.get()}, {2, err.write.get()}};
      if (spec_.stdin_open) {
        DRAY_ASSIGN_OR_RETURN(in, MakePipe());
        options.fds[0] = in.read.get();
      }
    }
    argv.push_back(spec_.id);
    options.argv = argv;
    DRAY_ASSIGN_OR_RETURN(const pid_t runc, Spawn(options));
    if (const std::int32_t code = WaitFor(runc); code != 0) {
      const std::string why = RuncSays();
      return base::FailedPrecondition(why.empty() ? fmt::format("runc create ended with {}", code)
                                                  : why);
    }
    if (spec_.tty) {
      DRAY_ASSIGN_OR_RETURN(out_, ReceiveTerminal(console.get()));
      ::fcntl(out_.get(), F_SETFL, O_NONBLOCK);
    } else {
      out_ = std::move(out.read);
      err_ = std::move(err.read);
      in_ = std::move(in.write);
      ::fcntl(out_.get(), F_SETFL, O_NONBLOCK);
      ::fcntl(err_.get(), F_SETFL, O_NONBLOCK);
      if (in_.valid()) ::fcntl(in_.get(), F_SETFL, O_NONBLOCK);
    }
    DRAY_ASSIGN_OR_RETURN(const std::string pid, files::ReadWhole("init.pid"));
    std::from_chars(pid.data(), pid.data() + pid.size(), init_);
    memory_group_ = MemoryGroupOf(init_);
    return WriteRecord("created.json", PidRecord{.pid = init_});
  }

  // Until it has ended.
  Status Serve() {
    std::optional<std::chrono::steady_clock::time_point> last;
    while (!ended_ || out_.valid() || err_.valid()) {
      if (ended_ && !last) last = std::chrono::steady_clock::now() + kLastWords;
      int timeout = -1;
      if (last) {
        const auto left =
            std::chrono::duration_cast<milliseconds>(*last - std::chrono::steady_clock::now());
        if (left.count() <= 0) break;
        timeout = static_cast<int>(left.count());
      }
      Turn(timeout);
    }
    std::string lines;
    out_lines_.Finish(clock_.Now(), lines);
    err_lines_.Finish(clock_.Now(), lines);
    log_.Write(lines);
    ExitRecord record{.code = code_, .finished_at = LogTime(finished_at_)};
    record.oom_killed = record.code == 137 && OomKills(memory_group_) > 0;
    if (log_.lost() > 0) {
      record.message = fmt::format("{} lines of its log could not be written", log_.lost());
    }
    const Status written = WriteRecord(spec_.exit_path, record, files::Sync::kYes);
    for (Client& client : clients_) {
      client.out += EncodeFrame(Frame::kExit, fmt::format("{}", record.code));
    }
    SayGoodbye();
    return written;
  }

 private:
  struct Client {
    files::Fd socket;
    std::string in;
    std::string out;
    bool gone = false;
    bool waits_for_start = false;
  };

  // The last words, and how it ended, for who reads slowly; not for long.
  void SayGoodbye() {
    const auto end = std::chrono::steady_clock::now() + kLongestGoodbye;
    auto until = end;
    std::size_t unread = std::string::npos;
    for (;;) {
      std::vector<pollfd> polled;
      std::size_t rest = 0;
      for (Client& client : clients_) {
        Send(client);
        if (client.gone || client.out.empty()) continue;
        polled.push_back({client.socket.get(), POLLOUT, 0});
        rest += client.out.size();
      }
      if (rest < unread) until = std::min(end, std::chrono::steady_clock::now() + kGoodbye);
      unread = rest;
      clients_.remove_if([](const Client& client) { return client.gone; });
      const auto left =
          std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
      if (polled.empty() || left.count() <= 0) return;
      (void)::poll(polled.data(), polled.size(), static_cast<int>(left.count()));
    }
  }

  void Turn(int timeout) {
    std::vector<pollfd> polled = {{signals_.get(), POLLIN, 0},
                                  {listener_.get(), POLLIN, 0},
                                  {out_.valid() ? out_.get() : -1, POLLIN, 0},
                                  {err_.valid() ? err_.get() : -1, POLLIN, 0},
                                  {input_.empty() ? -1 : InputFd(), POLLOUT, 0}};
    if (fifo_.valid()) polled.push_back({fifo_.get(), POLLIN, 0});
    const std::size_t first_client = polled.size();
    for (const Client& client : clients_) {
      // While the container does not read what it was told, nobody is listened to; POLLRDHUP tells
      // that one is gone all the same.
      const short in = InputIsFull() ? POLLRDHUP : POLLIN;
      const short out = client.out.empty() ? 0 : POLLOUT;
      polled.push_back({client.socket.get(), static_cast<short>(in | out), 0});
    }
    if (::poll(polled.data(), polled.size(), timeout) < 0) return;
    if (polled[0].revents != 0) Reap();
    if (polled[2].revents != 0) Drain(out_, out_lines_, Frame::kOut);
    if (polled[3].revents != 0) Drain(err_, err_lines_, Frame::kErr);
    if (polled[4].revents != 0) FeedInput();
    if (first_client > 5 && polled[5].revents != 0) Started();
    std::size_t i = first_client;
    for (Client& client : clients_) {
      const short happened = polled[i++].revents;
      if (happened == 0) continue;
      if (InputIsFull() && (happened & (POLLRDHUP | POLLHUP | POLLERR)) != 0) client.gone = true;
      if (!client.gone) Exchange(client);
    }
    clients_.remove_if([](const Client& client) { return client.gone; });
    if (polled[1].revents != 0) Accept();
  }

  int InputFd() const { return spec_.tty ? out_.get() : in_.get(); }

  void Reap() {
    signalfd_siginfo ignored[8];
    while (::read(signals_.get(), ignored, sizeof(ignored)) > 0) {
    }
    // The container's own process is looked at and not waited for: as long as nobody can read how it
    // ended, others signal it by its pid, which nobody else may have by then.
    while (!ended_) {
      siginfo_t about{};
      if (::waitid(P_ALL, 0, &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid == 0) return;
      if (about.si_pid != init_) {  // an orphan of its
        (void)::waitpid(about.si_pid, nullptr, WNOHANG);
        continue;
      }
      ended_ = true;
      code_ = about.si_code == CLD_EXITED ? about.si_status : 128 + about.si_status;
      finished_at_ = clock_.Now();
    }
  }

  void Drain(files::Fd& from, LogEncoder& lines, Frame kind) {
    char buffer[32 * 1024];
    const ssize_t n = ::read(from.get(), buffer, sizeof(buffer));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {  // a terminal's end is an error
      from.Reset();
      return;
    }
    const std::string_view bytes(buffer, static_cast<std::size_t>(n));
    std::string written;
    lines.Add(bytes, clock_.Now(), written);
    log_.Write(written);
    for (Client& client : clients_) {
      client.out += EncodeFrame(kind, bytes);
      if (client.out.size() > kMostBehind) client.gone = true;
    }
  }

  void Accept() {
    files::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid() || clients_.size() >= kMostClients) return;
    clients_.emplace_back().socket = std::move(socket);
  }

  bool InputIsFull() const { return input_.size() >= kMostBehind; }

  void Exchange(Client& client) {
    if (!InputIsFull()) Hear(client);
    if (!client.gone) Send(client);
  }

  static void Send(Client& client) {
    if (client.out.empty()) return;
    const ssize_t sent = ::send(client.socket.get(), client.out.data(), client.out.size(),
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) client.out.erase(0, static_cast<std::size_t>(sent));
    if (sent < 0 && errno != EAGAIN && errno != EINTR) client.gone = true;
  }

  void Hear(Client& client) {
    char buffer[32 * 1024];
    const ssize_t n = ::recv(client.socket.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
      client.gone = true;
      return;
    }
    if (n > 0) client.in.append(buffer, static_cast<std::size_t>(n));
    bool broken = false;
    while (const auto frame = TakeFrame(client.in, broken)) {
      if (frame->first == Frame::kStart) {
        client.waits_for_start = true;
        Begin();
      } else {
        Obey(frame->first, frame->second);
      }
    }
    if (broken) client.gone = true;
  }

  // The container's first process waits until somebody opens the fifo to read from it, and says so.
  // What runc's own `start` does, without runc.
  void Begin() {
    if (fifo_.valid()) return;
    const std::string path = FifoPath();
    files::Fd fifo(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fifo.valid()) {
      return TellStart(errno == ENOENT
                           ? std::string()
                           : fmt::format("cannot start the container: {}", std::strerror(errno)));
    }
    // The time before: it may end at once.
    (void)WriteRecord("started.json", StartedRecord{.started_at = LogTime(clock_.Now())});
    fifo_ = std::move(fifo);
  }

  void Started() {
    char word = 0;
    const ssize_t n = ::read(fifo_.get(), &word, 1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    fifo_.Reset();
    if (n <= 0) return TellStart("the container ended before it was started");
    ::unlink(FifoPath().c_str());
    TellStart("");
  }

  void TellStart(const std::string& why_not) {
    for (Client& client : clients_) {
      if (!std::exchange(client.waits_for_start, false)) continue;
      client.out += EncodeFrame(Frame::kStarted, why_not);
    }
  }

  std::string FifoPath() const { return fmt::format("{}/{}/exec.fifo", spec_.runc_root, spec_.id); }

  void Obey(Frame kind, const std::string& payload) {
    if (kind == Frame::kInput && (spec_.tty ? out_.valid() : in_.valid())) {
      input_ += payload;
      FeedInput();
    } else if (kind == Frame::kCloseInput) {
      close_input_ = true;
      FeedInput();
    } else if (kind == Frame::kResize && spec_.tty && out_.valid()) {
      winsize size{};
      const std::size_t space = payload.find(' ');
      if (space == std::string::npos) return;
      std::from_chars(payload.data(), payload.data() + space, size.ws_col);
      std::from_chars(payload.data() + space + 1, payload.data() + payload.size(), size.ws_row);
      (void)::ioctl(out_.get(), TIOCSWINSZ, &size);
    }
  }

  void FeedInput() {
    while (!input_.empty()) {
      const ssize_t n = ::write(InputFd(), input_.data(), input_.size());
      if (n < 0 && errno == EAGAIN) return;
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        input_.clear();
        break;
      }
      input_.erase(0, static_cast<std::size_t>(n));
    }
    if (close_input_ && !spec_.tty) in_.Reset();
  }

  const ShimSpec spec_;
  base::SystemClock clock_;
  LogWriter log_;
  LogEncoder out_lines_{LogStream::kOut};
  LogEncoder err_lines_{LogStream::kErr};
  files::Fd signals_;
  files::Fd listener_;
  files::Fd out_;  // with a terminal: both ways
  files::Fd err_;
  files::Fd in_;
  files::Fd fifo_;  // while it is being started
  std::string input_;
  bool close_input_ = false;
  std::list<Client> clients_;
  pid_t init_ = 0;
  std::string memory_group_;
  bool ended_ = false;
  std::int32_t code_ = 0;
  base::Time finished_at_;
};

}  // namespace

Status RunContainer(const std::function<void(const std::string&)>& say) {
  DRAY_ASSIGN_OR_RETURN(ShimSpec spec, ReadRecord<ShimSpec>("shim.json"));
  Shim shim(std::move(spec));
  DRAY_RETURN_IF_ERROR(shim.Create());
  say("ok");
  // What goes wrong from here on is nobody's to hear.
  (void)shim.Serve();
  return {};
}

}  // namespace dray::container::internal
