// SPDX-License-Identifier: Apache-2.0
#include "rest/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "api/kinds.h"
#include "fmt/format.h"
#include "rest/descriptions.h"
#include "rest/tree_for_test.h"

namespace dray::rest {
namespace {

using ::testing::IsEmpty;

// Every struct and field below a type that nobody has described.
void Undescribed(const api::TypeInfo& type, std::set<const api::StructInfo*>& seen,
                 std::vector<std::string>& names) {
  if (type.element != nullptr) Undescribed(*type.element, seen, names);
  if (type.shape != api::Shape::kStruct) return;
  const api::StructInfo& info = type.fields();
  if (!seen.insert(&info).second) return;
  if (DescriptionOf(info).empty()) names.emplace_back(info.name);
  for (const api::FieldInfo& field : info.fields) {
    const std::string name = fmt::format("{}.{}", info.name, field.name);
    if (DescriptionOf(info, field).empty()) names.push_back(name);
    Undescribed(*field.type, seen, names);
  }
}

TEST(Descriptions, EveryFieldOfEveryKindHasOne) {
  std::set<const api::StructInfo*> seen;
  std::vector<std::string> names;
  for (const api::KindInfo& kind : api::Kinds()) Undescribed(*kind.type, seen, names);
  EXPECT_THAT(names, IsEmpty());
}

DocumentNode Schemas(const DocumentNode& document) {
  return *FindIn(*FindIn(document, "components"), "schemas");
}

// The schema that speaks of a kind.
const DocumentNode* SchemaOf(const DocumentNode& schemas, std::string_view kind) {
  for (const api::Member& schema : schemas.members) {
    const DocumentNode* kinds = FindIn(schema.value, "x-kubernetes-group-version-kind");
    if (kinds != nullptr && TextIn(kinds->items.at(0), "kind") == kind) return &schema.value;
  }
  return nullptr;
}

TEST(OpenApiV3, EveryRefLeadsToASchema) {
  for (const api::KindInfo& kind : api::Kinds()) {
    const DocumentNode document = TreeOf(*OpenApiV3Json(kind.group, kind.version));
    const DocumentNode schemas = Schemas(document);
    ASSERT_NE(SchemaOf(schemas, kind.kind), nullptr) << kind.kind;
    const auto check = [&](auto&& self, const DocumentNode& node) -> void {
      for (const DocumentNode& item : node.items) self(self, item);
      for (const api::Member& member : node.members) {
        if (member.key == "$ref" && IsString(member.value)) {
          const std::string& ref = member.value.text;
          EXPECT_NE(FindIn(schemas, ref.substr(ref.rfind('/') + 1)), nullptr) << ref;
        }
        self(self, member.value);
      }
    };
    check(check, schemas);
  }
}

TEST(OpenApiV3, SaysHowListsAreMergedAndThatFieldsAreValidated) {
  const DocumentNode document = TreeOf(*OpenApiV3Json("resource.k8s.io", "v1"));
  const DocumentNode schemas = Schemas(document);
  const DocumentNode* status = nullptr;
  for (const api::Member& schema : schemas.members) {
    if (schema.key.ends_with(".ResourceClaimStatus")) status = &schema.value;
  }
  ASSERT_NE(status, nullptr);
  const DocumentNode& reserved = *FindIn(*FindIn(*status, "properties"), "reservedFor");
  EXPECT_EQ(TextIn(reserved, "x-kubernetes-list-type"), "map");
  EXPECT_EQ(TextIn(reserved, "x-kubernetes-patch-merge-key"), "uid");
  const DocumentNode* patch =
      FindIn(*FindIn(*FindIn(document, "paths"),
                     "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}"),
             "patch");
  ASSERT_NE(patch, nullptr);
  EXPECT_EQ(TextIn(*FindIn(*patch, "x-kubernetes-group-version-kind"), "kind"), "ResourceClaim");
  std::vector<std::string> parameters;
  for (const DocumentNode& parameter : FindIn(*patch, "parameters")->items) {
    parameters.emplace_back(TextIn(parameter, "name"));
    EXPECT_FALSE(TextIn(parameter, "description").empty()) << parameters.back();
  }
  EXPECT_THAT(parameters, ::testing::Contains("fieldValidation"));
}

TEST(OpenApiV3, VersionsThatNestOtherwiseHaveTheirOwnSchemas) {
  const DocumentNode document = TreeOf(*OpenApiV3Json("resource.k8s.io", "v1beta1"));
  bool basic = false;
  for (const api::Member& schema : Schemas(document).members) {
    const DocumentNode* properties = FindIn(schema.value, "properties");
    basic |= properties != nullptr && FindIn(*properties, "basic") != nullptr;
  }
  EXPECT_TRUE(basic);
  EXPECT_FALSE(OpenApiV3Json("resource.k8s.io", "v9").has_value());
}

TEST(OpenApiV2, HasEveryKind) {
  const DocumentNode document = TreeOf(OpenApiV2Json());
  for (const api::KindInfo& kind : api::Kinds()) {
    bool found = false;
    for (const api::Member& schema : FindIn(document, "definitions")->members) {
      const DocumentNode* kinds = FindIn(schema.value, "x-kubernetes-group-version-kind");
      if (kinds == nullptr) continue;
      for (const DocumentNode& row : kinds->items) {
        found |= TextIn(row, "kind") == kind.kind && TextIn(row, "version") == kind.version &&
                 TextIn(row, "group") == kind.group;
      }
    }
    EXPECT_TRUE(found) << kind.ApiVersion() << " " << kind.kind;
  }
}

}  // namespace
}  // namespace dray::rest
