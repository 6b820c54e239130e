// SPDX-License-Identifier: Apache-2.0
//
// A pod's variables: replaced as Kubernetes replaces them, each of the length that Linux takes, whatever they refer to.
// Input: lines NAME=value, in order.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/pod.h"
#include "base/check.h"
#include "node/container_config.h"

namespace {

// The plain way, one character after another; nothing: too long.
std::optional<std::string> Model(std::string_view text,
                                 const std::map<std::string, std::string, std::less<>>& known) {
  std::string out;
  while (!text.empty()) {
    if (text.starts_with("$$")) {
      out += '$';
      text.remove_prefix(2);
    } else if (text.starts_with("$(") && text.find(')') != text.npos) {
      const std::size_t close = text.find(')');
      const auto found = known.find(text.substr(2, close - 2));
      out += found == known.end() ? std::string(text.substr(0, close + 1)) : found->second;
      text.remove_prefix(close + 1);
    } else {
      out += text[0];
      text.remove_prefix(1);
    }
    if (out.size() > (std::size_t{1} << 22)) return std::nullopt;
  }
  if (out.size() > dray::node::kLongestArgument) return std::nullopt;
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  dray::api::Pod pod;
  dray::api::Container container;
  std::map<std::string, std::string, std::less<>> known;
  std::size_t total = 0;
  bool fits = true;
  while (!input.empty() && container.env.size() < 200) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    const std::string name(line.substr(0, line.find('=')));
    const std::string value(line.substr(std::min(line.size(), name.size() + 1)));
    container.env.push_back({.name = name, .value = value});
    if (!fits) continue;
    const auto expected = Model(value, known);
    fits = expected.has_value();
    if (!fits) continue;
    total += name.size() + expected->size();
    fits = total <= dray::node::kLongestEnvironment;
    known[name] = *expected;
  }
  const auto made = dray::node::EnvironmentOf(pod, container, {});
  DRAY_CHECK(made.ok() == fits);
  if (!made.ok()) {
    DRAY_CHECK(made.status().code() == dray::StatusCode::kOutOfRange);
    return 0;
  }
  DRAY_CHECK(made->size() == known.size());
  for (const auto& [name, value] : *made) DRAY_CHECK(known.at(name) == value);
  return 0;
}
