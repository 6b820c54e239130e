// SPDX-License-Identifier: Apache-2.0
#include "model/generator.h"

#include "fmt/format.h"
#include "model/generator_internal.h"

namespace dray::model {
namespace generator {

base::Quantity Amount(const std::string& text) { return *base::Quantity::Parse(text); }

Themes RollThemes(Dice& dice, const GeneratorOptions& o) {
  Themes t{};
  t.counters = dice.Chance(o.counters);
  t.groups = t.counters && dice.Chance(o.groups);
  t.lists = dice.Chance(o.lists);
  t.derived = dice.Chance(o.derived);
  t.capacity = dice.Chance(o.capacity);
  t.multi = dice.Chance(t.capacity ? o.multi : o.multi * 0.25);
  t.odd_amounts = dice.Chance(o.odd_amounts);
  t.two_spellings = t.capacity && dice.Chance(o.two_spellings);
  t.taints = dice.Chance(o.taints);
  t.binding = dice.Chance(o.binding);
  t.per_device = dice.Chance(o.per_device);
  t.node_selectors = dice.Chance(o.node_selectors);
  t.other_nodes = dice.Chance(o.other_nodes);
  t.broken_pools = dice.Chance(o.broken_pools);
  t.skip_operations = dice.Chance(o.skip_operations);
  t.same_pools = dice.Chance(o.same_pools);
  t.taken = dice.Chance(o.taken);
  t.odd_snapshots = t.groups && dice.Chance(o.odd_snapshots);
  t.constraints = t.derived || dice.Chance(o.constraints);
  t.alike = dice.Chance(o.alike);
  t.prioritized = dice.Chance(o.prioritized);
  t.all = dice.Chance(o.all);
  t.admin = dice.Chance(o.admin);
  t.config = dice.Chance(o.config);
  t.errors = dice.Chance(o.errors);
  return t;
}

Features RollFeatures(Dice& dice, const GeneratorOptions& options, Themes& themes) {
  Features features = Features::All();
  if (dice.Chance(0.5)) features.fractional_capacity_range = false;
  if (!dice.Chance(options.features_off)) return features;
  if (dice.Chance(0.4)) {
    for (const FeatureName& feature : FeatureNames()) {
      if (dice.Chance(0.25)) features.*feature.flag = false;
    }
    return features;
  }
  const FeatureName& off = dice.Pick(FeatureNames());
  features.*off.flag = false;
  themes.groups |= off.flag == &Features::compatibility_groups;
  themes.counters |= themes.groups || off.flag == &Features::partitionable_devices;
  themes.capacity |= off.flag == &Features::fractional_capacity_range;
  themes.multi |= off.flag == &Features::consumable_capacity;
  themes.derived |= off.flag == &Features::derived_attributes;
  themes.binding |= off.flag == &Features::device_binding_and_status;
  themes.taints |= off.flag == &Features::device_taints;
  themes.lists |= off.flag == &Features::list_type_attributes;
  themes.constraints |= themes.derived || themes.lists;
  themes.skip_operations |= off.flag == &Features::optional_node_operations;
  return features;
}

void AddNode(Dice& dice, const Themes& themes, Instance& instance) {
  instance.node.metadata.name = kNode;
  instance.node.metadata.labels["zone"] = dice.Pick({"z1", "z2"});
  instance.node.metadata.labels["slots"] = std::to_string(dice.Range(1, 8));
  if (themes.skip_operations && dice.Chance(0.7)) {
    instance.node.status.declared_features = {"DRAOptionalNodeOperations"};
  }
}

void AddClasses(Dice& dice, const Themes& themes, Instance& instance) {
  const auto add = [&](const std::string& name, const std::string& expression) {
    api::DeviceClass c;
    c.metadata.name = name;
    if (!expression.empty()) {
      c.spec.selectors.push_back({.cel = api::CELDeviceSelector{.expression = expression}});
    }
    const int entries = themes.config ? dice.Range(0, 2) : 0;
    for (int i = 0; i < entries; ++i) {
      api::OpaqueDeviceConfiguration opaque{
          .driver = kGpu, .parameters = {fmt::format("{{\"class\":\"{}{}\"}}", name, i)}};
      c.spec.config.push_back({.opaque = opaque});
    }
    instance.classes.push_back(std::move(c));
  };
  add("gpu", fmt::format("device.driver == '{}'", kGpu));
  add("nic", fmt::format("device.driver == '{}'", kNic));
  add("any", "");
  add("big", "device.attributes['size.example.com'].?tier.orValue(0) >= 2");
}

}  // namespace generator

Instance RandomInstance(Dice& dice, const GeneratorOptions& options) {
  using namespace generator;
  Instance instance;
  Themes themes = RollThemes(dice, options);
  instance.features = RollFeatures(dice, options, themes);
  AddNode(dice, themes, instance);
  AddClasses(dice, themes, instance);
  AddSlices(dice, themes, options, instance);
  AddTaken(dice, themes, options, instance);
  AddClaims(dice, themes, options, instance);
  return instance;
}

Instance RandomInstance(std::uint64_t seed, const GeneratorOptions& options) {
  Dice dice(seed);
  Instance instance = RandomInstance(dice, options);
  instance.name = fmt::format("random-{}", seed);
  return instance;
}

}  // namespace dray::model
