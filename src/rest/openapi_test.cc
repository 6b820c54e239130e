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

// A reader of the wire that knows nothing of OpenAPI: the fields with a number in a message.
std::vector<std::string> FieldsOf(std::string_view bytes, std::uint64_t number) {
  std::vector<std::string> found;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0; !bytes.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (!bytes.empty()) {
    const std::uint64_t tag = varint();
    const std::uint64_t size = varint();
    if ((tag & 7) == 0) continue;
    if (tag >> 3 == number) found.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return found;
}

TEST(OpenApiV2, AsProtobufHasWhatKubectlLooksFor) {
  const std::string document = OpenApiV2Protobuf();
  EXPECT_THAT(FieldsOf(document, 1), ::testing::ElementsAre("2.0"));
  // Every definition has its name, and those of kinds say which kind they are.
  std::set<std::string> kinds;
  for (const std::string& pair : FieldsOf(FieldsOf(document, 9).at(0), 1)) {
    EXPECT_EQ(FieldsOf(pair, 1).size(), 1u);
    for (const std::string& extension : FieldsOf(FieldsOf(pair, 2).at(0), 31)) {
      if (FieldsOf(extension, 1).at(0) != "x-kubernetes-group-version-kind") continue;
      const DocumentNode rows = TreeOf(FieldsOf(FieldsOf(extension, 2).at(0), 2).at(0));
      for (const DocumentNode& row : rows.items) kinds.emplace(TextIn(row, "kind"));
    }
  }
  for (const api::KindInfo& kind : api::Kinds()) {
    EXPECT_TRUE(kinds.contains(std::string(kind.kind))) << kind.kind;
  }
  // The patch of a config map takes fieldValidation: the server validates, not kubectl.
  bool found = false;
  for (const std::string& pair : FieldsOf(FieldsOf(document, 8).at(0), 2)) {
    if (FieldsOf(pair, 1).at(0) != "/api/v1/namespaces/{namespace}/configmaps/{name}") continue;
    const std::string patch = FieldsOf(FieldsOf(pair, 2).at(0), 8).at(0);
    for (const std::string& item : FieldsOf(patch, 8)) {
      const std::string query = FieldsOf(FieldsOf(FieldsOf(item, 1).at(0), 2).at(0), 3).at(0);
      found |= FieldsOf(query, 4) == std::vector<std::string>{"fieldValidation"};
    }
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace dray::rest
