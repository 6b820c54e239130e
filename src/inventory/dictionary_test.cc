// SPDX-License-Identifier: Apache-2.0
#include "inventory/dictionary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "base/semver.h"
#include "cel/values.h"

namespace dray::inventory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

base::Quantity Q(std::string_view text) { return base::Quantity::Parse(text).value(); }

api::DeviceAttribute Int(std::int64_t i) { return {.int_value = i}; }
api::DeviceAttribute Bool(bool b) { return {.bool_value = b}; }
api::DeviceAttribute String(std::string_view s) { return {.string_value = s}; }
api::DeviceAttribute Version(std::string_view s) { return {.version_value = s}; }
api::DeviceAttribute Strings(std::vector<std::string> items) {
  api::DeviceAttribute attribute;
  attribute.MutableLists().string_values.emplace() = std::move(items);
  return attribute;
}
api::DeviceAttribute Versions(std::vector<std::string> items) {
  api::DeviceAttribute attribute;
  attribute.MutableLists().version_values.emplace() = std::move(items);
  return attribute;
}
// KEP-5491's form.
api::DeviceAttribute ListOfStrings(std::vector<std::string> items) {
  api::DeviceAttribute attribute;
  attribute.MutableLists().list_value.emplace().string_value.emplace() = std::move(items);
  return attribute;
}

TEST(Dictionary, NamesHaveNumbersAndStayWhereTheyAre) {
  Dictionary d;
  const NameId gpu = d.Intern("gpu.example.com");
  const std::string_view view = d.View(gpu);
  for (int i = 0; i < 5000; ++i) d.Intern("name-" + std::to_string(i));
  EXPECT_EQ(d.Intern("gpu.example.com"), gpu);
  EXPECT_EQ(d.View(gpu), "gpu.example.com");
  EXPECT_EQ(d.View(gpu).data(), view.data());
  EXPECT_EQ(d.Find("gpu.example.com"), gpu);
  EXPECT_EQ(d.Find("missing"), std::nullopt);
  EXPECT_EQ(d.View(NameId()), "") << "a name that was never set is the empty one";
}

TEST(Dictionary, EveryKindOfScalarIsReadyForExpressions) {
  Dictionary d;
  EXPECT_EQ(d.At(d.Intern(Int(-7))).value.as_int(), -7);
  EXPECT_TRUE(d.At(d.Intern(Bool(true))).value.is_true());
  EXPECT_EQ(d.At(d.Intern(String("H100"))).value.as_text(), "H100");
  const cel::Value version = d.At(d.Intern(Version("1.2.3-rc.1"))).value;
  ASSERT_TRUE(version.is(cel::Kind::kSemver));
  EXPECT_EQ(version.as<base::SemVer>().ToString(), "1.2.3-rc.1");
}

TEST(Dictionary, EqualContentHasEqualNumbers) {
  Dictionary d;
  EXPECT_EQ(d.Intern(String("a")), d.Intern(String("a")));
  EXPECT_EQ(d.Intern(Int(1)), d.Intern(Int(1)));
  EXPECT_NE(d.Intern(String("1.0.0")), d.Intern(Version("1.0.0")));
  EXPECT_NE(d.Intern(Int(1)), d.Intern(Bool(true)));
  EXPECT_NE(d.Intern(Version("1.0.0+a")), d.Intern(Version("1.0.0+b")));
  EXPECT_NE(d.Intern(String("a")), d.Intern(Strings({"a"})));
  EXPECT_NE(d.Intern(Strings({"a", "b"})), d.Intern(Strings({"b", "a"})));
  EXPECT_NE(d.Intern(Strings({})), d.Intern(Versions({})));
  EXPECT_EQ(d.Intern(Strings({"a", "b"})), d.Intern(ListOfStrings({"a", "b"})));
}

