// SPDX-License-Identifier: Apache-2.0
//
// The names of one capacity: `<driver>/bandwidth` and `bandwidth` mean the same on a device of that
// driver, whoever writes which: slices, requests and the claims that hold a share.
//
// Spec: KEP-5075 compares a request with a CEL selector on domain and name; docs/decisions.md #36.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "inventory/dictionary.h"
#include "inventory/slice_table.h"

namespace dray::inventory {

// The capacity that `name` means, among `entries` of a device of the slice: literally, and else
// with the driver's domain added or removed.
std::optional<std::size_t> FindCapacity(std::string_view name, const SliceTable& slice,
                                        std::span<const CapacityEntry> entries,
                                        const Dictionary& dictionary);
// Cheap where the name is literally one of them.
std::optional<std::size_t> FindCapacity(NameId name, const SliceTable& slice,
                                        std::span<const CapacityEntry> entries,
                                        const Dictionary& dictionary);

}  // namespace dray::inventory
