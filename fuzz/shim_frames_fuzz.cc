// SPDX-License-Identifier: Apache-2.0
//
// What is said on a shim's socket: frames do not depend on how the bytes are cut, and those that were read are the bytes
// that were sent. The first byte says how long pieces are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "container/internal/shim_frames.h"

namespace {

namespace shim = dray::container::internal;

// Everything that was read, as bytes again, and whether it ended in something that is none.
std::string Hear(std::string_view bytes, std::size_t piece, bool& broken) {
  std::string buffer;
  std::string heard;
  while (!bytes.empty() && !broken) {
    buffer += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (auto frame = shim::TakeFrame(buffer, broken)) {
      heard += shim::EncodeFrame(frame->first, frame->second);
    }
  }
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  bool broken = false;
  bool broken_cut = false;
  const std::string whole = Hear(bytes, bytes.size() + 1, broken);
  const std::string cut = Hear(bytes, std::max<std::size_t>(data[0], 1), broken_cut);
  DRAY_CHECK(whole == cut && broken == broken_cut);
  DRAY_CHECK(bytes.starts_with(whole));
  return 0;
}
