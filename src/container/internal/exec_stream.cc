// SPDX-License-Identifier: Apache-2.0
#include "container/internal/exec_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>  // NOLINT: posix_openpt
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <thread>

#include "container/internal/process.h"
#include "container/internal/shim_frames.h"
#include "fmt/format.h"

namespace dray::container::internal {
namespace {

using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::size_t kErrorText = 4096;
// How long output is read after the command has ended and something else holds its pipes.
constexpr milliseconds kLastWords{300};
// How long runc may take to start a command, and to end after it.
constexpr milliseconds kStartTime{20'000};

class Session final : public ExecSession {
 public:
  explicit Session(std::shared_ptr<StreamInput> input) : input_(std::move(input)) {}
  ~Session() override { input_->Abandon(); }
  void Write(std::string bytes) override { input_->Write(std::move(bytes)); }
  bool Full() const override { return input_->Full(); }
  void CloseInput() override { input_->Close(); }
  void Resize(std::uint16_t columns, std::uint16_t rows) override { input_->Resize(columns, rows); }

 private:
  std::shared_ptr<StreamInput> input_;
};

// A pseudo terminal: our end, and the name of the other.
struct Terminal {
  files::Fd master;
  std::string name;
};

StatusOr<Terminal> OpenTerminal() {
  Terminal terminal{.master = files::Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), .name = {}};
  char name[128];
  if (!terminal.master.valid() || ::grantpt(terminal.master.get()) != 0 ||
      ::unlockpt(terminal.master.get()) != 0 ||
      ::ptsname_r(terminal.master.get(), name, sizeof(name)) != 0) {
    return files::Failed("open", "a terminal", errno);
  }
  terminal.name = name;
  return terminal;
}

void SetSize(int terminal, std::pair<std::uint16_t, std::uint16_t> size) {
  winsize window{};
  window.ws_col = size.first;
  window.ws_row = size.second;
  (void)::ioctl(terminal, TIOCSWINSZ, &window);
}

std::int64_t PidIn(const std::string& file) {
  const auto text = files::ReadWhole(file);
  std::int64_t pid = 0;
  if (text.ok()) std::from_chars(text->data(), text->data() + text->size(), pid);
  return pid;
}

// One command, from its start to its end.
class Exec {
 public:
  Exec(const ExecCall& call, StreamInput& input, const std::function<void(std::string)>& out,
       const std::function<void(std::string)>& err)
      : call_(call), input_(input), out_(out), err_(err) {}

  StatusOr<std::int32_t> Run() {
    DRAY_RETURN_IF_ERROR(Start());
    std::optional<SteadyTime> deadline;
    if (call_.timeout) {
      deadline = std::chrono::steady_clock::now() +
                 std::chrono::duration_cast<std::chrono::steady_clock::duration>(*call_.timeout);
    }
    Status ended;
    // Also when it has nothing more to say: it may still take too long, or be abandoned.
    while (!code_ || out_fd_.valid() || err_fd_.valid()) {
      milliseconds wait{100};
      const SteadyTime now = std::chrono::steady_clock::now();
      if (!code_) Poll();
      if (!out_fd_.valid() && !err_fd_.valid()) {
        if (code_) break;
        // Mostly it ends at this moment.
        wait = std::exchange(end_look_, std::min(2 * end_look_, wait));
      }
      if (code_ && !last_) last_ = now + kLastWords;
      if (last_ && now >= *last_) break;
      if (deadline && now >= *deadline) {
        ended =
            base::MakeStatus(StatusCode::kDeadlineExceeded, "the command took longer than it may");
        break;
      }
      if (deadline) {
        wait = std::min(
            wait, std::chrono::duration_cast<milliseconds>(*deadline - now) + milliseconds(1));
      }
      if (!Turn(static_cast<int>(wait.count()))) {
        ended = base::MakeStatus(StatusCode::kCancelled, "the client of the command has gone");
        break;
      }
    }
    if (!ended.ok()) KillCommand();
    if (!code_) code_ = WaitFor(child_);
    // runc writes the pid once the command runs.
    const bool began = PidIn(call_.pid_file) > 0;
    (void)files::RemoveFile(call_.pid_file);
    if (!ended.ok()) return ended;
    if (!began && *code_ != 0) {
      while (!said_.empty() && (said_.back() == '\n' || said_.back() == '\r')) said_.pop_back();
      return base::FailedPrecondition(said_.empty() ? "the command could not be started" : said_);
    }
    return *code_;
  }

