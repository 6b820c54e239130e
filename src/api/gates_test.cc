// SPDX-License-Identifier: Apache-2.0
#include "api/gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "api/document.h"
#include "api/gate_notes.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StatusOr<FeatureGates> ParseOnDefaults(std::string_view text) {
  return FeatureGates::Parse(text, FeatureGates());
}

std::string ErrorOf(std::string_view text) {
  return std::string(base::Message(ParseOnDefaults(text).status()));
}

TEST(GateTable, HasEveryGateOnceInNameOrder) {
  std::set<Gate> seen;
  for (const GateInfo& row : GateTable()) {
    EXPECT_TRUE(seen.insert(row.gate).second) << row.name;
    EXPECT_EQ(FindGate(row.name), row.gate);
    EXPECT_EQ(&InfoOf(row.gate), &row);
    EXPECT_FALSE(row.summary.empty()) << row.name;
  }
  EXPECT_EQ(seen.size(), kGateCount);
  EXPECT_EQ(FindGate("AllAlpha"), std::nullopt);
}

TEST(GateTable, BothDefaultsSatisfyTheDependencies) {
  EXPECT_TRUE(FeatureGates().CheckDependencies().ok());
  EXPECT_TRUE(FeatureGates::KubernetesDefaults().CheckDependencies().ok());
}

TEST(GateTable, TheFiveProposalsAreOnByDefault) {
  const FeatureGates gates;
  for (const Gate gate :
       {Gate::kDRAConsumableCapacity, Gate::kDRAExtendedResource, Gate::kDRAListTypeAttributes,
        Gate::kDRADeviceCompatibilityGroups, Gate::kDRADerivedAttributes}) {
    EXPECT_TRUE(gates.Enabled(gate)) << InfoOf(gate).name;
  }
}

TEST(GateTable, DiffersFromKubernetesInFourDefaults) {
  std::vector<std::string_view> different;
  for (const GateInfo& row : GateTable()) {
    if (row.dray_default != row.kubernetes_default) different.push_back(row.name);
  }
  EXPECT_THAT(different, ElementsAre("DRADerivedAttributes", "DRADeviceCompatibilityGroups",
                                     "DRAFractionalCapacityRange", "DRAListTypeAttributes"));
}

TEST(GateTable, AgreesWithTheRecordedGatesOfKubernetes) {
  const char* shared = std::getenv("DRAY_SHARED");
  std::ifstream file(std::string(shared != nullptr ? shared : "") +
                     "/conformance/feature-gates.json");
  if (!file) GTEST_SKIP() << "no recorded gates";
  std::ostringstream text;
  text << file.rdbuf();
  std::vector<Diagnostic> diagnostics;
  const DocumentNode recorded = ParseJson(text.str(), diagnostics);
  ASSERT_TRUE(diagnostics.empty());
  ASSERT_FALSE(recorded.items.empty());
  for (const DocumentNode& row : recorded.items) {
    const std::string& name = row.Find("name")->value.text;
    const auto gate = FindGate(name);
    ASSERT_TRUE(gate) << name;
    const GateInfo& info = InfoOf(*gate);
    EXPECT_EQ(info.kubernetes_default, row.Find("default")->value.boolean) << name;
    EXPECT_EQ(info.locked, row.Find("locked")->value.boolean) << name;
    EXPECT_EQ(NameOf(info.stage), row.Find("stage")->value.text) << name;
    std::set<std::string> want;
    for (const DocumentNode& needed : row.Find("dependsOn")->value.items) want.insert(needed.text);
    std::set<std::string> got;
    for (const Gate needed : info.depends_on) got.emplace(InfoOf(needed).name);
    EXPECT_EQ(got, want) << name;
  }
}

TEST(FeatureGates, ParseTakesKubernetesSyntax) {
  const auto gates = ParseOnDefaults(
      " DRAAdminAccess = f ,DRAListTypeAttributes=0,,"
      "DRANodeAllocatableResources=T,DRADeviceTaints=TRUE,");
  ASSERT_TRUE(gates.ok()) << gates.status();
  EXPECT_FALSE(gates->Enabled(Gate::kDRAAdminAccess));
  EXPECT_FALSE(gates->Enabled(Gate::kDRAListTypeAttributes));
  EXPECT_TRUE(gates->Enabled(Gate::kDRANodeAllocatableResources));
  EXPECT_TRUE(gates->Enabled(Gate::kDRADeviceTaints));
  EXPECT_TRUE(gates->Enabled(Gate::kDRAConsumableCapacity));
}

