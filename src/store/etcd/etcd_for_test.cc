// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/etcd_for_test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "rpc/etcd_client.h"

namespace dray::store {

std::string EtcdProgram() {
  const char* named = ::getenv("DRAY_ETCD");
  if (named != nullptr && ::access(named, X_OK) == 0) return named;
  const char* source = ::getenv("DRAY_SOURCE");
  const std::string fetched = std::string(source != nullptr ? source : ".") + "/build/etcd/etcd";
  return ::access(fetched.c_str(), X_OK) == 0 ? fetched : "";
}

bool Eventually(const std::function<bool()>& what) {
  for (int i = 0; i < 6000; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

int FreePort() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  int port = 0;
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    port = ntohs(address.sin_port);
  }
  ::close(socket);
  return port;
}

EtcdCluster::EtcdCluster(EtcdClusterOptions options) : options_(std::move(options)) {
  std::string name = std::filesystem::temp_directory_path() / "dray-etcd-XXXXXX";
  folder_ = ::mkdtemp(name.data());
  for (std::size_t i = 0; i < options_.members; ++i) {
    members_.push_back({.name = fmt::format("m{}", i),
                        .client = fmt::format("127.0.0.1:{}", FreePort()),
                        .peer = fmt::format("127.0.0.1:{}", FreePort())});
  }
  for (std::size_t i = 0; i < members_.size(); ++i) Start(i);
  AwaitHealthy();
}

EtcdCluster::~EtcdCluster() {
  for (std::size_t i = 0; i < members_.size(); ++i) Signal(i, SIGKILL);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

EtcdAddress EtcdCluster::Address(std::string prefix) const {
  EtcdAddress address{.prefix = std::move(prefix)};
  for (const Member& member : members_) address.endpoints.push_back({.address = member.client});
  return address;
}

void EtcdCluster::Start(std::size_t index) {
  Member& member = members_[index];
  std::string cluster;
  for (const Member& one : members_) {
    cluster += fmt::format("{}{}=http://{}", cluster.empty() ? "" : ",", one.name, one.peer);
  }
  std::vector<std::string> arguments = {EtcdProgram(),
                                        "--name",
                                        member.name,
                                        "--data-dir",
                                        folder_ + "/" + member.name,
                                        "--listen-client-urls",
                                        "http://" + member.client,
                                        "--advertise-client-urls",
                                        "http://" + member.client,
                                        "--listen-peer-urls",
                                        "http://" + member.peer,
                                        "--initial-advertise-peer-urls",
                                        "http://" + member.peer,
                                        "--initial-cluster",
                                        cluster,
                                        "--initial-cluster-token",
                                        folder_,
                                        "--log-level",
                                        "warn"};
  if (!options_.fsync) arguments.emplace_back("--unsafe-no-fsync");
  arguments.insert(arguments.end(), options_.flags.begin(), options_.flags.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const std::string log = folder_ + "/" + member.name + ".log";
  member.pid = ::fork();
  if (member.pid != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = ::open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  ::dup2(out, 1);
  ::dup2(out, 2);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

void EtcdCluster::Signal(std::size_t index, int signal) {
  Member& member = members_[index];
  if (member.pid == 0) return;
  ::kill(member.pid, signal);
  if (signal != SIGKILL && signal != SIGTERM) return;
  ::kill(member.pid, SIGCONT);
  ::waitpid(member.pid, nullptr, 0);
  member.pid = 0;
}

bool EtcdCluster::Serves(std::size_t index) const {
  const auto member = rpc::ConnectEtcd({.address = members_[index].client}, {});
  std::promise<bool> answered;
  member->Range(
      {.key = "health"}, std::chrono::seconds(2),
      [&](const StatusOr<rpc::EtcdRangeAnswer>& answer) { answered.set_value(answer.ok()); });
  return answered.get_future().get();
}

void EtcdCluster::AwaitHealthy() const {
  for (int i = 0; i < 600; ++i) {
    for (std::size_t member = 0; member < members_.size(); ++member) {
      if (members_[member].pid != 0 && Serves(member)) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ADD_FAILURE() << "etcd does not come up: " << folder_;
}

std::size_t EtcdCluster::Leader() const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].pid == 0) continue;
    const auto member = rpc::ConnectEtcd({.address = members_[i].client}, {});
    std::promise<bool> answered;
    member->Status(std::chrono::seconds(1), [&](const StatusOr<rpc::EtcdStatus>& status) {
      answered.set_value(status.ok() && status->leader == status->header.member &&
                         status->leader != 0);
    });
    if (answered.get_future().get()) return i;
  }
  return members_.size();
}

EtcdCluster& SharedEtcd() {
  // Ends with the program; --max-txn-ops as docs/operations.md says.
  static EtcdCluster cluster({.flags = {"--max-txn-ops", "1100"}});
  return cluster;
}

std::string FreshPrefix() {
  static std::atomic<int> used = 0;
  return fmt::format("/t{}", ++used);
}

EtcdOptions SharedOptions() { return {.address = SharedEtcd().Address(FreshPrefix())}; }

}  // namespace dray::store
