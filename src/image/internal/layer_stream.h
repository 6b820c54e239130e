// SPDX-License-Identifier: Apache-2.0
//
// A tar archive, perhaps compressed, as a stream of entries; hashed on both sides of the compression.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace dray::image::internal {

struct Entry {
  enum class Kind : std::uint8_t {
    kFile,
    kFolder,
    kSymlink,
    kHardLink,
    kFifo,
    kDevice,
    kOther,
  };
  Kind kind = Kind::kOther;
  std::string path;    // as the archive has it
  std::string target;  // of links
  unsigned mode = 0;   // permission bits, with set-user-id and the like
  std::int64_t uid = 0;
  std::int64_t gid = 0;
  std::int64_t mtime = 0;
};

// One thread.
class LayerStream {
 public:
  // gzip, zstd, xz and bzip2 are seen through. Programs are never started for others. More than
  // `most` bytes in all when it is decompressed: an error.
  static StatusOr<std::unique_ptr<LayerStream>> Open(const std::string& path, std::int64_t most);
  ~LayerStream();
  LayerStream(const LayerStream&) = delete;
  LayerStream& operator=(const LayerStream&) = delete;

  // False: that was the last one.
  StatusOr<bool> Next(Entry& entry);
  // Bytes of the present file; 0: its end.
  StatusOr<std::size_t> Read(char* buffer, std::size_t size);

  // Reads what is left. Then: the digests of the file and of the tar in it.
  struct Digests {
    std::string blob;
    std::string tar;
  };
  StatusOr<Digests> Finish();

 private:
  struct State;
  explicit LayerStream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dray::image::internal
