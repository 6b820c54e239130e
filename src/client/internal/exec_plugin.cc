// SPDX-License-Identifier: Apache-2.0
#include "client/internal/exec_plugin.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "api/document.h"
#include "api/json.h"
#include "fmt/format.h"

extern char** environ;

namespace dray::client::internal {
namespace {

using api::DocumentNode;
using std::chrono::steady_clock;

constexpr std::size_t kMostOutput = 1u << 20;
// Programs ask servers; people who are asked something need longer.
constexpr std::chrono::seconds kPatience{60};
constexpr std::chrono::minutes kPatienceWithPeople{10};

std::string TextIn(const DocumentNode* node, std::string_view key) {
  const api::Member* member = node == nullptr ? nullptr : node->Find(key);
  return member != nullptr && member->value.kind == DocumentNode::Kind::kString ? member->value.text
                                                                                : std::string();
}

Status Fault(const ExecPlugin& plugin, std::string_view what) {
  return base::MakeStatus(StatusCode::kUnauthenticated,
                          fmt::format("exec plugin {}: {}", plugin.command, what));
}

// The request, as the program finds it in its environment.
std::string InfoFor(const ExecPlugin& plugin, bool interactive) {
  return fmt::format(
      R"({{"kind":"ExecCredential","apiVersion":"{}","spec":{{{}"interactive":{}}}}})",
      plugin.api_version,
      plugin.cluster.empty() ? "" : fmt::format(R"("cluster":{},)", plugin.cluster), interactive);
}

struct Pipe {
  int read = -1;
  int write = -1;
  ~Pipe() {
    CloseWrite();
    if (read >= 0) ::close(read);
  }
  void CloseWrite() {
    if (write >= 0) ::close(write);
    write = -1;
  }
};

StatusOr<pid_t> Spawn(const ExecPlugin& plugin, const std::string& info, bool interactive,
                      int output) {
  std::vector<std::string> variables;
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    const std::string_view text = *one;
    const std::string_view name = text.substr(0, text.find('='));
    bool replaced = name == "KUBERNETES_EXEC_INFO";
    for (const auto& [key, value] : plugin.env) replaced = replaced || key == name;
    if (!replaced) variables.emplace_back(text);
  }
  for (const auto& [key, value] : plugin.env) variables.push_back(key + "=" + value);
  variables.push_back("KUBERNETES_EXEC_INFO=" + info);
  std::vector<char*> env;
  for (std::string& variable : variables) env.push_back(variable.data());
  env.push_back(nullptr);
  std::vector<std::string> words = {plugin.command};
  words.insert(words.end(), plugin.args.begin(), plugin.args.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  if (!interactive) {
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  // Signals that this process leaves to one of its threads are the program's own.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = -1;
  const int failed =
      ::posix_spawnp(&child, plugin.command.c_str(), &files, &attributes, argv.data(), env.data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (failed == 0) return child;
  const bool missing = failed == ENOENT && !plugin.install_hint.empty();
  return Fault(plugin, fmt::format("cannot be run: {}{}{}", std::strerror(failed),
                                   missing ? "\n" : "", missing ? plugin.install_hint : ""));
}

// Until it closes its output. An empty text: it took too long, or said too much.
std::optional<std::string> ReadAll(int fd, std::chrono::milliseconds patience) {
  const auto end = steady_clock::now() + patience;
  std::string text;
  char chunk[4096];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now());
    if (left.count() <= 0 || text.size() > kMostOutput) return std::nullopt;
    pollfd look{.fd = fd, .events = POLLIN};
    const int ready = ::poll(&look, 1, static_cast<int>(std::min<long>(left.count(), 60'000)));
    if (ready < 0 && errno != EINTR) return std::nullopt;
    if (ready <= 0) continue;
    const ssize_t size = ::read(fd, chunk, sizeof(chunk));
    if (size == 0) return text;
    if (size > 0) text.append(chunk, static_cast<std::size_t>(size));
    if (size < 0 && errno != EINTR) return std::nullopt;
  }
}

}  // namespace

StatusOr<ExecCredential> ReadCredential(std::string_view json, const std::string& api_version) {
  const auto fault = [](std::string_view what) {
    return base::MakeStatus(StatusCode::kUnauthenticated, what);
  };
  std::vector<api::Diagnostic> diagnostics;
  const DocumentNode answer = api::ParseJson(json, diagnostics);
  if (!diagnostics.empty() || answer.kind != DocumentNode::Kind::kMap ||
      TextIn(&answer, "kind") != "ExecCredential") {
    return fault("its output is not an ExecCredential in JSON");
  }
  if (const std::string version = TextIn(&answer, "apiVersion"); version != api_version) {
    return fault(fmt::format("it was asked for {} and answers with {}", api_version, version));
  }
  const api::Member* status = answer.Find("status");
  if (status == nullptr || status->value.kind != DocumentNode::Kind::kMap) {
    return fault("its ExecCredential has no status");
  }
  ExecCredential credential{.token = TextIn(&status->value, "token"),
                            .certificate = TextIn(&status->value, "clientCertificateData"),
                            .key = TextIn(&status->value, "clientKeyData")};
  if (credential.certificate.empty() != credential.key.empty()) {
    return fault("clientCertificateData and clientKeyData must both be there, or none");
  }
  if (credential.token.empty() && credential.certificate.empty()) {
    return fault("its ExecCredential has neither a token nor a certificate");
  }
  for (const char c : credential.token) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      return fault("its token must not have control characters in it");
    }
  }
  if (const std::string until = TextIn(&status->value, "expirationTimestamp"); !until.empty()) {
    const auto time = base::Time::ParseRfc3339(until);
    if (!time.ok()) return fault(fmt::format("expirationTimestamp \"{}\" is not a time", until));
    credential.expires = *time;
  }
  return credential;
}

StatusOr<ExecCredential> AskPlugin(const ExecPlugin& plugin) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  using Interactive = ExecPlugin::Interactive;
  if (plugin.interactive == Interactive::kAlways && !terminal) {
    return Fault(plugin, "it needs to ask the user, and standard input is not a terminal");
  }
  const bool interactive = terminal && plugin.interactive != Interactive::kNever;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Fault(plugin, std::strerror(errno));
  Pipe pipe{.read = ends[0], .write = ends[1]};
  DRAY_ASSIGN_OR_RETURN(const pid_t child,
                        Spawn(plugin, InfoFor(plugin, interactive), interactive, pipe.write));
  pipe.CloseWrite();
  const auto text = ReadAll(pipe.read, interactive ? std::chrono::milliseconds(kPatienceWithPeople)
                                                   : std::chrono::milliseconds(kPatience));
  if (!text) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text) return Fault(plugin, "it took too long, or said too much");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Fault(plugin, WIFEXITED(status)
                             ? fmt::format("it failed with exit code {}", WEXITSTATUS(status))
                             : fmt::format("it was ended by signal {}", WTERMSIG(status)));
  }
  auto credential = ReadCredential(*text, plugin.api_version);
  if (!credential.ok()) return Fault(plugin, base::Message(credential.status()));
  return credential;
}

}  // namespace dray::client::internal
