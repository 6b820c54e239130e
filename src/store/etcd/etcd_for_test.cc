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

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "rpc/etcd_client.h"

namespace dray::store {

namespace {

// Of a machine that has other things to do: who passes does not wait for it.
constexpr std::chrono::minutes kPatience{2};
// Somebody else may have got a port between its choice and its use.
constexpr int kTries = 5;

}  // namespace

std::string EtcdProgram() {
  const char* named = ::getenv("DRAY_ETCD");
  if (named != nullptr && ::access(named, X_OK) == 0) return named;
  const char* source = ::getenv("DRAY_SOURCE");
  const std::string fetched = std::string(source != nullptr ? source : ".") + "/build/etcd/etcd";
  return ::access(fetched.c_str(), X_OK) == 0 ? fetched : "";
}

bool Eventually(const std::function<bool()>& what) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return what();
}

// Below those that the system gives to connections: one of these could get the port of somebody who is
// not there at the moment, even of whom it wants to reach.
int FreePort() {
  constexpr int kFirst = 20'000;
  constexpr int kPorts = 12'000;
  static std::atomic<unsigned> next = std::random_device()();
  for (int i = 0; i < kPorts; ++i) {
    const int port = kFirst + static_cast<int>(next++ % kPorts);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool free = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    ::close(socket);
    if (free) return port;
  }
  return 0;
}

std::pair<int, std::string> RunProgram(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), got);
  }
  return {::pclose(pipe), output};
}

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

namespace {

constexpr std::string_view kNewKey =
    "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

void MustRun(const std::string& command) {
  const auto [code, output] = RunProgram(command);
  EXPECT_EQ(code, 0) << command << "\n" << output;
}

}  // namespace

EtcdCertificates::EtcdCertificates(std::string folder)
    : folder_(std::move(folder)), authority_(folder_ + "/ca.crt") {
  MustRun(fmt::format("{} -x509 -keyout {}/ca.key -out {} -subj /CN=test-authority -days 2",
                      kNewKey, folder_, authority_));
  std::ofstream(folder_ + "/extensions")
      << "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n";
}

std::string EtcdCertificates::Make(const std::string& name) {
  std::string base = folder_ + "/" + name;
  if (std::filesystem::exists(base + ".crt")) return base;
  MustRun(fmt::format("{} -keyout {}.key -out {}.csr -subj /CN={}", kNewKey, base, base, name));
  MustRun(
      fmt::format("openssl x509 -req -in {0}.csr -CA {1}/ca.crt -CAkey {1}/ca.key "
                  "-CAcreateserial -out {0}.crt -days 2 -extfile {1}/extensions",
                  base, folder_));
  return base;
}

rpc::EtcdTls EtcdCertificates::Tls(const std::string& name) {
  const std::string base = Make(name);
  return {.authorities = FileText(authority_),
          .certificate = FileText(base + ".crt"),
          .key = FileText(base + ".key")};
}

EtcdCluster::EtcdCluster(EtcdClusterOptions options) : options_(std::move(options)) {
  std::string name = std::filesystem::temp_directory_path() / "dray-etcd-XXXXXX";
  folder_ = ::mkdtemp(name.data());
  for (int i = 1; !Begin() && i < kTries; ++i) End();
  AwaitHealthy();
}

bool EtcdCluster::Begin() {
  for (std::size_t i = 0; i < options_.members; ++i) {
    members_.push_back({.name = fmt::format("m{}", i),
                        .client = fmt::format("127.0.0.1:{}", FreePort()),
                        .peer = fmt::format("127.0.0.1:{}", FreePort())});
  }
  for (std::size_t i = 0; i < members_.size(); ++i) Start(i);
  const auto ended = [](const Member& member) {
    siginfo_t info{};
    const auto id = static_cast<id_t>(member.pid);
    return ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  };
  return Eventually([&] { return SomeServe() || std::ranges::any_of(members_, ended); }) &&
         std::ranges::none_of(members_, ended);
}

void EtcdCluster::End() {
  for (std::size_t i = 0; i < members_.size(); ++i) Signal(i, SIGKILL);
  for (const Member& member : members_) std::filesystem::remove_all(folder_ + "/" + member.name);
  members_.clear();
}

