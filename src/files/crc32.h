// SPDX-License-Identifier: Apache-2.0
//
// CRC-32 as in zip files and Ethernet, and as Kubernetes's agents have it in their checkpoints.
#pragma once

#include <cstdint>
#include <string_view>

namespace dray::files {

// `before`: of the bytes that come before these.
std::uint32_t Crc32(std::string_view bytes, std::uint32_t before = 0);

}  // namespace dray::files
