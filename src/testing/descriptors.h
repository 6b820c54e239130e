// SPDX-License-Identifier: Apache-2.0
//
// What a program that is started now would inherit.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>

namespace dray::testing {

// Open descriptors of this process, but for its standard ones, that a child would have, too: what
// each is, in the words of /proc.
inline std::set<std::string> DescriptorsForChildren() {
  std::set<std::string> found;
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return found;
  while (const dirent* entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    const int flags = ::fcntl(fd, F_GETFD);
    if (fd < 3 || flags < 0 || (flags & FD_CLOEXEC) != 0) continue;
    char what[256] = {};
    const std::string link = std::string("/proc/self/fd/") + entry->d_name;
    if (::readlink(link.c_str(), what, sizeof(what) - 1) > 0) found.insert(what);
  }
  ::closedir(folder);
  return found;
}

}  // namespace dray::testing
