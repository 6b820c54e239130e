// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target on the files it is given, and on every file in the folders it is given. Stands
// in for libFuzzer outside the fuzz preset, so that each corpus is an ordinary test. All targets
// are in this one binary; fuzz_targets.inc, which CMake writes, has a line for each.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#define DRAY_FUZZ_TARGET(name) extern "C" int name(const std::uint8_t* data, std::size_t size);
#include "fuzz_targets.inc"
#undef DRAY_FUZZ_TARGET

namespace {

struct Target {
  std::string_view name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

constexpr Target kTargets[] = {
#define DRAY_FUZZ_TARGET(name) {#name, name},
#include "fuzz_targets.inc"
#undef DRAY_FUZZ_TARGET
};

namespace fs = std::filesystem;

// The files that an argument stands for, sorted; empty if there are none.
std::vector<fs::path> FilesOf(const fs::path& argument) {
  std::error_code error;
  if (fs::is_regular_file(argument, error)) return {argument};
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(argument, error)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool Replay(const Target& target, const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return false;
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  // Said before, so that a crash has a name.
  std::fprintf(stderr, "replaying %s\n", path.c_str());
  target.run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const Target* target =
      argc < 3 ? std::end(kTargets) : std::ranges::find(kTargets, argv[1], &Target::name);
  if (target == std::end(kTargets)) {
    std::fprintf(stderr, "usage: %s TARGET FILE_OR_FOLDER...\ntargets:\n", argv[0]);
    for (const Target& known : kTargets) std::fprintf(stderr, "  %s\n", known.name.data());
    return 2;
  }
  std::size_t replayed = 0;
  for (int i = 2; i < argc; ++i) {
    const std::vector<fs::path> files = FilesOf(argv[i]);
    if (files.empty()) {
      std::fprintf(stderr, "%s is missing or has no files\n", argv[i]);
      return 1;
    }
    for (const fs::path& file : files) {
      if (!Replay(*target, file)) {
        std::fprintf(stderr, "cannot read %s\n", file.c_str());
        return 1;
      }
      ++replayed;
    }
  }
  std::printf("%zu inputs replayed\n", replayed);
  return 0;
}
