// SPDX-License-Identifier: Apache-2.0
//
// The last words of a container: what it has written to its terminationMessagePath, or the end of its
// log. Files of a container are not to be trusted: it may have written anything, and any amount of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::node {

inline constexpr std::size_t kLongestMessage = 4096;
inline constexpr std::size_t kLongestLogMessage = 2048;
inline constexpr int kLogMessageLines = 80;
// Of all containers of a pod together; if they have more, each gets its share.
inline constexpr std::size_t kLongestMessages = 12 * 1024;

// <pod folder>/containers/<container>/<attempt>
std::string MessageFile(const std::string& pod_folder, std::string_view container,
                        std::uint32_t attempt);
// An empty file that everybody may write to. One that is there stays.
Status MakeMessageFile(const std::string& path);
// The end of the file; if that is empty, of the log. Either may be empty, or not there. UTF-8.
std::string ReadMessage(const std::string& file, const std::string& log);
// UTF-8, at most that many bytes, the last ones.
std::string LastText(std::string_view bytes, std::size_t most);

}  // namespace dray::node
