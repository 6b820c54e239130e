// SPDX-License-Identifier: Apache-2.0
#include "cel/device_errors.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/edit_distance.h"
#include "cel/values.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dray::cel {
namespace {

using Names = std::vector<std::string_view>;

// More than this many names do not help anybody.
constexpr std::size_t kNamesShown = 8;

std::string Listed(const Names& names) {
  const auto shown = static_cast<std::ptrdiff_t>(std::min(names.size(), kNamesShown));
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (names.size() > kNamesShown) text += fmt::format(" and {} more", names.size() - kNamesShown);
  return text;
}

std::string DidYouMean(std::string_view word, const Names& names) {
  const auto closest = base::ClosestMatch(word, names);
  return closest ? fmt::format("; did you mean \"{}\"?", *closest) : std::string();
}

void SortUnique(Names& names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

std::string Missing(const DeviceView& view, const DeviceRead& read) {
  const bool attribute = read.field == DeviceRead::Field::kAttribute;
  const DeviceView::Part part =
      attribute ? DeviceView::Part::kAttributes : DeviceView::Part::kCapacity;
  const std::string_view singular = attribute ? "attribute" : "capacity";
  const std::string_view plural = attribute ? "attributes" : "capacities";
  Names domains;
  Names ids;
  for (std::size_t i = 0; i < view.Count(part); ++i) {
    const DeviceView::Name name = view.NameAt(part, i);
    domains.push_back(name.domain);
    if (name.domain == read.domain) ids.push_back(name.id);
  }
  if (domains.empty()) return fmt::format("the device has no {}", plural);
  SortUnique(domains);
  SortUnique(ids);
  if (ids.empty()) {
    return fmt::format("the device has no {} in domain \"{}\", only in {}{}", plural,
                       read.domain.view(), Listed(domains), DidYouMean(read.domain, domains));
  }
  return fmt::format("the device has no {} \"{}\" in domain \"{}\"; it has {}{}", singular,
                     read.id.view(), read.domain.view(), Listed(ids), DidYouMean(read.id, ids));
}

}  // namespace

std::string ErrorText(const Program& program, const DeviceView& view, const Value& error) {
  std::string text(ErrorMessage(error));
  if (const auto read = program.MissingRead(error)) {
    text += ": " + Missing(view, program.device_reads()[*read]);
  }
  return text;
}

}  // namespace dray::cel
