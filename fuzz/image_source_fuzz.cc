// SPDX-License-Identifier: Apache-2.0
//
// Where images come from: names that people write, and archives and layouts that strangers make. What is found has a
// name, an identity and a configuration; a name in full reads back. Input: N and a name; A and the bytes of an archive; or
// files of a layout, "@path\n" before each.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "image/digest.h"
#include "image/reference.h"
#include "image/source.h"

namespace {

void CheckName(std::string_view text) {
  const auto reference = dray::image::ParseReference(text);
  if (!reference.ok()) {
    DRAY_CHECK(!reference.status().message().empty());
    return;
  }
  DRAY_CHECK(!reference->domain.empty() && !reference->path.empty());
  DRAY_CHECK(!reference->tag.empty() || !reference->digest.empty());
  DRAY_CHECK(reference->digest.empty() || dray::image::IsDigest(reference->digest));
  const auto again = dray::image::ParseReference(reference->ToString());
  DRAY_CHECK(again.ok() && *again == *reference, reference->ToString());
}

void CheckSource(const std::string& path, const std::string& scratch) {
  dray::image::Limits limits;
  limits.bytes = 1 << 20;
  limits.entries = 100;
  limits.document_bytes = 64 << 10;
  const auto source = dray::image::ImageSource::Open(path, scratch, limits);
  if (!source.ok()) {
    DRAY_CHECK(!source.status().message().empty());
    return;
  }
  for (const dray::image::FoundImage& image : (*source)->images()) {
    DRAY_CHECK(dray::image::IsDigest(image.id));
    DRAY_CHECK(image.digest.empty() || dray::image::IsDigest(image.digest));
    DRAY_CHECK(static_cast<std::int64_t>(image.layers.size()) <= limits.layers);
    for (const auto& name : image.names) CheckName(name.ToString());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const dray::files::TemporaryFolder folder;
  if (size == 0) return 0;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input[0] == 'N') {
    CheckName(input.substr(1));
    return 0;
  }
  const std::string scratch = folder / "scratch";
  const std::string path = folder / (input[0] == 'A' ? "image.tar" : "layout");
  DRAY_CHECK(dray::files::RemoveTree(scratch).ok() && dray::files::MakeFolder(scratch).ok());
  DRAY_CHECK(dray::files::RemoveTree(path).ok());
  if (input[0] == 'A') {
    DRAY_CHECK(dray::files::WriteWhole(path, input.substr(1), 0644, dray::files::Sync::kNo).ok());
  } else {
    DRAY_CHECK(dray::files::MakeFolder(path + "/blobs/sha256").ok());
    while (input.starts_with('@')) {
      const std::size_t line = std::min(input.find('\n'), input.size());
      std::string name(input.substr(1, line - 1));
      input.remove_prefix(std::min(line + 1, input.size()));
      const std::size_t next = input.find("\n@");
      const std::string_view content = input.substr(0, next);
      input.remove_prefix(next == input.npos ? input.size() : next + 1);
      // "blob": whatever its digest is.
      if (name == "blob")
        name = "blobs/sha256/" + std::string(dray::image::HexOf(dray::image::DigestOf(content)));
      const bool plain = !name.empty() && name.find("..") == name.npos && name[0] != '/' &&
                         name.find('\0') == name.npos && name.size() < 100;
      if (!plain) continue;
      static_cast<void>(
          dray::files::WriteWhole(path + "/" + name, content, 0644, dray::files::Sync::kNo));
    }
  }
  CheckSource(path, scratch);
  // What was unpacked is gone again.
  const auto left = dray::files::NamesIn(scratch);
  DRAY_CHECK(left.ok() && left->empty());
  return 0;
}
