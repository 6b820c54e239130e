// SPDX-License-Identifier: Apache-2.0
//
// Command lines in a test: run one, look at what it said.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cli/run.h"
#include "gtest/gtest.h"
#include "testing/slice_yaml.h"

namespace dray::cli {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

struct RunOptions {
  std::string in;
  std::map<std::string, std::string, std::less<>> variables;
  bool terminal = false;
  bool plugin = false;
  std::size_t columns = 0;
};

inline Outcome RunLine(const std::vector<std::string>& args, const RunOptions& options = {}) {
  const base::ManualClock clock(base::Time::FromUnix(1'780'000'000));
  std::istringstream in(options.in);
  std::ostringstream out;
  std::ostringstream err;
  const Environment env{.variables = options.variables,
                        .out_is_terminal = options.terminal,
                        .err_is_terminal = options.terminal,
                        .clock = clock,
                        .plugin = options.plugin,
                        .columns = options.columns};
  Outcome outcome;
  outcome.code = Run(args, in, out, err, env);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

// A node n1 with what its slice's spec ends with (testing/slice_yaml.h), and a class gpu.
inline std::string OneNodeYaml(std::string_view slice_lines) {
  return R"(apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  allocatable: {cpu: "8", memory: 64Gi, pods: "110"}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
)" + testing::SliceYaml(slice_lines);
}

// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dray-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  // Writes a file, with the folders above it, and returns its path.
  std::string Write(std::string_view name, std::string_view text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file.string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline std::filesystem::path SourceFolder() {
  const char* folder = std::getenv("DRAY_SOURCE");
  return folder == nullptr ? std::filesystem::current_path() : std::filesystem::path(folder);
}

inline std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Compares with the file, or writes it when DRAY_UPDATE_GOLDEN is set.
inline void ExpectGolden(const std::filesystem::path& file, const std::string& actual) {
  if (std::getenv("DRAY_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(file, std::ios::binary) << actual;
    return;
  }
  EXPECT_EQ(actual, ReadAll(file)) << file << " (DRAY_UPDATE_GOLDEN=1 rewrites it)";
}

}  // namespace dray::cli
