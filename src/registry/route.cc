// SPDX-License-Identifier: Apache-2.0
#include "registry/route.h"

#include <algorithm>

#include "base/integer.h"
#include "rest/discovery.h"

namespace dray::registry {
namespace {

// Decoded parts; a slash at the end makes no empty part.
std::vector<std::string> PartsOf(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    parts.push_back(PercentDecoded(path.substr(0, end), false));
    path.remove_prefix(end);
  }
  while (!parts.empty() && parts.back().empty()) parts.pop_back();
  return parts;
}

const api::KindInfo* KindOf(const Route& route) {
  const auto kinds = api::Kinds();
  const auto it = std::ranges::find_if(kinds, [&](const api::KindInfo& kind) {
    return kind.group == route.group && kind.version == route.version &&
           kind.plural == route.resource;
  });
  return it == kinds.end() ? nullptr : &*it;
}

}  // namespace

std::string PercentDecoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && base::HexDigit(text[i + 1]) >= 0 &&
        base::HexDigit(text[i + 2]) >= 0) {
      out += static_cast<char>(base::HexDigit(text[i + 1]) * 16 + base::HexDigit(text[i + 2]));
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

Query::Query(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (!pair.empty()) {
      values_.emplace_back(PercentDecoded(pair.substr(0, equals), true),
                           PercentDecoded(pair.substr(std::min(equals + 1, pair.size())), true));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string_view Query::Get(std::string_view name) const {
  const auto it = std::ranges::find(values_, name, &std::pair<std::string, std::string>::first);
  return it == values_.end() ? std::string_view() : std::string_view(it->second);
}

bool Query::Has(std::string_view name) const {
  return std::ranges::find(values_, name, &std::pair<std::string, std::string>::first) !=
         values_.end();
}

std::vector<std::string> Query::All(std::string_view name) const {
  std::vector<std::string> all;
  for (const auto& [key, value] : values_) {
    if (key == name) all.push_back(value);
  }
  return all;
}

std::vector<std::string> Query::Names() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : values_) names.push_back(key);
  return names;
}

bool IsServed(std::string_view group, std::string_view version) {
  const bool has_kinds = std::ranges::any_of(api::Kinds(), [&](const api::KindInfo& kind) {
    return kind.group == group && kind.version == version;
  });
  if (has_kinds) return true;
  const auto versions = rest::ServedVersions(group);
  return std::ranges::find(versions, version) != versions.end();
}

std::optional<Route> ParseRoute(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  std::vector<std::string> parts = PartsOf(path);
  Route route;
  std::size_t at = 0;
  if (parts.size() >= 3 && parts[0] == "api") {
    route.version = parts[1];
    at = 2;
  } else if (parts.size() >= 4 && parts[0] == "apis") {
    route.group = parts[1];
    route.version = parts[2];
    at = 3;
  } else {
    return std::nullopt;
  }
  // /namespaces/x is about a namespace unless a resource follows that is not its own part.
  const std::size_t left = parts.size() - at;
  const bool own_part = left == 3 && (parts[at + 2] == "status" || parts[at + 2] == "finalize");
  if (parts[at] == "namespaces" && left >= 3 && !own_part) {
    route.namespace_ = parts[at + 1];
    at += 2;
  }
  const auto take = [&] { return at < parts.size() ? std::move(parts[at++]) : std::string(); };
  route.resource = take();
  route.name = take();
  route.subresource = take();
  if (at < parts.size()) route.subresource += "/" + take();  // longer than anything there is
  route.kind = KindOf(route);
  if (route.kind != nullptr && !route.kind->namespaced && !route.namespace_.empty()) {
    route.kind = nullptr;
  }
  return route;
}

}  // namespace dray::registry
