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
              const std::function<std::unique_ptr<Worker>(Turns& turns)>& make)
      : turns_(std::make_unique<Turns>(cluster, kOverlappingWrites, std::move(ring))),
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
    const std::function<std::unique_ptr<Worker>(Turns& turns)>& make) {
  return std::make_unique<Overlapping>(cluster, std::move(ring), make);
}

}  // namespace dray::plane::internal
