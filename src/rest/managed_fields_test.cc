// SPDX-License-Identifier: Apache-2.0
#include "rest/managed_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "api/device_class.h"
#include "api/json.h"
#include "api/pod.h"
#include "rest/api_error.h"
#include "rest/compare.h"
#include "rest/tree_for_test.h"

namespace dray::rest {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kClassVersion = "resource.k8s.io/v1";

const api::KindInfo& Kind(std::string_view api_version, std::string_view kind) {
  return *api::FindKind(api_version, kind);
}

api::Object Class(std::string_view rest) {
  api::JsonDecoder decoder;
  return *DecodeObject(decoder, std::string(R"({"apiVersion":"resource.k8s.io/v1",)"
                                            R"("kind":"DeviceClass",)") +
                                    std::string(rest) + "}");
}

FieldOwner Owner(std::string manager, std::int64_t second = 0, std::string subresource = "") {
  return {std::move(manager), std::string(kClassVersion), std::move(subresource),
          base::Time::FromUnix(second)};
}

// "manager Operation fields" of each entry.
std::vector<std::string> Managers(const api::Object& object) {
  std::vector<std::string> out;
  for (const api::ManagedFieldsEntry& entry : object.metadata().managed_fields) {
    out.push_back(entry.manager + " " + entry.operation + " " + entry.fields_v1.text);
  }
  return out;
}

api::Object Created(std::string_view rest, const FieldOwner& owner) {
  api::Object object = Class(rest);
  TrackUpdate(EmptyObject(object.kind()), owner, object);
  return object;
}

TEST(ManagedFields, ACreatorOwnsWhatItSets) {
  const api::Object object = Created(
      R"("metadata":{"name":"a","labels":{"x":"y"}},"spec":{"extendedResourceName":"e.com/gpu"})",
      Owner("demo", 5));
  EXPECT_THAT(Managers(object),
              ElementsAre(R"(demo Update {"f:metadata":{"f:labels":{".":{},"f:x":{}}},)"
                          R"("f:spec":{"f:extendedResourceName":{}}})"));
  EXPECT_EQ(object.metadata().managed_fields[0].time, base::Time::FromUnix(5));
  EXPECT_EQ(object.metadata().managed_fields[0].api_version, kClassVersion);
}

TEST(ManagedFields, AnObjectThatSaysNothingHasNoManagers) {
  EXPECT_THAT(Managers(Created(R"("metadata":{"name":"a"},"spec":{})", Owner("demo"))), IsEmpty());
}

TEST(ManagedFields, AnUpdaterTakesWhatItChanges) {
  const api::Object before =
      Created(R"("metadata":{"name":"a","labels":{"x":"1","y":"1"}},"spec":{})", Owner("one", 1));
  api::Object after = before;
  after.MutableMetadata().labels["x"] = "2";
  after.MutableMetadata().labels.erase("y");
  TrackUpdate(before, Owner("two", 2), after);
  EXPECT_THAT(Managers(after), ElementsAre(R"(one Update {"f:metadata":{"f:labels":{}}})",
                                           R"(two Update {"f:metadata":{"f:labels":{"f:x":{}}}})"));
}

TEST(ManagedFields, AWriteThatChangesNothingChangesNoEntry) {
  const api::Object before =
      Created(R"("metadata":{"name":"a","labels":{"x":"1"}},"spec":{})", Owner("one", 1));
  api::Object after = before;
  TrackUpdate(before, Owner("two", 2), after);
  EXPECT_EQ(after.metadata(), before.metadata());
}

TEST(ManagedFields, OneEmptyEntryClearsThem) {
  const api::Object before =
      Created(R"("metadata":{"name":"a","labels":{"x":"1"}},"spec":{})", Owner("one", 1));
  api::Object after = before;
  after.MutableMetadata().managed_fields = {{}};
  TrackUpdate(before, Owner("two", 2), after);
  EXPECT_THAT(Managers(after), IsEmpty());
}

TEST(ManagedFields, BeyondTenTheOldestUpdatersShareAnEntry) {
  api::Object object = Created(R"("metadata":{"name":"a"},"spec":{})", Owner("none"));
  for (int i = 0; i < 12; ++i) {
    api::Object next = object;
    next.MutableMetadata().labels[std::string(1, static_cast<char>('a' + i))] = "1";
    TrackUpdate(object, Owner("m" + std::to_string(i), i), next);
    object = next;
  }
  EXPECT_EQ(object.metadata().managed_fields.size(), kMaxUpdateManagers);
  EXPECT_EQ(
      Managers(object)[0],
      R"(ancient-changes Update {"f:metadata":{"f:labels":{".":{},"f:a":{},"f:b":{},"f:c":{}}}})");
}

StatusOr<api::Object> ApplyClass(const api::Object* live, std::string_view config,
                                 std::string manager, bool force = false) {
  return Apply(live, TreeOf(config), Kind(kClassVersion, "DeviceClass"),
               {.owner = Owner(std::move(manager), 9), .force = force});
}

TEST(Apply, CreatesWhatIsNotThere) {
  const auto object = ApplyClass(nullptr,
                                 R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass",)"
                                 R"("metadata":{"name":"a","labels":{"x":"1"}}})",
                                 "one");
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(object->metadata().name, "a");
  EXPECT_THAT(Managers(*object),
              ElementsAre(R"(one Apply {"f:metadata":{"f:labels":{"f:x":{}}}})"));
}

TEST(Apply, OfAFieldThatAnotherHasWithAnotherValueIsAConflict) {
  const auto live = ApplyClass(nullptr, R"({"metadata":{"name":"a","labels":{"x":"1"}}})", "one");
  ASSERT_TRUE(live.ok());
  const auto second = ApplyClass(&*live, R"({"metadata":{"name":"a","labels":{"x":"2"}}})", "two");
  const ApiError error = FromStatus(second.status());
  EXPECT_EQ(error.code, 409);
  EXPECT_EQ(error.message,
            R"(Apply failed with 1 conflict: conflict with "one": .metadata.labels.x)");
  EXPECT_EQ(error.details->causes,
            (std::vector<StatusCause>{
                {"FieldManagerConflict", R"(conflict with "one")", ".metadata.labels.x"}}));
  const auto forced =
      ApplyClass(&*live, R"({"metadata":{"name":"a","labels":{"x":"2"}}})", "two", true);
  ASSERT_TRUE(forced.ok()) << forced.status();
  EXPECT_THAT(Managers(*forced),
              ElementsAre(R"(two Apply {"f:metadata":{"f:labels":{"f:x":{}}}})"));
}

TEST(Apply, SeveralConflictsAreAllNamed) {
  const api::Object live =
      Created(R"("metadata":{"name":"a","labels":{"x":"1","y":"1"}},"spec":{})", Owner("one"));
  const auto second =
      ApplyClass(&live, R"({"metadata":{"name":"a","labels":{"x":"2","y":"2"}}})", "two");
  EXPECT_EQ(FromStatus(second.status()).message,
            "Apply failed with 2 conflicts: conflicts with \"one\" using resource.k8s.io/v1:\n"
            "- .metadata.labels.x\n- .metadata.labels.y");
}

TEST(Apply, OfTheSameValueIsShared) {
  const auto live = ApplyClass(nullptr, R"({"metadata":{"name":"a","labels":{"x":"1"}}})", "one");
  const auto both = ApplyClass(&*live, R"({"metadata":{"name":"a","labels":{"x":"1"}}})", "two");
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_THAT(Managers(*both), ElementsAre(R"(one Apply {"f:metadata":{"f:labels":{"f:x":{}}}})",
                                           R"(two Apply {"f:metadata":{"f:labels":{"f:x":{}}}})"));
}

TEST(Apply, RemovesWhatIsGivenUpUnlessAnotherHasIt) {
  const auto live =
      ApplyClass(nullptr, R"({"metadata":{"name":"a","labels":{"x":"1","y":"1"}}})", "one");
  const auto shared = ApplyClass(&*live, R"({"metadata":{"name":"a","labels":{"y":"1"}}})", "two");
  ASSERT_TRUE(shared.ok());
  const auto less = ApplyClass(&*shared, R"({"metadata":{"name":"a"}})", "one");
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_FALSE(less->metadata().labels.contains("x"));
  EXPECT_TRUE(less->metadata().labels.contains("y"));
  EXPECT_THAT(Managers(*less), ElementsAre(R"(two Apply {"f:metadata":{"f:labels":{"f:y":{}}}})"));
}

TEST(Apply, DoesNotRemoveWhatAnUpdaterHasAdded) {
  const auto live = ApplyClass(nullptr, R"({"metadata":{"name":"a","labels":{"x":"1"}}})", "one");
  api::Object updated = *live;
  updated.MutableMetadata().labels["z"] = "1";
  TrackUpdate(*live, Owner("two"), updated);
  const auto less = ApplyClass(&updated, R"({"metadata":{"name":"a"}})", "one");
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_EQ(less->metadata().labels.size(), 1u);
  EXPECT_TRUE(less->metadata().labels.contains("z"));
}

StatusOr<api::Object> ApplyPod(const api::Object* live, std::string_view config,
                               std::string manager, bool force = false) {
  FieldOwner owner = Owner(std::move(manager), 9);
  owner.api_version = "v1";
  return Apply(live, TreeOf(config), Kind("v1", "Pod"), {.owner = owner, .force = force});
}

TEST(Apply, ItemsOfKeyedListsHaveTheirOwnManagers) {
  const auto one = ApplyPod(
      nullptr, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"x"}]}})",
      "one");
  ASSERT_TRUE(one.ok()) << one.status();
  const auto two =
      ApplyPod(&*one,
               R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"b","image":"y",)"
               R"("ports":[{"containerPort":80}]}]}})",
               "two");
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(two->As<api::Pod>()->spec.containers.size(), 2u);
  EXPECT_EQ(Managers(*two)[1],
            R"(two Apply {"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{".":{},"f:image":{},)"
            R"("f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},)"
            R"("f:containerPort":{}}}}}}})");
  const auto gone = ApplyPod(&*two, R"({"metadata":{"name":"p"},"spec":{"containers":[]}})", "two");
  ASSERT_TRUE(gone.ok()) << gone.status();
  ASSERT_EQ(gone->As<api::Pod>()->spec.containers.size(), 1u);
  EXPECT_EQ(gone->As<api::Pod>()->spec.containers[0].name, "a");
}

