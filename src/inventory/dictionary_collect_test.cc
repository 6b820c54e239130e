// SPDX-License-Identifier: Apache-2.0
//
// A dictionary that is collected keeps what is marked, under its number, and gives the rest back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/program.h"
#include "cel/values.h"
#include "inventory/evaluation.h"
#include "inventory/inventory.h"
#include "testing/slice_builder.h"

namespace dray::inventory {
namespace {

using dray::testing::Device;
using dray::testing::LabelIs;
using dray::testing::Slice;

// A slice with something in every table. `i` makes its content another one.
api::ResourceSlice SliceNumber(int i) {
  const std::string n = std::to_string(i);
  return Slice("slice-" + n)
      .Driver("driver-" + n)
      .Pool("pool-" + n)
      .Where(LabelIs("zone", n))
      .With(Device("device-" + n)
                .String("uuid", "a-rather-long-universally-unique-identifier-" + n)
                .Version("version", "1.2." + n + "-rc.with.a.long.prerelease+" + n)
                .Version("broken", "not-a-version-" + n)
                .Strings("list", {"b" + n, "a" + n, "b" + n})
                .Versions("versions", {"1.0." + n, "0.1." + n})
                .Int("index", i)
                .Capacity("memory", n)
                .Taint("taint-" + n)
                .BindingCondition("condition-" + n)
                .Consumes("set-" + n, {{"counter-" + n, n}}, {"group-" + n, "x"}));
}

std::string Describe(const Dictionary& d, const SliceTable& slice) {
  std::string text(d.View(slice.driver()));
  const auto say = [&](std::string_view what) { text.append(" ").append(what); };
  say(d.View(d.At(slice.pool()).pool));
  say(d.At(slice.node_choice().selector)
          .node_selector_terms.at(0)
          .match_expressions.at(0)
          .values.at(0));
  for (const DeviceRow& row : slice.devices()) {
    say(d.View(row.name));
    for (const AttributeEntry& entry : slice.attributes(row)) {
      const AttributeValue& value = d.At(entry.value);
      say(d.View(entry.name));
      say(value.value.is_error() ? cel::ErrorMessage(value.value)
                                 : cel::ToDebugString(value.value));
      const api::DeviceAttribute published = d.Attribute(entry.value);
      if (published.string_value) say(published.string_value->view());
      if (published.version_value) say(published.version_value->view());
      say(std::to_string(value.elements.size()));
    }
    for (const CapacityEntry& entry : slice.capacities(row)) {
      say(d.View(entry.name));
      say(d.At(entry.capacity).value.as<base::Quantity>().ToString());
    }
    for (const api::DeviceTaint& taint : d.At(row.taints)) say(taint.key);
    for (const std::string& condition : d.At(row.conditions).binding) say(condition);
    for (const SetConsumption& set : d.At(row.consumption)) {
      say(d.View(set.counter_set));
      for (const NameId group : d.At(set.groups)) say(d.View(group));
      for (const CounterAmount& counter : set.counters) say(d.View(counter.counter));
    }
  }
  return text;
}

TEST(DictionaryCollect, WhatIsMarkedIsAsItWasAndTheRestMakesRoom) {
  Dictionary d;
  std::vector<std::shared_ptr<const SliceTable>> kept;
  std::vector<std::string> as_it_was;
  std::size_t after_first = 0;
  for (int round = 0; round < 50; ++round) {
    // Of forty slices one stays, until there are ten.
    for (int i = 0; i < 40; ++i) {
      const auto slice = SliceTable::Create(SliceNumber(round * 40 + i), d);
      if (i == 7 && kept.size() < 10) {
        kept.push_back(slice);
        as_it_was.push_back(Describe(d, *slice));
      }
    }
    d.Collect([&](Marker& marker) {
      for (const auto& slice : kept) slice->Mark(marker);
    });
    for (std::size_t i = 0; i < kept.size(); ++i) ASSERT_EQ(Describe(d, *kept[i]), as_it_was[i]);
    if (round == 10) after_first = d.MemoryBytes();
  }
  EXPECT_LE(d.MemoryBytes(), after_first + after_first / 50);
  EXPECT_EQ(d.Find("driver-3"), std::nullopt) << "forgotten";
  // And found again, as something new.
  EXPECT_EQ(d.View(d.Intern("driver-3")), "driver-3");
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto again = SliceTable::Create(SliceNumber(static_cast<int>(i) * 40 + 7), d);
    EXPECT_TRUE(again->SameContent(*kept[i])) << "equal content has equal numbers";
  }
}

TEST(DictionaryCollect, IsDueWhenAQuarterHasBeenAdded) {
  Dictionary d;
  std::vector<NameId> names;
  const auto add = [&](int n) {
    for (int i = 0; i < n; ++i) names.push_back(d.Intern(std::to_string(names.size())));
  };
  const auto mark = [&](Marker& marker) {
    for (const NameId name : names) marker.Mark(name);
  };
  add(16 * 1024 - 100);
  EXPECT_FALSE(d.CollectionDue()) << "a few are not worth it";
  add(200'000);
  EXPECT_TRUE(d.CollectionDue());
  d.Collect(mark);
  EXPECT_FALSE(d.CollectionDue());
  add(50'000);
  EXPECT_FALSE(d.CollectionDue());
  add(10'000);
  EXPECT_TRUE(d.CollectionDue());
}

TEST(DictionaryCollect, PinnedNamesStayAsLongAsSomebodyHasThem) {
  const auto d = std::make_shared<Dictionary>();
  auto first = std::make_unique<Pins>(d);
  auto second = std::make_unique<Pins>(d);
  const NameId name = first->Intern("memory");
  EXPECT_EQ(second->Intern("memory"), name);
  const auto nothing = [](Marker&) {};
  d->Collect(nothing);
  EXPECT_EQ(d->Find("memory"), name);
  first = nullptr;
  d->Collect(nothing);
  EXPECT_EQ(d->Find("memory"), name);
  second = nullptr;
  d->Collect(nothing);
  EXPECT_EQ(d->Find("memory"), std::nullopt);
}

// A value takes the number of another one that is gone: what was remembered of the old one must not
// be said of the new one.
TEST(DictionaryCollect, ProgramsDoNotTakeNewValuesForOldOnes) {
  const auto d = std::make_shared<Dictionary>();
  const auto compiled = cel::Compile(R"(device.attributes["gpu.example.com"].model == "H100")",
                                     cel::DeviceEnvironment({}));
  const BoundProgram program(*cel::Program::Compile(*compiled.checked), d);
  const auto make = [&](std::string_view model) {
    return SliceTable::Create(Slice("s").With(Device("a").String("model", model)), *d);
  };
  const auto old_slice = make("A100");
  const ValueId old_value = old_slice->attributes(old_slice->devices()[0])[0].value;
  EXPECT_EQ(program.Match(*old_slice, old_slice->devices()[0], nullptr), Verdict::kNo);
  d->Collect([](Marker&) {});
  const auto slice = make("H100");
  ASSERT_EQ(slice->attributes(slice->devices()[0])[0].value, old_value)
      << "or there is nothing to be seen here";
  EXPECT_EQ(program.Match(*slice, slice->devices()[0], nullptr), Verdict::kYes);
}

}  // namespace
}  // namespace dray::inventory
