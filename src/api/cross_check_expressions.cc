// SPDX-License-Identifier: Apache-2.0
//
// Slips in expressions that a compiler accepts: `device.attributes` is a map of maps, so any key
// and any field type-check, and the mistake shows when a pod is scheduled.
//
// Not a parser. Looks for `attributes['...']` and `capacity['...']` and judges the key and the
// field behind it; a text inside of a string literal that looks the same is not worth more effort.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/internal/cross_world.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

// The fields of an attribute in a slice; in an expression the value has none of them.
constexpr std::array<std::string_view, 4> kValueFields = {"string", "int", "bool", "version"};

// device.attributes['key'].field
struct Access {
  std::string_view map;  // attributes, capacity
  std::string_view key;
  std::string_view field;  // empty: none
};

std::string_view IdentifierAt(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
    ++end;
  }
  return text.substr(at, end - at);
}

// What stands right after `map` at `at`, if it is ['key'] or ["key"].
std::optional<Access> AccessAt(std::string_view text, std::string_view map, std::size_t at) {
  at += map.size();
  if (at + 1 >= text.size() || text[at] != '[') return std::nullopt;
  const char quote = text[at + 1];
  if (quote != '\'' && quote != '"') return std::nullopt;
  const auto close = text.find(quote, at + 2);
  if (close == std::string_view::npos || text.substr(close + 1, 1) != "]") return std::nullopt;
  Access access{map, text.substr(at + 2, close - at - 2), {}};
  if (text.substr(close + 2, 1) == ".") access.field = IdentifierAt(text, close + 3);
  return access;
}

std::vector<Access> AccessesIn(std::string_view expression) {
  std::vector<Access> accesses;
  for (const std::string_view map :
       {std::string_view("attributes"), std::string_view("capacity")}) {
    for (auto at = expression.find(map); at != std::string_view::npos;
         at = expression.find(map, at + 1)) {
      if (const auto access = AccessAt(expression, map, at)) accesses.push_back(*access);
    }
  }
  return accesses;
}

class Checker {
 public:
  Checker(std::size_t object, Findings& findings) : object_(object), findings_(findings) {}

  void Expression(std::string_view text, const base::FieldPath& path) {
    for (const Access& access : AccessesIn(text)) {
      const auto slash = access.key.rfind('/');
      if (slash != std::string_view::npos) {
        Report(path, fmt::format("['{}'] looks for a domain of that name", access.key),
               fmt::format("did you mean device.{}['{}'].{}?", access.map,
                           access.key.substr(0, slash), access.key.substr(slash + 1)));
      } else if (access.map == "attributes" &&
                 std::ranges::find(kValueFields, access.field) != kValueFields.end()) {
        Report(path,
               fmt::format("['{0}'].{1} looks for an attribute \"{1}\" in a domain \"{0}\"",
                           access.key, access.field),
               fmt::format("did you mean device.attributes['gpu.example.com'].{}, with the "
                           "driver's domain? Its value is the {} itself",
                           access.key, access.field));
      }
    }
  }

  void Selectors(const std::vector<DeviceSelector>& selectors, const base::FieldPath& path) {
    for (std::size_t i = 0; i < selectors.size(); ++i) {
      if (!selectors[i].cel) continue;
      Expression(selectors[i].cel->expression, path.Index(i) / "cel" / "expression");
    }
  }

  template <typename Request>
  void OneRequest(const Request& request, const base::FieldPath& path) {
    Selectors(request.selectors, path / "selectors");
    for (std::size_t i = 0; i < request.derived_attributes.size(); ++i) {
      Expression(request.derived_attributes[i].expression,
                 (path / "derivedAttributes").Index(i) / "expression");
    }
  }

 private:
  void Report(const base::FieldPath& path, std::string message, std::string hint) {
    findings_.push_back({.object = object_,
                         .path = path,
                         .severity = Severity::kWarning,
                         .reason = "SuspiciousExpression",
                         .message = std::move(message),
                         .hint = std::move(hint)});
  }

  std::size_t object_;
  Findings& findings_;
};

}  // namespace

void CheckExpressions(const World& world, Findings& findings) {
  for (const Given<DeviceClass>& given : world.classes) {
    Checker(given.index, findings)
        .Selectors(given.object->spec.selectors, base::FieldPath("spec") / "selectors");
  }
  for (const GivenClaim& claim : world.claims) {
    Checker checker(claim.index, findings);
    const auto& requests = claim.spec->devices.requests;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const base::FieldPath path = (claim.path / "requests").Index(i);
      if (requests[i].exactly) checker.OneRequest(*requests[i].exactly, path / "exactly");
      for (std::size_t j = 0; j < requests[i].first_available.size(); ++j) {
        checker.OneRequest(requests[i].first_available[j], (path / "firstAvailable").Index(j));
      }
    }
  }
}

}  // namespace dray::api::internal
