// SPDX-License-Identifier: Apache-2.0
//
// The kind `cel-k8s`: the functions of Kubernetes' libraries in the environment of devices.
#include <memory>

#include "cel/device_env.h"
#include "cel/library.h"
#include "conformance/case_files.h"
#include "conformance/device_expression.h"
#include "conformance/suite.h"

namespace dray::conformance {
namespace {

using api::DocumentNode;
using Outcome = std::optional<std::string>;

Outcome RunExpression(const DocumentNode& test) {
  Differences differences;
  CompareWith(*Get(test, "dra"),
              {.text = TextOf(test, "expr"),
               .environment = cel::DeviceEnvironment({.kubernetes_only = true})},
              differences);
  return differences.text();
}

cel::CostRange RangeOf(const DocumentNode& node) {
  return {NumberOf(*Get(node, "min")), NumberOf(*Get(node, "max"))};
}

std::string RangeText(const cel::CostRange& range) {
  return fmt::format("{} to {}", range.min, range.max);
}

// Only the sizes of receiver and arguments are recorded.
Outcome RunSize(const DocumentNode& test) {
  const cel::CostNode receiver{.type = cel::Type::String(),
                               .known_size = RangeOf(*Get(test, "targetSize"))};
  std::vector<cel::CostNode> args;
  for (const DocumentNode& size : ItemsOf(test, "argSizes")) {
    args.push_back({.type = cel::Type::String(), .known_size = RangeOf(size)});
  }
  const cel::NamedFunction* function = cel::FindFunctionByName(TextOf(test, "function"));
  if (function == nullptr) return "there is no such function";
  const cel::CallEstimate cost = function->row->estimate({.receiver = &receiver, .args = args});
  if (!cost.result_size) return "no size known";
  Differences differences;
  differences.Compare("size", RangeText(RangeOf(*Get(test, "resultSize"))),
                      RangeText(*cost.result_size));
  differences.Compare("cost", RangeText(RangeOf(*Get(test, "callCost"))), RangeText(cost.cost));
  return differences.text();
}

}  // namespace

std::vector<Case> LoadCelK8sCases(const std::filesystem::path& folder) {
  std::vector<Case> cases;
  for (RecordedFile& file : ReadJsonFiles(folder)) {
    const auto document = std::make_shared<const DocumentNode>(std::move(file.root));
    const bool sizes = TextOf(*document, "kind") == "result-size";
    for (const DocumentNode& test : ItemsOf(*document, "tests")) {
      Case& added = cases.emplace_back(
          Case{.file = file.name, .name = TextOf(test, "section") + "/" + TextOf(test, "name")});
      if (!sizes && Get(test, "dra") == nullptr) {
        added.needs = "values that DRA expressions do not have";
      } else {
        added.run = Guarded(
            [document, &test, sizes] { return sizes ? RunSize(test) : RunExpression(test); });
      }
    }
  }
  return cases;
}

}  // namespace dray::conformance
