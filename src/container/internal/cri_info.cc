// SPDX-License-Identifier: Apache-2.0
#include "container/internal/cri_info.h"

#include <algorithm>

#include "api/document.h"
#include "container/internal/json_nodes.h"

namespace dray::container::internal {
namespace {

base::Time TimeOf(std::int64_t nanos) { return base::Time::FromUnix(0, nanos); }

PodIdentity PodOf(const rpc::CriMap& labels) {
  const auto get = [&](const char* key) {
    const auto found = labels.find(key);
    return found == labels.end() ? std::string() : found->second;
  };
  return {.namespace_ = get("io.kubernetes.pod.namespace"),
          .name = get("io.kubernetes.pod.name"),
          .uid = get(kUidLabel)};
}

bool ListHas(const api::DocumentNode* list, std::string_view field, const std::string& value) {
  if (list == nullptr) return false;
  return std::ranges::any_of(list->items, [&](const api::DocumentNode& item) {
    const api::DocumentNode* found = field.empty() ? &item : Child(&item, field);
    return found != nullptr && found->text == value;
  });
}

}  // namespace

ContainerState StateOf(rpc::CriContainerState state) {
  switch (state) {
    case rpc::CriContainerState::kCreated:
      return ContainerState::kCreated;
    case rpc::CriContainerState::kRunning:
      return ContainerState::kRunning;
    case rpc::CriContainerState::kExited:
      return ContainerState::kExited;
    case rpc::CriContainerState::kUnknown:
      break;
  }
  return ContainerState::kUnknown;
}

SandboxInfo InfoOf(const rpc::CriSandbox& sandbox) {
  return {.id = sandbox.id,
          .pod = PodOf(sandbox.labels),
          .attempt = sandbox.metadata.attempt,
          .ready = sandbox.state == rpc::CriSandboxState::kReady,
          .created_at = TimeOf(sandbox.created_at),
          .ips = sandbox.ips};
}

ContainerInfo InfoOf(const rpc::CriContainer& container, const std::string& sandbox_id) {
  const auto name = container.labels.find(kNameLabel);
  ContainerInfo info{.id = container.id,
                     .sandbox_id = sandbox_id,
                     .pod = PodOf(container.labels),
                     .name = name == container.labels.end() ? container.name : name->second,
                     .attempt = container.attempt,
                     .state = StateOf(container.state),
                     .created_at = TimeOf(container.created_at),
                     .started_at = TimeOf(container.started_at),
                     .finished_at = TimeOf(container.finished_at),
                     .exit_code = container.exit_code,
                     .reason = container.reason,
                     .message = container.message,
                     .image = container.image,
                     .image_id = container.image_ref,
                     .log_path = container.log_path,
                     .annotations = {container.annotations.begin(), container.annotations.end()}};
  // containerd looks at the clock when the start has been answered, by when a short one has ended.
  if (info.state == ContainerState::kExited && info.finished_at < info.started_at) {
    info.started_at = info.finished_at;
  }
  return info;
}

ImageInfo InfoOf(const rpc::CriImage& image) {
  return {.id = image.id,
          .ref = image.repo_digests.empty() ? image.id : image.repo_digests.front()};
}

rpc::CgroupDriver DriverOf(const rpc::CriMap& info) {
  const auto text = info.find("config");
  if (text == info.end()) return rpc::CgroupDriver::kCgroupfs;
  std::vector<api::Diagnostic> faults;
  const api::DocumentNode root = api::ParseJson(text->second, faults);
  const api::DocumentNode* runtimes = Child(&root, "containerd");
  const api::DocumentNode* name = Child(runtimes, "defaultRuntimeName");
  if (!faults.empty() || name == nullptr) return rpc::CgroupDriver::kCgroupfs;
  const api::DocumentNode* options =
      Child(Child(Child(runtimes, "runtimes"), name->text), "options");
  const api::DocumentNode* systemd = Child(options, "SystemdCgroup");
  return systemd != nullptr && systemd->boolean ? rpc::CgroupDriver::kSystemd
                                                : rpc::CgroupDriver::kCgroupfs;
}

std::string CgroupNameFor(rpc::CgroupDriver driver, const std::string& group) {
  if (driver == rpc::CgroupDriver::kCgroupfs || group.empty() || group.ends_with(".slice")) {
    return group;
  }
  std::string name;
  for (const char c : group) {
    if (c == '/') {
      if (!name.empty() && name.back() != '-') name += '-';
    } else {
      name += c == '-' ? '_' : c;
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? name : name + ".slice";
}

std::string MissingIn(const rpc::CriMap& info, const cdi::ContainerEdits& edits) {
  const auto text = info.find("info");
  if (text == info.end()) return "";
  std::vector<api::Diagnostic> faults;
  const api::DocumentNode root = api::ParseJson(text->second, faults);
  const api::DocumentNode* spec = Child(&root, "runtimeSpec");
  if (!faults.empty() || spec == nullptr) return "";
  const api::DocumentNode* env = Child(Child(spec, "process"), "env");
  for (const std::string& variable : edits.env) {
    if (!ListHas(env, "", variable)) return variable;
  }
  const api::DocumentNode* devices = Child(Child(spec, "linux"), "devices");
  for (const cdi::DeviceNode& node : edits.device_nodes) {
    if (!ListHas(devices, "path", node.path)) return node.path;
  }
  for (const cdi::Mount& mount : edits.mounts) {
    if (!ListHas(Child(spec, "mounts"), "destination", mount.container_path)) {
      return mount.container_path;
    }
  }
  return "";
}

}  // namespace dray::container::internal
