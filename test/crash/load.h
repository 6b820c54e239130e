// SPDX-License-Identifier: Apache-2.0
//
// Load: a client with a namespace of its own that makes, changes and deletes pods, claims,
// deployments and jobs, and remembers what it was told.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "crash/witness.h"
#include "model/dice.h"
#include "process/requests.h"

namespace dray::crash {

// One thread at a time.
class Load {
 public:
  Load(int index, std::uint64_t seed);

  // Until there is no answer, or it is told to stop.
  void Run(process::Requests& requests, const std::atomic<bool>& stop);
  // Deletes until what is left fits into the cluster, whatever others do. False: no answer.
  bool Shrink(process::Requests& requests);

  Witness& witness() { return witness_; }
  const std::string& space() const { return space_; }
  std::uint64_t answers() const { return answers_; }
  // Writes whose answer was lost, and how many of them turned out to have been done.
  std::uint64_t lost() const { return lost_; }
  std::uint64_t lost_and_done() const { return lost_and_done_; }
  // Answers that no client should get.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  static constexpr double kLost = 0.15;

  // False: no answer.
  bool Step(process::Requests& requests);
  bool Create(process::Requests& requests);
  bool Mark(process::Requests& requests, const std::string& path);
  bool Scale(process::Requests& requests);
  bool Delete(process::Requests& requests, const std::string& path);
  // Whether the answer to the next write is to be lost without a crash. Such a write must say, by a
  // name or a resourceVersion, what it expects: then it is done once at most, however often it is
  // sent, and who sends it again learns what became of it.
  bool Loses() { return dice_.Chance(kLost); }
  // Sends a write whose answer is lost. False: the server is not there.
  bool Lose(process::Requests& requests, const process::Call& call);
  // The same write once more, after its answer was lost. False: no answer.
  bool Again(process::Requests& requests, const process::Call& call, Memory& memory, int mark);
  // Whether there was an answer. The object if it is one, nothing for a status in `refusals`.
  bool Ask(process::Requests& requests, const process::Call& call,
           std::initializer_list<int> refusals, std::optional<api::Object>& object, int& status);

  std::string PodSpec(std::string_view sort);
  // The path of one that is not being deleted, of that sort if one is given; or "".
  std::string Any(std::string_view sort = "");

  const std::string space_;
  model::Dice dice_;
  Witness witness_;
  int names_ = 0;
  int marks_ = 0;
  std::uint64_t answers_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t lost_and_done_ = 0;
  std::vector<std::string> complaints_;
};

}  // namespace dray::crash
