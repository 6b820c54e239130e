// SPDX-License-Identifier: Apache-2.0
//
// The fleet as docs/console-api.md has it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/event.h"
#include "base/time.h"
#include "fleet/fleet.h"
#include "fleet/json.h"

namespace dray::fleet {

// `GET fleet`, `GET holders`.
std::string FleetJson(const Fleet& fleet, std::string_view epoch, base::Time now);
std::string HoldersJson(const Fleet& fleet, std::string_view epoch);

// What is different from how it was at that revision, as a line of the stream, its end included;
// empty: nothing is. Only where `from` is not older than Fleet::oldest().
std::string ChangesJson(const Fleet& fleet, std::uint64_t from, base::Time now);

// `GET device`; nothing: there is no such device.
std::optional<std::string> DeviceJson(const Fleet& fleet, Id device);
std::optional<std::string> NodeJson(const Fleet& fleet, std::string_view name);

// What is known of a claim beside its object.
struct ClaimNews {
  std::vector<api::Event> events;
  bool events_known = false;
  // When this process saw that it was released; of a claim that has been deallocated since.
  std::optional<base::Time> released;
  // Prepared, as far as an agent says so.
  std::optional<base::Time> prepared;
};
std::optional<std::string> ClaimJson(const Fleet& fleet, std::string_view namespace_,
                                     std::string_view name, const ClaimNews& news);

std::string ClassesJson(const Fleet& fleet);
std::string NamespacesJson(const Fleet& fleet);
// Names and values of attributes that contain the text; at most so many.
std::string SearchJson(const Fleet& fleet, std::string_view text, std::size_t limit);

// A set of numbers as short text: "0-2,7".
std::string RangesOf(std::vector<std::uint32_t> numbers);

}  // namespace dray::fleet
