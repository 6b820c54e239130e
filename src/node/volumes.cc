// SPDX-License-Identifier: Apache-2.0
#include "node/volumes.h"

#include <fcntl.h>
#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "api/json.h"
#include "files/files.h"
#include "fmt/format.h"
#include "node/internal/mounts.h"
#include "node/internal/volume_files.h"

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

// The field that is set besides the name: kinds of volumes that nobody here knows have one, too.
std::string KindOf(const api::Volume& volume) {
  const std::string json = api::EncodeJson(volume);
  api::JsonDecoder decoder;
  const auto fields = decoder.Decode<api::Map<api::RawJson>>(json);
  if (fields.ok()) {
    for (const auto& [name, value] : *fields) {
      if (name.view() != "name") return std::string(name.view());
    }
  }
  return "without a source";
}

struct GroupOfPod {
  std::optional<std::int64_t> fs_group;
};
const api::StructInfo& InfoOf(const GroupOfPod*) {
  static const api::StructInfo info =
      api::Struct<GroupOfPod>("PodSecurityContext", {api::Field<&GroupOfPod::fs_group>("fsGroup")});
  return info;
}

std::optional<std::int64_t> FsGroupOf(const api::Pod& pod) {
  if (!pod.spec.security_context) return std::nullopt;
  api::JsonDecoder decoder;
  const auto read = decoder.Decode<GroupOfPod>(pod.spec.security_context->text);
  return read.ok() ? read->fs_group : std::nullopt;
}

Status MakeEmptyDir(const api::EmptyDirVolumeSource& source, const std::string& path,
                    std::optional<std::int64_t> group) {
  if (!source.medium.empty() && source.medium != "Memory") {
    return base::FailedPrecondition(fmt::format(
        "emptyDir.medium \"{}\" is not supported by this node agent, only Memory", source.medium));
  }
  const unsigned mode = source.mode ? static_cast<unsigned>(*source.mode) & 07777u : 0777u;
  DRAY_RETURN_IF_ERROR(files::MakeFolder(path, mode));
  if (source.medium == "Memory" && CanMount()) {
    std::optional<std::int64_t> bytes;
    if (source.size_limit && !source.size_limit->IsZero()) bytes = source.size_limit->Value();
    DRAY_RETURN_IF_ERROR(MountMemory(path, bytes));
  }
  // What is made in it belongs to the group, too.
  if (group && CanMount()) {
    if (::chown(path.c_str(), static_cast<uid_t>(-1), static_cast<gid_t>(*group)) != 0 ||
        ::chmod(path.c_str(), mode | 02070u) != 0) {
      return files::Failed("give to the fsGroup", path, errno);
    }
  }
  return {};
}

// What all files below take on the disk. Does not follow links, nor look at other file systems.
std::int64_t BytesBelow(const std::string& path) {
  std::string name = path;
  char* const paths[] = {name.data(), nullptr};
  FTS* const tree = ::fts_open(paths, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, nullptr);
  if (tree == nullptr) return 0;
  std::int64_t bytes = 0;
  while (const FTSENT* const entry = ::fts_read(tree)) {
    if (entry->fts_info == FTS_DP || entry->fts_statp == nullptr) continue;
    if (entry->fts_info == FTS_F || entry->fts_info == FTS_D || entry->fts_info == FTS_SL) {
      bytes += static_cast<std::int64_t>(entry->fts_statp->st_blocks) * 512;
    }
  }
  ::fts_close(tree);
  return bytes;
}

// Written in one step, and where it is secret, never to a disk.
Status MakeFiles(const VolumeWork& work, const api::Volume& volume, Sources& sources,
                 const std::string& path, std::optional<std::int64_t> group, VolumesMade& made) {
  DRAY_ASSIGN_OR_RETURN(VolumeFiles files, FilesOf(work, volume, sources, path, made));
  DRAY_RETURN_IF_ERROR(files::MakeFolder(path, 0755));
  if (files.secret && CanMount()) DRAY_RETURN_IF_ERROR(MountMemory(path, std::nullopt));
  if (group) {
    for (auto& [name, file] : files.files) file.mode |= 0440u;
  }
  made.changes = made.changes || files.changes;
  return WriteFolder(path, files.files, work.now, group).status();
}

