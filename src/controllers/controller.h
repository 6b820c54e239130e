// SPDX-License-Identifier: Apache-2.0
//
// Controller: makes what is stored about some objects true of others. It decides; a Cluster does
// the rest, and it cannot tell whether that one is live.
//
// Controllers are level-triggered: what they do depends on what is stored, never on which change
// told them. So one can be stopped at any point, and a new one goes on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace dray::controllers {

class Observer;

// Of the queue of objects that are to be looked at; all but `depth` since the start.
struct QueueStatistics {
  std::size_t depth = 0;
  std::uint64_t adds = 0;
  std::uint64_t retries = 0;
};

// Runs a work once, soon, after the call has returned: never beside a controller of the same thread or
// another work, which only have their turn while a call to the cluster is waited for.
using Launch = std::function<void(std::function<void()> work)>;

// One thread.
class Controller {
 public:
  virtual ~Controller() = default;

  // For logs and metrics: "resource_claim".
  virtual std::string_view name() const = 0;
  // Takes in what has changed and does what is due, until there is nothing left to do now. The
  // number of writes done. What failed is tried again later.
  virtual std::size_t Sync() = 0;
  // Sync ends, with more to do, once it has written so much: for who has other controllers, and what they do
  // for others, on the same thread.
  virtual void LetOthersInAfter(std::size_t writes) = 0;
  // For whose cluster takes its time: what is done about different objects may overlap, up to `most` of
  // them. Before the first Sync. Sync then begins works, and ends when no more may be begun; it is to
  // be called again whenever one has ended. A controller for which that is not right goes on as before.
  virtual void Overlap(const Launch& launch, std::size_t most) = 0;
  // When Sync has something to do although nothing changes, on the monotonic clock. Nothing: only a
  // change can give it work.
  virtual std::optional<std::chrono::nanoseconds> NextDue() const = 0;

  // For those who watch. Null: nobody does. The observer outlives the controller.
  virtual void Observe(Observer* observer) = 0;
  virtual QueueStatistics queue_statistics() const = 0;
};

}  // namespace dray::controllers
