// SPDX-License-Identifier: Apache-2.0
//
// Values of devices as texts and JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/resource_slice.h"
#include "inventory/dictionary.h"
#include "ledger/group_state.h"

namespace dray::fleet::internal {

// "model" of driver "d" is "d/model".
std::string Qualified(std::string_view driver, std::string_view name);
// `"string","H100"`: type and value, for the inside of a list.
std::string AttributeJson(const api::DeviceAttribute& attribute);
// As a person would write it: H100, 2, [a, b].
std::string AttributeText(const api::DeviceAttribute& attribute);
// An exact amount, as a quantity.
std::string AmountText(inventory::Amount amount);
// Why devices of these groups cannot join those on the counter set.
std::string GroupsText(const ledger::GroupState& state, std::span<const inventory::NameId> groups,
                       std::string_view set, const inventory::Dictionary& dictionary);

}  // namespace dray::fleet::internal
