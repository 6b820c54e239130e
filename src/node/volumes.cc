// SPDX-License-Identifier: Apache-2.0
#include "node/volumes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "files/files.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

Status WrongType(const std::string& path, std::string_view type) {
  return base::FailedPrecondition(
      fmt::format("hostPath type check failed: {} is not a {}", path, type));
}

Status MakeHostPath(const api::HostPathVolumeSource& source) {
  const std::string type = source.type.value_or("");
  if (type.empty()) return {};
  struct stat about {};
  const bool there = ::stat(source.path.c_str(), &about) == 0;
  if (type == "DirectoryOrCreate") {
    if (!there) return files::MakeFolder(source.path);
    return S_ISDIR(about.st_mode) ? Status() : WrongType(source.path, "directory");
  }
  if (type == "FileOrCreate") {
    if (there) return S_ISREG(about.st_mode) ? Status() : WrongType(source.path, "file");
    const files::Fd made(::open(source.path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    return made.valid() ? Status() : files::Failed("make", source.path, errno);
  }
  const auto is = [&](bool right, std::string_view what) {
    return there && right ? Status() : WrongType(source.path, what);
  };
  if (type == "Directory") return is(S_ISDIR(about.st_mode), "directory");
  if (type == "File") return is(S_ISREG(about.st_mode), "file");
  if (type == "Socket") return is(S_ISSOCK(about.st_mode), "socket file");
  if (type == "CharDevice") return is(S_ISCHR(about.st_mode), "character device");
  if (type == "BlockDevice") return is(S_ISBLK(about.st_mode), "block device");
  return base::InvalidArgument(fmt::format("hostPath type \"{}\" is not known", type));
}

std::string_view KindOf(const api::Volume& volume) {
  if (volume.config_map) return "configMap";
  if (volume.secret) return "secret";
  if (volume.projected) return "projected";
  if (volume.downward_api) return "downwardAPI";
  if (volume.persistent_volume_claim) return "persistentVolumeClaim";
  if (volume.csi) return "csi";
  if (volume.ephemeral) return "ephemeral";
  if (volume.image) return "image";
  return "of this kind";
}

bool IsOptional(const api::Volume& volume) {
  return (volume.config_map && volume.config_map->optional.value_or(false)) ||
         (volume.secret && volume.secret->optional.value_or(false));
}

}  // namespace

std::string PodFolder(const std::string& root, const std::string& uid) {
  return fmt::format("{}/pods/{}", root, uid);
}

StatusOr<std::map<std::string, std::string>> MakeVolumes(const api::Pod& pod,
                                                         const std::string& root) {
  std::map<std::string, std::string> places;
  const std::string folder = PodFolder(root, pod.metadata.uid) + "/volumes";
  for (const api::Volume& volume : pod.spec.volumes) {
    if (volume.host_path) {
      DRAY_RETURN_IF_ERROR(base::Annotate(MakeHostPath(*volume.host_path),
                                          fmt::format("volume \"{}\"", volume.name)));
      places[volume.name] = volume.host_path->path;
      continue;
    }
    if (!volume.empty_dir && !IsOptional(volume)) {
      return base::FailedPrecondition(fmt::format(
          "volume \"{}\": volumes {} are not supported by this node agent, only emptyDir and "
          "hostPath{}",
          volume.name, KindOf(volume),
          volume.projected ? "; set automountServiceAccountToken: false if the pod needs no token"
                           : ""));
    }
    // One that is optional and cannot be had is empty.
    const std::string path = fmt::format("{}/kubernetes.io~empty-dir/{}", folder, volume.name);
    DRAY_RETURN_IF_ERROR(files::MakeFolder(path, 0777));
    places[volume.name] = path;
  }
  return places;
}

}  // namespace dray::node
