// SPDX-License-Identifier: Apache-2.0
#include "driver/internal/sysfs.h"

#include <charconv>
#include <filesystem>
#include <system_error>

#include "files/files.h"

namespace dray::driver::internal {

std::optional<std::string> ReadLine(const std::string& path) {
  const auto text = files::ReadWhole(path, 1u << 16);
  if (!text.ok()) return std::nullopt;
  std::string_view line = std::string_view(*text).substr(0, text->find('\n'));
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  return std::string(line);
}

std::optional<std::int64_t> ReadNumber(const std::string& path) {
  const auto line = ReadLine(path);
  if (!line || line->empty()) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), number);
  if (error != std::errc() || end != line->data() + line->size()) return std::nullopt;
  return number;
}

std::vector<std::string> List(const std::string& folder) {
  auto names = files::NamesIn(folder);
  return names.ok() ? *std::move(names) : std::vector<std::string>();
}

std::optional<std::string> Resolved(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  if (error) return std::nullopt;
  return target.string();
}

std::optional<std::string> LinkName(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  if (error) return std::nullopt;
  return target.filename().string();
}

std::optional<std::vector<int>> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    int first = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), first);
    int last = first;
    if (error == std::errc() && end != part.data() + part.size() && *end == '-') {
      const auto rest = std::from_chars(end + 1, part.data() + part.size(), last);
      end = rest.ptr;
      error = rest.ec;
    }
    if (error != std::errc() || end != part.data() + part.size() || last < first ||
        last - first > 1'000'000) {
      return std::nullopt;
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::string LabelOf(std::string_view text) {
  std::string label;
  for (const char c : text) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    label += upper ? static_cast<char>(c - 'A' + 'a') : plain ? c : '-';
  }
  if (label.size() > 63) label.resize(63);
  while (!label.empty() && label.back() == '-') label.pop_back();
  while (!label.empty() && label.front() == '-') label.erase(0, 1);
  return label;
}

std::string VariableOf(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool lower = c >= 'a' && c <= 'z';
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += lower ? static_cast<char>(c - 'a' + 'A') : plain ? c : '_';
  }
  return name;
}

void SetString(api::Device& device, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  device.attributes[name].string_value =
      base::OptionalText(value.substr(0, api::kDeviceAttributeMaxValueLength));
}

void SetInt(api::Device& device, std::string_view name, std::int64_t value) {
  device.attributes[name].int_value = value;
}

void SetCapacity(api::Device& device, std::string_view name, std::int64_t value, bool binary) {
  device.capacity[name].value = base::Quantity::FromInt(
      value, binary ? base::Quantity::Format::kBinarySI : base::Quantity::Format::kDecimalSI);
}

}  // namespace dray::driver::internal
