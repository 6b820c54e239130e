// SPDX-License-Identifier: Apache-2.0
//
// A CRI server in the memory of a test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "files/files.h"
#include "fmt/format.h"
#include "rpc/cri_client.h"

namespace dray::container {

// Of a name and version; old ones drop CDI names in silence.
class FakeCri final : public rpc::CriClient {
 public:
  std::string name = "containerd";
  std::string version = "v2.1.9";
  bool ready = true;
  bool network_ready = true;
  std::string config = "{}";
  StatusOr<rpc::CgroupDriver> cgroups = rpc::CgroupDriver::kCgroupfs;
  // Of the last sandbox.
  std::string cgroup_parent;
  rpc::CriMap sysctls;
  rpc::CriSecurity security;
  std::string stream_url = "http://127.0.0.1:1/x";
  dray::Status reopened;
  bool applies_cdi = true;
  bool events = true;
  std::set<std::string> images = {"busybox"};
  std::map<std::string, rpc::CriSandbox> sandboxes;
  std::map<std::string, rpc::CriContainer> containers;
  std::map<std::string, rpc::CriContainerConfig> configs;
  std::vector<std::string> calls;
  std::function<void(rpc::CriEvent)> on_event;

  void Version(rpc::Done<rpc::CriVersion> done) override {
    calls.push_back("Version");
    done(rpc::CriVersion{
        .runtime_name = name, .runtime_version = version, .runtime_api_version = "v1"});
  }
  void Status(rpc::Done<rpc::CriStatus> done) override {
    calls.push_back("Status");
    done(rpc::CriStatus{
        .conditions =
            {{.type = "RuntimeReady", .status = ready, .reason = "Why", .message = "no shim"},
             {.type = "NetworkReady",
              .status = network_ready,
              .reason = "NetworkPluginNotReady",
              .message = "no CNI"}},
        .info = {{"config", config}}});
  }
  void Cgroups(rpc::Done<rpc::CgroupDriver> done) override {
    calls.push_back("RuntimeConfig");
    done(cgroups);
  }
  void RunPodSandbox(const rpc::CriSandboxConfig& config, rpc::Done<std::string> id) override {
    const std::string made = fmt::format("sandbox-{}", sandboxes.size());
    calls.push_back("RunPodSandbox");
    cgroup_parent = config.cgroup_parent;
    sandboxes[made] = {.id = made,
                       .metadata = config.metadata,
                       .state = rpc::CriSandboxState::kReady,
                       .created_at = 5'000'000'001,
                       .labels = config.labels,
                       .annotations = config.annotations,
                       .ips = {"10.0.0.7"}};
    sysctls = config.sysctls;
    security = config.security;
    id(made);
  }
  void PodSandboxStatus(const std::string& id, rpc::Done<rpc::CriSandbox> done) override {
    calls.push_back("PodSandboxStatus");
    const auto found = sandboxes.find(id);
    if (found == sandboxes.end()) return done(base::NotFound("no sandbox"));
    done(found->second);
  }
  void ListPodSandboxes(const rpc::CriMap& labels,
                        rpc::Done<std::vector<rpc::CriSandbox>> done) override {
    std::vector<rpc::CriSandbox> all;
    for (auto [id, sandbox] : sandboxes) {
      sandbox.ips.clear();
      if (Has(sandbox.labels, labels)) all.push_back(sandbox);
    }
    done(all);
  }
  void StopPodSandbox(const std::string& id, rpc::DoneStatus done) override {
    if (!sandboxes.contains(id)) return done(base::NotFound("no sandbox"));
    sandboxes[id].state = rpc::CriSandboxState::kNotReady;
    done({});
  }
  void RemovePodSandbox(const std::string& id, rpc::DoneStatus done) override {
    calls.push_back("RemovePodSandbox");
    sandboxes.erase(id);
    done({});
  }
  void CreateContainer(const std::string& sandbox_id, const rpc::CriContainerConfig& config,
                       const rpc::CriSandboxConfig&, rpc::Done<std::string> id) override {
    calls.push_back("CreateContainer");
    const std::string made = fmt::format("container-{}", containers.size());
    configs[made] = config;
    containers[made] = {.id = made,
                        .sandbox_id = sandbox_id,
                        .name = config.name,
                        .attempt = config.attempt,
                        .state = rpc::CriContainerState::kCreated,
                        .labels = config.labels};
    id(made);
  }
  void StartContainer(const std::string& id, rpc::DoneStatus done) override {
    containers[id].state = rpc::CriContainerState::kRunning;
    containers[id].started_at = 7;
    done({});
  }
  void StopContainer(const std::string& id, std::chrono::seconds, rpc::DoneStatus done) override {
    calls.push_back("StopContainer");
    if (!containers.contains(id)) return done(base::NotFound("no container"));
    containers[id].state = rpc::CriContainerState::kExited;
    containers[id].exit_code = 137;
    done({});
  }
  void RemoveContainer(const std::string& id, rpc::DoneStatus done) override {
    if (containers.erase(id) == 0) return done(base::NotFound("no container"));
    done({});
  }
  void ContainerStatus(const std::string& id, bool verbose,
                       rpc::Done<rpc::CriContainer> done) override {
    calls.push_back(verbose ? "ContainerStatus -v" : "ContainerStatus");
    if (!containers.contains(id)) return done(base::NotFound("no container"));
    rpc::CriContainer container = containers[id];
    if (verbose) {
      container.info["info"] =
          fmt::format(R"({{"runtimeSpec":{{"process":{{"env":["PATH=/bin"{}]}}}}}})",
                      applies_cdi && !configs[id].cdi_devices.empty() ? R"(,"GPU=1")" : "");
    }
    done(container);
  }
  void ListContainers(const rpc::CriMap& labels,
                      rpc::Done<std::vector<rpc::CriContainer>> done) override {
    std::vector<rpc::CriContainer> all;
    for (auto [id, container] : containers) {
      container.exit_code = 0;
      if (Has(container.labels, labels)) all.push_back(container);
    }
    done(all);
  }
  void ExecSync(const std::string&, std::vector<std::string> command, std::chrono::seconds,
                rpc::Done<rpc::CriExecResult> done) override {
    done(rpc::CriExecResult{.out = command[0], .err = "e", .exit_code = 2});
  }
  void ExecUrl(const std::string& id, std::vector<std::string>, bool tty, bool stdin,
               rpc::Done<std::string> done) override {
    calls.push_back(fmt::format("Exec tty={} stdin={}", tty, stdin));
    if (!containers.contains(id)) return done(base::NotFound("no container"));
    done(stream_url);
  }
  void AttachUrl(const std::string&, bool tty, bool stdin, rpc::Done<std::string> done) override {
    calls.push_back(fmt::format("Attach tty={} stdin={}", tty, stdin));
    done(stream_url);
  }
  void PortForwardUrl(const std::string& id, std::uint16_t port,
                      rpc::Done<std::string> done) override {
    calls.push_back(fmt::format("PortForward {}", port));
    if (!sandboxes.contains(id)) return done(base::NotFound("no sandbox"));
    done(stream_url);
  }
  void ReopenLog(const std::string& id, rpc::DoneStatus done) override {
    calls.push_back("ReopenLog");
    if (reopened.ok()) {
      EXPECT_TRUE(files::WriteWhole(containers[id].log_path, "new\n").ok());
    }
    done(reopened);
  }
  void ImageStatus(const std::string& image,
                   rpc::Done<std::optional<rpc::CriImage>> done) override {
    if (!images.contains(image)) return done(std::optional<rpc::CriImage>());
    done(std::optional(rpc::CriImage{.id = "sha256:1", .repo_digests = {"busybox@sha256:2"}}));
  }
  void PullImage(const std::string& image, const std::optional<rpc::CriAuth>&,
                 const rpc::CriSandboxConfig&, rpc::Done<std::string> reference) override {
    if (image != "pullable") return reference(base::Unavailable("no such host"));
    reference(std::string("sha256:3"));
  }
  void ListImages(rpc::Done<std::vector<rpc::CriImage>> done) override {
    done(std::vector<rpc::CriImage>());
  }
  void WatchEvents(std::function<void(rpc::CriEvent)> event, rpc::DoneStatus end) override {
    calls.push_back("WatchEvents");
    if (!events) return end(base::MakeStatus(StatusCode::kUnimplemented, "old"));
    on_event = std::move(event);
  }

 private:
  static bool Has(const rpc::CriMap& labels, const rpc::CriMap& wanted) {
    return std::ranges::all_of(wanted, [&](const auto& entry) {
      const auto found = labels.find(entry.first);
      return found != labels.end() && found->second == entry.second;
    });
  }
};

}  // namespace dray::container
