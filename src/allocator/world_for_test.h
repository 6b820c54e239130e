// SPDX-License-Identifier: Apache-2.0
//
// A small cluster for the allocator's tests: one node "n1", slices, classes, what is taken, and the
// answer to claims as a line of text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/expressions.h"
#include "base/check.h"
#include "fmt/format.h"
#include "inventory/inventory.h"
#include "ledger/ledger.h"
#include "testing/claim_builder.h"
#include "testing/request_builder.h"
#include "testing/slice_builder.h"

namespace dray::allocator {

class ShareIdsForTest final : public ShareIds {
 public:
  std::string Next() override { return fmt::format("share-{}", next_++); }

 private:
  int next_ = 1;
};

// Has the class "any", which takes every device. One thread.
class WorldForTest final : public ClassLister {
 public:
  WorldForTest() { AddClass("any"); }

  WorldForTest& Put(const api::ResourceSlice& slice) {
    inventory_.Put(slice);
    return *this;
  }
  // A slice of its own pool for the node.
  WorldForTest& Devices(std::vector<api::Device> devices) {
    testing::Slice slice("s");
    slice.OnNode("n1");
    for (api::Device& device : devices) slice.With(std::move(device));
    return Put(slice);
  }
  // The same, with counter sets, which have a slice of their own.
  WorldForTest& Partitions(testing::Slice counters, std::vector<api::Device> devices) {
    testing::Slice slice("s");
    slice.OnNode("n1").Of(2);
    for (api::Device& device : devices) slice.With(std::move(device));
    Put(slice);
    return Put(counters.OnNode("n1").Of(2));
  }
  WorldForTest& Taken(const api::ResourceClaim& claim) {
    ledger_.Put(claim);
    return *this;
  }
  api::DeviceClass& AddClass(std::string_view name, std::vector<std::string> expressions = {}) {
    auto device_class = std::make_shared<api::DeviceClass>();
    device_class->metadata.name = name;
    for (std::string& expression : expressions) {
      device_class->spec.selectors.push_back(
          {.cel = api::CELDeviceSelector{std::move(expression)}});
    }
    classes_.push_back(device_class);
    return *device_class;
  }
  std::shared_ptr<const api::DeviceClass> FindClass(std::string_view name) const override {
    for (const auto& device_class : classes_) {
      if (device_class->metadata.name == name) return device_class;
    }
    return nullptr;
  }

  std::shared_ptr<const Plan> PlanOf(const std::vector<api::ResourceClaim>& claims) {
    std::vector<std::shared_ptr<const api::ResourceClaim>> shared;
    for (const api::ResourceClaim& claim : claims) {
      shared.push_back(std::make_shared<api::ResourceClaim>(claim));
    }
    return MakePlan(shared, *this, features, expressions_);
  }
  // What the node sees now.
  const ledger::NodeUsage& Usage() {
    auto gathered = inventory::Gather(inventory_.snapshot(), node, features);
    DRAY_CHECK(gathered.ok());
    devices_ = *std::move(gathered);
    usage_.Update(devices_, ledger_.snapshot());
    return usage_;
  }
  const Decision& Decide(const std::vector<api::ResourceClaim>& claims,
                         const SearchOptions& options = {}) {
    plan_ = PlanOf(claims);
    decision_ = allocator_.Decide(*plan_, Usage(), options);
    return decision_;
  }
  // "r=gpu-0 r=gpu-1 | s/sub=nic-0", one part per claim; or "refused", "out of budget",
  // "error: ...", "error on this node: ...".
  std::string Solve(const std::vector<api::ResourceClaim>& claims,
                    const SearchOptions& options = {}) {
    Decide(claims, options);
    switch (decision_.kind) {
      case Decision::Kind::kRefused:
        return "refused";
      case Decision::Kind::kBudget:
        return "out of budget";
      case Decision::Kind::kFault:
        return fmt::format("error{}: {}", decision_.fault.only_this_node ? " on this node" : "",
                           base::Message(decision_.fault.status));
      case Decision::Kind::kFits:
        break;
    }
    ShareIdsForTest share_ids;
    auto results = allocator_.Build(share_ids);
    if (!results.ok()) return fmt::format("error: {}", base::Message(results.status()));
    results_ = *std::move(results);
    std::string text;
    for (const api::AllocationResult& result : results_) {
      if (&result != &results_.front()) text += " | ";
      for (const auto& device : result.devices.results) {
        if (!text.empty() && text.back() != ' ') text += " ";
        text += fmt::format("{}={}", device.request, device.device);
      }
    }
    return text;
  }
  std::string Solve(const testing::PendingClaim& claim, const SearchOptions& options = {}) {
    return Solve(std::vector<api::ResourceClaim>{claim}, options);
  }
  // One claim with one request.
  std::string Solve(const testing::Ask& ask, const SearchOptions& options = {}) {
    return Solve(testing::PendingClaim("c").Request(ask), options);
  }

  // Of the last Solve that was answered with devices.
  const std::vector<api::AllocationResult>& results() const { return results_; }
  const Allocator& allocator() const { return allocator_; }
  Expressions& expressions() { return expressions_; }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }
  const ledger::NodeUsage& usage() const { return usage_; }
  inventory::Inventory& inventory() { return inventory_; }
  ledger::Ledger& ledger() { return ledger_; }
  inventory::Dictionary& dictionary() { return *dictionary_; }

  inventory::Features features = inventory::Features::All();
  api::Node node = testing::Node("n1");

 private:
  std::shared_ptr<inventory::Dictionary> dictionary_ = std::make_shared<inventory::Dictionary>();
  inventory::Inventory inventory_{dictionary_};
  ledger::Ledger ledger_{dictionary_};
  Expressions expressions_{dictionary_};
  std::vector<std::shared_ptr<const api::DeviceClass>> classes_;
  std::shared_ptr<const inventory::NodeDevices> devices_;
  ledger::NodeUsage usage_;
  std::shared_ptr<const Plan> plan_;
  Allocator allocator_;
  Decision decision_;
  std::vector<api::AllocationResult> results_;
};

}  // namespace dray::allocator
