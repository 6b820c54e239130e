// SPDX-License-Identifier: Apache-2.0
//
// dray's own answer to an instance of the model: inventory, ledger and allocator put together as a
// scheduler does it.
#pragma once

#include <memory>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/expressions.h"
#include "allocator/plan.h"
#include "inventory/inventory.h"
#include "inventory/node_devices.h"
#include "ledger/ledger.h"
#include "ledger/node_usage.h"
#include "model/instance.h"
#include "model/model.h"

namespace dray::engine {

inventory::Features FeaturesOf(const model::Features& features);

// An instance taken in: everything up to the decision. One thread.
class World final : public allocator::ClassLister {
 public:
  explicit World(const model::Instance& instance);

  // What is wrong with the node's slices, if anything.
  const Status& status() const { return status_; }
  std::shared_ptr<const allocator::Plan> PlanOf(const std::vector<api::ResourceClaim>& claims);
  const std::shared_ptr<const allocator::Plan>& plan() const { return plan_; }
  const ledger::NodeUsage& usage() const { return usage_; }
  ledger::Ledger& ledger() { return ledger_; }
  inventory::Inventory& inventory() { return inventory_; }
  const std::shared_ptr<inventory::Dictionary>& dictionary() const { return dictionary_; }
  const std::shared_ptr<const inventory::NodeDevices>& devices() const { return devices_; }

  std::shared_ptr<const api::DeviceClass> FindClass(std::string_view name) const override;

 private:
  const model::Instance& instance_;
  std::shared_ptr<inventory::Dictionary> dictionary_ = std::make_shared<inventory::Dictionary>();
  inventory::Inventory inventory_{dictionary_};
  ledger::Ledger ledger_{dictionary_};
  allocator::Expressions expressions_{dictionary_};
  std::vector<std::shared_ptr<const api::DeviceClass>> classes_;
  std::shared_ptr<const inventory::NodeDevices> devices_;
  ledger::NodeUsage usage_;
  std::shared_ptr<const allocator::Plan> plan_;
  Status status_;
};

// Ids as the model makes them: 1, 2, 3, ...
class CountedShareIds final : public allocator::ShareIds {
 public:
  std::string Next() override;

 private:
  int next_ = 1;
};

model::Outcome Decide(World& world, allocator::Allocator& allocator,
                      const allocator::SearchOptions& options);
model::Outcome Solve(const model::Instance& instance, const allocator::SearchOptions& options = {});

}  // namespace dray::engine
