// SPDX-License-Identifier: Apache-2.0
#include "api/field_selector.h"

#include <gtest/gtest.h>

#include "api/event.h"
#include "api/json.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"

namespace dray::api {
namespace {

using Terms = std::vector<FieldSelector::Term>;

FieldSelector Parsed(std::string_view text) {
  const auto selector = FieldSelector::Parse(text);
  EXPECT_TRUE(selector.ok()) << selector.status();
  return *selector;
}
std::string ErrorOf(std::string_view text) {
  return std::string(base::Message(FieldSelector::Parse(text).status()));
}

TEST(FieldSelector, ReadsTheThreeOperators) {
  EXPECT_EQ(Parsed("a=b,c==d,e!=f").terms(),
            (Terms{{"a", true, "b"}, {"c", true, "d"}, {"e", false, "f"}}));
  EXPECT_EQ(Parsed("a=,b!=").terms(), (Terms{{"a", true, ""}, {"b", false, ""}}));
  EXPECT_TRUE(Parsed("").empty());
  EXPECT_TRUE(Parsed(",,").empty());
  EXPECT_EQ(Parsed(" a = b ").terms(), (Terms{{" a ", true, " b "}}));
}

TEST(FieldSelector, EscapesStandForThemselves) {
  const FieldSelector selector = Parsed(R"(a=x\,y\=z\\,b=c)");
  EXPECT_EQ(selector.terms(), (Terms{{"a", true, "x,y=z\\"}, {"b", true, "c"}}));
  EXPECT_EQ(selector.ToString(), R"(a=x\,y\=z\\,b=c)");
}

TEST(FieldSelector, SaysWhatItCannotRead) {
  EXPECT_EQ(ErrorOf("a"),
            "invalid field selector \"a\": \"a\" has no operator, expected "
            "field=value or field!=value");
  EXPECT_NE(ErrorOf("a=b=c"), "");
  EXPECT_NE(ErrorOf("a===b"), "");
  EXPECT_NE(ErrorOf("a!==b"), "");
  EXPECT_NE(ErrorOf(R"(a=b\)"), "");
  EXPECT_NE(ErrorOf(R"(a=\b)"), "");
}

TEST(FieldSelector, AnUnsupportedFieldIsAnErrorThatNamesTheSupportedOnes) {
  const KindInfo& slices = HubKind(TypeInfoOf<ResourceSlice>());
  EXPECT_TRUE(Parsed("metadata.name=a,spec.nodeName=,spec.driver=d,spec.pool.name!=p")
                  .CheckSupported(slices)
                  .ok());
  EXPECT_EQ(base::Message(Parsed("spec.pool.generation=1").CheckSupported(slices)),
            "resourceslices cannot be selected by field \"spec.pool.generation\", only by "
            "metadata.name, spec.nodeName, spec.driver, spec.pool.name");
  const KindInfo& claims = HubKind(TypeInfoOf<ResourceClaim>());
  EXPECT_TRUE(Parsed("metadata.name=a,metadata.namespace=b").CheckSupported(claims).ok());
  EXPECT_FALSE(Parsed("spec.driver=d").CheckSupported(claims).ok());
}

TEST(FieldSelector, AllTermsMustHold) {
  Pod pod;
  pod.metadata.name = "p";
  pod.spec.node_name = "n";
  pod.status.phase = "Running";
  const Object object = Object::Of(pod);
  EXPECT_TRUE(Parsed("").Matches(object));
  EXPECT_TRUE(
      Parsed("spec.nodeName=n,status.phase!=Succeeded,status.phase!=Failed").Matches(object));
  EXPECT_FALSE(Parsed("spec.nodeName=n,status.phase=Failed").Matches(object));
  EXPECT_TRUE(Parsed("spec.host=n,spec.hostNetwork=false,status.podIP=").Matches(object));
}

// What a kubelet asks for before it starts a pod.
TEST(FieldSelector, KindsWithoutAStructHaveFieldsToo) {
  const auto read = [](std::string_view json) {
    JsonDecoder decoder;
    const auto object = DecodeObject(decoder, json, {});
    EXPECT_TRUE(object.ok()) << object.status();
    return *object;
  };
  const FieldSelector addressed = Parsed("spec.clusterIP!=None");
  EXPECT_TRUE(addressed.CheckSupported(*FindKind("v1", "Service")).ok());
  EXPECT_TRUE(addressed.Matches(read(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"clusterIP":"10.0.0.1"}})")));
  EXPECT_FALSE(addressed.Matches(read(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"clusterIP":"None"}})")));
  const FieldSelector own = Parsed("spec.nodeName=n");
  const std::string request =
      R"({"apiVersion":"certificates.k8s.io/v1","kind":"PodCertificateRequest",)"
      R"("metadata":{"name":"r","namespace":"ns"},"spec":{"nodeName":"n"}})";
  EXPECT_TRUE(
      own.CheckSupported(*FindKind("certificates.k8s.io/v1", "PodCertificateRequest")).ok());
  EXPECT_TRUE(own.Matches(read(request)));
  EXPECT_FALSE(Parsed("spec.nodeName=m").Matches(read(request)));
  EXPECT_TRUE(Parsed("type=Opaque").CheckSupported(*FindKind("v1", "Secret")).ok());
}

TEST(FieldSelector, ASliceWithoutNodeMatchesTheEmptyOne) {
  EXPECT_TRUE(Parsed("spec.nodeName=").Matches(Object::Of(ResourceSlice())));
}

TEST(FieldSelector, EventsAreSelectedByTheNamesOfTheirGroup) {
  const KindInfo* core = FindKind("v1", "Event");
  const KindInfo* events = FindKind("events.k8s.io/v1", "Event");
  EXPECT_TRUE(Parsed("involvedObject.name=p").CheckSupported(*core).ok());
  EXPECT_FALSE(Parsed("involvedObject.name=p").CheckSupported(*events).ok());
  EXPECT_TRUE(Parsed("regarding.name=p").CheckSupported(*events).ok());
  Event event;
  event.reporting_component = "dray";
  EXPECT_TRUE(Parsed("source=dray").Matches(Object::Of(event)));
}

TEST(FieldSelector, KnowsTheValueThatAFieldMustHave) {
  const FieldSelector selector = Parsed("spec.nodeName=n,spec.driver!=d");
  EXPECT_EQ(selector.RequiredValue("spec.nodeName"), "n");
  EXPECT_EQ(selector.RequiredValue("spec.driver"), std::nullopt);
}

}  // namespace
}  // namespace dray::api
