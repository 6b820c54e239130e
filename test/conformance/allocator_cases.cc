// SPDX-License-Identifier: Apache-2.0
//
// The kinds `allocator` and `allocator-hard`: whole attempts on one node. Compared as
// shared/conformance/allocator/README.md says; the hard ones have a shorter `expect`.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "api/json.h"
#include "conformance/case_files.h"
#include "conformance/engine.h"
#include "conformance/suite.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "model/checker.h"
#include "model/instance.h"
#include "model/model.h"

namespace dray::conformance {
namespace {

using api::DocumentNode;
using Verdict = std::optional<std::string>;  // what differs
using Kind = model::Outcome::Kind;

const DocumentNode* Get(const DocumentNode& node, std::string_view key) {
  const api::Member* member = node.Find(key);
  return member != nullptr && member->value.kind != DocumentNode::Kind::kNull ? &member->value
                                                                              : nullptr;
}

// The same text for JSON values that only differ in the order of members.
std::string Canonical(DocumentNode node) {
  std::ranges::stable_sort(node.members, {}, &api::Member::key);
  for (api::Member& member : node.members) {
    std::vector<api::Diagnostic> none;
    member.value = api::ParseJson(Canonical(member.value), none);
  }
  for (DocumentNode& item : node.items) {
    std::vector<api::Diagnostic> none;
    item = api::ParseJson(Canonical(item), none);
  }
  return api::ToJson(node);
}

std::string CanonicalRaw(const std::string& text) {
  std::vector<api::Diagnostic> none;
  return text.empty() ? "" : Canonical(api::ParseJson(text, none));
}

std::vector<std::string> Requirements(const std::vector<api::NodeSelectorRequirement>& list) {
  std::vector<std::string> lines;
  for (api::NodeSelectorRequirement r : list) {
    std::ranges::sort(r.values);
    lines.push_back(fmt::format("{} {} [{}]", r.key, r.operator_, fmt::join(r.values, ",")));
  }
  std::ranges::sort(lines);
  return lines;
}

std::string Selector(const api::Box<api::NodeSelector>& selector) {
  if (!selector) return "every node";
  std::vector<std::string> terms;
  for (const api::NodeSelectorTerm& term : selector->node_selector_terms) {
    terms.push_back(fmt::format("labels {{{}}} fields {{{}}}",
                                fmt::join(Requirements(term.match_expressions), "; "),
                                fmt::join(Requirements(term.match_fields), "; ")));
  }
  std::ranges::sort(terms);
  return fmt::format("{}", fmt::join(terms, " or "));
}

// One line per device, entry of configuration and selector: equal lines are an equal answer.
// Groups are compared where the expectation has them; Kubernetes does not write any.
std::vector<std::string> Lines(const api::AllocationResult& result, bool groups) {
  std::vector<std::string> lines;
  for (api::DeviceRequestAllocationResult device : result.devices.results) {
    if (device.share_id) device.share_id = "share";
    std::string amounts;
    for (const auto& [name, amount] : device.consumed_capacity) {
      amounts += fmt::format(" {}={}", name, amount.DecimalKey());
    }
    device.consumed_capacity.clear();
    if (!groups) device.compatibility_groups.clear();
    lines.push_back(api::EncodeJson(device) + amounts);
  }
  for (const api::DeviceAllocationConfiguration& entry : result.devices.config) {
    lines.push_back(fmt::format("config {} [{}] {} {}", entry.source,
                                fmt::join(entry.requests, ","),
                                entry.opaque ? entry.opaque->driver : "",
                                entry.opaque ? CanonicalRaw(entry.opaque->parameters.text) : ""));
  }
  lines.push_back("for " + Selector(result.node_selector));
  return lines;
}

std::vector<api::AllocationResult> ResultsOf(const DocumentNode& expect) {
  std::vector<api::AllocationResult> results;
  const DocumentNode* list = Get(expect, "results");
  if (list == nullptr) return results;
  api::JsonDecoder decoder;
  for (const DocumentNode& item : list->items) {
    auto result = decoder.Decode<api::AllocationResult>(api::ToJson(item));
    if (!result.ok()) throw std::runtime_error(std::string(base::Message(result.status())));
    results.push_back(*std::move(result));
  }
  return results;
}

bool HasGroups(const std::vector<api::AllocationResult>& results) {
  return std::ranges::any_of(results, [](const api::AllocationResult& result) {
    return std::ranges::any_of(result.devices.results,
                               [](const auto& d) { return !d.compatibility_groups.empty(); });
  });
}

Verdict CompareKind(Kind want, const model::Outcome& got) {
  if (got.kind == want) return std::nullopt;
  return fmt::format("want {}, got {} {}", model::ToString(want), model::ToString(got.kind),
                     got.error);
}

Verdict Compare(const DocumentNode& expect, const model::Instance& instance,
                const model::Outcome& got) {
  if (Get(expect, "error") != nullptr) {
    if (auto difference = CompareKind(Kind::kError, got)) return difference;
    const DocumentNode* node_only = Get(expect, "errorOnlyAffectsThisNode");
    const bool want = node_only != nullptr && node_only->boolean;
    if (want == got.node_only) return std::nullopt;
    return want ? "the error stops all nodes" : "the error stops this node only";
  }
  const std::vector<api::AllocationResult> results = ResultsOf(expect);
  if (results.empty() && !instance.claims.empty()) return CompareKind(Kind::kNotPossible, got);
  if (auto difference = CompareKind(Kind::kAllocated, got)) return difference;
  if (results.size() != got.results.size()) {
    return fmt::format("want {} results, got {}", results.size(), got.results.size());
  }
  const bool groups = HasGroups(results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto want = Lines(results[i], groups);
    const auto lines = Lines(got.results[i], groups);
    if (want != lines) {
      return fmt::format("claim {}: want\n  {}\ngot\n  {}", i, fmt::join(want, "\n  "),
                         fmt::join(lines, "\n  "));
    }
  }
  return std::nullopt;
}

Verdict CompareHard(const DocumentNode& expect, const model::Outcome& got) {
  const bool feasible = Get(expect, "feasible")->boolean;
  if (auto difference = CompareKind(feasible ? Kind::kAllocated : Kind::kNotPossible, got)) {
    return difference;
  }
  const DocumentNode* devices = Get(expect, "devices");
  if (devices == nullptr) return std::nullopt;
  std::vector<std::string> want;
  for (const DocumentNode& item : devices->items) want.push_back(item.text);
  std::vector<std::string> names;
  for (const api::AllocationResult& result : got.results) {
    for (const auto& device : result.devices.results) names.push_back(device.device);
  }
  if (want == names) return std::nullopt;
  return fmt::format("want {}, got {}", fmt::join(want, " "), fmt::join(names, " "));
}

void Record(const std::string& file, const model::Instance& instance,
            const model::Outcome& outcome) {
  std::string expect = "\"expect\":{\"error\":";
  if (outcome.kind == Kind::kError) {
    DocumentNode text;
    text.kind = DocumentNode::Kind::kString;
    text.text = outcome.error;
    expect += api::ToJson(text);
    if (outcome.node_only) expect += ",\"errorOnlyAffectsThisNode\":true";
  } else {
    expect += "null";
  }
  expect += ",\"results\":[";
  for (std::size_t i = 0; i < outcome.results.size(); ++i) {
    if (i > 0) expect += ',';
    expect += api::EncodeJson(outcome.results[i]);
  }
  expect += "]}";
  const std::filesystem::path folder = EngineChoice().record_folder;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / file) << model::WriteInstance(instance, expect);
}

Verdict Run(const std::string& file, const DocumentNode& recorded) {
  const DocumentNode* expect = Get(recorded, "expect");
  if (expect == nullptr) return "not a recorded case";
  const auto instance = model::ReadInstance(recorded);
  if (!instance.ok()) return std::string(base::Message(instance.status()));
  const Engine& engine = *FindEngine(EngineChoice().name);
  const model::Instance given = *instance;
  const model::Outcome outcome = engine.allocate(*instance);
  if (!(given == *instance)) return "the inputs were changed";
  if (outcome.kind == Kind::kBudget && engine.may_give_up) {
    fmt::print("BUDGET {}: {} gave up after {} steps\n", file, engine.name, outcome.steps);
    return std::nullopt;
  }
  if (!EngineChoice().record_folder.empty()) Record(file, *instance, outcome);
  if (outcome.kind == Kind::kAllocated) {
    const auto complaints = model::CheckAllocation(*instance, outcome.results);
    if (!complaints.empty()) return fmt::format("{}", fmt::join(complaints, "; "));
  }
  if (Get(*expect, "feasible") != nullptr) return CompareHard(*expect, outcome);
  return Compare(*expect, *instance, outcome);
}

// Instances that nobody has answered are kept for their cost.
bool IsAnswered(const DocumentNode& recorded) {
  const DocumentNode* expect = Get(recorded, "expect");
  return expect != nullptr &&
         (expect->Find("feasible") == nullptr || Get(*expect, "feasible") != nullptr);
}

DocumentNode ReadObject(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<api::Diagnostic> diagnostics;
  return api::ParseJson(text, diagnostics);
}

}  // namespace

std::vector<Case> LoadAllocatorCases(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<Case> cases;
  for (const auto& path : paths) {
    DocumentNode node = ReadObject(path);
    const std::string file = path.filename().string();
    Case made{.file = file, .name = TextOf(node, "name")};
    if (!IsAnswered(node)) made.needs = "a recorded answer";
    made.run = [file, node = std::move(node)]() -> Verdict {
      try {
        return Run(file, node);
      } catch (const std::exception& error) {
        return error.what();
      }
    };
    cases.push_back(std::move(made));
  }
  return cases;
}

}  // namespace dray::conformance