// An owner reference has one writer as a whole: half of it would be another one.
TEST(Apply, ItemsWithOneWriterAreOwnedWhole) {
  const auto own = [](std::string_view more) {
    return std::string(R"({"metadata":{"name":"p","ownerReferences":[{"apiVersion":"v1",)") +
           R"("kind":"Pod","name":"o","uid":"u")" + std::string(more) + "}]}}";
  };
  const auto one = ApplyPod(nullptr, own(""), "one");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_THAT(
      Managers(*one),
      ElementsAre(R"(one Apply {"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}})"));
  EXPECT_EQ(FromStatus(ApplyPod(&*one, own(R"(,"controller":true)"), "two").status()).message,
            "Apply failed with 1 conflict: conflict with \"one\": "
            R"(.metadata.ownerReferences[uid="u"])");
}

// As in Kubernetes, where a struct that is no pointer is always written.
TEST(ManagedFields, AStructThatIsAlwaysThereIsNobodys) {
  api::JsonDecoder decoder;
  api::Object made = *DecodeObject(
      decoder, R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate",)"
               R"("metadata":{"name":"t"},"spec":{"metadata":{"labels":{"a":"b"}},"spec":{}}})");
  TrackUpdate(EmptyObject(made.kind()), Owner("demo"), made);
  EXPECT_THAT(Managers(made), ElementsAre(R"(demo Update {"f:spec":{"f:metadata":{"f:labels":)"
                                          R"({".":{},"f:a":{}}}}})"));
}

