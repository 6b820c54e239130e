// SPDX-License-Identifier: Apache-2.0
//
// Objects from text, and what is wrong with them in a line each.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/kinds.h"
#include "api/validation.h"
#include "fmt/format.h"

namespace dray::api {

// An object from YAML; every test's text is right, so nothing may be said about it.
inline Object Parse(const std::string& yaml) {
  std::vector<Diagnostic> diagnostics;
  const std::vector<DocumentNode> documents = ParseYaml(yaml, diagnostics);
  const std::vector<ObjectNode> nodes = ObjectsIn(documents.at(0), diagnostics);
  std::optional<Object> object = DecodeObject(nodes.at(0), Severity::kError, diagnostics);
  EXPECT_THAT(diagnostics, ::testing::IsEmpty()) << yaml;
  return *std::move(object);
}

// "FieldValueInvalid spec.driver" for each fault.
inline std::vector<std::string> Keys(const ErrorList& errors) {
  std::vector<std::string> keys;
  for (const FieldError& error : errors) {
    keys.push_back(fmt::format("{} {}", ReasonOf(error.type), error.field.ToString()));
  }
  return keys;
}

inline std::vector<std::string> CreateErrors(const std::string& yaml,
                                             ValidationOptions options = {}) {
  return Keys(ValidateCreate(Parse(yaml), options));
}

}  // namespace dray::api
