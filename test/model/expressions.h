// SPDX-License-Identifier: Apache-2.0
//
// Selectors and derived attributes, evaluated when the enumeration comes to them.
// Spec: docs/spec/allocator.md 7.1 and 7.4.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "cel/compile.h"
#include "cel/program.h"

namespace dray::model {

// Keeps compiled expressions. All failures (text, evaluation, a device whose attributes have no
// value) are thrown as Abort. One thread.
class Expressions {
 public:
  // All selectors in order; the first that is false ends it.
  bool Match(const std::vector<api::DeviceSelector>& selectors, std::string_view driver,
             const api::Device& device);
  api::DeviceAttribute Derive(const std::string& expression, std::string_view driver,
                              const api::Device& device);

 private:
  const cel::Program& Compiled(const std::string& expression, cel::Purpose purpose);

  std::map<std::pair<std::string, cel::Purpose>, std::shared_ptr<const cel::Program>> programs_;
};

}  // namespace dray::model