TEST(Apply, RefusesConfigurationsThatAreNone) {
  EXPECT_EQ(
      FromStatus(ApplyPod(nullptr, R"({"metadata":{"managedFields":[]}})", "m").status()).message,
      "metadata.managedFields must be nil");
  EXPECT_EQ(
      FromStatus(
          ApplyPod(nullptr, R"({"spec":{"containers":[{"name":"a"},{"name":"a"}]}})", "m").status())
          .message,
      "the server rejected our request due to an error in our request: failed to create typed "
      R"(patch object: duplicate entries for key {"name":"a"})");
  EXPECT_THAT(
      FromStatus(ApplyPod(nullptr, R"({"spec":{"containers":[{"image":"a"}]}})", "m").status())
          .message,
      ::testing::HasSubstr("does not have \"name\", a key of its list"));
  EXPECT_EQ(FromStatus(ApplyPod(nullptr, R"({"spec":{"containers":3}})", "m").status()).code, 400);
}

// A struct cannot tell an empty list from none, yet whoever sends one takes the list from whoever
// has it.
TEST(Apply, OfAnEmptyListThatAnotherFillsIsAConflict) {
  const auto live = ApplyClass(
      nullptr, R"({"metadata":{"name":"a"},"spec":{"selectors":[{"cel":{"expression":"true"}}]}})",
      "one");
  ASSERT_TRUE(live.ok()) << live.status();
  for (const std::string_view nothing : {"[]", "null"}) {
    const std::string config =
        R"({"metadata":{"name":"a"},"spec":{"selectors":)" + std::string(nothing) + "}}";
    const auto taken = ApplyClass(&*live, config, "two");
    const ApiError error = FromStatus(taken.status());
    EXPECT_EQ(error.code, 409) << nothing;
    EXPECT_EQ(error.message,
              R"(Apply failed with 1 conflict: conflict with "one": .spec.selectors)");
    const auto forced = ApplyClass(&*live, config, "two", true);
    ASSERT_TRUE(forced.ok()) << forced.status();
    EXPECT_TRUE(forced->As<api::DeviceClass>()->spec.selectors.empty());
    EXPECT_THAT(Managers(*forced), ElementsAre(R"(two Apply {"f:spec":{"f:selectors":{}}})"));
  }
}

