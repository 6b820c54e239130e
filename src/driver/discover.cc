// SPDX-License-Identifier: Apache-2.0
#include "driver/discover.h"

#include <algorithm>
#include <iterator>

#include "driver/internal/sysfs.h"
#include "fmt/format.h"

namespace dray::driver {
namespace {

bool Fits(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= text.size(); ++at) {
    if (Fits(rest, text.substr(at))) return true;
  }
  return false;
}

std::string TextOf(const api::DeviceAttribute& attribute) {
  if (attribute.string_value) return attribute.string_value->str();
  if (attribute.version_value) return attribute.version_value->str();
  if (attribute.int_value) return std::to_string(*attribute.int_value);
  if (attribute.bool_value) return *attribute.bool_value ? "true" : "false";
  return "";
}

}  // namespace

StatusOr<DeviceFilter> ParseFilter(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return base::InvalidArgument(
        fmt::format("\"{}\" is not a filter ATTRIBUTE=PATTERN, such as class=02*", text));
  }
  if (std::ranges::count(text, '*') > 4) {
    return base::InvalidArgument(fmt::format("\"{}\": at most 4 stars", text));
  }
  return DeviceFilter{.attribute = std::string(text.substr(0, equals)),
                      .pattern = std::string(text.substr(equals + 1))};
}

bool Takes(const DeviceFilter& filter, const api::Device& device) {
  return std::ranges::any_of(device.attributes, [&](const auto& entry) {
    const std::string_view name = entry.first;
    const bool named =
        name == filter.attribute || name.substr(name.find('/') + 1) == filter.attribute;
    return named && Fits(filter.pattern, TextOf(entry.second));
  });
}

StatusOr<DeviceFile> Discover(const DiscoverOptions& options) {
  for (const std::string& kind : options.kinds) {
    if (std::ranges::find(kDiscoverable, kind) == std::end(kDiscoverable)) {
      return base::InvalidArgument(fmt::format("\"{}\" cannot be discovered; there are {}", kind,
                                               fmt::join(kDiscoverable, ", ")));
    }
  }
  std::vector<DescribedDevice> devices;
  const auto wanted = [&](std::string_view kind) {
    return options.kinds.contains(std::string(kind));
  };
  if (wanted("pci")) internal::DiscoverPci(options, devices);
  if (wanted("net")) internal::DiscoverNet(options, devices);
  if (wanted("numa")) internal::DiscoverNuma(options, devices);
  if (wanted("cpu")) internal::DiscoverCpu(options, devices);
  if (wanted("hugepages")) internal::DiscoverHugepages(options, devices);
  std::erase_if(devices, [&](const DescribedDevice& device) {
    return !std::ranges::all_of(
        options.filters, [&](const DeviceFilter& filter) { return Takes(filter, device.device); });
  });
  DeviceFile file;
  file.pools.push_back({.devices = std::move(devices)});
  return file;
}

}  // namespace dray::driver
