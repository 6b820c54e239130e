// SPDX-License-Identifier: Apache-2.0
//
// How the model stops an attempt from anywhere inside it. An exception, because the model is meant
// to be read beside the specification, where an error ends everything at the place it is met.
#pragma once

#include <string>
#include <utility>

namespace dray::model {

struct Abort {
  std::string text;
  bool node_only = false;  // other nodes may still be tried
};

}  // namespace dray::model
