// SPDX-License-Identifier: Apache-2.0
#include "driver/conformance.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "api/resource_slice.h"
#include "base/names.h"
#include "driver/internal/conformance_run.h"
#include "fmt/format.h"

namespace dray::driver {
namespace internal {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kInfo = 1s;
constexpr std::chrono::nanoseconds kNotify = 5s;

bool Offers(const rpc::PluginInfo& info, std::string_view service) {
  return std::ranges::find(info.supported_versions, service) != info.supported_versions.end();
}

rpc::HealthService HealthServiceOf(const rpc::PluginInfo& info) {
  if (Offers(info, "v1.DRAResourceHealth")) return rpc::HealthService::kV1;
  if (Offers(info, "v1alpha1.DRAResourceHealth")) return rpc::HealthService::kV1Alpha1;
  return rpc::HealthService::kNone;
}

// Where the specification has the rule.
std::string ChapterOf(std::string_view check) {
  const std::string_view group = check.substr(0, check.find('/'));
  if (check == "registration/services" || check == "registration/services-once" ||
      check == "registration/newest-first" || group == "versions") {
    return "3.3";
  }
  if (group == "registration") return "3.2";
  if (check == "prepare/cdi" || check == "unprepare/cdi") return "14";
  if (check == "prepare/shares") return "10";
  if (group == "prepare" || group == "unprepare") return "4 and 17.1";
  if (group == "slices") return "18";
  if (group == "health") return "8";
  return "17.1";
}

std::string Text(const Status& status) {
  return status.ok() ? "" : std::string(base::Message(status));
}

}  // namespace

void Ear::OnConnected(bool connected) {
  const base::MutexLock lock(mutex_);
  connected_ = connected;
  changed_.NotifyAll();
}
void Ear::OnHealth(std::vector<rpc::DeviceHealth> devices) {
  const base::MutexLock lock(mutex_);
  heard_.report = std::move(devices);
  changed_.NotifyAll();
}
void Ear::OnHealthEnd(Status why) {
  const base::MutexLock lock(mutex_);
  heard_.end = std::move(why);
  changed_.NotifyAll();
}
bool Ear::AwaitConnected(bool connected, std::chrono::nanoseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  const base::MutexLock lock(mutex_);
  while (connected_ != connected && changed_.WaitUntil(mutex_, until)) {
  }
  return connected_ == connected;
}
std::optional<Status> Ear::AwaitEnd(std::chrono::nanoseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  const base::MutexLock lock(mutex_);
  while (!heard_.end && changed_.WaitUntil(mutex_, until)) {
  }
  return heard_.end;
}
Ear::Heard Ear::AwaitHealth(std::chrono::nanoseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  const base::MutexLock lock(mutex_);
  while (!heard_.report && !heard_.end && changed_.WaitUntil(mutex_, until)) {
  }
  return heard_;
}

void Run::Check(std::string_view name, std::string_view rule, const std::string& fault) {
  results_.push_back({.name = std::string(name),
                      .rule = std::string(rule),
                      .chapter = ChapterOf(name),
                      .outcome = fault.empty() ? Outcome::kPass : Outcome::kFail,
                      .detail = fault});
  if (options_.on_result) options_.on_result(results_.back());
}

void Run::Skip(std::string_view name, std::string_view rule, std::string_view why) {
  results_.push_back({.name = std::string(name),
                      .rule = std::string(rule),
                      .chapter = ChapterOf(name),
                      .outcome = Outcome::kSkip,
                      .detail = std::string(why)});
  if (options_.on_result) options_.on_result(results_.back());
}

StatusOr<rpc::PluginInfo> Run::GetInfo(std::chrono::nanoseconds patience) {
  DRAY_ASSIGN_OR_RETURN(const auto client, connector_.Registration(options_.socket));
  Answer<StatusOr<rpc::PluginInfo>> answer;
  client->GetInfo(patience, answer.Taker());
  auto info = answer.Await(patience + 10s);
  if (!info) return base::Unavailable("no answer");
  return *std::move(info);
}

Status Run::Notify(const std::string& error) {
  DRAY_ASSIGN_OR_RETURN(const auto client, connector_.Registration(options_.socket));
  Answer<Status> answer;
  client->Notify(error, kNotify, answer.Taker());
  return answer.Await(kNotify + 10s).value_or(base::Unavailable("no answer"));
}

StatusOr<rpc::PrepareAnswer> Run::Prepare(const std::vector<rpc::ClaimName>& claims) {
  Answer<StatusOr<rpc::PrepareAnswer>> answer;
  channel_->Prepare(claims, options_.patience, answer.Taker());
  auto got = answer.Await(options_.patience + 10s);
  if (!got) return base::Unavailable("no answer");
  return *std::move(got);
}

StatusOr<rpc::UnprepareAnswer> Run::Unprepare(const std::vector<rpc::ClaimName>& claims) {
  Answer<StatusOr<rpc::UnprepareAnswer>> answer;
  channel_->Unprepare(claims, options_.patience, answer.Taker());
  auto got = answer.Await(options_.patience + 10s);
  if (!got) return base::Unavailable("no answer");
  return *std::move(got);
}

bool Run::Connect(rpc::DraService dra, rpc::HealthService health) {
  channel_.reset();
  ear_.OnConnected(false);
  auto channel = connector_.Channel({.endpoint = endpoint_, .dra = dra, .health = health}, ear_);
  if (!channel.ok()) return false;
  channel_ = *std::move(channel);
  if (ear_.AwaitConnected(true, options_.connect_patience)) return true;
  channel_.reset();
  return false;
}

void Run::Registration() {
  const auto info = GetInfo(kInfo);
  Check("registration/info", "GetInfo is answered within a second", Text(info.status()));
  if (!info.ok()) return;
  info_ = *info;
  Check("registration/type", "The type is DRAPlugin",
        info_.type == "DRAPlugin" ? "" : fmt::format("it is \"{}\"", info_.type));
  const bool named =
      base::IsDnsSubdomain(info_.name) && info_.name.size() <= api::kDriverNameMaxLength;
  Check("registration/name", "The name is a DNS subdomain of at most 63 characters",
        named ? "" : fmt::format("it is \"{}\"", info_.name));
  endpoint_ = info_.endpoint.empty() ? options_.socket : info_.endpoint;
  Check("registration/endpoint", "The endpoint is empty or the absolute path of a socket",
        endpoint_.starts_with("/") ? "" : fmt::format("it is \"{}\"", endpoint_));
  Check("registration/path", "The path of the socket has at most 108 bytes, as Linux allows",
        endpoint_.size() <= 108 ? "" : fmt::format("it has {}", endpoint_.size()));
  constexpr std::array<std::string_view, 4> kServices = {
      "v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"};
  const bool v1 = Offers(info_, kServices[0]);
  const bool beta = Offers(info_, kServices[1]);
  Check("registration/services",
        "supported_versions names services: v1.DRAPlugin or v1beta1.DRAPlugin at least",
        v1 || beta ? "" : fmt::format("it is [{}]", fmt::join(info_.supported_versions, ", ")));
  std::string twice;
  for (auto it = info_.supported_versions.begin(); it != info_.supported_versions.end(); ++it) {
    if (std::find(info_.supported_versions.begin(), it, *it) != it) twice = *it;
  }
  Check("registration/services-once", "supported_versions names every service once",
        twice.empty() ? "" : fmt::format("it has {} twice", twice));
  const auto first = std::ranges::find(info_.supported_versions, kServices[1]);
  const auto newest = std::ranges::find(info_.supported_versions, kServices[0]);
  Check("registration/newest-first",
        "The newest version of a service comes first: kubelets take the first that they know",
        v1 && beta && first < newest ? "v1beta1.DRAPlugin comes before v1.DRAPlugin" : "");
  // A driver may answer a refusal with an error; it must not end because of it.
  (void)Notify("this is a test of what a driver does when it is refused");
  const auto again = GetInfo(kInfo);
  Check("registration/refused", "A driver that is refused keeps running and answers GetInfo again",
        Text(again.status()));
  Check("registration/stable", "GetInfo says the same whenever it is asked",
        !again.ok() || *again == info_ ? "" : "the second answer is another one");
  Check("registration/accepted",
        "NotifyRegistrationStatus(registered) is answered without an error", Text(Notify("")));
  Check("registration/again",
        "A driver can be registered again: an agent that was restarted does so", Text(Notify("")));
  const bool connected =
      (v1 || beta) &&
      Connect(v1 ? rpc::DraService::kV1 : rpc::DraService::kV1Beta1, HealthServiceOf(info_));
  Check("registration/connects", "The DRA service listens at its endpoint",
        connected ? ""
                  : fmt::format("no connection to {} within {}", endpoint_,
                                base::GoDurationToString(options_.connect_patience)));
}

void Run::WithoutClaims() {
  const rpc::ClaimName nobody{.namespace_ = options_.namespace_,
                              .uid = "00000000-0000-4000-8000-00000000dead",
                              .name = "dray-driver-test-nobody"};
  const auto unprepared = Unprepare({nobody});
  Check("unprepare/unknown", "Unpreparing a claim that was never prepared is a success",
        FaultOf(unprepared, nobody));
  Check("prepare/unknown", "Preparing a claim that does not exist fails",
        RefusalFault(Prepare({nobody}), nobody));
  const auto nothing = Prepare({});
  Check("prepare/empty", "A call without claims is answered without entries",
        !nothing.ok()      ? Text(nothing.status())
        : nothing->empty() ? ""
                           : fmt::format("{} entries", nothing->size()));
  Check("unprepare/after-failure", "Unpreparing a claim whose preparation failed is a success",
        FaultOf(Unprepare({nobody}), nobody));
}

void Run::Versions() {
  const std::string_view rule = "Every version of DRAPlugin that is offered is served";
  if (!Offers(info_, "v1.DRAPlugin") || !Offers(info_, "v1beta1.DRAPlugin")) {
    return Skip("versions/both", rule, "the driver offers one");
  }
  const rpc::ClaimName nobody{.namespace_ = options_.namespace_,
                              .uid = "00000000-0000-4000-8000-00000000dead",
                              .name = "dray-driver-test-nobody"};
  std::string fault = "no connection";
  if (Connect(rpc::DraService::kV1Beta1, rpc::HealthService::kNone)) {
    fault = FaultOf(Unprepare({nobody}), nobody);
  }
  Check("versions/both", rule, fault);
  (void)Connect(rpc::DraService::kV1, HealthServiceOf(info_));
}

void Run::Health() {
  const std::string_view rule = "The health stream tells about devices that are published";
  if (HealthServiceOf(info_) == rpc::HealthService::kNone) {
    return Skip("health/stream", rule, "the driver offers no health");
  }
  channel_->WatchHealth();
  const Ear::Heard heard = ear_.AwaitHealth(options_.health_patience);
  if (heard.end && heard.end->code() == StatusCode::kUnimplemented) {
    return Skip("health/stream", rule, "the driver declines: UNIMPLEMENTED");
  }
  if (!heard.report) {
    return Check("health/stream", rule,
                 heard.end ? fmt::format("the stream ended: {}", Text(*heard.end))
                           : fmt::format("no report came within {}",
                                         base::GoDurationToString(options_.health_patience)));
  }
  std::string fault;
  std::set<std::pair<std::string, std::string>> seen;
  for (const rpc::DeviceHealth& device : *heard.report) {
    const std::string shown = fmt::format("{}/{}", device.pool, device.device);
    if (!slices_.empty() && !IsPublished(device.pool, device.device)) {
      fault = fmt::format("device {} is in no slice", shown);
    }
    if (!seen.emplace(device.pool, device.device).second) {
      fault = fmt::format("device {} appears twice in one report", shown);
    }
  }
  Check("health/stream", rule, fault);
  fault.clear();
  for (const rpc::DeviceHealth& device : *heard.report) {
    const std::string shown = fmt::format("{}/{}", device.pool, device.device);
    if (device.message.size() > 1024) {
      fault = fmt::format("the message for {} has {} bytes", shown, device.message.size());
    }
    if (device.timeout < std::chrono::seconds(0)) {
      fault = fmt::format("the timeout of {} is negative", shown);
    }
  }
  Check("health/values", "Messages have at most 1024 bytes, and timeouts are not negative", fault);
  const auto end = ear_.AwaitEnd(std::min<std::chrono::nanoseconds>(1s, options_.health_patience));
  Check("health/stays", "The stream stays open: when it ends, all devices are Unknown",
        end ? fmt::format("it ended after a report: {}", Text(*end)) : "");
}

void Run::Restart() {
  const std::string_view rule = "A driver that was restarted registers again";
  const std::string_view kept = "A claim that was prepared before a restart is prepared after it";
  if (!options_.restart) {
    return Skip("restart/registers", rule, "--restart says how to restart the driver");
  }
  const std::vector<Given> free = FreeDevices();
  std::optional<rpc::ClaimName> claim;
  StatusOr<rpc::PrepareAnswer> before = base::Unavailable("not asked");
  if (!free.empty()) {
    if (const auto made = MakeClaim({free[0]}); made.ok()) {
      claim = *made;
      before = Prepare({*claim});
    }
  }
  const std::vector<api::ResourceSlice> slices = slices_;
  std::string fault = Text(options_.restart());
  // A socket of before may be there for a moment.
  if (fault.empty() && !ear_.AwaitConnected(false, options_.restart_patience)) {
    fault = "its connection was not broken";
  }
  channel_.reset();
  StatusOr<rpc::PluginInfo> info = base::Unavailable("not asked");
  const auto give_up = std::chrono::steady_clock::now() + options_.restart_patience;
  while (fault.empty() && !info.ok()) {
    info = GetInfo(kInfo);
    if (info.ok() || std::chrono::steady_clock::now() >= give_up) break;
    std::this_thread::sleep_for(
        std::min<std::chrono::nanoseconds>(options_.restart_patience / 10, 500ms));
  }
  if (fault.empty() && !info.ok()) fault = Text(info.status());
  if (info.ok()) {
    info_ = *info;
    endpoint_ = info_.endpoint.empty() ? options_.socket : info_.endpoint;
    if (Status accepted = Notify(""); !accepted.ok()) fault = Text(accepted);
    if (!Connect(Offers(info_, "v1.DRAPlugin") ? rpc::DraService::kV1 : rpc::DraService::kV1Beta1,
                 HealthServiceOf(info_))) {
      fault = "no connection";
    }
  }
  Check("restart/registers", rule, fault);
  if (!slices.empty()) {
    const auto now = ListSlices();
    std::string changed = Text(now.status());
    for (const api::ResourceSlice& before : slices) {
      if (!now.ok()) break;
      const bool same = std::ranges::any_of(*now, [&](const api::ResourceSlice& after) {
        return after.metadata.uid == before.metadata.uid && after.spec == before.spec;
      });
      if (!same) changed = fmt::format("slice {} is not what it was", before.metadata.name);
    }
    Check("restart/slices", "Slices outlive a restart: pods are not kept waiting for an update",
          changed);
  }
  if (!fault.empty() || !claim) {
    return Skip("restart/remembers", kept, claim ? "it does not answer" : "there is no claim");
  }
  std::string forgot = FaultOf(Prepare({*claim}), *claim, {free[0]});
  if (forgot.empty()) forgot = FaultOf(Unprepare({*claim}), *claim);
  Check("restart/remembers", kept, forgot);
  (void)DeleteClaim(*claim);
}

}  // namespace internal

std::vector<CheckResult> TestDriver(const ConformanceOptions& options,
                                    rpc::PluginConnector& connector) {
  internal::Run run(options, connector);
  run.Registration();
  if (!run.reachable()) return std::move(run).Take();
  run.WithoutClaims();
  run.Versions();
  if (run.reachable()) run.Slices();
  if (run.reachable()) run.Claims();
  if (run.reachable()) run.Health();
  if (run.reachable()) run.Restart();
  run.QuietSlices();
  if (run.reachable()) run.Repair();
  run.CleanUp();
  return std::move(run).Take();
}

std::vector<CheckResult> TestDriver(const ConformanceOptions& options) {
  const std::unique_ptr<rpc::PluginConnector> connector = rpc::SocketConnector();
  return TestDriver(options, *connector);
}

}  // namespace dray::driver
