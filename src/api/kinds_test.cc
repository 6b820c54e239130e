// SPDX-License-Identifier: Apache-2.0
#include "api/kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "api/device_class.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"

namespace dray::api {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Object MustDecode(std::string_view json) {
  JsonDecoder decoder;
  auto object = DecodeObject(decoder, json);
  EXPECT_TRUE(object.ok()) << object.status();
  return object.ok() ? *std::move(object) : Object::Of(DeviceClass{});
}

std::string Convert(std::string_view json, std::string_view api_version) {
  const Object object = MustDecode(json);
  return object.ToJson(*FindKind(api_version, object.kind().kind));
}

TEST(Kinds, EachKindAndVersionIsListedOnce) {
  std::set<std::string> seen;
  for (const KindInfo& kind : Kinds()) {
    EXPECT_TRUE(seen.insert(kind.ApiVersion() + " " + std::string(kind.kind)).second) << kind.kind;
    EXPECT_EQ(HubKind(*kind.hub).kind, kind.kind);
  }
}

TEST(Kinds, AnUnknownKindOrVersionSaysWhatIsKnown) {
  JsonDecoder decoder;
  const auto error = [&](std::string_view json) {
    return std::string(base::Message(DecodeObject(decoder, json).status()));
  };
  EXPECT_THAT(error(R"({"apiVersion":"resource.k8s.io/v9","kind":"DeviceClass"})"),
              HasSubstr("DeviceClass is known in resource.k8s.io/v1, resource.k8s.io/v1beta2"));
  EXPECT_THAT(error(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaims"})"),
              HasSubstr("ResourceClaim?"));
  EXPECT_THAT(error(R"({"apiVersion":"v1"})"), HasSubstr("kind is missing"));
  EXPECT_THAT(error(R"({"kind":"DeviceClass"})"), HasSubstr("apiVersion is missing"));
}

// Nothing but the object's own count orders what the reader did before the change: the thread
// sanitizer sees it.
TEST(Objects, ACopyThatIsGoneOnItsThreadDoesNotRaceWithAChange) {
  for (int round = 0; round < 200; ++round) {
    Object object = Object::Of(DeviceClass{.metadata = {.name = "before"}});
    std::atomic<bool> gone = false;
    std::string read;
    std::thread reader([&, copy = std::optional<Object>(object)]() mutable {
      read = copy->metadata().name;
      copy.reset();
      gone.store(true, std::memory_order_relaxed);
    });
    while (!gone.load(std::memory_order_relaxed)) std::this_thread::yield();
    const void* same = object.data();
    object.MutableMetadata().name = "after";
    EXPECT_EQ(object.data(), same);
    reader.join();
    EXPECT_EQ(read, "before");
  }
}

TEST(Versions, V1beta1RequestsAreFlat) {
  constexpr std::string_view kOld =
      R"({"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceClaim","metadata":{"name":"c"},"spec":{"devices":{)"
      R"("requests":[{"name":"a","deviceClassName":"gpu","selectors":[{"cel":{"expression":"true"}}],"count":2},)"
      R"({"name":"b","deviceClassName":"","firstAvailable":[{"name":"x","deviceClassName":"gpu"}]}]}},"status":{}})";
  const Object object = MustDecode(kOld);
  const auto& requests = object.As<ResourceClaim>()->spec.devices.requests;
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[0].exactly->device_class_name, "gpu");
  EXPECT_EQ(requests[0].exactly->count, 2);
  EXPECT_FALSE(requests[1].exactly.has_value());
  EXPECT_EQ(object.ToJson(), kOld);
  const std::string hub = Convert(kOld, "resource.k8s.io/v1");
  EXPECT_THAT(hub, HasSubstr(R"("exactly":{"deviceClassName":"gpu")"));
  EXPECT_TRUE(SemanticEqual(MustDecode(hub), object));
  EXPECT_EQ(Convert(hub, "resource.k8s.io/v1beta1"), kOld);
}

TEST(Versions, AV1beta1RequestThatAsksForNothingIsNoExactOne) {
  const Object object = MustDecode(
      R"({"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceClaim","spec":{"devices":{"requests":[)"
      R"({"name":"a","deviceClassName":"","selectors":[]}]}}})");
  EXPECT_FALSE(object.As<ResourceClaim>()->spec.devices.requests[0].exactly.has_value());
}

