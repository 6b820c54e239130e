// SPDX-License-Identifier: Apache-2.0
#include "files/crc32.h"

#include <array>

namespace dray::files {
namespace {

constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320u : 0u);
    table[i] = value;
  }
  return table;
}

}  // namespace

std::uint32_t Crc32(std::string_view bytes, std::uint32_t before) {
  static constexpr std::array<std::uint32_t, 256> kTable = MakeTable();
  std::uint32_t value = before ^ 0xffffffffu;
  for (const char c : bytes) {
    value = (value >> 8) ^ kTable[(value ^ static_cast<unsigned char>(c)) & 0xffu];
  }
  return value ^ 0xffffffffu;
}

}  // namespace dray::files
