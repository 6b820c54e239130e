// SPDX-License-Identifier: Apache-2.0
//
// Types and declarations of the specification's tests, in the JSON form of its messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/document.h"
#include "cel/environment.h"
#include "cel/type.h"

namespace dray::conformance {

// The types of one declaration, which share their type parameters.
class TypeReader {
 public:
  explicit TypeReader(cel::TypePool& pool) : pool_(pool) {}

  cel::Type Read(const api::DocumentNode& recorded);
  std::uint32_t type_params() const { return static_cast<std::uint32_t>(letters_.size()); }

 private:
  cel::Type ReadOrDyn(const api::DocumentNode& recorded, std::string_view key);
  cel::Type Parameter(const std::string& name);

  cel::TypePool& pool_;
  std::vector<std::string> letters_;
};

// One entry of a test's `typeEnv`.
void Declare(const api::DocumentNode& declaration, cel::EnvironmentBuilder& builder);

}  // namespace dray::conformance
