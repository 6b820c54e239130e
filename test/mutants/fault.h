// SPDX-License-Identifier: Apache-2.0
//
// Which fault of faults.txt is switched on in the copy of the allocator that has them all.
#pragma once

namespace dray::faults {

// Its number, from 1 on; 0: none, and the copy does what the original does.
inline int on = 0;

}  // namespace dray::faults
