// SPDX-License-Identifier: Apache-2.0
//
// Recorded cases as tests. `dray_conformance KIND DIR…` loads the cases of a kind from folders,
// registers each as one test, and closes with `KIND: N passed, N failed, N skipped`.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dray::conformance {

struct Case {
  std::string file;  // without folder
  std::string name;  // unique in its file
  // What differs from the expectation, or nothing when the case passed.
  std::function<std::optional<std::string>()> run;
  // Why it cannot be run yet (it needs a part that does not exist); counted as skipped and listed,
  // never hidden.
  std::optional<std::string> needs = {};
};

struct Kind {
  std::string_view name;
  std::string_view folder;  // below shared/conformance
  std::vector<Case> (*load)(const std::filesystem::path& folder);
};

std::vector<Case> LoadCelDraCases(const std::filesystem::path& folder);
std::vector<Case> LoadCelK8sCases(const std::filesystem::path& folder);
std::vector<Case> LoadCelSpecCases(const std::filesystem::path& folder);
std::vector<Case> LoadValidationCases(const std::filesystem::path& folder);
std::vector<Case> LoadStrategyCases(const std::filesystem::path& folder);
std::vector<Case> LoadQuotaCases(const std::filesystem::path& folder);
// These ask the chosen engine, see engine.h.
std::vector<Case> LoadAllocatorCases(const std::filesystem::path& folder);
std::vector<Case> LoadCapacityCases(const std::filesystem::path& folder);
std::vector<Case> LoadGroupCases(const std::filesystem::path& folder);

}  // namespace dray::conformance
