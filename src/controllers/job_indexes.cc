// SPDX-License-Identifier: Apache-2.0
#include "controllers/job_indexes.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "fmt/format.h"

namespace dray::controllers {
namespace {

constexpr std::string_view kIndexVariable = "JOB_COMPLETION_INDEX";

std::optional<std::int32_t> ParseNumber(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

void JobIndexes::Insert(std::int32_t first, std::int32_t last) {
  // From the last range that begins at or before it, those that it meets or touches become one.
  auto it = last_.upper_bound(first);
  if (it != last_.begin() && std::int64_t{std::prev(it)->second} + 1 >= first) --it;
  while (it != last_.end() && it->first <= std::int64_t{last} + 1) {
    first = std::min(first, it->first);
    last = std::max(last, it->second);
    size_ -= std::int64_t{it->second} - it->first + 1;
    it = last_.erase(it);
  }
  last_.emplace(first, last);
  size_ += std::int64_t{last} - first + 1;
}

std::int64_t JobIndexes::NextMissing(std::int32_t index) const {
  const auto after = last_.upper_bound(index);
  if (after == last_.begin()) return index;
  const std::int32_t last = std::prev(after)->second;
  return last < index ? index : std::int64_t{last} + 1;
}

JobIndexes ParseIndexes(std::string_view text, std::int32_t completions) {
  JobIndexes indexes;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const auto dash = part.find('-');
    const auto first = ParseNumber(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseNumber(part.substr(dash + 1));
    if (!first.has_value() || !last.has_value()) continue;
    const std::int32_t end = std::min(*last, completions - 1);
    if (*first <= end) indexes.Insert(*first, end);
  }
  return indexes;
}

std::string ToText(const JobIndexes& indexes) {
  std::string text;
  for (const auto& [first, last] : indexes.ranges()) {
    if (!text.empty()) text += ',';
    fmt::format_to(std::back_inserter(text), "{}", first);
    // Two neighbours are written as two, as Kubernetes does.
    if (last > first)
      fmt::format_to(std::back_inserter(text), "{}{}", last == first + 1 ? ',' : '-', last);
  }
  return text;
}

std::optional<std::int32_t> IndexOf(const api::Pod& pod, std::int32_t completions) {
  const std::string* text = pod.metadata.annotations.Find(kCompletionIndex);
  const auto index = text != nullptr ? ParseNumber(*text) : std::nullopt;
  return index.has_value() && *index < completions ? index : std::nullopt;
}

void SetIndex(api::Pod& pod, std::string_view job, std::int32_t index) {
  const std::string text = fmt::format_int(index).str();
  pod.metadata.generate_name = fmt::format("{}-{}-", job, index);
  pod.metadata.annotations[kCompletionIndex] = text;
  pod.metadata.labels[kCompletionIndex] = text;
  pod.spec.hostname = fmt::format("{}-{}", job, index);
  for (auto* containers : {&pod.spec.init_containers, &pod.spec.containers}) {
    for (api::Container& container : *containers) {
      if (std::ranges::find(container.env, kIndexVariable, &api::EnvVar::name) !=
          container.env.end()) {
        continue;
      }
      api::EnvVar& variable = container.env.emplace_back();
      variable.name = kIndexVariable;
      variable.value_from.emplace().field_ref.emplace().field_path =
          fmt::format("metadata.labels['{}']", kCompletionIndex);
    }
  }
}

}  // namespace dray::controllers
