// SPDX-License-Identifier: Apache-2.0
#include "engine/beliefs.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "allocator/bound_linear.h"
#include "allocator/bounds.h"
#include "allocator/oracle.h"
#include "allocator/residual.h"
#include "engine/search_states.h"

namespace dray::engine {

using allocator::Oracle;
using allocator::Position;
using allocator::State;

namespace {

constexpr std::uint64_t kMostPlaces = 4'000;
// The oracle searches at each of them.
constexpr std::uint64_t kMostQuestions = 600;

}  // namespace

Prepared::Prepared(const model::Instance& of) : instance(of), world(of) {
  ready = world.status().ok() && attempt.Prepare(*world.plan(), world.usage(), cache).status.ok() &&
          !attempt.any_faulty();
}

std::uint64_t WrongBounds(const Prepared& it, Judged& judged) {
  if (!it.ready) return 0;
  allocator::Bounds bounds;
  allocator::WorkMeter work;
  bounds.Reset(it.attempt, work);
  std::uint64_t wrong = 0;
  const Places::Visitor visitor{
      .enter = [&](const State& state, const Position& position) -> std::size_t {
        return bounds.Hopeless(state, position) ? 1 : 0;
      },
      .leave =
          [&](std::size_t called_hopeless, bool answer) {
            ++judged.places;
            judged.completable += static_cast<std::uint64_t>(answer);
            judged.hopeless += called_hopeless;
            wrong += static_cast<std::uint64_t>(answer && called_hopeless == 1);
          }};
  Places().Walk(it.attempt, visitor, kMostPlaces);
  return wrong;
}

// The oracle asks it behind the other bounds. Here without them, so that it has something to say.
std::uint64_t WrongLinear(const Prepared& it, Judged& judged) {
  if (!it.ready) return 0;
  constexpr std::uint64_t kUnlimited = 1'000'000'000'000;
  allocator::WorkMeter work(kUnlimited);
  State initial;
  initial.Reset(it.attempt);
  allocator::Bounds bounds;
  bounds.Reset(it.attempt, work);
  allocator::Residual residual;
  residual.Reset(it.attempt, initial, bounds.values(), work);
  if (!residual.usable() || residual.symmetry().admin()) return 0;
  allocator::Demands demands;
  demands.Reset(it.attempt, bounds.values(), work);
  allocator::LinearBound linear;
  linear.Reset({it.attempt, bounds.values(), bounds.supply(), work}, residual.symmetry());
  std::uint64_t wrong = 0;
  const Places::Visitor visitor{
      .enter = [&](const State& state, const Position& position) -> std::size_t {
        constexpr std::uint64_t kEnough = 1'000'000;
        return demands.Make(state, position) && linear.Hopeless(state, demands, kEnough) ? 1 : 0;
      },
      .leave =
          [&](std::size_t called_hopeless, bool answer) {
            ++judged.places;
            judged.completable += static_cast<std::uint64_t>(answer);
            judged.hopeless += called_hopeless;
            wrong += static_cast<std::uint64_t>(answer && called_hopeless == 1);
          }};
  Places().Walk(it.attempt, visitor, kMostQuestions);
  return wrong;
}

std::uint64_t WrongFingerprints(const Prepared& it, Judged& judged) {
  if (!it.ready) return 0;
  State initial;
  initial.Reset(it.attempt);
  allocator::ConstraintValues values;
  allocator::WorkMeter work;
  values.Reset(it.attempt, work);
  allocator::Residual residual;
  residual.Reset(it.attempt, initial, values, work);
  if (!residual.usable()) return 0;
  std::vector<allocator::Fingerprint> seen;
  absl::flat_hash_map<allocator::Fingerprint, bool> answers;
  std::uint64_t wrong = 0;
  const Places::Visitor visitor{.enter =
                                    [&](const State& state, const Position& position) {
                                      seen.push_back(residual.Of(state, position));
                                      return seen.size() - 1;
                                    },
                                .leave =
                                    [&](std::size_t ticket, bool answer) {
                                      ++judged.places;
                                      judged.completable += static_cast<std::uint64_t>(answer);
                                      const auto [known, fresh] =
                                          answers.try_emplace(seen[ticket], answer);
                                      judged.alike += static_cast<std::uint64_t>(!fresh);
                                      wrong += static_cast<std::uint64_t>(known->second != answer);
                                    }};
  Places().Walk(it.attempt, visitor, kMostPlaces);
  return wrong;
}

std::uint64_t WrongTwins(const Prepared& it, Judged& judged) {
  if (!it.ready) return 0;
  State initial;
  initial.Reset(it.attempt);
  allocator::ConstraintValues values;
  allocator::WorkMeter work;
  values.Reset(it.attempt, work);
  allocator::Residual residual;
  residual.Reset(it.attempt, initial, values, work);
  if (!residual.usable()) return 0;
  std::vector<std::vector<std::uint32_t>> failed;  // by place
  std::uint64_t wrong = 0;
  const Places::Visitor visitor{
      .enter =
          [&](const State&, const Position&) {
            failed.emplace_back();
            return failed.size() - 1;
          },
      .leave = [&](std::size_t, bool) { ++judged.places; },
      .tried =
          [&](std::size_t ticket, const State& state, std::uint32_t device, bool leads) {
            const bool twin = std::ranges::any_of(failed[ticket], [&](std::uint32_t other) {
              return residual.symmetry().Twins(state, other, device);
            });
            judged.twins += static_cast<std::uint64_t>(twin);
            wrong += static_cast<std::uint64_t>(twin && leads);
            if (!leads) failed[ticket].push_back(device);
          }};
  Places().Walk(it.attempt, visitor, kMostPlaces);
  return wrong;
}

std::uint64_t WrongOracle(const Prepared& it, Judged& judged) {
  if (!it.ready) return 0;
  allocator::WorkMeter work;
  State initial;
  initial.Reset(it.attempt);
  allocator::Bounds bounds;
  bounds.Reset(it.attempt, work);
  allocator::Residual residual;
  residual.Reset(it.attempt, initial, bounds.values(), work);
  if (!residual.usable() || residual.symmetry().admin()) return 0;
  absl::flat_hash_set<allocator::Fingerprint> failed;
  Oracle oracle;
  oracle.Reset(it.attempt, bounds, residual, failed, work);
  std::uint64_t wrong = 0;
  const Places::Visitor visitor{
      .enter = [&](const State& state, const Position& position) -> std::size_t {
        State copy = state;
        const Oracle::Answer answer = oracle.Ask(copy, position);
        const bool kept = Dump(copy, it.attempt) == Dump(state, it.attempt);
        wrong += static_cast<std::uint64_t>(!kept || answer == Oracle::Answer::kUnknown);
        return answer == Oracle::Answer::kYes ? 1 : 0;
      },
      .leave =
          [&](std::size_t said, bool answer) {
            ++judged.places;
            judged.completable += static_cast<std::uint64_t>(answer);
            wrong += static_cast<std::uint64_t>(answer != (said == 1));
          }};
  Places().Walk(it.attempt, visitor, kMostQuestions);
  return wrong;
}

}  // namespace dray::engine
