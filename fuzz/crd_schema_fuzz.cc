// SPDX-License-Identifier: Apache-2.0
//
// Schemas of custom resources, and objects held against them. The first line of the input is the
// schema, the rest the object. Nothing crashes, everything ends; pruning and defaults are idempotent;
// what a schema that passed does is what it does again.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "crd/field_types.h"
#include "crd/json_path.h"
#include "crd/rules.h"
#include "crd/schema_validation.h"
#include "crd/validator.h"
#include "crd/values.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dray;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  const auto path = crd::JsonPath::Parse(text.substr(0, line));
  const auto schema_tree = rest::ReadTree(text.substr(0, line));
  if (!schema_tree.ok()) return 0;
  const crd::ReadSchema read = crd::ReadSchemaFrom(*schema_tree);
  if (!read.exceeds.empty() || !read.faults.empty()) return 0;
  const api::ErrorList errors = crd::CheckSchema(read.schema, base::FieldPath("s"), {});
  for (const api::FieldError& error : errors) error.Message();
  if (!errors.empty()) return 0;
  const crd::FieldTypes types(read.schema);
  const auto object = rest::ReadTree(line == text.npos ? "{}" : text.substr(line + 1));
  if (!object.ok()) return 0;
  if (path) path->Find(*object);
  api::DocumentNode once = *object;
  crd::Prune(read.schema, crd::Whole::kYes, once);
  api::DocumentNode twice = once;
  crd::Prune(read.schema, crd::Whole::kYes, twice);
  DRAY_CHECK(rest::JsonEqual(once, twice), "pruning twice is pruning once");
  crd::SetDefaults(read.schema, once);
  twice = once;
  crd::SetDefaults(read.schema, twice);
  DRAY_CHECK(rest::JsonEqual(once, twice), "defaulting twice is defaulting once");
  const api::ErrorList faults = crd::Validator(read.schema).Check(once);
  for (const api::FieldError& error : faults) error.Message();
  const auto rules = crd::Rules::Of(read.schema, true);
  if (faults.empty() && rules != nullptr) rules->Check(once, &*object);
  return 0;
}
