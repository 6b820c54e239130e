// SPDX-License-Identifier: Apache-2.0
//
// What people probably meant by values that validation refuses. A table of small rules, the first
// that has something to say wins; what a rule does not know, it does not guess.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/edit_distance.h"
#include "base/names.h"
#include "cli/internal/object_checks.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

using api::ErrorType;

struct Slip {
  const api::FieldError& error;
  const api::Object& object;
  std::string path;
  std::string value;  // the refused value, without quotes
};

std::string DidYouMean(std::string_view value) {
  return fmt::format("did you mean \"{}\"?", value);
}

// `supported values: "A", "B"`: the nearest of them.
std::string NearestSupported(const Slip& slip) {
  if (slip.error.type != ErrorType::kNotSupported) return "";
  std::vector<std::string> words;
  const std::string& detail = slip.error.detail;
  for (auto open = detail.find('"'); open != std::string::npos;) {
    const auto close = detail.find('"', open + 1);
    if (close == std::string::npos) break;
    words.push_back(detail.substr(open + 1, close - open - 1));
    open = detail.find('"', close + 1);
  }
  const std::vector<std::string_view> names(words.begin(), words.end());
  const auto closest = base::ClosestMatch(slip.value, names);
  return closest ? DidYouMean(*closest) : "";
}

std::string NodesOfSlice(const Slip& slip) {
  const auto* slice = slip.object.As<api::ResourceSlice>();
  if (slice == nullptr || slip.path != "spec" || slip.error.type != ErrorType::kRequired) return "";
  return slice->spec.shared_counters && !slice->spec.devices
             ? "a slice that only has sharedCounters also has to name its nodes: add the nodeName "
               "of the devices' slice"
             : "name the nodes that can use the devices, as in nodeName: node-1 or allNodes: true";
}

// The claim's part of a claim or template, or null.
const api::DeviceClaim* DevicesOf(const api::Object& object) {
  if (const auto* claim = object.As<api::ResourceClaim>()) return &claim->spec.devices;
  const auto* claim_template = object.As<api::ResourceClaimTemplate>();
  return claim_template == nullptr ? nullptr : &claim_template->spec.spec.devices;
}

// A constraint or a configuration that names a request.
std::string NearestRequest(const Slip& slip) {
  const api::DeviceClaim* devices = DevicesOf(slip.object);
  const bool reference = slip.path.find(".constraints[") != std::string::npos ||
                         slip.path.find(".config[") != std::string::npos;
  if (devices == nullptr || !reference || slip.path.find("].requests[") == std::string::npos) {
    return "";
  }
  std::vector<std::string> names;
  for (const api::DeviceRequest& request : devices->requests) {
    names.push_back(request.name);
    for (const api::DeviceSubRequest& sub : request.first_available) {
      names.push_back(fmt::format("{}/{}", request.name, sub.name));
    }
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto closest = base::ClosestMatch(slip.value, views);
  return closest && *closest != slip.value ? DidYouMean(*closest) : "";
}

// v1beta1's shape in a v1 object: the fields of `exactly` stand in the request.
std::string FieldsOfExactly(const Slip& slip) {
  const api::DeviceClaim* devices = DevicesOf(slip.object);
  if (devices == nullptr) return "";
  for (std::size_t i = 0; i < devices->requests.size(); ++i) {
    const api::DeviceRequest& request = devices->requests[i];
    if (!slip.path.ends_with(fmt::format("spec.devices.requests[{}]", i)) || !request.unknown) {
      continue;
    }
    const bool flat = std::ranges::any_of(*request.unknown, [](const api::UnknownField& field) {
      return field.name == "deviceClassName";
    });
    if (flat) return "put deviceClassName and the fields that belong to it below `exactly:`";
  }
  return "";
}

// Attribute and capacity names are identifiers: CEL would read a dash as minus.
std::string IdentifierWithoutDashes(const Slip& slip) {
  const auto slash = slip.value.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  std::string id = slip.value.substr(begin);
  std::ranges::replace(id, '-', '_');
  std::ranges::replace(id, '.', '_');
  if (id == slip.value.substr(begin) || !base::IsCIdentifier(id)) return "";
  if (slip.error.detail.find("identifier") == std::string::npos) return "";
  return DidYouMean(slip.value.substr(0, begin) + id);
}

std::string LowerCaseName(const Slip& slip) {
  if (!slip.error.detail.starts_with("must be lower case")) return "";
  std::string name = slip.value;
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    if (c == '_' || c == ' ') c = '-';
  }
  const bool dots = slip.error.detail.find("'.'") != std::string::npos;
  const bool good = dots ? base::IsDnsSubdomain(name) : base::IsDnsLabel(name);
  return good && name != slip.value ? DidYouMean(name) : "";
}

// Fields whose rule is easier shown than told.
struct Example {
  std::string_view suffix;
  ErrorType type;
  std::string_view hint;
};
constexpr std::array kExamples = {
    Example{"pool.resourceSliceCount", ErrorType::kInvalid,
            "how many slices the pool has, this one included; 1 for a pool of one slice"},
    Example{".requestPolicy.default", ErrorType::kRequired,
            "the amount for requests that name none"},
    Example{".requestPolicy.validRange.min", ErrorType::kRequired,
            "the smallest amount; smaller requests are rounded up to it"},
};

std::string ShownByExample(const Slip& slip) {
  const auto it = std::ranges::find_if(kExamples, [&](const Example& example) {
    return slip.error.type == example.type && slip.path.ends_with(example.suffix);
  });
  return it == kExamples.end() ? "" : std::string(it->hint);
}

constexpr std::array kRules = {
    &NearestSupported,        &NodesOfSlice,  &FieldsOfExactly, &NearestRequest,
    &IdentifierWithoutDashes, &LowerCaseName, &ShownByExample,
};

}  // namespace

std::string Unquoted(std::string_view shown) {
  if (shown.size() >= 2 && shown.front() == '"' && shown.back() == '"') {
    shown = shown.substr(1, shown.size() - 2);
  }
  return std::string(shown);
}

std::string HintFor(const api::FieldError& error, const api::Object& object) {
  const Slip slip{error, object, error.field.ToString(), Unquoted(error.bad_value)};
  for (const auto rule : kRules) {
    if (std::string hint = rule(slip); !hint.empty()) return hint;
  }
  return "";
}

}  // namespace dray::cli::internal
