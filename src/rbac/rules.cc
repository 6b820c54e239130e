// SPDX-License-Identifier: Apache-2.0
#include "rbac/rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "rbac/quoted.h"

namespace dray::rbac {
namespace {

using Names = std::vector<std::string>;

bool Has(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}
bool HasOrAny(const Names& names, std::string_view name) {
  return std::ranges::any_of(names, [&](const std::string& n) { return n == "*" || n == name; });
}

// "*/scale" for "deployments/scale".
std::string AnyWithPart(std::string_view part) { return std::string("*/").append(part); }

bool NamesResource(const api::PolicyRule& rule, const api::AuthorizationRequest& request) {
  return std::ranges::any_of(rule.resources, [&](std::string_view name) {
    if (name == "*") return true;
    if (request.subresource.empty()) return name == request.resource;
    // Compared in parts, so that no text has to be made.
    const std::size_t slash = name.find('/');
    if (slash == name.npos || name.substr(slash + 1) != request.subresource) return false;
    return name.substr(0, slash) == "*" || name.substr(0, slash) == request.resource;
  });
}

std::string_view WithoutStars(std::string_view text) {
  while (text.ends_with('*')) text.remove_suffix(1);
  return text;
}

// What an owner's path says of another one, which may end with '*' itself.
bool PathCovers(std::string_view owner, std::string_view path) {
  return owner == path || (owner.ends_with('*') && path.starts_with(WithoutStars(owner)));
}

// One of the resource side of a rule: a single verb, group, resource, and name or none.
struct Wish {
  std::string_view verb;
  std::string_view group;
  std::string_view resource;
  std::string_view name;
  bool any_name = true;
};

// Looks for what some rules lack, as far as its patience goes: whoever writes a role chooses how long
// its lists are.
class Search {
 public:
  explicit Search(std::span<const api::PolicyRule> had) : had_(had) {}

  void LookAt(const api::PolicyRule& wanted) {
    const bool whole =
        std::ranges::any_of(had_, [&](const auto& rule) { return CoversWhole(rule, wanted); });
    if (!whole) LookAtEach(wanted);
  }
  bool Enough() const { return missing_.more; }
  Missing Take() { return std::move(missing_); }

 private:
  bool Has(const Names& names, std::string_view name) {
    Spend(names.size());
    return rbac::Has(names, name);
  }
  bool HasOrAny(const Names& names, std::string_view name) {
    Spend(names.size());
    return rbac::HasOrAny(names, name);
  }
  bool HasResource(const Names& names, std::string_view resource) {
    if (HasOrAny(names, resource)) return true;
    const std::size_t slash = resource.find('/');
    return slash != resource.npos && Has(names, AnyWithPart(resource.substr(slash + 1)));
  }
  bool HasPath(const Names& urls, std::string_view path) {
    Spend(urls.size());
    return std::ranges::any_of(urls, [&](const auto& url) { return PathCovers(url, path); });
  }

  // One rule that has all of another: the usual case, and one that needs no combinations.
  bool CoversWhole(const api::PolicyRule& had, const api::PolicyRule& wanted) {
    const auto all = [&](const Names& names, auto&& has) {
      return std::ranges::all_of(names, [&](const auto& n) { return !Enough() && has(n); });
    };
    if (!all(wanted.verbs, [&](const auto& verb) { return HasOrAny(had.verbs, verb); }) ||
        !all(wanted.non_resource_urls,
             [&](const auto& path) { return HasPath(had.non_resource_urls, path); })) {
      return false;
    }
    if (wanted.api_groups.empty() || wanted.resources.empty()) return true;
    if (!had.resource_names.empty() &&
        (wanted.resource_names.empty() || !all(wanted.resource_names, [&](const auto& name) {
           return Has(had.resource_names, name);
         }))) {
      return false;
    }
    return all(wanted.api_groups,
               [&](const auto& group) { return HasOrAny(had.api_groups, group); }) &&
           all(wanted.resources,
               [&](const auto& resource) { return HasResource(had.resources, resource); });
  }

  bool Covers(const api::PolicyRule& had, const Wish& wish) {
    if (!had.resource_names.empty() && (wish.any_name || !Has(had.resource_names, wish.name))) {
      return false;
    }
    return HasOrAny(had.verbs, wish.verb) && HasOrAny(had.api_groups, wish.group) &&
           HasResource(had.resources, wish.resource);
  }