TEST(Dictionary, ElementsAreTheSetOfTypedScalars) {
  Dictionary d;
  const auto elements = [&](const api::DeviceAttribute& a) {
    const auto span = d.At(d.Intern(a)).elements;
    return std::vector<ElementId>(span.begin(), span.end());
  };
  const ElementId a = elements(String("a")).front();
  const ElementId b = elements(String("b")).front();
  EXPECT_THAT(elements(Strings({"b", "a", "b"})), ElementsAre(a, b));
  EXPECT_THAT(elements(ListOfStrings({"a"})), ElementsAre(a));
  EXPECT_THAT(elements(Strings({})), IsEmpty());
  EXPECT_NE(elements(Version("1.0.0")), elements(String("1.0.0")));
  EXPECT_EQ(elements(Version("1.0.0")), elements(Versions({"1.0.0"})));
  EXPECT_FALSE(d.At(d.Intern(String("a"))).is_list);
  EXPECT_TRUE(d.At(d.Intern(Strings({"a"}))).is_list);
}

TEST(Dictionary, ListsKeepTheirOrderForExpressions) {
  Dictionary d;
  const cel::Value value = d.At(d.Intern(Strings({"b", "a", "b"}))).value;
  ASSERT_TRUE(value.is(cel::Kind::kList));
  const auto& list = value.as<cel::List>();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list.At(0).as_text(), "b");
  EXPECT_EQ(list.At(1).as_text(), "a");
  EXPECT_EQ(d.At(d.Intern(Strings({}))).value.as<cel::List>().size(), 0u);
}

TEST(Dictionary, WhatHasNoValueIsAnError) {
  Dictionary d;
  const AttributeValue& none = d.At(d.Intern(api::DeviceAttribute{}));
  EXPECT_TRUE(none.value.is_error());
  EXPECT_NE(d.Intern(api::DeviceAttribute{}), ValueId::kNone) << "it is there all the same";
  EXPECT_THAT(none.elements, IsEmpty());
  EXPECT_TRUE(d.At(ValueId::kNone).value.is_error());
  const AttributeValue& bad = d.At(d.Intern(Version("one")));
  ASSERT_TRUE(bad.value.is_error());
  EXPECT_THAT(std::string(cel::ErrorMessage(bad.value)),
              ::testing::StartsWith("parse semantic version: "));
  EXPECT_TRUE(d.At(d.Intern(Versions({"1.0.0", "x"}))).value.is_error());
}

TEST(Dictionary, AnAttributeCanBeMadeAgain) {
  Dictionary d;
  for (const api::DeviceAttribute& attribute :
       {Int(5), Bool(false), String("x"), Version("1.0.0"), Version("not one"), Strings({"b", "a"}),
        Strings({}), Versions({"1.0.0", "2.0.0"}), api::DeviceAttribute{}}) {
    EXPECT_EQ(d.Attribute(d.Intern(attribute)), attribute);
  }
  api::DeviceAttribute lists;
  lists.MutableLists().int_values.emplace() = {3, 1};
  EXPECT_EQ(d.Attribute(d.Intern(lists)), lists);
  lists.MutableLists() = {};
  lists.MutableLists().bool_values.emplace() = {{true}, {false}};
  EXPECT_EQ(d.Attribute(d.Intern(lists)), lists);
  EXPECT_EQ(d.Attribute(d.Intern(ListOfStrings({"a"}))), Strings({"a"}));
}