TEST(Versions, V1beta1DevicesHaveABasicPart) {
  constexpr std::string_view kOld =
      R"({"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"d",)"
      R"("pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"a","basic":{)"
      R"("attributes":{"x":{"int":1}},"future":true}},{"name":"b","basic":{}}]}})";
  const Object object = MustDecode(kOld);
  const auto& devices = *object.As<ResourceSlice>()->spec.devices;
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].attributes.Find("x")->int_value, 1);
  EXPECT_EQ(devices[0].unknown->at(0).name, "future");
  EXPECT_EQ(object.ToJson(), kOld);
  const std::string hub = Convert(kOld, "resource.k8s.io/v1");
  EXPECT_THAT(hub, HasSubstr(R"({"name":"a","attributes":{"x":{"int":1}},"future":true})"));
  EXPECT_EQ(Convert(hub, "resource.k8s.io/v1beta1"), kOld);
  EXPECT_TRUE(SemanticEqual(MustDecode(hub), object));
}

TEST(Versions, TemplatesAreFlatInsideToo) {
  const std::string hub = Convert(
      R"({"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceClaimTemplate","spec":{"spec":{"devices":{"requests":[)"
      R"({"name":"a","deviceClassName":"gpu"}]}}}})",
      "resource.k8s.io/v1beta2");
  EXPECT_THAT(hub, HasSubstr(R"("exactly":{"deviceClassName":"gpu"})"));
}

TEST(Objects, CopiesShareUntilOneChanges) {
  DeviceClass gpu;
  gpu.metadata.name = "gpu";
  const Object a = Object::Of(gpu);
  Object b = a;
  EXPECT_EQ(a.data(), b.data());
  b.Mutable<DeviceClass>()->metadata.name = "nic";
  EXPECT_EQ(a.metadata().name, "gpu");
  EXPECT_EQ(b.metadata().name, "nic");
  EXPECT_EQ(a.As<ResourceClaim>(), nullptr);
}

TEST(Objects, ListsGiveTheirItems) {
  std::vector<Diagnostic> diagnostics;
  const std::vector<DocumentNode> documents = ParseYaml(
      "apiVersion: v1\nkind: List\nitems:\n"
      "- {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: a}}\n"
      "---\n"
      "apiVersion: resource.k8s.io/v1\nkind: DeviceClassList\nitems:\n- metadata: {name: b}\n- "
      "metadata: {name: c}\n",
      diagnostics);
  std::vector<std::string> names;
  for (const DocumentNode& document : documents) {
    for (const ObjectNode& source : ObjectsIn(document, diagnostics)) {
      const auto object = DecodeObject(source, Severity::kError, diagnostics);
      if (object) names.push_back(object->metadata().name);
    }
  }
  EXPECT_THAT(diagnostics, IsEmpty());
  EXPECT_THAT(names, ::testing::ElementsAre("a", "b", "c"));
}

std::string HintFor(std::string_view yaml) {
  std::vector<Diagnostic> diagnostics;
  const std::vector<DocumentNode> documents = ParseYaml(yaml, diagnostics);
  for (const ObjectNode& source : ObjectsIn(documents.at(0), diagnostics)) {
    DecodeObject(source, Severity::kError, diagnostics);
  }
  EXPECT_THAT(diagnostics, SizeIs(1));
  return diagnostics.empty() ? "" : diagnostics[0].hint;
}

TEST(Hints, CommonSlipsAreRecognised) {
  constexpr std::string_view kClaim = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n";
  const auto claim = [&](std::string_view rest) {
    return HintFor(std::string(kClaim) + std::string(rest));
  };
  EXPECT_EQ(claim("spec: {devices: {requests: [{name: a, deviceClassName: g}]}}"),
            "did you mean exactly.deviceClassName?");
  EXPECT_EQ(claim("spec: {requests: []}"), "did you mean devices.requests?");
  EXPECT_EQ(claim("spec: {devices: {request: []}}"), "did you mean requests?");
  EXPECT_EQ(claim("spec: {devices: {requests: [{name: a, constraints: []}]}}"),
            "a field of DeviceClaim, which stands further out");
  EXPECT_THAT(HintFor("apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nspec: {devices: "
                      "[{name: a, basic: {}}]}"),
              HasSubstr("v1beta1"));
  EXPECT_EQ(claim("frobnicate: 1"), "");
}

}  // namespace
}  // namespace dray::api
