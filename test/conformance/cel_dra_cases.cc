// SPDX-License-Identifier: Apache-2.0
//
// The kind `cel-dra`: selectors and derived attributes on devices, one case per expression with all
// its runs; claims with expressions before validation; the functions that Kubernetes declares.
#include <memory>
#include <set>
#include <stdexcept>

#include "api/json.h"
#include "api/validation.h"
#include "cel/device_env.h"
#include "cel/library_reader.h"
#include "conformance/case_files.h"
#include "conformance/device_expression.h"
#include "conformance/suite.h"

namespace dray::conformance {
namespace {

using api::DocumentNode;
using Outcome = std::optional<std::string>;

cel::DeviceEnvironmentOptions EnvironmentOf(const DocumentNode& run) {
  cel::DeviceEnvironmentOptions options{.kubernetes_only = true};
  if (TextOf(run, "envType") != "StoredExpressions") {
    const DocumentNode& features = *Get(run, "features");
    options.consumable_capacity = BoolOf(features, "consumableCapacity");
    options.list_type_attributes = BoolOf(features, "listTypeAttributes");
  }
  return options;
}

std::string RunName(const DocumentNode& run) {
  const DocumentNode& features = *Get(run, "features");
  return fmt::format("{}{}{}", TextOf(run, "envType"),
                     BoolOf(features, "consumableCapacity") ? " +consumableCapacity" : "",
                     BoolOf(features, "listTypeAttributes") ? " +listTypeAttributes" : "");
}

api::Device DeviceOf(const DocumentNode& given) {
  DocumentNode device{.kind = DocumentNode::Kind::kMap};
  for (const api::Member& member : given.members) {
    if (member.key == "attributes" || member.key == "capacity" ||
        member.key == "allowMultipleAllocations") {
      device.members.push_back(member);
    }
  }
  api::JsonDecoder decoder;
  auto decoded = decoder.Decode<api::Device>(api::ToJson(device));
  if (!decoded.ok()) throw std::runtime_error(std::string(base::Message(decoded.status())));
  return *std::move(decoded);
}

// `given` has the device and its driver: the test itself, or one of the file's `devices`.
Outcome RunExpression(const DocumentNode& test, const DocumentNode& given, bool derived) {
  DeviceExpression expression{
      .text = TextOf(test, "expression"),
      .purpose = derived ? cel::Purpose::kDerivedAttribute : cel::Purpose::kSelector,
      .driver = TextOf(given, "driver"),
      .device = DeviceOf(given)};
  Differences all;
  if (ItemsOf(test, "runs").empty()) all.Add("nothing recorded");
  for (const DocumentNode& run : ItemsOf(test, "runs")) {
    expression.environment = cel::DeviceEnvironment(EnvironmentOf(run));
    Differences differences;
    CompareWith(run, expression, differences);
    if (const auto text = differences.text()) all.Add(RunName(run) + ": " + *text);
  }
  return all.text();
}

DocumentNode Text(std::string text) {
  return {.kind = DocumentNode::Kind::kString, .text = std::move(text)};
}
DocumentNode List(std::vector<DocumentNode> items) {
  return {.kind = DocumentNode::Kind::kList, .items = std::move(items)};
}
DocumentNode Fields(std::vector<std::pair<std::string, DocumentNode>> fields) {
  DocumentNode node{.kind = DocumentNode::Kind::kMap};
  for (auto& [key, value] : fields) {
    node.members.push_back({.key = key, .value = std::move(value)});
  }
  return node;
}

// A claim with the test's expressions; every derived attribute is used by a constraint.
api::Object ClaimOf(const DocumentNode& test) {
  const bool derived = BoolOf(test, "derived");
  std::vector<DocumentNode> expressions, constraints;
  for (const std::string& expression : TextsOf(test, "expressions")) {
    if (derived) {
      const std::string name = fmt::format("dra.example.com/a{}", expressions.size());
      expressions.push_back(Fields({{"name", Text(name)}, {"expression", Text(expression)}}));
      constraints.push_back(Fields({{"matchAttribute", Text(name)}}));
    } else {
      expressions.push_back(Fields({{"cel", Fields({{"expression", Text(expression)}})}}));
    }
  }
  DocumentNode request = Fields(
      {{"name", Text("r")},
       {"exactly",
        Fields({{"deviceClassName", Text("c")},
                {"allocationMode", Text("ExactCount")},
                {"count", {.kind = DocumentNode::Kind::kNumber, .text = "1"}},
                {derived ? "derivedAttributes" : "selectors", List(std::move(expressions))}})}});
  DocumentNode holder = Fields(
      {{"claim",
        Fields({{"apiVersion", Text("resource.k8s.io/v1")},
                {"kind", Text("ResourceClaim")},
                {"metadata", Fields({{"name", Text("c")}, {"namespace", Text("default")}})},
                {"spec", Fields({{"devices",
                                  Fields({{"requests", List({std::move(request)})},
                                          {"constraints", List(std::move(constraints))}})}})}})}});
  return *ObjectAt(holder, "claim");
}

// Syntax errors are a generated parser's words there, and about costs we say more.
bool HaveOwnWords(std::string_view detail) {
  return IsSyntaxError(detail) || detail.starts_with("too complex, ");
}

// Compares reason, path and words.
Outcome RunValidation(const DocumentNode& test) {
  static const cel::DeviceExpressionChecker expressions(/*kubernetes_only=*/true);
  const api::Object claim = ClaimOf(test);
  Differences all;
  for (const DocumentNode& run : ItemsOf(test, "runs")) {
    const DocumentNode& features = *Get(run, "features");
    api::FeatureGates gates = api::FeatureGates::KubernetesDefaults();
    gates.Set(api::Gate::kDRADerivedAttributes, true);
    gates.Set(api::Gate::kDRAConsumableCapacity, BoolOf(features, "consumableCapacity"));
    gates.Set(api::Gate::kDRAListTypeAttributes, BoolOf(features, "listTypeAttributes"));
    const api::ErrorList got = api::ValidateCreate(
        claim, {.gates = gates, .expressions = &expressions, .kubernetes_only = true});
    const std::vector<RecordedError> want = ErrorsAt(run, "errors");
    if (const auto difference = Difference(want, got)) {
      all.Add(RunName(run) + ": " + *difference);
      continue;
    }
    for (const RecordedError& error : want) {
      if (HaveOwnWords(error.detail)) continue;
      for (const api::FieldError& ours : got) {
        if (KeyOf(ours) == error.key) all.Compare(RunName(run), error.detail, ours.detail);
      }
    }
  }
  return all.text();
}

std::string Describe(const cel::Overload& overload) {
  std::string out = overload.id + (overload.member ? " member" : "");
  for (const cel::Type type : overload.params) out += " " + type.ToMessage();
  return out + " -> " + overload.result.ToMessage();
}

// A recorded overload as a row declares it, so that letters of type parameters do not matter.
std::string DescribeRecorded(const DocumentNode& overload) {
  std::vector<std::string> args = TextsOf(overload, "args");
  std::string receiver;
  if (BoolOf(overload, "member")) {
    receiver = args.at(0) + ".";
    args.erase(args.begin());
  }
  cel::TypePool pool;
  const auto declaration = fmt::format("{} {}({}) -> {}", TextOf(overload, "id"), receiver,
                                       fmt::join(args, ", "), TextOf(overload, "result"));
  return Describe(cel::ReadOverload(declaration, pool));
}

// The function is declared, with exactly the recorded overloads.
Outcome RunDeclaration(const DocumentNode& recorded) {
  const auto environment = cel::DeviceEnvironment({.kubernetes_only = true});
  const cel::Function* function = environment->FindFunction(TextOf(recorded, "name"));
  if (function == nullptr) return "there is no such function";
  std::set<std::string> want, got;
  for (const cel::Overload& overload : function->overloads) got.insert(Describe(overload));
  for (const DocumentNode& overload : ItemsOf(recorded, "overloads")) {
    want.insert(DescribeRecorded(overload));
  }
  Differences differences;
  differences.Compare("overloads", fmt::format("{}", fmt::join(want, "; ")),
                      fmt::format("{}", fmt::join(got, "; ")));
  return differences.text();
}

Case CaseOf(const std::shared_ptr<const DocumentNode>& document, const std::string& file,
            const DocumentNode& test) {
  const std::string kind = TextOf(*document, "kind");
  Case out{.file = file, .name = TextOf(test, "section") + "/" + TextOf(test, "name")};
  if (kind == "error-hint") {
    out.needs = "the scheduler, which explains a missing key to users";
  } else if (kind == "validation") {
    out.run = Guarded([document, &test] { return RunValidation(test); });
  } else {
    out.run = Guarded([document, &test, kind] {
      const DocumentNode* device = Get(test, "device");
      const DocumentNode* given =
          device == nullptr ? &test : Get(*Get(*document, "devices"), device->text);
      if (given == nullptr) throw std::runtime_error("there is no such device");
      return RunExpression(test, *given, kind.starts_with("derived") || BoolOf(test, "derived"));
    });
  }
  return out;
}

}  // namespace

std::vector<Case> LoadCelDraCases(const std::filesystem::path& folder) {
  std::vector<Case> cases;
  for (RecordedFile& file : ReadJsonFiles(folder)) {
    const auto document = std::make_shared<const DocumentNode>(std::move(file.root));
    for (const DocumentNode& test : ItemsOf(*document, "tests")) {
      cases.push_back(CaseOf(document, file.name, test));
    }
    for (const DocumentNode& function : ItemsOf(*document, "functions")) {
      cases.push_back({.file = file.name,
                       .name = TextOf(function, "name"),
                       .run = Guarded([document, &function] { return RunDeclaration(function); })});
    }
  }
  return cases;
}

}  // namespace dray::conformance
