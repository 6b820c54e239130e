// SPDX-License-Identifier: Apache-2.0
//
// The door of SPDY connections: what a container runtime or a client of forwarded ports says.
// Properties: no crash, bounded headers, and the same frames however the bytes are cut.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "spdy/frames.h"

namespace {

using dray::spdy::Frame;
using dray::spdy::FrameReader;

// Parts of data are joined: where they are cut is nobody's business.
struct Heard {
  std::vector<Frame> frames;
  bool failed = false;

  void Read(FrameReader& reader) {
    while (!failed) {
      auto frame = reader.Next();
      failed = !frame.ok();
      if (failed || !frame->has_value()) return;
      const bool goes_on = (*frame)->kind == Frame::Kind::kData && !frames.empty() &&
                           frames.back().kind == Frame::Kind::kData &&
                           frames.back().stream == (*frame)->stream && !frames.back().last;
      if (goes_on) {
        frames.back().data += (*frame)->data;
        frames.back().last = (*frame)->last;
      } else {
        frames.push_back(**std::move(frame));
      }
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Heard at_once;
  FrameReader reader;
  reader.Add(bytes);
  at_once.Read(reader);
  for (const Frame& frame : at_once.frames) {
    std::size_t total = 0;
    for (const auto& [name, value] : frame.headers) total += name.size() + value.size();
    DRAY_CHECK(total <= dray::spdy::kLongestHeaders);
  }
  Heard bit_by_bit;
  FrameReader other;
  for (std::size_t at = 0; at < size; at += 3) {
    other.Add(bytes.substr(at, 3));
    bit_by_bit.Read(other);
  }
  DRAY_CHECK(bit_by_bit.failed == at_once.failed);
  DRAY_CHECK(bit_by_bit.frames == at_once.frames);
  return 0;
}
