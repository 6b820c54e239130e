// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/overlapping.h"

#include <chrono>
#include <optional>
#include <utility>

namespace dray::plane::internal {
namespace {

class Overlapping final : public Worker {
 public:
  Overlapping(api::Cluster& cluster, std::function<void()> ring,
              const std::function<std::unique_ptr<Worker>(Turns& turns)>& make, base::Host& host)
      : turns_(std::make_unique<Turns>(cluster, kOverlappingWrites, std::move(ring), host)),
        worker_(make(*turns_)) {}
  ~Overlapping() override {
    // What has begun ends before whom it belongs to.
    turns_ = nullptr;
  }

  bool Work() override {
    const TurnLock turn(turns_->turn());
    return worker_->Work();
  }
  std::optional<std::chrono::nanoseconds> NextDue() const override {
    const TurnLock turn(turns_->turn());
    return worker_->NextDue();
  }

 private:
  std::unique_ptr<Turns> turns_;
  const std::unique_ptr<Worker> worker_;
};

}  // namespace

std::unique_ptr<Worker> MakeOverlapping(
    api::Cluster& cluster, std::function<void()> ring,
    const std::function<std::unique_ptr<Worker>(Turns& turns)>& make, base::Host& host) {
  return std::make_unique<Overlapping>(cluster, std::move(ring), make, host);
}

std::unique_ptr<Worker> MakeOverlappingControllers(api::Cluster& cluster,
                                                   std::function<void()> ring,
                                                   const base::Clock& clock,
                                                   const api::FeatureGates& gates,
                                                   ControllerMetrics& metrics,
                                                   ControllerParts parts, base::Host& host) {
  return MakeOverlapping(
      cluster, std::move(ring),
      [&](Turns& turns) {
        parts.launch = [&turns](std::function<void()> work) { turns.Run(std::move(work)); };
        parts.most_under_way = kOverlappingWrites;
        return MakeControllerWorker(turns.cluster(), clock, gates, metrics, std::move(parts));
      },
      host);
}

}  // namespace dray::plane::internal
