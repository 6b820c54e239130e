// SPDX-License-Identifier: Apache-2.0
//
// `dray console`: the page of a cluster. DRAY_VERSION is the version of the CMake project.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/internal/command.h"
#include "cli/internal/console_desk.h"
#include "cli/internal/options.h"
#include "cli/internal/paint.h"
#include "cli/internal/server_flags.h"
#include "cli/internal/signals.h"
#include "cli/run.h"
#include "console/local_console.h"
#include "fmt/format.h"

extern char** environ;

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Opens a live web page for a cluster: every device and the pod that uses it, the history
of each claim, why pods are pending and what would help, what-if plans, usage over time,
simulations, and CEL expressions tried on the devices. It works with any API server that
has DRA (resource.k8s.io v1, v1beta2 or v1beta1).

The credentials of the kubeconfig stay in this process. It only lists and watches what
its user may read, and never writes to the cluster; what the user may not read is shown
as unknown. The printed address contains a token: anyone with the token sees the cluster
with your rights until this process ends.

Examples:
  dray console                             the cluster of the current context
  dray console --open                      and open the browser
  dray console --context prod
  dray console --scenarios scenarios/      with simulations of the files in a folder
  ssh -L 8080:127.0.0.1:8080 host dray console --listen 127.0.0.1:8080

'dray up' serves the same page at /console of its own address, to users with a token
or a client certificate of the cluster.

Exit code: 0 stopped on request, 2 it could not be started.)";

// A file that only its owner can read, and that leads on to an address: what is in a command line,
// others can see.
class Redirect {
 public:
  explicit Redirect(std::string_view address, const Environment& env) {
    const auto runtime = env.variables.find("XDG_RUNTIME_DIR");
    const auto temporary = env.variables.find("TMPDIR");
    path_ = runtime != env.variables.end()     ? runtime->second
            : temporary != env.variables.end() ? temporary->second
                                               : "/tmp";
    constexpr std::string_view kEnd = ".html";
    path_ += "/dray-console-XXXXXX" + std::string(kEnd);
    const int file = ::mkostemps(path_.data(), static_cast<int>(kEnd.size()), O_CLOEXEC);
    if (file < 0) {
      path_.clear();
      return;
    }
    const std::string text = fmt::format(
        "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>"
        "<meta http-equiv=refresh content=\"0;url={}\"><title>dray console</title>"
        "<p>The console opens.\n",
        address);
    const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::close(file);
    if (whole) return;
    ::unlink(path_.c_str());
    path_.clear();
  }
  ~Redirect() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Redirect(const Redirect&) = delete;
  Redirect& operator=(const Redirect&) = delete;
  // Empty: it could not be written.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Whether a browser was started.
bool OpenBrowser(const std::string& path, const Environment& env) {
  const auto chosen = env.variables.find("BROWSER");
  std::string program = chosen != env.variables.end() && !chosen->second.empty()
                            ? chosen->second
                            : std::string("xdg-open");
  std::string argument = path;
  std::vector<char*> argv = {program.data(), argument.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, program.c_str(), &files, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return failed == 0;
}

class ConsoleCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddServerFlags(app, server_);
    app.add_option("--listen", listen_,
                   "Loopback address and port to serve the page on; port 0 picks a free one")
        ->type_name("ADDRESS:PORT")
        ->capture_default_str();
    app.add_flag("--open", open_, "Open the page in the browser ($BROWSER, else xdg-open)");
    app.add_option("--scenarios", scenarios_, "Folder of scenarios that the console can simulate")
        ->type_name("DIR");
    AddGates(app, gates_);
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    const auto gates = ReadGates(io, gates_);
    if (!gates) return kExitUsage;
    console::LocalOptions options;
    if (!ReadListen(options)) {
      return UsageError(
          io,
          fmt::format("--listen: \"{}\" must be a loopback address and a port", Printable(listen_)),
          "for example 127.0.0.1:8080; clients of the console read with your credentials, so it "
          "only listens on this machine");
    }
    const auto access = ReadAccess(io, server_);
    if (!access) return kExitUsage;
    options.version = std::string("dray ") + DRAY_VERSION;
    options.server = access->url;
    options.cluster = access->url.substr(
        access->url.find("//") == std::string::npos ? 0 : access->url.find("//") + 2);
    if (!server_.context.empty()) options.cluster = server_.context;
    options.user = access->as.user.empty() ? access->username : access->as.user;
    if (!access->namespace_.empty()) options.namespace_ = access->namespace_;
    auto source = console::MakeRemoteSource(*access, io.env.clock);
    if (!source.ok()) return UsageError(io, Printable(base::Message(source.status())));
    const EndSignals signals;
    const auto desk = MakeConsoleDesk({.gates = *gates, .scenarios = scenarios_});
    auto started =
        console::LocalConsole::Start(std::move(options), *std::move(source), *desk, io.env.clock);
    if (!started.ok()) return UsageError(io, Printable(base::Message(started.status())));
    return Serve(io, **started, access->url, signals);
  }

  std::string HintForArgument(std::string_view argument) const override {
    return fmt::format("name the kubeconfig with --kubeconfig, as in --kubeconfig {}", argument);
  }

 private:
  int Serve(Io& io, const console::LocalConsole& console, const std::string& url,
            const EndSignals& signals) const {
    io.out << fmt::format("{:<12} {}\n", "apiserver", Printable(url));
    io.out << fmt::format("{:<12} {}\n", "console", console.address()) << std::flush;
    std::unique_ptr<Redirect> redirect;
    if (open_) {
      redirect = std::make_unique<Redirect>(console.address(), io.env);
      if (redirect->path().empty() || !OpenBrowser(redirect->path(), io.env)) {
        io.err << "note: no browser could be started; open the address above\n";
      }
    }
    std::string said;
    bool ready = false;
    for (;;) {
      const console::Connection connection = console.connection();
      if (connection.ready && !ready) io.out << "ready\n" << std::flush;
      ready = connection.ready;
      const std::string trouble = connection.lost ? connection.message : "";
      if (trouble != said) {
        io.err << (trouble.empty()
                       ? std::string("the API server is back")
                       : fmt::format("the API server cannot be reached: {}", Printable(trouble)))
               << std::endl;
      }
      said = trouble;
      if (signals.Came()) return kExitOk;
    }
  }

  bool ReadListen(console::LocalOptions& options) const {
    const auto colon = listen_.rfind(':');
    if (colon == std::string::npos || colon == 0) return false;
    std::string host = listen_.substr(0, colon);
    if (host == "localhost") host = "127.0.0.1";
    if (host == "[::1]") host = "::1";
    if (host != "127.0.0.1" && host != "::1") return false;
    options.address = host;
    const char* const end = listen_.data() + listen_.size();
    const auto [rest, error] = std::from_chars(listen_.data() + colon + 1, end, options.port);
    return error == std::errc() && rest == end;
  }

  ServerFlags server_;
  std::string listen_ = "127.0.0.1:0";
  bool open_ = false;
  std::string scenarios_;
  std::vector<std::string> gates_;
};

}  // namespace

std::unique_ptr<Command> MakeConsoleCommand() { return std::make_unique<ConsoleCommand>(); }

}  // namespace dray::cli::internal
