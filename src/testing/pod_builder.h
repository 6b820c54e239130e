// SPDX-License-Identifier: Apache-2.0
//
// Pods and nodes, for tests:
//
//   Pod("a").Request("cpu", "500m").Label("app", "web").On("node-1")
//   Worker("node-1").Has("cpu", "4").Label("zone", "a").Tainted("gpu", "only", "NoSchedule")
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/node.h"
#include "api/pod.h"
#include "testing/slice_builder.h"

namespace dray::testing {

inline api::LabelSelector Labelled(std::string_view key, std::string_view value) {
  api::LabelSelector selector;
  selector.match_labels[key] = value;
  return selector;
}

inline api::PodAffinityTerm PodsWith(api::LabelSelector selector, std::string_view topology_key) {
  api::PodAffinityTerm term;
  term.label_selector = std::move(selector);
  term.topology_key = topology_key;
  return term;
}

// Namespace "ns", uid "uid-<name>", one container that asks for what Request says.
class Pod {
 public:
  explicit Pod(std::string_view name) {
    pod_.metadata.namespace_ = "ns";
    pod_.metadata.name = name;
    pod_.metadata.uid = "uid-" + std::string(name);
    pod_.spec.scheduler_name = api::kDefaultSchedulerName;
    pod_.spec.containers.push_back({.name = "c"});
  }
  Pod& Namespace(std::string_view name) {
    pod_.metadata.namespace_ = name;
    return *this;
  }
  Pod& Request(std::string_view resource, std::string_view amount) {
    pod_.spec.containers[0].resources.requests[resource] = ToQuantity(amount);
    return *this;
  }
  Pod& Label(std::string_view key, std::string_view value) {
    pod_.metadata.labels[key] = value;
    return *this;
  }
  Pod& On(std::string_view node) {
    pod_.spec.node_name = node;
    return *this;
  }
  Pod& Nominated(std::string_view node) {
    pod_.status.nominated_node_name = node;
    return *this;
  }
  Pod& Priority(std::int32_t priority) {
    pod_.spec.priority = priority;
    return *this;
  }
  Pod& Started(std::int64_t seconds) {
    pod_.status.start_time = base::Time::FromUnix(seconds);
    return *this;
  }
  Pod& Phase(std::string_view phase) {
    pod_.status.phase = phase;
    return *this;
  }
  Pod& Deleting() {
    pod_.metadata.deletion_timestamp = base::Time::FromUnix(1);
    return *this;
  }
  Pod& Tolerates(api::Toleration toleration) {
    pod_.spec.tolerations.push_back(std::move(toleration));
    return *this;
  }
  Pod& HostPort(std::int32_t port, std::string_view protocol = "TCP", std::string_view ip = "") {
    pod_.spec.containers[0].ports.push_back(
        {.host_port = port, .protocol = std::string(protocol), .host_ip = std::string(ip)});
    return *this;
  }
  Pod& NodeSelector(std::string_view key, std::string_view value) {
    pod_.spec.node_selector[key] = value;
    return *this;
  }
  // Any of the terms.
  Pod& NodeTerms(std::vector<api::NodeSelectorTerm> terms) {
    NodeAffinity().required.emplace().node_selector_terms = std::move(terms);
    return *this;
  }
  Pod& PrefersNodes(std::int32_t weight, api::NodeSelectorTerm term) {
    NodeAffinity().preferred.push_back({.weight = weight, .preference = std::move(term)});
    return *this;
  }
  Pod& Near(api::PodAffinityTerm term) {
    PodAffinity().required.push_back(std::move(term));
    return *this;
  }
  Pod& RatherNear(std::int32_t weight, api::PodAffinityTerm term) {
    PodAffinity().preferred.push_back({.weight = weight, .pod_affinity_term = std::move(term)});
    return *this;
  }
  Pod& AwayFrom(api::PodAffinityTerm term) {
    PodAntiAffinity().required.push_back(std::move(term));
    return *this;
  }
  Pod& RatherAwayFrom(std::int32_t weight, api::PodAffinityTerm term) {
    PodAntiAffinity().preferred.push_back({.weight = weight, .pod_affinity_term = std::move(term)});
    return *this;
  }
  Pod& Spread(api::TopologySpreadConstraint constraint) {
    pod_.spec.topology_spread_constraints.push_back(std::move(constraint));
    return *this;
  }
  api::PodSpec& spec() { return pod_.spec; }

  operator api::Pod() const { return pod_; }  // NOLINT: a builder is what it builds

 private:
  api::Affinity& Affinity() {
    return pod_.spec.affinity.has_value() ? *pod_.spec.affinity : pod_.spec.affinity.emplace();
  }
  api::NodeAffinity& NodeAffinity() {
    auto& box = Affinity().node_affinity;
    return box.has_value() ? *box : box.emplace();
  }
  api::PodAffinity& PodAffinity() {
    auto& box = Affinity().pod_affinity;
    return box.has_value() ? *box : box.emplace();
  }
  api::PodAntiAffinity& PodAntiAffinity() {
    auto& box = Affinity().pod_anti_affinity;
    return box.has_value() ? *box : box.emplace();
  }

  api::Pod pod_;
};

// Room for 110 pods unless Has says otherwise; the host name is the node's name.
class Worker {
 public:
  explicit Worker(std::string_view name) {
    node_.metadata.name = name;
    node_.metadata.uid = "uid-" + std::string(name);
    Label(api::kHostnameLabel, name).Has("pods", "110");
  }
  Worker& Has(std::string_view resource, std::string_view amount) {
    node_.status.allocatable[resource] = ToQuantity(amount);
    return *this;
  }
  Worker& Label(std::string_view key, std::string_view value) {
    node_.metadata.labels[key] = value;
    return *this;
  }
  Worker& Unlabel(std::string_view key) {
    node_.metadata.labels.erase(key);
    return *this;
  }
  Worker& Tainted(std::string_view key, std::string_view value, std::string_view effect) {
    node_.spec.taints.push_back(
        {.key = std::string(key), .value = std::string(value), .effect = std::string(effect)});
    return *this;
  }
  Worker& Unschedulable() {
    node_.spec.unschedulable = true;
    return *this;
  }

  operator api::Node() const { return node_; }  // NOLINT: a builder is what it builds

 private:
  api::Node node_;
};

}  // namespace dray::testing
