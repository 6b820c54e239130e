// SPDX-License-Identifier: Apache-2.0
//
// Layers of images from strangers: whatever is in them, nothing beside the folder is made, changed or removed, and the
// bounds hold. Input: T and the bytes of an archive, or a line per entry of archives that are well formed:
//
//   f path>content   d path   s path>target   h path>target   p path   c path    (file, folder, links, fifo, device)
//   =                the next layer
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "image/unpack.h"

namespace {

using dray::files::NamesIn;
using dray::files::ReadWhole;
using dray::files::RemoveTree;
using dray::files::WriteWhole;

constexpr std::size_t kBlock = 512;
constexpr std::string_view kSecret = "secret";

// A header of the ustar format, with its sum.
std::string TarEntry(char type, std::string_view path, std::string_view link,
                     std::string_view content) {
  std::array<char, kBlock> head{};
  const auto put = [&](std::size_t at, std::size_t size, std::string_view text) {
    std::memcpy(head.data() + at, text.data(), std::min(size, text.size()));
  };
  put(0, 100, path);
  put(100, 8, "0000755");
  put(108, 8, "0000000");
  put(116, 8, "0000000");
  put(124, 12, fmt::format("{:011o}", content.size()));
  put(136, 12, "00000000000");
  put(148, 8, "        ");
  head[156] = type;
  put(157, 100, link);
  put(257, 8,
      std::string_view("ustar\0"
                       "00",
                       8));
  put(329, 8, "0000001");
  put(337, 8, "0000003");
  unsigned sum = 0;
  for (const char c : head) sum += static_cast<unsigned char>(c);
  put(148, 8, fmt::format("{:06o}", sum) + std::string(1, '\0') + " ");
  std::string entry(head.data(), head.size());
  entry += content;
  entry.resize((entry.size() + kBlock - 1) / kBlock * kBlock, '\0');
  return entry;
}

std::vector<std::string> LayersOf(std::string_view text) {
  std::vector<std::string> layers(1);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line == "=" && layers.size() < 4) layers.emplace_back();
    if (line.size() < 3 || line[1] != ' ') continue;
    const std::string_view path = line.substr(2, line.find('>') - 2);
    const std::string_view rest = line.substr(std::min(line.size(), path.size() + 3));
    switch (line[0]) {
      case 'f':
        layers.back() += TarEntry('0', path, "", rest);
        break;
      case 'h':
        layers.back() += TarEntry('1', path, rest, "");
        break;
      case 's':
        layers.back() += TarEntry('2', path, rest, "");
        break;
      case 'c':
        layers.back() += TarEntry('3', path, "", "");
        break;
      case 'd':
        layers.back() += TarEntry('5', path, "", "");
        break;
      case 'p':
        layers.back() += TarEntry('6', path, "", "");
        break;
      default:
        break;
    }
  }
  for (std::string& layer : layers) layer.append(2 * kBlock, '\0');
  return layers;
}

// Bytes of the files that lie there. Links are not followed.
std::int64_t BytesBelow(const std::string& folder) {
  std::int64_t bytes = 0;
  const auto names = NamesIn(folder);
  DRAY_CHECK(names.ok());
  for (const std::string& name : *names) {
    const std::string path = folder + "/" + name;
    struct stat there {};
    DRAY_CHECK(::lstat(path.c_str(), &there) == 0);
    DRAY_CHECK(!S_ISBLK(there.st_mode) && !S_ISCHR(there.st_mode), "no devices");
    if (S_ISDIR(there.st_mode)) bytes += BytesBelow(path);
    if (S_ISREG(there.st_mode)) bytes += there.st_size / static_cast<std::int64_t>(there.st_nlink);
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const dray::files::TemporaryFolder scratch;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string root = scratch / "root";
  const std::string outside = scratch / "outside";
  const std::string archive = scratch / "layer.tar";
  for (const std::string& folder : {root, outside}) {
    DRAY_CHECK(RemoveTree(folder).ok() && dray::files::MakeFolder(folder).ok());
  }
  DRAY_CHECK(WriteWhole(outside + "/file", kSecret, 0644, dray::files::Sync::kNo).ok());
  dray::image::Limits limits;
  limits.bytes = 64 << 10;
  limits.entries = 256;
  dray::image::Budget budget(limits);
  std::vector<std::string> layers;
  if (input.starts_with('T')) {
    layers.emplace_back(input.substr(1));
  } else {
    layers = LayersOf(input);
  }
  for (const std::string& layer : layers) {
    DRAY_CHECK(WriteWhole(archive, layer, 0644, dray::files::Sync::kNo).ok());
    const dray::Status unpacked = dray::image::UnpackLayer({.path = archive}, root, budget);
    if (!unpacked.ok()) {
      DRAY_CHECK(!unpacked.message().empty());
      break;
    }
  }
  const auto beside = NamesIn(scratch.path());
  DRAY_CHECK(beside.ok() && *beside == std::vector<std::string>({"layer.tar", "outside", "root"}));
  const auto there = NamesIn(outside);
  DRAY_CHECK(there.ok() && *there == std::vector<std::string>{"file"});
  struct stat file {};
  DRAY_CHECK(::lstat((outside + "/file").c_str(), &file) == 0 && S_ISREG(file.st_mode));
  DRAY_CHECK(file.st_nlink == 1 && file.st_uid == ::geteuid() && (file.st_mode & 07777) == 0644);
  DRAY_CHECK(*ReadWhole(outside + "/file") == kSecret);
  DRAY_CHECK(BytesBelow(root) <= limits.bytes);
  return 0;
}