TEST(Dictionary, CapacitiesAreOneWhenExpressionsCannotTellThemApart) {
  Dictionary d;
  const CapacityId gi = d.Intern(api::DeviceCapacity{.value = Q("80Gi")});
  EXPECT_EQ(d.Intern(api::DeviceCapacity{.value = Q("80Gi")}), gi);
  EXPECT_EQ(d.Intern(api::DeviceCapacity{.value = Q("81920Mi")}), gi);
  EXPECT_NE(d.Intern(api::DeviceCapacity{.value = Q("85899345920")}), gi) << "another format";
  EXPECT_EQ(d.At(gi).amount, (absl::int128{80} << 30) * 1'000'000'000);
  EXPECT_EQ(d.At(gi).value.as<base::Quantity>(), Q("80Gi"));

  api::DeviceCapacity with_policy{.value = Q("80Gi")};
  with_policy.request_policy.emplace().default_value = Q("1Gi");
  const CapacityId policy = d.Intern(with_policy);
  EXPECT_NE(policy, gi);
  EXPECT_EQ(d.Intern(with_policy), policy);
  with_policy.request_policy->valid_range.emplace().min = Q("1Gi");
  EXPECT_NE(d.Intern(with_policy), policy);
  with_policy.request_policy->valid_range.reset();
  with_policy.request_policy->valid_values = {Q("1Gi")};
  EXPECT_NE(d.Intern(with_policy), policy);
}

// 100Ti cannot be held as a scaled 64-bit number of nanos by Kubernetes, and isInteger() shows it.
TEST(Dictionary, QuantitiesThatKubernetesHoldsDifferentlyStayApart) {
  Dictionary d;
  const base::Quantity parsed = Q("100Ti");
  const auto made =
      base::Quantity::FromInt(std::int64_t{100} << 40, base::Quantity::Format::kBinarySI);
  ASSERT_TRUE(parsed.IdenticalTo(made));
  ASSERT_NE(parsed.AsInt64(), made.AsInt64());
  EXPECT_NE(d.Intern(api::DeviceCapacity{.value = parsed}),
            d.Intern(api::DeviceCapacity{.value = made}));
}

TEST(Dictionary, ConsumptionIsOneRowPerSet) {
  Dictionary d;
  std::vector<api::DeviceCounterConsumption> consumption = {
      {.counter_set = "gpu-0",
       .counters = {{"memory", {.value = Q("40Gi")}}, {"slices", {.value = Q("2")}}},
       .compatibility_groups = {"mig", "a", "mig"}},
      {.counter_set = "links", .counters = {{"lanes", {.value = Q("500m")}}}}};
  const ConsumptionId id = d.Intern(consumption);
  const auto sets = d.At(id);
  ASSERT_THAT(sets, SizeIs(2));
  EXPECT_EQ(d.View(sets[0].counter_set), "gpu-0");
  EXPECT_THAT(sets[0].counters, SizeIs(2));
  EXPECT_LT(sets[0].counters[0].counter, sets[0].counters[1].counter);
  EXPECT_THAT(d.At(sets[0].groups), SizeIs(2));
  EXPECT_EQ(sets[1].groups, GroupsId::kNone);
  EXPECT_EQ(sets[1].counters[0].amount, 500'000'000);

  EXPECT_EQ(d.Intern(consumption), id);
  consumption[0].compatibility_groups = {"a", "mig"};
  EXPECT_EQ(d.Intern(consumption), id) << "groups are a set";
  consumption[0].compatibility_groups.clear();
  EXPECT_NE(d.Intern(consumption), id);
  EXPECT_EQ(d.Intern(std::span<const api::DeviceCounterConsumption>()), ConsumptionId::kNone);
  EXPECT_THAT(d.At(ConsumptionId::kNone), IsEmpty());
}

TEST(Dictionary, TaintsConditionsAndSelectorsAreSharedByContent) {
  Dictionary d;
  std::vector<api::DeviceTaint> taints = {{.key = "k", .value = "v", .effect = "NoSchedule"}};
  const TaintsId tainted = d.Intern(taints);
  EXPECT_EQ(d.Intern(taints), tainted);
  taints[0].time_added = base::Time{};
  EXPECT_NE(d.Intern(taints), tainted);
  EXPECT_THAT(d.At(tainted), SizeIs(1));
  EXPECT_EQ(d.Intern(std::span<const api::DeviceTaint>()), TaintsId::kNone);
  EXPECT_THAT(d.At(TaintsId::kNone), IsEmpty());

  const Conditions conditions{.binding = {"ready"}, .binding_failure = {"broken"}};
  EXPECT_EQ(d.Intern(conditions), d.Intern(conditions));
  EXPECT_NE(d.Intern(conditions), d.Intern(Conditions{.binding = {"ready"}}));
  EXPECT_EQ(d.Intern(Conditions{}), ConditionsId::kNone);
  EXPECT_THAT(d.At(d.Intern(conditions)).binding, ElementsAre("ready"));

  api::NodeSelector selector;
  selector.node_selector_terms.push_back(
      {.match_expressions = {{.key = "zone", .operator_ = "In", .values = {"a"}}}});
  const SelectionId selection = d.Intern(selector);
  EXPECT_EQ(d.Intern(selector), selection);
  EXPECT_EQ(d.At(selection), selector);
  selector.node_selector_terms[0].match_expressions[0].values = {"b"};
  EXPECT_NE(d.Intern(selector), selection);
}

TEST(Dictionary, PoolsAreDriverAndName) {
  Dictionary d;
  const PoolId a = d.InternPool("gpu.example.com", "node-1");
  const PoolId b = d.InternPool("nic.example.com", "node-1");
  EXPECT_NE(a, b);
  EXPECT_NE(a, PoolId::kNone);
  EXPECT_EQ(d.InternPool("gpu.example.com", "node-1"), a);
  EXPECT_EQ(d.FindPool("nic.example.com", "node-1"), b);
  EXPECT_EQ(d.FindPool("nic.example.com", "node-2"), std::nullopt);
  EXPECT_EQ(d.FindPool("node-1", "nic.example.com"), std::nullopt);
  EXPECT_EQ(d.View(d.At(b).driver), "nic.example.com");
  EXPECT_EQ(d.View(d.At(b).pool), "node-1");
  EXPECT_EQ(d.pools(), 2u);
}

// What a million unique uuids cost is what a cluster costs.
TEST(Dictionary, AUniqueTextCostsLessThan150BytesBesideItsCharacters) {
  Dictionary d;
  const std::size_t bytes_before = d.MemoryBytes();
  const std::size_t text_before = d.StringBytes();
  constexpr std::size_t kValues = 20'000;
  for (std::size_t i = 0; i < kValues; ++i) {
    std::string uuid = std::to_string(100'000 + i);
    d.Intern(String("GPU-4f2e0c1a-9d0b-4a57-8a4e-0123456" + uuid));
  }
  const std::size_t text = d.StringBytes() - text_before;
  EXPECT_EQ(text, kValues * 41);
  const std::size_t bytes = d.MemoryBytes() - bytes_before;
  EXPECT_LT((bytes - text) / kValues, 150u);
  EXPECT_GT((bytes - text) / kValues, 80u) << "rows of three tables cannot be smaller";
  const std::size_t after = d.MemoryBytes();
  for (std::size_t i = 0; i < kValues; ++i) {
    d.Intern(String("GPU-4f2e0c1a-9d0b-4a57-8a4e-0123456" + std::to_string(100'000 + i)));
  }
  EXPECT_EQ(d.MemoryBytes(), after) << "what is there costs nothing more";
}

// For the thread sanitizer: numbers that were handed over are looked up while others are added.
TEST(Dictionary, IsReadWithoutALockWhileItGrows) {
  Dictionary d;
  std::vector<ValueId> values;
  std::vector<NameId> names;
  for (int i = 0; i < 500; ++i) {
    values.push_back(d.Intern(String("value-" + std::to_string(i))));
    names.push_back(d.Intern("name-" + std::to_string(i)));
  }
  std::vector<std::jthread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          if (d.At(values[i]).value.as_text() != "value-" + std::to_string(i)) ADD_FAILURE();
          if (d.View(names[i]) != "name-" + std::to_string(i)) ADD_FAILURE();
        }
        if (!d.Find("name-7")) ADD_FAILURE();
      }
    });
  }
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&d] {
      for (int i = 0; i < 5000; ++i) {
        d.Intern(String("new-" + std::to_string(i)));
        d.InternPool("driver", "pool-" + std::to_string(i));
      }
    });
  }
}

}  // namespace
}  // namespace dray::inventory