EtcdCluster::~EtcdCluster() {
  for (std::size_t i = 0; i < members_.size(); ++i) Signal(i, SIGKILL);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

EtcdAddress EtcdCluster::Address(std::string prefix) const {
  EtcdAddress address{.prefix = std::move(prefix)};
  for (const Member& member : members_) {
    address.endpoints.push_back(
        {.address = member.client, .tls = options_.certificates != nullptr});
  }
  return address;
}

std::unique_ptr<rpc::EtcdMember> EtcdCluster::Connect(std::size_t member) const {
  if (options_.certificates == nullptr) {
    return rpc::ConnectEtcd({.address = members_[member].client}, {});
  }
  return rpc::ConnectEtcd({.address = members_[member].client, .tls = true},
                          options_.certificates->Tls("root"));
}

std::string EtcdCluster::Ctl(const std::string& arguments, std::size_t at) const {
  std::string command = std::filesystem::path(EtcdProgram()).parent_path().string() + "/etcdctl";
  if (options_.certificates != nullptr) {
    const std::string root = options_.certificates->Make("root");
    command += fmt::format(" --cacert {} --cert {}.crt --key {}.key",
                           options_.certificates->authority(), root, root);
  }
  return fmt::format("{} --endpoints http{}://{} {}", command,
                     options_.certificates != nullptr ? "s" : "", client(at), arguments);
}

std::size_t EtcdCluster::AddLearner() {
  const std::size_t index = members_.size();
  members_.push_back({.name = fmt::format("m{}", index),
                      .client = fmt::format("127.0.0.1:{}", FreePort()),
                      .peer = fmt::format("127.0.0.1:{}", FreePort()),
                      .joins = true});
  const auto [code, output] =
      RunProgram(Ctl(fmt::format("member add {} --learner --peer-urls http://{}",
                                 members_[index].name, members_[index].peer)));
  EXPECT_EQ(code, 0) << output;
  Start(index);
  return index;
}

bool EtcdCluster::Membership(const std::string& what, std::size_t index, std::size_t at) const {
  std::promise<std::uint64_t> answered;
  const auto member = Connect(index);
  member->Status(std::chrono::seconds(2), [&](const StatusOr<rpc::EtcdStatus>& status) {
    answered.set_value(status.ok() ? status->header.member : 0);
  });
  const std::uint64_t id = answered.get_future().get();
  return RunProgram(Ctl(fmt::format("member {} {:x}", what, id), at)).first == 0;
}

void EtcdCluster::Start(std::size_t index) {
  Member& member = members_[index];
  std::string cluster;
  for (const Member& one : members_) {
    cluster += fmt::format("{}{}=http://{}", cluster.empty() ? "" : ",", one.name, one.peer);
  }
  const std::string clients = options_.certificates != nullptr ? "https://" : "http://";
  std::vector<std::string> arguments = {EtcdProgram(),
                                        "--name",
                                        member.name,
                                        "--data-dir",
                                        folder_ + "/" + member.name,
                                        "--listen-client-urls",
                                        clients + member.client,
                                        "--advertise-client-urls",
                                        clients + member.client,
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
  if (member.joins) {
    arguments.emplace_back("--initial-cluster-state");
    arguments.emplace_back("existing");
  }
  if (!options_.fsync) arguments.emplace_back("--unsafe-no-fsync");
  if (options_.certificates != nullptr) {
    const std::string server = options_.certificates->Make("server");
    for (const std::string& argument :
         {std::string("--cert-file"), server + ".crt", std::string("--key-file"), server + ".key",
          std::string("--trusted-ca-file"), options_.certificates->authority(),
          std::string("--client-cert-auth")}) {
      arguments.push_back(argument);
    }
  }
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
  const auto member = Connect(index);
  std::promise<bool> answered;
  member->Range(
      {.key = "health"}, std::chrono::seconds(2),
      [&](const StatusOr<rpc::EtcdRangeAnswer>& answer) { answered.set_value(answer.ok()); });
  return answered.get_future().get();
}

void EtcdCluster::AwaitHealthy() const {
  EXPECT_TRUE(Eventually([this] { return SomeServe(); })) << "etcd does not come up: " << folder_;
}

bool EtcdCluster::SomeServe() const {
  for (std::size_t member = 0; member < members_.size(); ++member) {
    if (members_[member].pid != 0 && Serves(member)) return true;
  }
  return false;
}

std::size_t EtcdCluster::Leader() const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].pid == 0) continue;
    const auto member = Connect(i);
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
