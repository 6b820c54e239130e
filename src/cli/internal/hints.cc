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

std::string Unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return std::string(text);
}

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
             ? "a slice that only has sharedCounters says which nodes it is for, too: add the "
               "nodeName of the devices' slice"
             : "say which nodes reach the devices, as in nodeName: node-1 or allNodes: true";
}

// v1beta1's shape in a v1 object: the fields of `exactly` stand in the request.
std::string FieldsOfExactly(const Slip& slip) {
  const auto* claim = slip.object.As<api::ResourceClaim>();
  const auto* claim_template = slip.object.As<api::ResourceClaimTemplate>();
  if (claim == nullptr && claim_template == nullptr) return "";
  const std::string root =
      claim != nullptr ? "spec.devices.requests[" : "spec.spec.devices.requests[";
  if (!slip.path.starts_with(root) || slip.path.find('.', root.size()) != std::string::npos) {
    return "";
  }
  const auto& requests =
      claim != nullptr ? claim->spec.devices.requests : claim_template->spec.spec.devices.requests;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const api::DeviceRequest& request = requests[i];
    if (slip.path != fmt::format("{}{}]", root, i) || !request.unknown) continue;
    const bool flat = std::ranges::any_of(*request.unknown, [](const api::UnknownField& field) {
      return field.name == "deviceClassName";
    });
    if (flat) return "put deviceClassName and what belongs to it below `exactly:`";
  }
  return "";
}

std::string DomainOfAttribute(const Slip& slip) {
  const bool constraint =
      slip.path.ends_with(".matchAttribute") || slip.path.ends_with(".distinctAttribute");
  if (!constraint || slip.value.empty() || slip.value.find('/') != std::string::npos) return "";
  return fmt::format("write it with its driver's domain, as in gpu.example.com/{}", slip.value);
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
  if (slip.error.detail.find("RFC 1123") == std::string::npos) return "";
  std::string name = slip.value;
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    if (c == '_' || c == ' ') c = '-';
  }
  const bool label = slip.error.detail.find("label") != std::string::npos;
  const bool good = label ? base::IsDnsLabel(name) : base::IsDnsSubdomain(name);
  return good && name != slip.value ? DidYouMean(name) : "";
}

// Fields whose rule is easier shown than told.
struct Example {
  std::string_view suffix;
  ErrorType type;
  std::string_view hint;
};
constexpr std::array kExamples = {
    Example{"spec.extendedResourceName", ErrorType::kInvalid,
            "a domain and a name, as in example.com/gpu"},
    Example{"pool.resourceSliceCount", ErrorType::kInvalid,
            "how many slices the pool has, this one included; 1 for a pool of one slice"},
    Example{".requestPolicy", ErrorType::kForbidden,
            "only a device with allowMultipleAllocations: true gives away parts of its capacity"},
    Example{".requestPolicy.default", ErrorType::kRequired,
            "what a request gets that does not say how much it wants"},
    Example{".requestPolicy.validRange.min", ErrorType::kRequired,
            "the least that a request can have; less is rounded up to it"},
    Example{".shareID", ErrorType::kInvalid,
            "a UUID in lower case, as in a671734a-e8e5-11e4-8fde-42010af09327"},
};

std::string ShownByExample(const Slip& slip) {
  const auto it = std::ranges::find_if(kExamples, [&](const Example& example) {
    return slip.error.type == example.type && slip.path.ends_with(example.suffix);
  });
  return it == kExamples.end() ? "" : std::string(it->hint);
}

constexpr std::array kRules = {
    &NearestSupported,        &NodesOfSlice,  &FieldsOfExactly, &DomainOfAttribute,
    &IdentifierWithoutDashes, &LowerCaseName, &ShownByExample,
};

}  // namespace

std::string HintFor(const api::FieldError& error, const api::Object& object) {
  const Slip slip{error, object, error.field.ToString(), Unquoted(error.bad_value)};
  for (const auto rule : kRules) {
    if (std::string hint = rule(slip); !hint.empty()) return hint;
  }
  return "";
}

}  // namespace dray::cli::internal
