// SPDX-License-Identifier: Apache-2.0
#include "cel/device_errors.h"

#include <algorithm>
#include <optional>
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

void SortUnique(Names& names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

bool IsAttribute(const DeviceRead& read) { return read.field == DeviceRead::Field::kAttribute; }

// What the device has of a missing read's kind.
struct Present {
  Names domains;
  Names ids;  // of the read's domain
  std::optional<std::string> meant;
};

Present FindPresent(const DeviceView& view, const DeviceRead& read) {
  const DeviceView::Part part =
      IsAttribute(read) ? DeviceView::Part::kAttributes : DeviceView::Part::kCapacity;
  Present present;
  for (std::size_t i = 0; i < view.Count(part); ++i) {
    const DeviceView::Name name = view.NameAt(part, i);
    present.domains.push_back(name.domain);
    if (name.domain == read.domain) present.ids.push_back(name.id);
  }
  SortUnique(present.domains);
  SortUnique(present.ids);
  present.meant = present.ids.empty() ? base::ClosestMatch(read.domain, present.domains)
                                      : base::ClosestMatch(read.id, present.ids);
  return present;
}

std::string Missing(const DeviceView& view, const DeviceRead& read) {
  const std::string_view singular = IsAttribute(read) ? "attribute" : "capacity";
  const std::string_view plural = IsAttribute(read) ? "attributes" : "capacities";
  const Present present = FindPresent(view, read);
  if (present.domains.empty()) return fmt::format("the device has no {}", plural);
  std::string text =
      present.ids.empty()
          ? fmt::format("the device has no {} in domain \"{}\", only in {}", plural,
                        read.domain.view(), Listed(present.domains))
          : fmt::format("the device has no {} \"{}\" in domain \"{}\"; it has {}", singular,
                        read.id.view(), read.domain.view(), Listed(present.ids));
  if (present.meant) text += fmt::format("; did you mean \"{}\"?", *present.meant);
  return text;
}

// Every name that a key could have been meant to be.
Names AllNames(const DeviceView& view) {
  Names names;
  for (const auto part : {DeviceView::Part::kAttributes, DeviceView::Part::kCapacity}) {
    for (std::size_t i = 0; i < view.Count(part); ++i) {
      names.push_back(view.NameAt(part, i).id);
      names.push_back(view.NameAt(part, i).domain);
    }
  }
  SortUnique(names);
  return names;
}

std::string AskFirst(std::string_view key, std::string_view map, std::string_view domain) {
  return fmt::format("not every device has it: ask first, as in \"{}\" in device.{}[\"{}\"] && ...",
                     key, map, domain);
}

}  // namespace

std::string ErrorText(const Program& program, const DeviceView& view, const Value& error) {
  std::string text(ErrorMessage(error));
  if (const auto read = program.MissingRead(error)) {
    text += ": " + Missing(view, program.device_reads()[*read]);
  }
  return text;
}

std::string ErrorHint(const Program& program, const DeviceView& view, const Value& error) {
  if (const auto number = program.MissingRead(error)) {
    const DeviceRead& read = program.device_reads()[*number];
    if (FindPresent(view, read).meant) return "";
    return AskFirst(read.id, IsAttribute(read) ? "attributes" : "capacity", read.domain);
  }
  // The path was no read of the program: only its key is known.
  constexpr std::string_view kNoKey = "no such key: ";
  std::string_view key = ErrorMessage(error);
  if (!key.starts_with(kNoKey)) return "";
  key.remove_prefix(kNoKey.size());
  const auto closest = base::ClosestMatch(key, AllNames(view));
  if (closest && *closest != key) return fmt::format("did you mean {}?", *closest);
  return AskFirst(key, "attributes", "...");
}

}  // namespace dray::cel
