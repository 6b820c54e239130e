// SPDX-License-Identifier: Apache-2.0
#include "node/agent_for_test.h"

#include <algorithm>
#include <utility>

#include "api/resource_claim.h"
#include "fmt/format.h"
#include "node/internal/mounts.h"
#include "testing/objects_from.h"

namespace dray::node {
namespace {

// What stands for the grace of a pod here: only the node's deletion takes it away.
constexpr const char* kGrace = "dray.test/grace";

const api::KindInfo& PodKind() { return api::HubKind(api::TypeInfoOf<api::Pod>()); }
const api::KindInfo& ClaimKind() { return api::HubKind(api::TypeInfoOf<api::ResourceClaim>()); }

}  // namespace

StatusOr<api::Object> GracefulCluster::UpdateStatus(api::Object object) {
  if (!away.ok()) return away;
  auto written = memory_.UpdateStatus(std::move(object));
  if (written.ok() && on_status) {
    if (const api::Pod* pod = written->As<api::Pod>()) on_status(*pod);
  }
  return written;
}

Status GracefulCluster::Delete(const api::KindInfo& kind, std::string_view namespace_,
                               std::string_view name, std::string_view uid) {
  if (!away.ok()) return away;
  auto stored = memory_.Stored(kind, namespace_, name);
  if (!stored) return base::NotFound("there is no such object");
  if (stored->metadata().uid != uid) return base::Aborted("it has another uid");
  deleted.push_back(fmt::format("{} {}/{}", kind.plural, namespace_, name));
  api::Object object = *stored;
  std::erase(object.MutableMetadata().finalizers, kGrace);
  if (object.metadata().deletion_timestamp) return memory_.Update(std::move(object)).status();
  return memory_.Delete(kind, namespace_, name, uid);
}

void GracefulCluster::Note(const api::EventNote& note) {
  events.push_back(fmt::format("{} {}: {}", note.type, note.reason, note.message));
  memory_.Note(note);
}

void ProbeClientForTest::Http(const HttpProbe& probe, std::chrono::nanoseconds,
                              std::function<void(StatusOr<HttpAnswer>)> done) {
  asked.push_back(fmt::format("{}://{}:{}{}", probe.tls ? "https" : "http", probe.target.host,
                              probe.target.port, probe.path));
  done(http);
}

void ProbeClientForTest::Tcp(const ProbeTarget& target, std::chrono::nanoseconds,
                             std::function<void(Status)> done) {
  asked.push_back(fmt::format("{}:{}", target.host, target.port));
  done(tcp);
}

void ProbeClientForTest::Grpc(const GrpcProbe& probe, std::chrono::nanoseconds,
                              std::function<void(Status)> done) {
  asked.push_back(
      fmt::format("grpc://{}:{}/{}", probe.target.host, probe.target.port, probe.service));
  done(grpc);
}

StatusOr<std::optional<Kept>> SourcesForTest::ConfigMap(const std::string& namespace_,
                                                        const std::string& name) {
  asked.push_back(fmt::format("configmap {}/{}", namespace_, name));
  if (!away.ok()) return away;
  const auto it = config_maps.find(fmt::format("{}/{}", namespace_, name));
  return it == config_maps.end() ? std::nullopt : std::optional(it->second);
}

StatusOr<std::optional<Kept>> SourcesForTest::Secret(const std::string& namespace_,
                                                     const std::string& name) {
  asked.push_back(fmt::format("secret {}/{}", namespace_, name));
  if (!away.ok()) return away;
  const auto it = secrets.find(fmt::format("{}/{}", namespace_, name));
  return it == secrets.end() ? std::nullopt : std::optional(it->second);
}

StatusOr<Token> SourcesForTest::MakeToken(const TokenWish& wish) {
  if (!away.ok()) return away;
  wishes.push_back(wish);
  return Token{.text = fmt::format("token-{}", wishes.size()),
               .expires = clock->Now() + wish.lasts};
}

AgentTest::AgentTest() {
  sources_.clock = &clock_;
  api::MemoryClusterOptions options;
  options.validate = false;
  memory_ = std::make_unique<api::MemoryCluster>(clock_, random_, options);
  cluster_ = std::make_unique<GracefulCluster>(*memory_);
  gates_.Set(api::Gate::kDRAOptionalNodeOperations, true);
  options_.root = folder_ / "kubelet";
  options_.log_root = folder_ / "logs";
  options_.node.name = "n1";
  for (auto* list : {&options_.node.allocatable, &options_.node.machine.capacity}) {
    (*list)["cpu"] = base::Quantity::FromInt(4);
    (*list)["memory"] = *base::Quantity::Parse("8Gi");
    (*list)["pods"] = base::Quantity::FromInt(110);
  }
  options_.node.machine.addresses = {"192.0.2.7"};
  plugins_.Register("d1");
  plugins_.Register("d2");
}

AgentTest::~AgentTest() {
  KillAgent();
  if (CanMount()) (void)UnmountBelow(folder_.path());
}

void AgentTest::StartAgent() {
  options_.gates = gates_;
  metrics_ = std::make_unique<metrics::Registry>();
  auto made = Agent::Make({.loop = loop_,
                           .offload = offload_,
                           .cluster = *cluster_,
                           .runtime = runtime_,
                           .plugins = plugins_,
                           .probes = probes_,
                           .sources = sources_,
                           .log = {},
                           .metrics = metrics_.get()},
                          options_);
  ASSERT_TRUE(made.ok()) << made.status();
  agent_ = *std::move(made);
  const api::KindInfo* kinds[] = {&PodKind()};
  agent_->Start(cluster_->Watch(kinds, {.fields = *api::FieldSelector::Parse("spec.nodeName=n1")}));
  Run();
}

void AgentTest::KillAgent() {
  agent_.reset();
  offload_.Crash();
}

void AgentTest::Run(std::chrono::nanoseconds time) {
  // A watch calls back when something has happened; here somebody looks often enough.
  constexpr std::chrono::milliseconds kTick{100};
  for (auto left = time; left > std::chrono::nanoseconds(0); left -= kTick) {
    if (agent_ != nullptr) agent_->OnWatch();
    loop_.RunDue();
    RunFor(loop_, clock_, std::min<std::chrono::nanoseconds>(left, kTick));
    if (agent_ != nullptr) agent_->OnWatch();
    loop_.RunDue();
  }
}

void AgentTest::Apply(std::string_view yaml) {
  for (api::Object object : testing::ObjectsFrom(yaml)) {
    if (object.As<api::Pod>() != nullptr) {
      api::Pod& pod = *object.Mutable<api::Pod>();
      if (pod.spec.node_name.empty()) pod.spec.node_name = "n1";
      if (pod.metadata.uid.empty()) pod.metadata.uid = "uid-" + pod.metadata.name;
      if (pod.metadata.namespace_.empty()) pod.metadata.namespace_ = "ns";
      pod.metadata.finalizers.push_back(kGrace);
    }
    std::vector<api::Object> one;
    one.push_back(std::move(object));
    const Status loaded = memory_->Load(std::move(one));
    ASSERT_TRUE(loaded.ok()) << loaded;
  }
}

void AgentTest::AddClaim(api::ResourceClaim claim) {
  std::vector<api::Object> one;
  one.push_back(api::Object::Of(std::move(claim)));
  const Status loaded = memory_->Load(std::move(one));
  ASSERT_TRUE(loaded.ok()) << loaded;
}

void AgentTest::CreatePodWith(std::string_view name, const std::vector<std::string>& claims) {
  api::Pod pod = PodWith(name, claims);
  pod.spec.node_name = "n1";
  pod.spec.containers[0].image = "busybox:1";
  pod.spec.restart_policy = "Never";
  pod.metadata.finalizers.push_back(kGrace);
  std::vector<api::Object> one;
  one.push_back(api::Object::Of(std::move(pod)));
  const Status loaded = memory_->Load(std::move(one));
  ASSERT_TRUE(loaded.ok()) << loaded;
}

void AgentTest::ReserveFor(std::string_view claim, std::string_view pod) {
  auto object = memory_->Stored(ClaimKind(), "ns", claim);
  ASSERT_TRUE(object.has_value());
  object->Mutable<api::ResourceClaim>()->status.reserved_for.push_back(
      {.resource = "pods", .name = std::string(pod), .uid = UidOf(pod)});
  ASSERT_TRUE(memory_->UpdateStatus(*object).ok());
}

void AgentTest::DeletePod(std::string_view name) {
  ASSERT_TRUE(memory_->Delete(PodKind(), "ns", name).ok());
}

void AgentTest::ForceDelete(std::string_view name) {
  auto object = memory_->Stored(PodKind(), "ns", name);
  ASSERT_TRUE(object.has_value());
  object->MutableMetadata().finalizers.clear();
  ASSERT_TRUE(memory_->Update(*object).ok());
  if (memory_->Stored(PodKind(), "ns", name)) {
    ASSERT_TRUE(memory_->Delete(PodKind(), "ns", name).ok());
  }
}

void AgentTest::DeleteClaim(std::string_view name) {
  ASSERT_TRUE(memory_->Delete(ClaimKind(), "ns", name).ok());
}

std::optional<api::Pod> AgentTest::FindPod(std::string_view name) const {
  const auto object = memory_->Stored(PodKind(), "ns", name);
  if (!object) return std::nullopt;
  return *object->As<api::Pod>();
}

std::string AgentTest::PhaseOf(std::string_view name) const {
  const auto pod = FindPod(name);
  return pod ? pod->status.phase : "gone";
}

std::string AgentTest::UidOf(std::string_view name) const {
  const auto pod = FindPod(name);
  return pod ? pod->metadata.uid : "";
}

api::ContainerStatus AgentTest::StatusOf(const api::Pod& pod, std::string_view container) const {
  for (const auto* list : {&pod.status.container_statuses, &pod.status.init_container_statuses}) {
    const auto it = std::ranges::find(*list, container, &api::ContainerStatus::name);
    if (it != list->end()) return *it;
  }
  ADD_FAILURE() << "no status of container " << container;
  return {};
}

bool AgentTest::HasEvent(std::string_view part) const { return EventsWith(part) > 0; }

int AgentTest::EventsWith(std::string_view part) const {
  return static_cast<int>(std::ranges::count_if(cluster_->events, [&](const std::string& event) {
    return event.find(part) != std::string::npos;
  }));
}

int AgentTest::RuntimeCalls(std::string_view prefix) const {
  const std::vector<std::string> calls = runtime_.Calls();
  return static_cast<int>(std::ranges::count_if(
      calls, [&](const std::string& call) { return call.starts_with(prefix); }));
}

std::vector<ClaimState> AgentTest::Checkpoint() const {
  auto claims = ClaimLog::Read(options_.root);
  EXPECT_TRUE(claims.ok()) << claims.status();
  return claims.ok() ? *claims : std::vector<ClaimState>();
}

std::vector<std::string> AgentTest::CdiOf(std::string_view pod, std::string_view container) const {
  const auto config = runtime_.ConfigOf(UidOf(pod), container);
  return config ? config->cdi_devices : std::vector<std::string>{"(no such container)"};
}

void Acceptance::StartWithPod() {
  AddClaim(ClaimOf("a", {"d1"}, {"p"}));
  CreatePodWith("p", {"a"});
  StartAgent();
  ASSERT_EQ(PhaseOf("p"), "Running");
}

}  // namespace dray::node