// Components of Kubernetes that have gates of several releases name the one that is meant.
TEST(FeatureGates, TheComponentMayBeNamed) {
  const auto gates = ParseOnDefaults("kube:DRAAdminAccess=false, kube:AllAlpha=false");
  ASSERT_TRUE(gates.ok()) << gates.status();
  EXPECT_FALSE(gates->Enabled(Gate::kDRAAdminAccess));
  EXPECT_EQ(ErrorOf("kube:DRAAdminAcess=false"),
            "unknown feature gate \"DRAAdminAcess\" (did you mean DRAAdminAccess?)");
}

TEST(FeatureGates, AnEmptyTextChangesNothing) {
  EXPECT_EQ(*FeatureGates::Parse("", FeatureGates::KubernetesDefaults()),
            FeatureGates::KubernetesDefaults());
}

TEST(FeatureGates, OfAGateNamedTwiceTheLastValueCounts) {
  const auto gates = ParseOnDefaults("DRAListTypeAttributes=false,DRAListTypeAttributes=true");
  ASSERT_TRUE(gates.ok()) << gates.status();
  EXPECT_TRUE(gates->Enabled(Gate::kDRAListTypeAttributes));
}

TEST(FeatureGates, AllAlphaSetsEveryAlphaGateThatIsNotNamed) {
  // Named before or after: the order does not matter.
  for (const std::string_view text :
       {"AllAlpha=false,DRADerivedAttributes=true", "DRADerivedAttributes=true,AllAlpha=false"}) {
    const auto gates = ParseOnDefaults(text);
    ASSERT_TRUE(gates.ok()) << gates.status();
    for (const GateInfo& row : GateTable()) {
      const bool want = row.gate == Gate::kDRADerivedAttributes ||
                        (row.stage != GateStage::kAlpha && row.dray_default);
      EXPECT_EQ(gates->Enabled(row.gate), want) << row.name;
    }
  }
}

TEST(FeatureGates, EverythingCanBeSwitchedOn) {
  const auto gates = ParseOnDefaults("AllAlpha=true,AllBeta=true");
  ASSERT_TRUE(gates.ok()) << gates.status();
  for (const GateInfo& row : GateTable()) EXPECT_TRUE(gates->Enabled(row.gate)) << row.name;
}

TEST(FeatureGates, AGateThatKubernetesLockedCanStillBeSwitchedOff) {
  const auto gates = ParseOnDefaults("DRAExtendedResource=false,DRAPrioritizedList=false");
  ASSERT_TRUE(gates.ok()) << gates.status();
  EXPECT_FALSE(gates->Enabled(Gate::kDRAExtendedResource));
}

TEST(FeatureGates, AnUnknownGateIsAnErrorThatSuggestsAKnownOne) {
  EXPECT_EQ(ErrorOf("DRAExtendedResources=true"),
            "unknown feature gate \"DRAExtendedResources\" (did you mean DRAExtendedResource?)");
  EXPECT_EQ(ErrorOf("allalpha=true"), "unknown feature gate \"allalpha\" (did you mean AllAlpha?)");
  EXPECT_EQ(ErrorOf("Banana=true"), "unknown feature gate \"Banana\"");
}

TEST(FeatureGates, AValueThatIsNoBooleanIsAnError) {
  EXPECT_EQ(ErrorOf("DRADeviceTaints"),
            "feature gate \"DRADeviceTaints\" has no value, expected DRADeviceTaints=true or "
            "DRADeviceTaints=false");
  EXPECT_EQ(ErrorOf("DRADeviceTaints=yes"),
            "feature gate DRADeviceTaints has the value \"yes\", expected true or false");
  EXPECT_EQ(ErrorOf("DRADeviceTaints=tRuE"),
            "feature gate DRADeviceTaints has the value \"tRuE\", expected true or false");
}

