// SPDX-License-Identifier: Apache-2.0
//
// What holds of pruning, defaults and validation, whatever the schema and the object.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "crd/crd_for_test.h"
#include "crd/random_schemas_for_test.h"
#include "crd/schema_validation.h"
#include "crd/validator.h"
#include "crd/values.h"

namespace dray::crd {
namespace {

constexpr int kRounds = 3000;

// The slow model: which paths of a value a schema names, by definition.
void Kept(const Schema* schema, const DocumentNode& node, bool keep_all, const std::string& path,
          std::set<std::string>& out) {
  const bool preserves = schema != nullptr && schema->Preserves();
  for (const api::Member& member : node.members) {
    const Schema* below = schema == nullptr ? nullptr : schema->FindProperty(member.key);
    const bool named = below != nullptr || (schema != nullptr && schema->has_additional);
    if (below == nullptr && schema != nullptr) below = schema->additional.get();
    if (!named && !preserves && !keep_all) continue;
    const std::string here = path + "." + member.key;
    out.insert(here);
    Kept(named ? below : nullptr, member.value, !named, here, out);
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string here = path + "[" + std::to_string(i) + "]";
    out.insert(here);
    const Schema* items = schema == nullptr ? nullptr : schema->items.get();
    Kept(items, node.items[i], keep_all || (preserves && items == nullptr), here, out);
  }
}

std::set<std::string> PathsOf(const DocumentNode& node) {
  std::set<std::string> all;
  Kept(nullptr, node, true, "", all);
  return all;
}

TEST(ValuesProperty, HoldWhateverTheSchema) {
  std::mt19937 random(20261116);
  for (int round = 0; round < kRounds; ++round) {
    const DocumentNode tree = RandomSchema(random);
    const ReadSchema read = ReadSchemaFrom(tree);
    ASSERT_TRUE(read.unknown.empty() && read.faults.empty() && read.exceeds.empty());
    ASSERT_TRUE(CheckStructural(read.schema, FieldPath("s")).empty()) << ToJson(tree);
    const DocumentNode value = RandomValue(random, &read.schema);
    SCOPED_TRACE(ToJson(tree) + "\n" + ToJson(value));

    DocumentNode pruned = value;
    Prune(read.schema, Whole::kNo, pruned);
    std::set<std::string> model;
    Kept(&read.schema, value, false, "", model);
    ASSERT_EQ(PathsOf(pruned), model);
    DocumentNode twice = pruned;
    Prune(read.schema, Whole::kNo, twice);
    ASSERT_EQ(ToJson(twice), ToJson(pruned));

    DocumentNode filled = pruned;
    SetDefaults(read.schema, filled);
    twice = filled;
    SetDefaults(read.schema, twice);
    ASSERT_EQ(ToJson(twice), ToJson(filled));
    // Defaults of such schemas name nothing that the schema does not.
    twice = filled;
    Prune(read.schema, Whole::kNo, twice);
    ASSERT_EQ(ToJson(twice), ToJson(filled));

    // What is valid is so again when it was written and read, and as an update of itself.
    const Validator validator(read.schema);
    const bool valid = validator.Check(filled).empty();
    ASSERT_EQ(validator.Check(Tree(ToJson(filled))).empty(), valid);
    ASSERT_TRUE(validator.Check(filled, {}, &filled).empty());
  }
}

}  // namespace
}  // namespace dray::crd