  void Look(const Wish& wish) {
    Spend(1);
    if (std::ranges::any_of(had_, [&](const auto& rule) { return Covers(rule, wish); })) return;
    Lacks({.verbs = {std::string(wish.verb)},
           .api_groups = {std::string(wish.group)},
           .resources = {std::string(wish.resource)},
           .resource_names = wish.any_name ? Names() : Names{std::string(wish.name)}});
  }
  void Look(std::string_view verb, std::string_view path) {
    Spend(1);
    const auto covers = [&](const api::PolicyRule& rule) {
      return HasOrAny(rule.verbs, verb) && HasPath(rule.non_resource_urls, path);
    };
    if (std::ranges::any_of(had_, covers)) return;
    Lacks({.verbs = {std::string(verb)}, .non_resource_urls = {std::string(path)}});
  }

  void LookAtEach(const api::PolicyRule& rule) {
    for (const std::string& group : rule.api_groups) {
      for (const std::string& resource : rule.resources) {
        for (const std::string& verb : rule.verbs) {
          if (Enough()) return;
          if (rule.resource_names.empty()) Look({verb, group, resource, {}, true});
          for (const std::string& name : rule.resource_names) {
            if (Enough()) return;
            Look({verb, group, resource, name, false});
          }
        }
      }
    }
    for (const std::string& path : rule.non_resource_urls) {
      for (const std::string& verb : rule.verbs) {
        if (Enough()) return;
        Look(verb, path);
      }
    }
  }

  void Spend(std::size_t comparisons) {
    spent_ += comparisons;
    if (spent_ > kMostComparisons) missing_.more = true;
  }
  void Lacks(api::PolicyRule rule) {
    if (missing_.rules.size() >= kMostMissing) {
      missing_.more = true;
    } else if (!Enough()) {
      missing_.rules.push_back(std::move(rule));
    }
  }

  const std::span<const api::PolicyRule> had_;
  std::size_t spent_ = 0;
  Missing missing_;
};

}  // namespace

bool Allows(const api::PolicyRule& rule, const api::AuthorizationRequest& request) {
  if (!HasOrAny(rule.verbs, request.verb)) return false;
  if (!request.IsResource()) {
    return std::ranges::any_of(rule.non_resource_urls, [&](std::string_view url) {
      return url == "*" || PathCovers(url, request.path);
    });
  }
  return HasOrAny(rule.api_groups, request.api_group) && NamesResource(rule, request) &&
         (rule.resource_names.empty() || Has(rule.resource_names, request.name));
}

Missing Uncovered(std::span<const api::PolicyRule> had, std::span<const api::PolicyRule> wanted) {
  Search search(had);
  for (const api::PolicyRule& rule : wanted) {
    if (search.Enough()) break;
    search.LookAt(rule);
  }
  return search.Take();
}

std::string CompactText(const api::PolicyRule& rule) {
  std::string text = "{";
  const auto add = [&](std::string_view name, const Names& names) {
    if (names.empty()) return;
    if (text.size() > 1) text += ", ";
    text.append(name).append(":").append(Quoted(names));
  };
  add("APIGroups", rule.api_groups);
  add("Resources", rule.resources);
  add("NonResourceURLs", rule.non_resource_urls);
  add("ResourceNames", rule.resource_names);
  add("Verbs", rule.verbs);
  return text + "}";
}

std::string CompactText(const Missing& missing) {
  using Thing = std::tuple<Names, Names, Names, Names>;
  std::map<Thing, api::PolicyRule> things;
  for (const api::PolicyRule& rule : missing.rules) {
    const Thing thing(rule.api_groups, rule.resources, rule.resource_names, rule.non_resource_urls);
    const auto [it, first] = things.try_emplace(thing, rule);
    if (!first)
      it->second.verbs.insert(it->second.verbs.end(), rule.verbs.begin(), rule.verbs.end());
  }
  std::set<std::string> lines;
  for (const auto& [thing, rule] : things) lines.insert(CompactText(rule));
  std::string text;
  for (const std::string& line : lines) text.append(text.empty() ? "" : "\n").append(line);
  if (missing.more) text.append(text.empty() ? "" : "\n").append("and more");
  return text;
}

}  // namespace dray::rbac