// A roll-back is one gate: what needs it and was not asked for goes with it.
TEST(FeatureGates, WhatNeedsAGateGoesOffWithIt) {
  for (const GateInfo& row : GateTable()) {
    if (row.gate == Gate::kDynamicResourceAllocation) continue;
    const std::string text = std::string(row.name) + "=false";
    const auto gates = ParseOnDefaults(text);
    ASSERT_TRUE(gates.ok()) << gates.status();
    EXPECT_FALSE(gates->Enabled(row.gate)) << row.name;
    EXPECT_TRUE(gates->CheckDependencies().ok()) << row.name;
    // Nothing else goes, and each that does is told.
    std::size_t gone = 0;
    for (const GateInfo& other : GateTable()) {
      gone += FeatureGates().Enabled(other.gate) && !gates->Enabled(other.gate) ? 1u : 0u;
    }
    const bool was_on = FeatureGates().Enabled(row.gate);
    EXPECT_EQ(GateNotes(text, FeatureGates()).size(), gone - (was_on ? 1 : 0)) << row.name;
  }
}

TEST(FeatureGates, WhatGoesWithAGateIsTold) {
  const auto gates = ParseOnDefaults("DRAConsumableCapacity=false");
  ASSERT_TRUE(gates.ok()) << gates.status();
  EXPECT_FALSE(gates->Enabled(Gate::kDRAFractionalCapacityRange));
  EXPECT_THAT(GateNotes("DRAConsumableCapacity=false", FeatureGates()),
              ElementsAre("feature gate DRAFractionalCapacityRange is off, too: it needs "
                          "DRAConsumableCapacity, which is off"));
  // One after the other: what needs what has gone.
  EXPECT_THAT(GateNotes("DRAResourceClaimDeviceStatus=false", FeatureGates()),
              ElementsAre(HasSubstr("DRADeviceBindingConditions is off, too"),
                          HasSubstr("DRAResourceClaimGranularStatusAuthorization is off, too")));
  EXPECT_THAT(GateNotes("AllBeta=false", FeatureGates()),
              ElementsAre(HasSubstr("DRADeviceCompatibilityGroups is off, too: it needs "
                                    "DRAPartitionableDevices")));
  EXPECT_THAT(GateNotes("", FeatureGates()), ElementsAre());
  EXPECT_THAT(GateNotes("Banana=true", FeatureGates()), ElementsAre());
}

TEST(FeatureGates, AGateThatIsAskedForWithoutTheOneItNeedsIsAnErrorThatNamesBoth) {
  EXPECT_EQ(ErrorOf("DRADeviceTaints=false,DRADeviceTaintRules=true"),
            "feature gate DRADeviceTaintRules is on but needs DRADeviceTaints, which is off");
  EXPECT_EQ(ErrorOf("DRAWorkloadResourceClaims=true"),
            "feature gate DRAWorkloadResourceClaims is on but needs GenericWorkload, which is off");
  const std::string both = ErrorOf("AllBeta=false,DRADeviceCompatibilityGroups=true");
  EXPECT_THAT(both, HasSubstr("DRADeviceCompatibilityGroups is on but needs "
                              "DRAPartitionableDevices, which is off"));
  EXPECT_TRUE(ParseOnDefaults("AllBeta=false,AllAlpha=false").ok());
}

// Of every gate there is something here that acts by it.
TEST(FeatureGates, EveryGateCanBeSwitchedOn) {
  for (const GateInfo& row : GateTable()) {
    std::string text = std::string(row.name) + "=true";
    for (const Gate needed : row.depends_on) text += fmt::format(",{}=true", InfoOf(needed).name);
    const auto gates = FeatureGates::Parse(text, FeatureGates());
    ASSERT_TRUE(gates.ok()) << gates.status();
    EXPECT_TRUE(gates->Enabled(row.gate)) << row.name;
  }
  const auto all = FeatureGates::Parse("AllAlpha=true,AllBeta=true", FeatureGates());
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_TRUE(all->CheckDependencies().ok());
  for (const GateInfo& row : GateTable()) EXPECT_TRUE(all->Enabled(row.gate)) << row.name;
}

TEST(FeatureGates, DynamicResourceAllocationCannotBeSwitchedOff) {
  EXPECT_EQ(ErrorOf("DynamicResourceAllocation=false"),
            "feature gate DynamicResourceAllocation cannot be switched off: it is what dray does");
  EXPECT_TRUE(ParseOnDefaults("DynamicResourceAllocation=true").ok());
}

}  // namespace
}  // namespace dray::api
