// SPDX-License-Identifier: Apache-2.0
#include "node/node_reporter.h"

#include <algorithm>
#include <utility>

#include "api/lease.h"
#include "fmt/format.h"
#include "node/pod_worker.h"

namespace dray::node {
namespace {

constexpr std::chrono::milliseconds kFirstRetry{200};
constexpr std::chrono::seconds kLongestRetry{7};

const api::KindInfo& NodeKind() { return api::HubKind(api::TypeInfoOf<api::Node>()); }
const api::KindInfo& LeaseKind() { return api::HubKind(api::TypeInfoOf<api::Lease>()); }

std::vector<std::pair<std::string, std::string>> LabelsOf(const NodeReport& report) {
  const std::string& arch = report.machine.info.architecture;
  std::vector<std::pair<std::string, std::string>> labels = {
      {"kubernetes.io/hostname", report.name},
      {"kubernetes.io/os", "linux"},
      {"kubernetes.io/arch", arch},
      // Whoever simulates nodes leaves this one alone.
      {"dray/hollow", "false"},
      {"beta.kubernetes.io/os", "linux"},
      {"beta.kubernetes.io/arch", arch}};
  labels.insert(labels.end(), report.labels.begin(), report.labels.end());
  return labels;
}

bool AddLabels(api::Node& node, const NodeReport& report) {
  bool changed = false;
  for (const auto& [key, value] : LabelsOf(report)) {
    const std::string* old = node.metadata.labels.Find(key);
    if (old != nullptr && *old == value) continue;
    node.metadata.labels[key] = value;
    changed = true;
  }
  return changed;
}

void SetCondition(api::Node& node, std::string_view type, std::string_view status,
                  std::string_view reason, std::string message, base::Time now) {
  auto& conditions = node.status.conditions;
  auto it = std::ranges::find(conditions, type, &api::NodeCondition::type);
  if (it == conditions.end()) it = conditions.insert(conditions.end(), {.type = std::string(type)});
  if (it->status != status) it->last_transition_time = now.TruncateToSeconds();
  it->status = status;
  it->reason = reason;
  it->message = std::move(message);
  it->last_heartbeat_time = now.TruncateToSeconds();
}

// The node, made or labelled as it should be.
StatusOr<api::Object> Ensure(api::Cluster& cluster, const NodeReport& report) {
  DRAY_ASSIGN_OR_RETURN(auto found, cluster.Find(NodeKind(), "", report.name));
  if (!found) {
    api::Node node;
    node.metadata.name = report.name;
    AddLabels(node, report);
    node.spec.taints = report.taints;
    return cluster.Create(api::Object::Of(std::move(node)));
  }
  if (!AddLabels(*found->Mutable<api::Node>(), report)) return *std::move(found);
  return cluster.Update(*std::move(found));
}

Status RenewLease(api::Cluster& cluster, const std::string& name, const std::string& node_uid,
                  base::Time now) {
  DRAY_ASSIGN_OR_RETURN(auto found, cluster.Find(LeaseKind(), kLeaseNamespace, name));
  api::Object object = found ? *found : api::Object::New(LeaseKind());
  api::Lease& lease = *object.Mutable<api::Lease>();
  lease.metadata.namespace_ = kLeaseNamespace;
  lease.metadata.name = name;
  lease.spec.holder_identity = name;
  lease.spec.lease_duration_seconds = static_cast<std::int32_t>(kLeaseDuration.count());
  lease.spec.renew_time = api::MicroTime{now};
  if (!node_uid.empty() && lease.metadata.owner_references.empty()) {
    lease.metadata.owner_references = {
        {.api_version = "v1", .kind = "Node", .name = name, .uid = node_uid}};
  }
  return found ? cluster.Update(std::move(object)).status()
               : cluster.Create(std::move(object)).status();
}

}  // namespace

NodeReporter::NodeReporter(Loop& loop, Offload& offload, api::Cluster& cluster,
                           const logs::Logger& log, NodeReport report,
                           std::function<void(const std::string&)> registered)
    : loop_(loop),
      offload_(offload),
      cluster_(cluster),
      log_(log),
      report_(std::move(report)),
      on_registered_(std::move(registered)) {}

NodeReporter::~NodeReporter() = default;

void NodeReporter::Start() {
  Register();
  Renew();
}

void NodeReporter::SetRuntime(RuntimeReport runtime) {
  const bool changed = runtime.health != runtime_.health || runtime.version != runtime_.version;
  runtime_ = std::move(runtime);
  if (changed && registered()) Look();
}

void NodeReporter::Register() {
  Away(
      offload_, loop_, [&cluster = cluster_, report = report_] { return Ensure(cluster, report); },
      [this, alive = std::weak_ptr(alive_)](StatusOr<api::Object> node) {
        if (alive.expired()) return;
        if (!node.ok()) {
          log_.Warning("The node could not be registered",
                       {{"node", report_.name}, {"err", node.status()}});
          delay_ = NextDelay(delay_, kFirstRetry, kLongestRetry);
          register_timer_ = loop_.After(delay_, [this] { Register(); });
          return;
        }
        uid_ = node->metadata().uid;
        on_registered_(uid_);
        Look();
      });
}

void NodeReporter::Renew() {
  lease_timer_ = loop_.After(kLeaseRenewal, [this] { Renew(); });
  if (std::exchange(renewing_, true)) return;
  Away(
      offload_, loop_,
      [&cluster = cluster_, name = report_.name, uid = uid_, now = loop_.clock().Now()] {
        return RenewLease(cluster, name, uid, now);
      },
      [this, alive = std::weak_ptr(alive_)](const Status& renewed) {
        if (alive.expired()) return;
        renewing_ = false;
        if (renewed.ok()) return;
        log_.Warning("The lease of the node could not be renewed", {{"err", renewed}});
        lease_timer_ = loop_.After(kFirstRetry, [this] { Renew(); });
      });
}

void NodeReporter::Fill(api::Node& node) const {
  api::NodeStatus& status = node.status;
  const base::Time now = loop_.clock().Now();
  status.capacity = report_.machine.capacity;
  status.allocatable = report_.allocatable;
  status.addresses.clear();
  for (const std::string& address : report_.machine.addresses) {
    status.addresses.push_back({.type = "InternalIP", .address = address});
  }
  status.addresses.push_back({.type = "Hostname", .address = report_.name});
  status.daemon_endpoints.kubelet_endpoint.port = report_.port;
  status.node_info = report_.machine.info;
  status.node_info.container_runtime_version = runtime_.version;
  status.declared_features = report_.declared_features;
  SetCondition(node, "MemoryPressure", "False", "KubeletHasSufficientMemory",
               "kubelet has sufficient memory available", now);
  SetCondition(node, "DiskPressure", "False", "KubeletHasNoDiskPressure",
               "kubelet has no disk pressure", now);
  SetCondition(node, "PIDPressure", "False", "KubeletHasSufficientPID",
               "kubelet has sufficient PID available", now);
  if (runtime_.health.ok() && runtime_.network.empty()) {
    SetCondition(node, api::kNodeReadyCondition, "True", "KubeletReady",
                 "kubelet is posting ready status", now);
  } else if (runtime_.health.ok()) {
    // Pods on the host's network that tolerate it run all the same: one of them may bring the network.
    SetCondition(node, api::kNodeReadyCondition, "False", "KubeletNotReady",
                 fmt::format("container runtime network not ready: {}", runtime_.network), now);
  } else {
    SetCondition(node, api::kNodeReadyCondition, "False", "KubeletNotReady",
                 fmt::format("container runtime is down: {}", base::Message(runtime_.health)), now);
  }
}

// Heartbeats alone are worth a write every five minutes.
bool NodeReporter::NeedsWrite(const api::Node& node) const {
  api::Node next = node;
  Fill(next);
  const base::Time now = loop_.clock().Now();
  const auto ready = std::ranges::find(node.status.conditions, api::kNodeReadyCondition,
                                       &api::NodeCondition::type);
  if (ready == node.status.conditions.end() || !ready->last_heartbeat_time ||
      now - *ready->last_heartbeat_time >= kStatusInterval) {
    return true;
  }
  for (api::NodeCondition& condition : next.status.conditions) {
    const auto old =
        std::ranges::find(node.status.conditions, condition.type, &api::NodeCondition::type);
    if (old != node.status.conditions.end())
      condition.last_heartbeat_time = old->last_heartbeat_time;
  }
  return !api::SemanticEqual(next.status, node.status);
}

void NodeReporter::Look() {
  look_timer_ = loop_.After(kStatusLook, [this] { Look(); });
  if (std::exchange(looking_, true)) return;
  Away(
      offload_, loop_,
      [&cluster = cluster_, name = report_.name] { return cluster.Find(NodeKind(), "", name); },
      [this, alive = std::weak_ptr(alive_)](StatusOr<std::optional<api::Object>> found) {
        if (alive.expired()) return;
        if (!found.ok() || !found->has_value()) {
          looking_ = false;
          if (found.ok()) {
            // Somebody has deleted it: a node that runs has an object.
            uid_.clear();
            look_timer_.Cancel();
            return Register();
          }
          return log_.Warning("The node's status could not be read", {{"err", found.status()}});
        }
        api::Object node = **std::move(found);
        if (!NeedsWrite(*node.As<api::Node>())) {
          looking_ = false;
          return;
        }
        Fill(*node.Mutable<api::Node>());
        Away(
            offload_, loop_,
            [&cluster = cluster_, node = std::move(node)] { return cluster.UpdateStatus(node); },
            [this, alive](const StatusOr<api::Object>& written) {
              if (alive.expired()) return;
              looking_ = false;
              if (!written.ok()) {
                log_.Warning("The node's status could not be written", {{"err", written.status()}});
                look_timer_ = loop_.After(kFirstRetry, [this] { Look(); });
              }
            });
      });
}

}  // namespace dray::node
