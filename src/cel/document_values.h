// SPDX-License-Identifier: Apache-2.0
//
// A document (api/document.h) as a value of the language, as Kubernetes shows objects to
// expressions: what JSON has, so that a time or a quantity is a text.
#pragma once

#include "api/document.h"
#include "cel/arena.h"
#include "cel/value.h"

namespace dray::cel {

// Texts stay where they are: the document outlives the value. A number is an int if it is written
// as one and fits, else a double.
Value ValueOf(Arena& arena, const api::DocumentNode& node);

}  // namespace dray::cel
