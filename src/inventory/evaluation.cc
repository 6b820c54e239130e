// SPDX-License-Identifier: Apache-2.0
#include "inventory/evaluation.h"

#include <atomic>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "cel/arena.h"
#include "cel/device_results.h"
#include "cel/values.h"
#include "fmt/format.h"
#include "inventory/internal/projection_cache.h"
#include "inventory/internal/row_view.h"

namespace dray::inventory {

using internal::BoundReads;
using internal::Projection;
using internal::ProjectionCache;
using internal::RowView;

struct BoundProgram::Impl {
  Impl(std::shared_ptr<const cel::Program> a_program, std::shared_ptr<Dictionary> a_dictionary)
      : program(std::move(a_program)),
        dictionary(std::move(a_dictionary)),
        reads(*program, dictionary),
        verdicts(reads.size(), &dictionary->projection_bytes()),
        values(reads.size(), &dictionary->projection_bytes()),
        epoch(dictionary->epoch()) {}

  // What is remembered is by numbers that may mean something else after the dictionary was
  // collected. Nobody evaluates while it is, and everybody comes by here before he looks into the
  // caches, so the first one afterwards finds them unused.
  void ForgetIfCollected() {
    const std::uint32_t now = dictionary->epoch();
    if (epoch.load(std::memory_order_acquire) == now) return;
    const base::MutexLock lock(forgetting);
    if (epoch.load(std::memory_order_relaxed) == now) return;
    verdicts.Clear();
    values.Clear();
    epoch.store(now, std::memory_order_release);
  }

  // Whether a result depends on the projection alone.
  bool remembers() const { return program->only_device_reads(); }

  const std::shared_ptr<const cel::Program> program;
  const std::shared_ptr<Dictionary> dictionary;
  const BoundReads reads;
  ProjectionCache verdicts;
  ProjectionCache values;
  base::Mutex forgetting;  // guards no member: who forgets is alone in doing so
  std::atomic<std::uint32_t> epoch;

  void Count(std::uint64_t by_cost, bool failed) {
    evaluations.fetch_add(1, std::memory_order_relaxed);
    cost.fetch_add(by_cost, std::memory_order_relaxed);
    if (failed) errors.fetch_add(1, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> evaluations = 0;
  std::atomic<std::uint64_t> errors = 0;
  std::atomic<std::uint64_t> cost = 0;
};

namespace {

// Spec notes 7.1: all attributes are converted before anything is evaluated, so one that cannot be
// read is an error even if nobody asks for it.
std::string WhyUnreadable(const Dictionary& dictionary, const SliceTable& slice,
                          const DeviceRow& row) {
  // The smallest name: rows are in an order that means nothing.
  std::optional<std::pair<std::string_view, std::string>> first;
  for (const AttributeEntry& entry : slice.attributes(row)) {
    const cel::Value& value = dictionary.At(entry.value).value;
    const std::string_view name = dictionary.View(entry.name);
    if (!value.is_error() || (first.has_value() && first->first < name)) continue;
    first.emplace(name, cel::ErrorMessage(value));
  }
  return first.has_value() ? fmt::format("attribute {}: {}", first->first, first->second) : "";
}

}  // namespace

BoundProgram::BoundProgram(std::shared_ptr<const cel::Program> program,
                           std::shared_ptr<Dictionary> dictionary)
    : impl_(std::make_unique<Impl>(std::move(program), std::move(dictionary))) {}

BoundProgram::~BoundProgram() = default;

Verdict BoundProgram::Match(const SliceTable& slice, const DeviceRow& row,
                            std::string* error) const {
  Impl& impl = *impl_;
  if (row.unreadable) {
    if (error != nullptr) *error = WhyUnreadable(*impl.dictionary, slice, row);
    return Verdict::kError;
  }
  impl.ForgetIfCollected();
  Projection projection(impl.reads.size());
  const auto numbers = projection.numbers();
  impl.reads.Project(slice, row, numbers);
  if (impl.remembers()) {
    if (const auto known = impl.verdicts.Find(numbers)) {
      const auto verdict = static_cast<Verdict>(*known);
      // The message names what this device has: it is made again.
      if (verdict != Verdict::kError || error == nullptr) return verdict;
    }
  }
  const RowView view(impl.reads, numbers, *impl.dictionary, slice, row, !impl.remembers());
  cel::Arena arena;
  const cel::MatchOutcome outcome = cel::TryMatch(*impl.program, view, arena);
  const Verdict verdict = outcome.verdict;
  impl.Count(outcome.cost, verdict == Verdict::kError);
  if (verdict == Verdict::kError && error != nullptr) {
    *error = base::Message(cel::MatchError(*impl.program, view, outcome.value));
  }
  if (impl.remembers()) impl.verdicts.Put(numbers, static_cast<std::uint32_t>(verdict));
  return verdict;
}

StatusOr<ValueId> BoundProgram::Derive(const SliceTable& slice, const DeviceRow& row) const {
  Impl& impl = *impl_;
  if (row.unreadable) {
    return base::InvalidArgument(WhyUnreadable(*impl.dictionary, slice, row));
  }
  impl.ForgetIfCollected();
  Projection projection(impl.reads.size());
  const auto numbers = projection.numbers();
  impl.reads.Project(slice, row, numbers);
  if (impl.remembers()) {
    if (const auto known = impl.values.Find(numbers)) return ValueId{*known};
  }
  const RowView view(impl.reads, numbers, *impl.dictionary, slice, row, !impl.remembers());
  cel::Arena arena;
  std::uint64_t cost = 0;
  const auto attribute = cel::Derive(*impl.program, view, arena, {}, &cost);
  impl.Count(cost, !attribute.ok());
  if (!attribute.ok()) return attribute.status();
  const ValueId value = impl.dictionary->Intern(*attribute);
  // An error is not remembered: it ends the allocation, and its message is needed each time.
  if (impl.remembers()) impl.values.Put(numbers, static_cast<std::uint32_t>(value));
  return value;
}

std::size_t BoundProgram::MemoryBytes() const {
  return sizeof(Impl) + impl_->verdicts.MemoryBytes() + impl_->values.MemoryBytes();
}

EvaluationStatistics BoundProgram::statistics() const {
  return {.evaluations = impl_->evaluations.load(std::memory_order_relaxed),
          .errors = impl_->errors.load(std::memory_order_relaxed),
          .cost = impl_->cost.load(std::memory_order_relaxed)};
}

}  // namespace dray::inventory
