// SPDX-License-Identifier: Apache-2.0
//
// Small files of /sys, and what is written in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/discover.h"

namespace dray::driver::internal {

// The first line without blanks around it; nothing if it cannot be read.
std::optional<std::string> ReadLine(const std::string& path);
std::optional<std::int64_t> ReadNumber(const std::string& path);
// Names in a folder that is there; else none.
std::vector<std::string> List(const std::string& folder);
// Where a link leads, with every link on the way resolved; nothing if nowhere.
std::optional<std::string> Resolved(const std::string& path);
// The last part of where a link leads.
std::optional<std::string> LinkName(const std::string& path);

// 0-3,8 as numbers; nothing if it is none.
std::optional<std::vector<int>> ParseCpuList(std::string_view text);

// A name of a device, which is a DNS label: lower case, what else there is becomes '-'.
std::string LabelOf(std::string_view text);
// A name of a variable: upper case, what else there is becomes '_'.
std::string VariableOf(std::string_view text);

void SetString(api::Device& device, std::string_view name, std::string_view value);
void SetInt(api::Device& device, std::string_view name, std::int64_t value);
// numaNode of a device that is at this node.
void SetNumaNode(api::Device& device, const DiscoverOptions& options, std::int64_t node);
void SetCapacity(api::Device& device, std::string_view name, std::int64_t value, bool binary);

// The node, and then those of the same socket at the smallest distance from it that there is, by
// number.
std::vector<std::int64_t> NearNumaNodes(const std::string& sys, std::int64_t node);

// Each appends what it finds.
void DiscoverPci(const DiscoverOptions& options, std::vector<DescribedDevice>& devices);
void DiscoverNet(const DiscoverOptions& options, std::vector<DescribedDevice>& devices);
void DiscoverNuma(const DiscoverOptions& options, std::vector<DescribedDevice>& devices);
void DiscoverCpu(const DiscoverOptions& options, std::vector<DescribedDevice>& devices);
void DiscoverHugepages(const DiscoverOptions& options, std::vector<DescribedDevice>& devices);

}  // namespace dray::driver::internal
