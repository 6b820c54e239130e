// SPDX-License-Identifier: Apache-2.0
//
// The names of time zones, as IANA gives them. Whoever loads a zone by a name that somebody has sent
// opens a file of that name: "/dev/stdin" would be one that never ends. And what was loaded, or was not
// there, is remembered by the library for ever. So a name is looked up here first.
#pragma once

#include <string_view>

namespace dray::base {

// "Europe/Berlin", "UTC", "EST5EDT"; not "Local", which means another one on each machine.
bool IsTimeZoneName(std::string_view name);

}  // namespace dray::base
