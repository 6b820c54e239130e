// SPDX-License-Identifier: Apache-2.0
#include "scheduler/device_shortages.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "fmt/format.h"

namespace dray::scheduler {
namespace {

// "devices of class gpu", as the requests of the conflict ask for them. Of a prioritized list the
// last entry is the one that asks for least.
std::string DevicesOf(const allocator::Explanation& explanation) {
  std::set<std::string> classes;
  for (const allocator::ConflictMember& member : explanation.conflict) {
    if (member.constraint) continue;
    const auto& claim = explanation.claims[static_cast<std::size_t>(member.claim)];
    const auto& request = claim.requests[static_cast<std::size_t>(member.index)];
    if (!request.alternatives.empty()) classes.insert(request.alternatives.back().device_class);
  }
  std::string text;
  for (const std::string& name : classes) text.append(text.empty() ? "" : " or ").append(name);
  return "devices of class " + text;
}

}  // namespace

std::vector<Reason::Shortage> ShortagesOf(const allocator::Explanation& explanation) {
  std::vector<Reason::Shortage> shortages;
  const std::optional<std::int64_t> room =
      explanation.at_most ? explanation.at_most : explanation.room_together;
  if (room && *room < explanation.needed_together) {
    shortages.push_back({.what = DevicesOf(explanation),
                         .needed = std::to_string(explanation.needed_together),
                         .free = std::to_string(*room)});
  }
  for (const allocator::Shortage& shortage : explanation.shortages) {
    shortages.push_back({.what = shortage.name, .needed = shortage.needed, .free = shortage.left});
  }
  return shortages;
}

}  // namespace dray::scheduler
