// SPDX-License-Identifier: Apache-2.0
//
// Headers of streams, packed: one zlib stream per direction of a connection, which begins with words
// that both sides know.
//
// Spec: SPDY protocol draft 3.1, 2.6.10.
#pragma once

#include <zlib.h>

#include <string>
#include <string_view>

#include "base/status.h"
#include "spdy/frames.h"

namespace dray::spdy {

// The words that both sides know.
const std::string& HeaderDictionary();

// One thread.
class HeaderPacker {
 public:
  HeaderPacker();
  ~HeaderPacker();
  HeaderPacker(const HeaderPacker&) = delete;
  HeaderPacker& operator=(const HeaderPacker&) = delete;
  std::string Pack(const Headers& headers);

 private:
  z_stream stream_{};
};

// One thread. Unusable after an error.
class HeaderUnpacker {
 public:
  HeaderUnpacker();
  ~HeaderUnpacker();
  HeaderUnpacker(const HeaderUnpacker&) = delete;
  HeaderUnpacker& operator=(const HeaderUnpacker&) = delete;
  StatusOr<Headers> Unpack(std::string_view bytes);

 private:
  z_stream stream_{};
};

}  // namespace dray::spdy
