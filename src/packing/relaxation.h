// SPDX-License-Identifier: Apache-2.0
//
// Relaxation: an upper bound of how much of the devices any policy can give away, so that one sees
// what is left to gain. Requests may be split over nodes, cpu and memory of equal nodes are one
// pool, and who is refused is free to choose; but a device is filled by parts that fit into it
// together, and what is asked for is what came.
//
// A linear program with a column for each way to fill a device, of which only those are made that
// are needed (after Gilmore and Gomory). What is told is the value of its dual, which is a bound
// however far the program was solved.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "packing/shape.h"

namespace dray::packing {

inline constexpr std::int32_t kRelaxedParts = 1000;  // of a device

// Requests that are alike.
struct RelaxedRequest {
  double cpu = 0;
  double memory = 0;
  std::int32_t count = 1;              // of devices; more than one: whole ones
  std::int32_t parts = kRelaxedParts;  // of each device
  Kinds kinds = ~Kinds{0};             // that will do
  double came = 0;                     // how many
};
// Nodes that are alike.
struct RelaxedNodes {
  double nodes = 0;
  double cpu = 0;  // of each
  double memory = 0;
  std::int32_t devices = 0;
  std::uint16_t kind = 0;
};

// A bound for all arrivals of these requests: `constant` and so much more for each that came.
struct RelaxedBound {
  double constant = 0;
  std::vector<double> each;  // by request
  // In devices.
  double For(std::span<const double> came) const;
};

class Relaxation {
 public:
  Relaxation(std::vector<RelaxedRequest> requests, std::vector<RelaxedNodes> nodes);
  // For the numbers in RelaxedRequest::came; `steps`: of the simplex method, at most.
  RelaxedBound Solve(int steps = 40'000);
  int steps() const { return steps_; }

 private:
  struct Column {
    double gain = 0;  // devices that are given
    std::vector<std::pair<std::uint32_t, double>> rows;
  };
  // Rows: came (by request), then devices, cpu and memory of each group of nodes.
  std::uint32_t RowOf(std::size_t group, std::uint32_t which) const {
    return static_cast<std::uint32_t>(requests_.size() + 3 * group + which);
  }
  // The best way to fill a device of the group at these prices, and what it is worth beyond the
  // device's own price.
  double BestColumn(std::size_t group, const std::vector<double>& prices, Column* column) const;
  double WorthOf(const RelaxedRequest& request, std::size_t number, std::size_t group,
                 const std::vector<double>& prices) const;

  std::vector<RelaxedRequest> requests_;
  std::vector<RelaxedNodes> nodes_;
  int steps_ = 0;
};

}  // namespace dray::packing
