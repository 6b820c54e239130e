// SPDX-License-Identifier: Apache-2.0
//
// What a plugin says about itself when it is registered: it can be used, or its author is told why not. Input: lines type,
// name, endpoint, then a version each.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/names.h"
#include "node/plugin_registrar.h"
#include "rpc/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto line = [&] {
    const std::string_view text = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(text.size() + 1, input.size()));
    return std::string(text);
  };
  dray::rpc::PluginInfo info;
  info.type = line();
  info.name = line();
  info.endpoint = line();
  while (!input.empty()) info.supported_versions.push_back(line());
  const auto plugin = dray::node::ReadPlugin(info, "/plugins/a-reg.sock");
  if (!plugin.ok()) {
    DRAY_CHECK(!plugin.status().message().empty());
    return 0;
  }
  DRAY_CHECK(info.type == "DRAPlugin" && plugin->driver == info.name);
  DRAY_CHECK(dray::base::IsDnsSubdomain(plugin->driver) && plugin->driver.size() <= 63);
  DRAY_CHECK(plugin->endpoint.starts_with('/'));
  // The order of versions is the plugin's; what is chosen from them is not.
  std::reverse(info.supported_versions.begin(), info.supported_versions.end());
  const auto again = dray::node::ReadPlugin(info, "/plugins/a-reg.sock");
  DRAY_CHECK(again.ok() && *again == *plugin);
  return 0;
}
