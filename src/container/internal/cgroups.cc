// SPDX-License-Identifier: Apache-2.0
#include "container/internal/cgroups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "files/files.h"
#include "fmt/format.h"

namespace dray::container::internal {
namespace {

constexpr char kMount[] = "/sys/fs/cgroup";

bool IsFolder(const std::string& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

Status RemoveFolders(const std::string& folder) {
  const auto names = files::NamesIn(folder);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    const std::string below = fmt::format("{}/{}", folder, name);
    if (IsFolder(below)) DRAY_RETURN_IF_ERROR(RemoveFolders(below));
  }
  // A process that has just been killed may still be leaving.
  for (int tries = 0; ::rmdir(folder.c_str()) != 0; ++tries) {
    if (errno == ENOENT) return {};
    if (errno != EBUSY || tries >= 50) return files::Failed("remove", folder, errno);
    ::usleep(10'000);
  }
  return {};
}

Status WriteTo(const std::string& folder, std::string_view file, const std::string& text) {
  const std::string path = fmt::format("{}/{}", folder, file);
  const files::Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return files::Failed("write", path, errno);
  // At once: each write is an order.
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return files::Failed("write", path, errno);
  }
  return {};
}

bool IsOurs(const std::string& group) {
  return group.size() >= 2 && group.starts_with('/') && group.find("..") == std::string::npos;
}

Status MakeFolders(const std::string& top, const std::string& group, bool pass_on) {
  std::string path = top;
  for (std::size_t at = 0; at < group.size();) {
    // In the second version a group gets of its parent what that passes on.
    if (pass_on) {
      for (const char* one : {"+cpu", "+memory"})
        (void)WriteTo(path, "cgroup.subtree_control", one);
    }
    const std::size_t next = std::min(group.find('/', at + 1), group.size());
    path += group.substr(at, next - at);
    at = next;
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
      return files::Failed("make control group", path, errno);
    }
  }
  return {};
}

constexpr std::int64_t kCpuPeriod = 100'000;  // microseconds

Status LimitInFirst(const std::string& group, const Limits& limits) {
  const std::string memory = fmt::format("{}/memory", kMount);
  if (limits.memory_bytes > 0 && IsFolder(memory)) {
    DRAY_RETURN_IF_ERROR(MakeFolders(memory, group, false));
    DRAY_RETURN_IF_ERROR(
        WriteTo(memory + group, "memory.limit_in_bytes", fmt::format("{}", limits.memory_bytes)));
  }
  const std::string cpu = fmt::format("{}/cpu", kMount);
  struct stat about {};
  // A link, where it is one hierarchy with cpuacct.
  if ((limits.cpu_quota > 0 || limits.cpu_shares > 0) && ::stat(cpu.c_str(), &about) == 0) {
    DRAY_RETURN_IF_ERROR(MakeFolders(cpu, group, false));
    if (limits.cpu_shares > 0) {
      DRAY_RETURN_IF_ERROR(
          WriteTo(cpu + group, "cpu.shares", fmt::format("{}", limits.cpu_shares)));
    }
    if (limits.cpu_quota > 0) {
      DRAY_RETURN_IF_ERROR(
          WriteTo(cpu + group, "cpu.cfs_period_us", fmt::format("{}", kCpuPeriod)));
      DRAY_RETURN_IF_ERROR(
          WriteTo(cpu + group, "cpu.cfs_quota_us", fmt::format("{}", limits.cpu_quota)));
    }
  }
  return {};
}

Status LimitInSecond(const std::string& group, const Limits& limits) {
  DRAY_RETURN_IF_ERROR(MakeFolders(kMount, group, true));
  const std::string folder = kMount + group;
  if (limits.memory_bytes > 0 && HasController("memory")) {
    DRAY_RETURN_IF_ERROR(WriteTo(folder, "memory.max", fmt::format("{}", limits.memory_bytes)));
  }
  if (!HasController("cpu")) return {};
  if (limits.cpu_quota > 0) {
    DRAY_RETURN_IF_ERROR(
        WriteTo(folder, "cpu.max", fmt::format("{} {}", limits.cpu_quota, kCpuPeriod)));
  }
  if (limits.cpu_shares > 0) {
    // As runc: 2 to 262144 shares are 1 to 10000 of weight.
    const std::int64_t weight = 1 + (limits.cpu_shares - 2) * 9999 / 262142;
    DRAY_RETURN_IF_ERROR(WriteTo(folder, "cpu.weight", fmt::format("{}", weight)));
  }
  return {};
}

}  // namespace

Status LimitCgroup(const std::string& group, const Limits& limits) {
  if (!IsOurs(group)) {
    return base::InvalidArgument(fmt::format("\"{}\" is no control group of ours", group));
  }
  const bool second = ::access(fmt::format("{}/cgroup.controllers", kMount).c_str(), F_OK) == 0;
  return second ? LimitInSecond(group, limits) : LimitInFirst(group, limits);
}

bool HasController(const std::string& name) {
  if (IsFolder(fmt::format("{}/{}", kMount, name))) return true;
  const auto all = files::ReadWhole(fmt::format("{}/cgroup.controllers", kMount));
  return all.ok() &&
         fmt::format(" {} ", all->substr(0, all->find('\n'))).find(fmt::format(" {} ", name)) !=
             std::string::npos;
}

std::vector<std::string> CgroupFolders(const std::string& group) {
  std::vector<std::string> folders;
  const auto names = files::NamesIn(kMount);
  if (!names.ok()) return folders;
  if (IsFolder(fmt::format("{}{}", kMount, group))) {
    folders.push_back(fmt::format("{}{}", kMount, group));
  }
  for (const std::string& name : *names) {
    const std::string folder = fmt::format("{}/{}{}", kMount, name, group);
    // cpu and cpuacct may be links to cpu,cpuacct.
    if (IsFolder(fmt::format("{}/{}", kMount, name)) && IsFolder(folder)) folders.push_back(folder);
  }
  return folders;
}

Status RemoveCgroup(const std::string& group) {
  if (!IsOurs(group)) {
    return base::InvalidArgument(fmt::format("\"{}\" is no control group of ours", group));
  }
  Status status;
  for (const std::string& folder : CgroupFolders(group)) {
    if (const Status removed = RemoveFolders(folder); !removed.ok()) status = removed;
  }
  return status;
}

std::string MemoryGroupOf(std::int64_t pid) {
  const auto text = files::ReadWhole(fmt::format("/proc/{}/cgroup", pid));
  if (!text.ok()) return "";
  std::string unified;
  for (std::string_view left = *text; !left.empty();) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    const std::string_view line = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers == "memory") return fmt::format("{}/memory{}", kMount, line.substr(second + 1));
    if (controllers.empty()) unified = fmt::format("{}{}", kMount, line.substr(second + 1));
  }
  return unified;
}

std::int64_t OomKills(const std::string& memory_folder) {
  for (const char* file : {"memory.oom_control", "memory.events"}) {
    const auto text = files::ReadWhole(fmt::format("{}/{}", memory_folder, file));
    if (!text.ok()) continue;
    const std::size_t at = text->find("oom_kill ");
    if (at == std::string::npos) continue;
    std::int64_t count = 0;
    std::from_chars(text->data() + at + std::strlen("oom_kill "), text->data() + text->size(),
                    count);
    return count;
  }
  return 0;
}

}  // namespace dray::container::internal