std::string_view FolderOf(const api::Volume& volume) {
  if (volume.config_map) return "kubernetes.io~configmap";
  if (volume.secret) return "kubernetes.io~secret";
  if (volume.downward_api) return "kubernetes.io~downward-api";
  if (volume.projected) return "kubernetes.io~projected";
  return "kubernetes.io~empty-dir";
}

Status MakeVolume(const VolumeWork& work, const api::Volume& volume, Sources& sources,
                  std::optional<std::int64_t> group, VolumesMade& made) {
  if (volume.host_path) {
    DRAY_RETURN_IF_ERROR(MakeHostPath(*volume.host_path));
    made.places[volume.name] = {.path = volume.host_path->path};
    return {};
  }
  const std::string path =
      fmt::format("{}/volumes/{}/{}", PodFolder(work.root, work.pod.metadata.uid), FolderOf(volume),
                  volume.name);
  if (HasFiles(volume)) {
    DRAY_RETURN_IF_ERROR(MakeFiles(work, volume, sources, path, group, made));
    made.places[volume.name] = {.path = path, .read_only = true};
    return {};
  }
  if (!volume.empty_dir) {
    return base::FailedPrecondition(fmt::format(
        "volumes {} are not supported by this node agent, only emptyDir, hostPath, configMap, "
        "secret, downwardAPI and projected",
        KindOf(volume)));
  }
  DRAY_RETURN_IF_ERROR(MakeEmptyDir(*volume.empty_dir, path, group));
  made.places[volume.name] = {.path = path};
  const auto& limit = volume.empty_dir->size_limit;
  if (!limit || limit->IsZero() || volume.empty_dir->medium == "Memory") return {};
  made.changes = true;
  if (BytesBelow(path) > limit->Value()) {
    made.exceeded = fmt::format("Usage of EmptyDir volume \"{}\" exceeds the limit \"{}\".",
                                volume.name, limit->ToString());
  }
  return {};
}

}  // namespace

std::string PodFolder(const std::string& root, const std::string& uid) {
  return fmt::format("{}/pods/{}", root, uid);
}

StatusOr<VolumesMade> MakeVolumes(const VolumeWork& work, Sources& sources) {
  VolumesMade made;
  DRAY_RETURN_IF_ERROR(files::MakeFolder(PodFolder(work.root, work.pod.metadata.uid), 0750));
  const std::optional<std::int64_t> group = FsGroupOf(work.pod);
  for (const api::Volume& volume : work.pod.spec.volumes) {
    DRAY_RETURN_IF_ERROR(base::Annotate(MakeVolume(work, volume, sources, group, made),
                                        fmt::format("volume \"{}\"", volume.name)));
  }
  return made;
}

StatusOr<std::string> PlaceSubPath(const std::string& pod_folder, const std::string& volume_name,
                                   const std::string& volume, const std::string& sub_path,
                                   const std::string& container, std::size_t index) {
  const auto opened = OpenBelow(volume, sub_path);
  if (!opened.ok()) {
    return base::Annotate(opened.status(), fmt::format("subPath of volume \"{}\"", volume_name));
  }
  // Nothing runs there that could change the path behind our back.
  if (!CanMount()) return fmt::format("{}/{}", volume, sub_path);
  std::string place =
      fmt::format("{}/volume-subpaths/{}/{}/{}", pod_folder, volume_name, container, index);
  DRAY_RETURN_IF_ERROR(Hold(*opened, place));
  return place;
}

Status RemovePodFolder(const std::string& root, const std::string& uid) {
  const std::string folder = PodFolder(root, uid);
  if (CanMount()) DRAY_RETURN_IF_ERROR(UnmountBelow(folder));
  return files::RemoveTree(folder);
}

}  // namespace dray::node
