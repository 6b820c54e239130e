// SPDX-License-Identifier: Apache-2.0
//
// Validation answers for any object: recorded ones are damaged at random and validated in every
// way. Needs the recorded cases in $DRAY_SHARED.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "api/kinds.h"
#include "api/validation.h"

namespace dray::api {
namespace {

constexpr int kRounds = 20'000;
constexpr unsigned kSeed = 5963;

struct Recorded {
  std::string title;
  std::string kind;
  std::string api_version;
  DocumentNode node;
};

std::string TextAt(const DocumentNode& node, std::string_view key) {
  const Member* member = node.Find(key);
  return member == nullptr ? "" : member->value.text;
}

// Every object and old object of the recorded cases.
std::vector<Recorded> ReadObjects() {
  std::vector<Recorded> objects;
  const char* shared = std::getenv("DRAY_SHARED");
  if (shared == nullptr) return objects;
  const auto folder = std::filesystem::path(shared) / "conformance" / "validation";
  if (!std::filesystem::is_directory(folder)) return objects;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    std::vector<Diagnostic> diagnostics;
    DocumentNode root = ParseJson(text, diagnostics);
    for (DocumentNode& recorded : root.items) {
      for (const char* key : {"object", "oldObject"}) {
        const Member* member = recorded.Find(key);
        if (member == nullptr || member->value.kind != DocumentNode::Kind::kMap) continue;
        objects.push_back({entry.path().filename().string() + ": " + TextAt(recorded, "name"),
                           TextAt(member->value, "kind"), TextAt(member->value, "apiVersion"),
                           member->value});
      }
    }
  }
  return objects;
}

void Collect(DocumentNode& node, std::vector<DocumentNode*>& parents) {
  if (!node.items.empty() || !node.members.empty()) parents.push_back(&node);
  for (DocumentNode& item : node.items) Collect(item, parents);
  for (Member& member : node.members) Collect(member.value, parents);
}

class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  // Removes, repeats or replaces one value somewhere below the root.
  void Apply(DocumentNode& root) {
    std::vector<DocumentNode*> parents;
    Collect(root, parents);
    if (parents.empty()) return;
    DocumentNode& parent = *parents[Pick(parents.size())];
    if (!parent.items.empty()) {
      DamageOne(parent.items, [](DocumentNode& item) -> DocumentNode& { return item; });
    } else {
      DamageOne(parent.members, [](Member& member) -> DocumentNode& { return member.value; });
    }
  }

  std::size_t Pick(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

 private:
  template <typename T, typename Value>
  void DamageOne(std::vector<T>& list, Value value) {
    const std::size_t i = Pick(list.size());
    switch (Pick(4)) {
      case 0:
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      case 1: {
        const T copy = list[i];
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), 1 + Pick(70), copy);
        break;
      }
      case 2:
        value(list[i]) = Other();
        break;
      default:
        value(list[i]).text += Pick(2) == 0 ? "/" : std::string(Pick(300), 'X');
    }
  }

  DocumentNode Other() {
    constexpr const char* kTexts[] = {
        "",     "a",   "/", "-1",     "1e400", "99999999999999999999",
        "1n",   "0.5", "*", "a/b/c",  "\xff",  "9223372036854775808",
        "true", "All", "%", "Exists", "-",     "2024-01-01T00:00:00Z"};
    DocumentNode node;
    node.kind = static_cast<DocumentNode::Kind>(Pick(6));
    node.boolean = Pick(2) == 0;
    node.text = node.kind == DocumentNode::Kind::kNumber
                    ? (Pick(2) == 0 ? "0" : "-9223372036854775808")
                    : kTexts[Pick(std::size(kTexts))];
    return node;
  }

  std::mt19937 random_;
};

Object Decode(const Recorded& recorded, const DocumentNode& node) {
  std::vector<Diagnostic> diagnostics;
  std::optional<Object> object = DecodeObject(
      ObjectNode{recorded.api_version, recorded.kind, &node}, Severity::kWarning, diagnostics);
  return *std::move(object);
}

// Every way to validate the pair; twice, for the answers have to be the same.
void ValidateInEveryWay(const Object& object, const Object& old, const ValidationOptions& options) {
  EXPECT_EQ(ValidateCreate(object, options), ValidateCreate(object, options));
  EXPECT_EQ(ValidateUpdate(object, old, options), ValidateUpdate(object, old, options));
  EXPECT_EQ(ValidateUpdate(old, object, options), ValidateUpdate(old, object, options));
  EXPECT_EQ(ValidateStatusUpdate(object, old, options), ValidateStatusUpdate(object, old, options));
  EXPECT_EQ(ValidateStatusUpdate(old, object, options), ValidateStatusUpdate(old, object, options));
}

TEST(ValidationProperty, AnyDamagedObjectGetsTheSameAnswerTwice) {
  const std::vector<Recorded> objects = ReadObjects();
  if (objects.empty()) GTEST_SKIP() << "no recorded cases in $DRAY_SHARED/conformance/validation";
  Damage damage(kSeed);
  ValidationOptions options;
  for (int round = 0; round < kRounds; ++round) {
    const Recorded& recorded = objects[damage.Pick(objects.size())];
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round) + ", " +
                 recorded.title);
    DocumentNode node = recorded.node;
    for (std::size_t n = 1 + damage.Pick(4); n > 0; --n) damage.Apply(node);
    options.kubernetes_only = damage.Pick(2) == 0;
    options.gates = damage.Pick(2) == 0 ? FeatureGates() : FeatureGates::KubernetesDefaults();
    ValidateInEveryWay(Decode(recorded, node), Decode(recorded, recorded.node), options);
    if (HasFailure()) return;
  }
}

// An object that is taken in as it is may be written again as it is.
TEST(ValidationProperty, AValidObjectMayBeUpdatedToItself) {
  const std::vector<Recorded> objects = ReadObjects();
  if (objects.empty()) GTEST_SKIP() << "no recorded cases in $DRAY_SHARED/conformance/validation";
  for (const Recorded& recorded : objects) {
    Object object = Decode(recorded, recorded.node);
    ObjectMeta& metadata = *object.kind().metadata(object.MutableData());
    if (metadata.resource_version.empty()) metadata.resource_version = "1";
    if (!ValidateCreate(object, {}).empty()) continue;
    for (const FieldError& error : ValidateUpdate(object, object, {})) {
      ADD_FAILURE() << recorded.title << ": " << error.Message();
    }
  }
}

}  // namespace
}  // namespace dray::api