// Each part has its own door: who comes through one does not own what only the other changes.
TEST(Apply, LeavesTheOtherPartToItsDoor) {
  const std::string both = R"({"metadata":{"name":"p","labels":{"a":"b"}},"spec":{"nodeName":"n"},)"
                           R"("status":{"phase":"Running"}})";
  const auto object = ApplyPod(nullptr, both, "one");
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_THAT(Managers(*object), ElementsAre(R"(one Apply {"f:metadata":{"f:labels":{"f:a":{}}},)"
                                             R"("f:spec":{"f:nodeName":{}}})"));
  FieldOwner owner = Owner("two", 9, "status");
  owner.api_version = "v1";
  const auto status = Apply(&*object,
                            TreeOf(R"({"metadata":{"name":"p","labels":{"a":"c"}},)"
                                   R"("spec":{"nodeName":"m"},"status":{"phase":"Failed"}})"),
                            Kind("v1", "Pod"), {.owner = owner});
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(Managers(*status)[1], R"(two Apply {"f:status":{"f:phase":{}}})");
  EXPECT_EQ(status->As<api::Pod>()->spec.node_name, "n");
}

TEST(Apply, KeepsTheOrderOfWhatIsThere) {
  const auto names = [](const api::Object& pod) {
    std::string all;
    for (const auto& container : pod.As<api::Pod>()->spec.containers) all += container.name;
    return all;
  };
  const auto config = [](std::string_view list) {
    std::string text;
    for (const char name : list) {
      text += (text.empty() ? "" : ",") + std::string(R"({"name":")") + name + "\"}";
    }
    return R"({"metadata":{"name":"p"},"spec":{"containers":[)" + text + "]}}";
  };
  const auto live = ApplyPod(nullptr, config("abc"), "one");
  ASSERT_TRUE(live.ok()) << live.status();
  struct Case {
    std::string_view config;
    std::string_view merged;
  };
  for (const Case& c : {Case{"x", "abcx"}, Case{"bx", "abcx"}, Case{"xb", "axbc"},
                        Case{"ca", "bca"}, Case{"xcya", "bxcya"}}) {
    const auto merged = ApplyPod(&*live, config(c.config), "two");
    ASSERT_TRUE(merged.ok()) << merged.status();
    EXPECT_EQ(names(*merged), c.merged) << c.config;
  }
}

// Managed fields that were cleared stay so; the first who applies finds somebody to conflict with.
TEST(ManagedFields, OfAnObjectWithoutThemBeginWithTheFirstApply) {
  api::Object before = Class(R"("metadata":{"name":"a","labels":{"x":"1"}},"spec":{})");
  before.MutableMetadata().uid = "u";
  api::Object after = before;
  after.MutableMetadata().labels["x"] = "2";
  TrackUpdate(before, Owner("one"), after);
  EXPECT_THAT(Managers(after), IsEmpty());
  const auto applied =
      ApplyClass(&after, R"({"metadata":{"name":"a","labels":{"x":"3","y":"1"}}})", "two");
  EXPECT_EQ(FromStatus(applied.status()).message,
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using "
            "resource.k8s.io/v1: .metadata.labels.x");
  const auto nothing = ApplyClass(&after, R"({"metadata":{"name":"a"}})", "two");
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_THAT(Managers(*nothing), IsEmpty());
  const auto other = ApplyClass(&after, R"({"metadata":{"name":"a","labels":{"y":"1"}}})", "two");
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_THAT(
      Managers(*other),
      ElementsAre(R"(two Apply {"f:metadata":{"f:labels":{"f:y":{}}}})",
                  R"(before-first-apply Update {"f:metadata":{"f:labels":{".":{},"f:x":{}}}})"));
}

