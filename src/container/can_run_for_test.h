// SPDX-License-Identifier: Apache-2.0
//
// Whether tests can have real containers here, and if not, why.
#pragma once

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "files/files.h"
#include "files/temporary_folder.h"

namespace dray::container {

// Empty: containers can run.
inline std::string WhyNoContainers() {
  if (::geteuid() != 0) return "containers need root";
  if (::access("/bin/busybox", X_OK) != 0) return "busybox-static is not installed";
  if (std::system("runc --version >/dev/null 2>&1") != 0) return "runc is not installed";
  const files::TemporaryFolder folder;
  for (const char* name : {"low", "up", "work", "all"}) (void)files::MakeFolder(folder / name);
  const std::string options = "lowerdir=" + (folder / "low") + ",upperdir=" + (folder / "up") +
                              ",workdir=" + (folder / "work");
  if (::mount("overlay", (folder / "all").c_str(), "overlay", 0, options.c_str()) != 0) {
    return "overlayfs cannot be mounted here";
  }
  ::umount2((folder / "all").c_str(), MNT_DETACH);
  const std::string group = "/sys/fs/cgroup/devices/dray-look-" + std::to_string(::getpid());
  const std::string unified = "/sys/fs/cgroup/dray-look-" + std::to_string(::getpid());
  if (::mkdir(group.c_str(), 0755) != 0 && ::mkdir(unified.c_str(), 0755) != 0) {
    return "control groups cannot be made here";
  }
  ::rmdir(group.c_str());
  ::rmdir(unified.c_str());
  return "";
}

}  // namespace dray::container
