// SPDX-License-Identifier: Apache-2.0
#include "parts/site.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <utility>

#include "base/check.h"
#include "fmt/format.h"
#include "process/up_process.h"
#include "store/etcd/etcd_for_test.h"

namespace dray::parts {
namespace {

using process::ReadFile;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr seconds kToStart{90};
constexpr seconds kToEnd{30};
constexpr milliseconds kPause{500};  // before what has ended is started again

// Ends that docs/high-availability.md describes: exit codes, and what is said.
struct Documented {
  std::string_view part;
  int code;
  std::string_view says;
};
constexpr Documented kDocumented[] = {
    // It has found that somebody else leads, or could.
    {"scheduler", 1, "lease"},
    {"controllers", 1, "lease"},
    // Nobody was there to ask when it was started.
    {"scheduler", 2, "error: "},
    {"controllers", 2, "error: "},
    {"server", 2, "etcd"},
};

bool IsDocumented(std::string_view name, const Ending& ending) {
  for (const Documented& one : kDocumented) {
    if (name.starts_with(one.part) && ending.code == one.code &&
        ending.last.find(one.says) != std::string::npos) {
      return true;
    }
  }
  return false;
}

// The same for another server, or for the same one by a proxy.
std::string WithPort(const std::string& kubeconfig, std::uint16_t port) {
  std::string text = ReadFile(kubeconfig);
  constexpr std::string_view kServer = "server: https://";
  const auto at = text.find(kServer);
  DRAY_CHECK(at != std::string::npos, text);
  const auto colon = text.find(':', at + kServer.size());
  const auto end = text.find_first_not_of("0123456789", colon + 1);
  return text.replace(colon + 1, end - colon - 1, std::to_string(port));
}

std::uint16_t PortOf(const std::string& address) {
  return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

}  // namespace

Site::Site(std::string folder)
    : folder_(std::move(folder)),
      binary_(::getenv("DRAY_BINARY") == nullptr ? "" : ::getenv("DRAY_BINARY")),
      notes_(folder_ + "/events.log") {
  DRAY_CHECK(!binary_.empty(), "DRAY_BINARY says where dray is");
  children_.reserve(kMembers + kServers + 2 * kDeciders);
}

Site::~Site() = default;

void Site::Note(std::string_view what) {
  const double at = std::chrono::duration<double>(Clock::now() - began_).count();
  notes_ << fmt::format("{:9.3f} {}\n", at, what) << std::flush;
}

store::TcpProxy& Site::Wire(const std::string& name, const std::string& target) {
  auto& wire = wires_[name];
  wire = std::make_unique<store::TcpProxy>(target);
  return *wire;
}

Child& Site::Add(ChildOptions options) {
  options.log = fmt::format("{}/{}.log", folder_, options.name);
  Child& child = children_.emplace_back(std::move(options));
  child.Start();
  return child;
}

std::vector<std::string> Site::members() const { return addresses_; }

std::uint16_t Site::ClientPort(std::size_t server) const {
  return PortOf(wires_.at(fmt::format("clients server-{}", server))->address());
}

void Site::AddMembers() {
  // Somewhere that two programs hardly begin at.
  int port = 12'000 + static_cast<int>(::getpid() % 1'000) * 20;
  std::vector<std::string> peers;
  std::string cluster;
  for (std::size_t i = 0; i < kMembers; ++i) {
    addresses_.push_back(fmt::format("127.0.0.1:{}", port = PortFor(port + 1)));
    peers.push_back(fmt::format("127.0.0.1:{}", port = PortFor(port + 1)));
    const store::TcpProxy& wire = Wire(fmt::format("etcd etcd-{}", i), peers.back());
    cluster += fmt::format("{}etcd-{}=http://{}", i == 0 ? "" : ",", i, wire.address());
  }
  for (std::size_t i = 0; i < kServers; ++i) {
    ports_.push_back(static_cast<std::uint16_t>(port = PortFor(port + 1)));
  }
  for (std::size_t i = 0; i < kMembers; ++i) {
    const std::string name = fmt::format("etcd-{}", i);
    const std::string client = "http://" + addresses_[i];
    // What a kill can lose is what the process had not written: power does not fail here.
    ChildOptions member{
        .name = name,
        .command = {store::EtcdProgram(), "--name", name, "--data-dir",
                    fmt::format("{}/{}", folder_, name), "--listen-client-urls", client,
                    "--advertise-client-urls", client, "--listen-peer-urls", "http://" + peers[i],
                    "--initial-advertise-peer-urls",
                    "http://" + wires_.at("etcd " + name)->address(), "--initial-cluster", cluster,
                    "--log-level", "warn", "--max-txn-ops", "1100"},
        .log = "",
        .own_disk = SlowDisk::CanBe()};
    if (!member.own_disk) member.command.emplace_back("--unsafe-no-fsync");
    Add(std::move(member));
  }
}

void Site::AddServer(std::size_t index) {
  const std::string name = fmt::format("server-{}", index);
  const std::string data = fmt::format("{}/{}", folder_, name);
  std::string endpoints;
  // Each asks another member first.
  for (std::size_t i = 0; i < kMembers; ++i) {
    const std::size_t member = (index + i) % kMembers;
    const store::TcpProxy& wire = Wire(fmt::format("{} etcd-{}", name, member), addresses_[member]);
    endpoints += (i == 0 ? "" : ",") + wire.address();
  }
  if (index > 0) {
    const std::string pki = data + "/pki";
    std::filesystem::create_directories(pki);
    std::filesystem::permissions(data, std::filesystem::perms::owner_all);
    std::filesystem::permissions(pki, std::filesystem::perms::owner_all);
    for (const char* key : {"ca.crt", "ca.key", "sa.key"}) {
      std::filesystem::copy_file(fmt::format("{}/server-0/pki/{}", folder_, key),
                                 fmt::format("{}/{}", pki, key));
    }
  }
  Add({.name = name,
       .command = {binary_, "apiserver", "--data", data, "--store",
                   fmt::format("etcd://{}{}", endpoints, prefix_), "--listen",
                   fmt::format("127.0.0.1:{}", ports_[index])},
       .log = ""});
  Wire("clients " + name, fmt::format("127.0.0.1:{}", ports_[index]));
}

void Site::AddDeciders() {
  for (std::size_t i = 0; i < kDeciders; ++i) {
    for (const std::string_view part : {"scheduler", "controllers"}) {
      const std::string name = fmt::format("{}-{}", part, i);
      // No two that could stand in for each other ask the same server.
      const std::size_t server = part == "scheduler" ? i : i + 1;
      const store::TcpProxy& wire = Wire(fmt::format("{} server-{}", name, server),
                                         fmt::format("127.0.0.1:{}", ports_[server]));
      const std::string kubeconfig = fmt::format("{}/{}.kubeconfig", folder_, name);
      std::ofstream(kubeconfig) << WithPort(fmt::format("{}/server-0/{}.kubeconfig", folder_, part),
                                            PortOf(wire.address()));
      std::filesystem::permissions(
          kubeconfig, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
      std::vector<std::string> command = {binary_, std::string(part), "--kubeconfig", kubeconfig,
                                          "--secure-port", "0", "--leader-elect-identity", name,
                                          // Short, so that many of them begin and end.
                                          "--leader-elect-lease-duration", "4s",
                                          "--leader-elect-renew-deadline", "3s",
                                          "--leader-elect-retry-period", "500ms"};
      if (part == "controllers") {
        const std::string pki = folder_ + "/server-0/pki/ca.";
        for (const std::string& flag :
             {std::string("--simulated-nodes"), std::string("--cluster-signing-cert-file"),
              pki + "crt", std::string("--cluster-signing-key-file"), pki + "key"}) {
          command.push_back(flag);
        }
      }
      Add({.name = name, .command = std::move(command), .log = ""});
    }
  }
}

std::string Site::Await(Child& child, const std::string& text) {
  const auto deadline = Clock::now() + kToStart;
  while (Clock::now() < deadline) {
    if (child.Said().find(text) != std::string::npos) return "";
    if (const auto ending = child.Ended()) {
      return fmt::format("{} has ended with {}: {}", child.name(), ending->code, ending->last);
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
  return fmt::format("{} is not ready in time: {}", child.name(), child.Said());
}

bool Site::AwaitMembers() const {
  const auto deadline = Clock::now() + kToStart;
  while (Clock::now() < deadline) {
    apiserver::TestClient ask(PortOf(addresses_[0]));
    if (ask.connected() && ask.Get("/health").body.find("true") != std::string::npos) return true;
    std::this_thread::sleep_for(milliseconds(50));
  }
  return false;
}

std::string Site::Start() {
  AddMembers();
  if (!AwaitMembers()) return "etcd does not come up";
  for (std::size_t i = 0; i < kServers; ++i) {
    AddServer(i);
    if (std::string why = Await(children_.back(), "\nready:"); !why.empty()) return why;
    if (i > 0) continue;
    const std::string pki = folder_ + "/server-0/pki/";
    tls_ = {.authority = ReadFile(pki + "ca.crt"),
            .client = apiserver::KeyPair{.certificate = ReadFile(pki + "admin.crt"),
                                         .key = ReadFile(pki + "admin.key")}};
  }
  AddDeciders();
  Note("everything is started");
  return "";
}

void Site::OnEnd(Child& child, const Ending& ending) {
  ++ends_;
  Note(fmt::format("{} has ended with {}{}", child.name(), ending.code,
                   ending.asked ? ", as it was told" : ""));
  // Killed, or told to: 137 is SIGKILL, 0 an end in order.
  // 143: it was told to before it could listen.
  if (ending.asked && (ending.code == 128 + SIGKILL || ending.code == 128 + SIGTERM)) return;
  if (ending.asked && ending.code == 0) return;
  if (child.name().starts_with("etcd") && ending.asked) return;
  if (IsDocumented(child.name(), ending)) return;
  surprises_.push_back(
      fmt::format("{} has ended with {}: {}", child.name(), ending.code, ending.last));
}

void Site::Tend() {
  for (Child& child : children_) {
    if (const auto ending = child.Ended()) {
      OnEnd(child, *ending);
      down_[child.name()] = Clock::now();
    }
    const auto since = down_.find(child.name());
    if (since == down_.end() || Clock::now() - since->second < kPause) continue;
    down_.erase(since);
    child.Start();
    Note(fmt::format("{} is started again", child.name()));
  }
}

std::vector<std::string> Site::End() {
  std::vector<std::string> wrong;
  // Deciders first, so that their servers are there to take their leases back.
  for (const std::string_view part : {"scheduler", "controllers", "server"}) {
    for (Child& child : children_) {
      if (child.name().starts_with(part)) child.Terminate();
    }
    for (Child& child : children_) {
      if (!child.name().starts_with(part) || !child.running()) continue;
      const auto deadline = Clock::now() + kToEnd;
      std::optional<Ending> ending;
      while (!(ending = child.Ended()) && Clock::now() < deadline) {
        std::this_thread::sleep_for(milliseconds(10));
      }
      if (!ending) {
        wrong.push_back(child.name() + " does not end when it is told to");
      } else if (ending->code != 0) {
        wrong.push_back(
            fmt::format("{} ended with {}: {}", child.name(), ending->code, ending->last));
      }
    }
  }
  return wrong;
}

}  // namespace dray::parts