 private:
  Status Start() {
    std::vector<std::string> argv = call_.runc;
    if (call_.tty) argv.push_back("--tty");
    argv.insert(argv.end(), {"--pid-file", call_.pid_file, call_.container_id});
    argv.insert(argv.end(), call_.command.begin(), call_.command.end());
    (void)files::RemoveFile(call_.pid_file);
    SpawnOptions options{.argv = argv, .fds = {}, .terminal = {}, .folder = {}};
    if (call_.tty) {
      DRAY_ASSIGN_OR_RETURN(Terminal terminal, OpenTerminal());
      options.terminal = terminal.name;
      DRAY_ASSIGN_OR_RETURN(child_, Spawn(options));
      out_fd_ = std::move(terminal.master);
      ::fcntl(out_fd_.get(), F_SETFL, O_NONBLOCK);
      return {};
    }
    DRAY_ASSIGN_OR_RETURN(Pipe out, MakePipe());
    DRAY_ASSIGN_OR_RETURN(Pipe err, MakePipe());
    Pipe in;
    options.fds = {{1, out.write.get()}, {2, err.write.get()}};
    if (call_.stdin_open) {
      DRAY_ASSIGN_OR_RETURN(in, MakePipe());
      options.fds[0] = in.read.get();
    }
    DRAY_ASSIGN_OR_RETURN(child_, Spawn(options));
    out_fd_ = std::move(out.read);
    err_fd_ = std::move(err.read);
    in_fd_ = std::move(in.write);
    ::fcntl(out_fd_.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(err_fd_.get(), F_SETFL, O_NONBLOCK);
    if (in_fd_.valid()) ::fcntl(in_fd_.get(), F_SETFL, O_NONBLOCK);
    return {};
  }

  // False: abandoned.
  bool Turn(int timeout) {
    const int in = call_.tty ? out_fd_.get() : in_fd_.get();
    pollfd polled[4] = {{input_.wake_fd(), POLLIN, 0},
                        {out_fd_.get(), POLLIN, 0},
                        {err_fd_.get(), POLLIN, 0},
                        {pending_.empty() ? -1 : in, POLLOUT, 0}};
    if (::poll(polled, 4, timeout) < 0) return true;
    if (polled[0].revents != 0) {
      StreamInput::Wanted wanted = input_.Take();
      if (wanted.abandoned) return false;
      if (wanted.size && call_.tty && out_fd_.valid()) SetSize(out_fd_.get(), *wanted.size);
      if (call_.tty ? out_fd_.valid() : in_fd_.valid()) {
        pending_ += wanted.bytes;
      } else {
        input_.Consumed(wanted.bytes.size());
      }
      close_ = close_ || wanted.close;
    }
    Feed();
    if (polled[1].revents != 0) Drain(out_fd_, out_, false);
    if (polled[2].revents != 0) Drain(err_fd_, err_, true);
    return true;
  }

  void Feed() {
    const int in = call_.tty ? out_fd_.get() : in_fd_.get();
    while (!pending_.empty() && in >= 0) {
      const ssize_t n = ::write(in, pending_.data(), pending_.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      // Nobody reads it any more.
      const std::size_t gone = n < 0 ? pending_.size() : static_cast<std::size_t>(n);
      pending_.erase(0, gone);
      input_.Consumed(gone);
    }
    if (!close_) return;
    close_ = false;
    if (!call_.tty) {
      in_fd_.Reset();
    } else if (out_fd_.valid()) {
      const char end_of_file = 4;  // ^D
      (void)!::write(out_fd_.get(), &end_of_file, 1);
    }
  }

  void Drain(files::Fd& from, const std::function<void(std::string)>& to, bool is_err) {
    char buffer[32 * 1024];
    const ssize_t n = ::read(from.get(), buffer, sizeof(buffer));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
      from.Reset();
      return;
    }
    std::string bytes(buffer, static_cast<std::size_t>(n));
    if ((is_err || call_.tty) && said_.size() < kErrorText) said_ += bytes;
    if (to) to(std::move(bytes));
  }

  void Poll() {
    int status = 0;
    if (::waitpid(child_, &status, WNOHANG) == child_) code_ = CodeOf(status);
  }

  // runc's end would not be the command's: that is killed, once runc has said which one it is; it may
  // still be starting it.
  void KillCommand() {
    const SteadyTime give_up = std::chrono::steady_clock::now() + kStartTime;
    bool killed = false;
    while (!code_ && std::chrono::steady_clock::now() < give_up) {
      const std::int64_t pid = PidIn(call_.pid_file);
      if (pid > 1 && !killed) {
        ::kill(static_cast<pid_t>(pid), SIGKILL);
        killed = true;
        // Nobody reads what it says: runc must not wait for that.
        out_fd_.Reset();
        err_fd_.Reset();
      }
      std::this_thread::sleep_for(milliseconds(2));
      Poll();
    }
    if (!code_) ::kill(child_, SIGKILL);
  }

  const ExecCall& call_;
  StreamInput& input_;
  const std::function<void(std::string)>& out_;
  const std::function<void(std::string)>& err_;
  pid_t child_ = 0;
  files::Fd out_fd_;
  files::Fd err_fd_;
  files::Fd in_fd_;
  std::string pending_;
  bool close_ = false;
  std::string said_;
  std::optional<std::int32_t> code_;
  std::optional<SteadyTime> last_;
  milliseconds end_look_{1};  // how soon to look whether one that says nothing more has ended
};

}  // namespace

StreamInput::StreamInput(std::function<void()> room)
    : room_(std::move(room)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void StreamInput::Wake() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof(one));
}

void StreamInput::Write(std::string bytes) {
  const base::MutexLock lock(mutex_);
  wanted_.bytes += bytes;
  held_ += bytes.size();
  Wake();
}

bool StreamInput::Full() const {
  const base::MutexLock lock(mutex_);
  return held_ >= kMostInput;
}

void StreamInput::Consumed(std::size_t bytes) {
  {
    const base::MutexLock lock(mutex_);
    const bool was_full = held_ >= kMostInput;
    held_ -= bytes;
    if (!was_full || held_ >= kMostInput) return;
  }
  if (room_) room_();
}

void StreamInput::Close() {
  const base::MutexLock lock(mutex_);
  wanted_.close = true;
  Wake();
}

void StreamInput::Resize(std::uint16_t columns, std::uint16_t rows) {
  const base::MutexLock lock(mutex_);
  wanted_.size = std::pair(columns, rows);
  Wake();
}

void StreamInput::Abandon() {
  const base::MutexLock lock(mutex_);
  wanted_.abandoned = true;
  Wake();
}

StreamInput::Wanted StreamInput::Take() {
  const base::MutexLock lock(mutex_);
  std::uint64_t ignored = 0;
  (void)!::read(wake_.get(), &ignored, sizeof(ignored));
  Wanted taken = std::move(wanted_);
  wanted_ = {};
  wanted_.abandoned = taken.abandoned;
  return taken;
}

std::shared_ptr<ExecSession> SessionOf(std::shared_ptr<StreamInput> input) {
  return std::make_shared<Session>(std::move(input));
}

StatusOr<std::int32_t> RunExec(const ExecCall& call, StreamInput& input,
                               const std::function<void(std::string)>& out,
                               const std::function<void(std::string)>& err) {
  return Exec(call, input, out, err).Run();
}

StatusOr<std::int32_t> RunAttach(const std::string& folder, StreamInput& input,
                                 const std::function<void(std::string)>& out,
                                 const std::function<void(std::string)>& err) {
  // By way of the folder's descriptor: names of sockets have no room for long paths.
  const files::Fd home(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!home.valid()) return files::Failed("attach to", folder, errno);
  files::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", home.get(), kShimSocket);
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  if (!socket.valid() ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return base::FailedPrecondition(
        fmt::format("the container cannot be attached to: {}", std::strerror(errno)));
  }
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  std::string received;
  std::string to_send;
  std::size_t input_to_send = 0;  // bytes of input in it
  for (;;) {
    pollfd polled[2] = {
        {input.wake_fd(), POLLIN, 0},
        {socket.get(), static_cast<short>(to_send.empty() ? POLLIN : POLLIN | POLLOUT), 0}};
    if (::poll(polled, 2, -1) < 0) continue;
    if (polled[0].revents != 0) {
      const StreamInput::Wanted wanted = input.Take();
      if (wanted.abandoned) {
        return base::MakeStatus(StatusCode::kCancelled, "the client has gone");
      }
      if (wanted.size) {
        to_send += EncodeFrame(Frame::kResize,
                               fmt::format("{} {}", wanted.size->first, wanted.size->second));
      }
      input_to_send += wanted.bytes.size();
      for (std::size_t at = 0; at < wanted.bytes.size(); at += kLongestFrame) {
        to_send += EncodeFrame(Frame::kInput, wanted.bytes.substr(at, kLongestFrame));
      }
      if (wanted.close) to_send += EncodeFrame(Frame::kCloseInput, "");
    }
    while (!to_send.empty()) {
      const ssize_t n = ::send(socket.get(), to_send.data(), to_send.size(), MSG_NOSIGNAL);
      if (n < 0) break;
      to_send.erase(0, static_cast<std::size_t>(n));
    }
    if (to_send.empty()) input.Consumed(std::exchange(input_to_send, 0));
    if (polled[1].revents == 0) continue;
    char buffer[32 * 1024];
    const ssize_t n = ::recv(socket.get(), buffer, sizeof(buffer), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return base::Unavailable("the container's shim has gone");
    received.append(buffer, static_cast<std::size_t>(n));
    bool broken = false;
    while (auto frame = TakeFrame(received, broken)) {
      if (frame->first == Frame::kOut && out) out(std::move(frame->second));
      if (frame->first == Frame::kErr && err) err(std::move(frame->second));
      if (frame->first == Frame::kExit) {
        std::int32_t code = 0;
        std::from_chars(frame->second.data(), frame->second.data() + frame->second.size(), code);
        return code;
      }
    }
    if (broken) return base::Internal("the container's shim speaks nonsense");
  }
}

}  // namespace dray::container::internal