// Field sets are kept as the hub spells them: that needs other versions to have the same paths down
// to where a value has one owner.
TEST(ManagedFields, VersionsHaveTheSamePaths) {
  const DocumentNode claim =
      TreeOf(R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r"}]}}})");
  const auto in_v1 =
      Apply(nullptr, claim, Kind("resource.k8s.io/v1", "ResourceClaim"), {.owner = Owner("m")});
  const auto in_beta = Apply(nullptr, claim, Kind("resource.k8s.io/v1beta1", "ResourceClaim"),
                             {.owner = Owner("m")});
  ASSERT_TRUE(in_v1.ok() && in_beta.ok());
  EXPECT_EQ(Managers(*in_v1), Managers(*in_beta));
}

// The rules in the words of sets, one after the other: for a few managers, without the cap.
std::vector<std::string> ExpectedManagers(const api::Object& before, const FieldOwner& owner,
                                          const api::Object& after) {
  const FieldSet server = *FieldSet::Parse(
      R"({"f:metadata":{"f:name":{},"f:namespace":{},"f:creationTimestamp":{},"f:uid":{},)"
      R"("f:generation":{},"f:managedFields":{},"f:resourceVersion":{}}})");
  if (before.metadata().managed_fields.empty() && !before.metadata().uid.empty()) return {};
  Comparison change = Compare(before, after);
  for (FieldSet* set : {&change.added, &change.modified}) {
    set->Subtract(server);
    if (owner.subresource.empty()) set->Erase("f:status");
  }
  FieldSet own = change.added;
  own.Add(change.modified);
  std::vector<std::string> out;
  bool known = false;
  const auto keep = [&](const std::string& manager, const std::string& subresource,
                        const FieldSet& set) {
    if (!set.empty()) out.push_back(manager + "/" + subresource + " " + set.ToJson());
  };
  for (const api::ManagedFieldsEntry& entry : before.metadata().managed_fields) {
    FieldSet set = *FieldSet::Parse(entry.fields_v1.text);
    const bool self = entry.manager == owner.manager && entry.subresource == owner.subresource;
    known = known || self;
    if (!self) set.Subtract(own);
    set.Subtract(change.removed);
    if (self) set.Add(own);
    keep(entry.manager, entry.subresource, set);
  }
  if (!known) keep(owner.manager, owner.subresource, own);
  std::ranges::sort(out);
  return out;
}

TEST(ManagedFields, FollowTheRulesWhateverChanges) {
  std::mt19937 random(5);
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  const auto word = [&] { return std::string(1, static_cast<char>('a' + random() % 4)); };
  for (int round = 0; round < 60; ++round) {
    api::Object stored = EmptyObject(Kind("v1", "Pod"));
    for (int step = 0; step < 20; ++step) {
      api::Object next = stored;
      api::Pod& pod = *next.Mutable<api::Pod>();
      pod.metadata.uid = "u";
      pod.metadata.name = "p";
      const std::string subresource = step > 0 && one_in(3) ? "status" : "";
      if (one_in(2)) pod.metadata.labels[word()] = word();
      if (one_in(3)) pod.metadata.labels.erase(word());
      if (one_in(4)) pod.metadata.annotations[word()] = word();
      if (one_in(4)) pod.metadata.finalizers = {"example.com/" + word()};
      if (one_in(5)) {
        pod.metadata.owner_references = {
            {.api_version = "v1", .kind = "Pod", .name = word(), .uid = word()}};
      }
      if (one_in(3)) {
        api::Container& container = pod.spec.containers.emplace_back();
        container.name = word() + std::to_string(pod.spec.containers.size());
        container.image = word();
        container.resources.requests["cpu"] = base::Quantity::FromInt(1);
      }
      if (one_in(4) && !pod.spec.containers.empty()) pod.spec.containers.pop_back();
      if (one_in(3) && !pod.spec.containers.empty()) pod.spec.containers[0].image = word();
      if (one_in(4)) pod.spec.node_selector[word()] = word();
      if (one_in(3)) {
        pod.status.conditions = {{.type = word(), .status = "True"},
                                 {.type = "Z", .status = word()}};
      }
      if (one_in(4)) pod.status.phase = word();
      if (one_in(4)) pod.status.pod_ips = {{.ip = "10.0.0." + word()}};
      const FieldOwner owner{"m" + word(), "v1", subresource, base::Time::FromUnix(step)};
      const std::vector<std::string> expected = ExpectedManagers(stored, owner, next);
      TrackUpdate(stored, owner, next);
      std::vector<std::string> managers;
      for (const api::ManagedFieldsEntry& entry : next.metadata().managed_fields) {
        managers.push_back(entry.manager + "/" + entry.subresource + " " + entry.fields_v1.text);
      }
      std::ranges::sort(managers);
      ASSERT_EQ(managers, expected) << "round " << round << ", step " << step;
      stored = next;
    }
  }
}

}  // namespace
}  // namespace dray::rest
