// SPDX-License-Identifier: Apache-2.0
//
// Every object of the recorded cases, read, written and read again, in every version of its kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_replace.h"
#include "api/document.h"
#include "api/json.h"
#include "api/kinds.h"
#include "testing/recorded_cases.h"

namespace dray::api {
namespace {

// The allocator's cases have objects without apiVersion and kind; the name of the list says what
// they are.
const KindInfo* KindOfList(std::string_view list) {
  if (list == "node" || list == "nodes") return FindKind("v1", "Node");
  if (list == "classes") return FindKind("resource.k8s.io/v1", "DeviceClass");
  if (list == "slices") return FindKind("resource.k8s.io/v1", "ResourceSlice");
  if (list == "claims") return FindKind("resource.k8s.io/v1", "ResourceClaim");
  return nullptr;
}

class RoundTrip {
 public:
  void Walk(const DocumentNode& node, std::string_view key) {
    if (const KindInfo* kind = KindOf(node, key)) Check(*kind, node);
    for (const Member& member : node.members) Walk(member.value, member.key);
    for (const DocumentNode& item : node.items) Walk(item, key);
  }
  int objects() const { return objects_; }

 private:
  static const KindInfo* KindOf(const DocumentNode& node, std::string_view key) {
    if (node.kind != DocumentNode::Kind::kMap) return nullptr;
    const Member* version = node.Find("apiVersion");
    const Member* kind = node.Find("kind");
    // An owner reference has both as well, but no metadata.
    if (node.Find("metadata") == nullptr) return nullptr;
    if (version != nullptr && kind != nullptr)
      return FindKind(version->value.text, kind->value.text);
    return KindOfList(key);
  }

  void Check(const KindInfo& kind, const DocumentNode& node) {
    ++objects_;
    // "<now>" is the recorded cases' placeholder for the time of the run.
    const std::string text = absl::StrReplaceAll(ToJson(node), {{"<now>", "2026-01-02T03:04:05Z"}});
    Object object = Object::New(kind);
    const Status read = decoder_.Decode(text, *kind.type, object.MutableData());
    ASSERT_TRUE(read.ok()) << read << "\n" << text;
    for (const KindInfo& version : Kinds()) {
      if (version.hub != kind.hub) continue;
      const std::string written = object.ToJson(version);
      auto again = DecodeObject(decoder_, written);
      ASSERT_TRUE(again.ok()) << again.status() << "\n" << written;
      EXPECT_EQ(again->ToJson(), written) << "written twice, in " << version.ApiVersion();
      // v1beta1 has no place for an `exactly` that asks for nothing, nor for a slice of no node or
      // of not all nodes, which only v1 can write; everything else comes back as it was.
      const std::string whole = object.ToJson();
      const bool lost = whole.find(R"("exactly":{"deviceClassName":""})") != std::string::npos ||
                        whole.find(R"("nodeName":"")") != std::string::npos ||
                        whole.find(R"("allNodes":false)") != std::string::npos;
      if (lost && version.version == "v1beta1") continue;
      EXPECT_EQ(again->ToJson(kind), object.ToJson(kind)) << "by way of " << version.ApiVersion();
      EXPECT_TRUE(SemanticEqual(*again, object)) << version.ApiVersion() << "\n" << written;
    }
  }

  JsonDecoder decoder_;
  int objects_ = 0;
};

TEST(CorpusRoundTrip, EveryRecordedObjectComesBackTheSameInEveryVersion) {
  const auto folder = testing::SharedFolder("conformance");
  if (!folder) GTEST_SKIP() << "the shared conformance cases are not there";
  RoundTrip round_trip;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
    if (entry.path().extension() != ".json") continue;
    std::vector<Diagnostic> diagnostics;
    const DocumentNode root = ParseJson(testing::ReadFile(entry.path()), diagnostics);
    ASSERT_TRUE(diagnostics.empty()) << entry.path() << ": " << ToString(diagnostics.front());
    round_trip.Walk(root, "");
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(round_trip.objects(), 2000);
  RecordProperty("objects", round_trip.objects());
}

}  // namespace
}  // namespace dray::api
