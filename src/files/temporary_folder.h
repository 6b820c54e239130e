// SPDX-License-Identifier: Apache-2.0
//
// A folder for a test: made when it is asked for, gone with all that is in it at the end.
#pragma once

#include <cstdlib>
#include <string>

#include "base/check.h"
#include "files/files.h"

namespace dray::files {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = "/tmp/dray-test-XXXXXX";
    DRAY_CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() { (void)RemoveTree(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace dray::files
