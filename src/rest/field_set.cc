// SPDX-License-Identifier: Apache-2.0
#include "rest/field_set.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/document.h"
#include "base/valid_utf8.h"
#include "fmt/format.h"
#include "rest/internal/fields_text.h"
#include "rest/tree.h"

namespace dray::rest {
namespace {

// What is told of a set. Names that are longer can be no valid object's, and of more fields than that
// nobody reads the list.
constexpr std::size_t kMaxShownName = 400;
constexpr std::size_t kMaxPaths = 1000;

// As fieldpath.Path prints: .name, [name="a",protocol="TCP"], [="value"].
std::string Shown(std::string_view element) {
  const std::string_view rest = element.substr(2);
  if (rest.size() > kMaxShownName) {
    return fmt::format("[{}...]", base::Beginning(rest, kMaxShownName));
  }
  if (element.starts_with("f:")) return fmt::format(".{}", rest);
  if (element.starts_with("v:")) return fmt::format("[={}]", rest);
  if (!element.starts_with("k:")) return fmt::format("[{}]", rest);
  std::string out;
  std::vector<api::Diagnostic> diagnostics;
  for (const api::Member& member : api::ParseJson(rest, diagnostics).members) {
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", member.key, ToJson(member.value));
  }
  return fmt::format("[{}]", out);
}

using Elements = std::vector<std::pair<std::string, FieldSet>>;

// One after the other into their places would take the square of their number.
FieldSet InOrder(Elements elements) {
  std::ranges::stable_sort(elements, {}, &Elements::value_type::first);
  FieldSet set;
  for (auto& [element, below] : elements) set.At(std::move(element)).Add(below);
  return set;
}

// fieldsV1 has objects and nothing else, so reading it is short and quick: an update reads one per
// manager. Elements come in order from everybody who writes such texts, but need not.
class Reader : private internal::FieldsText {
 public:
  explicit Reader(std::string_view text) : FieldsText(text) {}

  Status Read(FieldSet& set) {
    DRAY_RETURN_IF_ERROR(Object(set, 0));
    return AtEnd() ? Status() : Wrong("nothing more");
  }

 private:
  Status Object(FieldSet& set, int depth) {
    if (depth > api::kMaxDocumentDepth) return Wrong("less nesting");
    if (!Take('{')) return Wrong("{");
    if (Take('}')) return {};
    Elements late;
    do {
      std::string element;
      DRAY_RETURN_IF_ERROR(Text(element));
      if (!Take(':')) return Wrong(":");
      if (element == ".") {
        FieldSet nothing;
        DRAY_RETURN_IF_ERROR(Object(nothing, depth + 1));
        set.Insert();
        continue;
      }
      const bool known = element.size() >= 2 && element[1] == ':' &&
                         std::string_view("fkvi").find(element[0]) != std::string_view::npos;
      if (!known) return Wrong("f:, k:, v:, i: or .");
      const bool in_order = set.children().empty() || set.children().back().element <= element;
      FieldSet& below = in_order ? set.At(std::move(element))
                                 : late.emplace_back(std::move(element), FieldSet()).second;
      DRAY_RETURN_IF_ERROR(Object(below, depth + 1));
      if (below.empty()) below.Insert();
    } while (Take(','));
    if (!Take('}')) return Wrong("}");
    if (!late.empty()) set.Add(InOrder(std::move(late)));
    return {};
  }

  // Escapes are rare: only k: and v: have quotes, so those strings are left to the JSON reader.
  Status Text(std::string& out) {
    std::string_view raw;
    std::size_t escapes = 0;
    DRAY_RETURN_IF_ERROR(Raw(raw, escapes));
    if (escapes == 0) {
      out = raw;
      return {};
    }
    std::vector<api::Diagnostic> diagnostics;
    const DocumentNode list = api::ParseJson(fmt::format("[\"{}\"]", raw), diagnostics);
    if (!diagnostics.empty() || list.items.empty()) return Wrong("a string");
    out = list.items.front().text;
    return {};
  }
};

}  // namespace

const FieldSet* FieldSet::Find(std::string_view element) const {
  const auto it = std::ranges::lower_bound(children_, element, {}, &Child::element);
  return it == children_.end() || it->element != element ? nullptr : &it->set;
}

FieldSet& FieldSet::At(std::string element) {
  const auto it = std::ranges::lower_bound(children_, element, {}, &Child::element);
  if (it != children_.end() && it->element == element) return it->set;
  return children_.insert(it, {std::move(element), {}})->set;
}

void FieldSet::Erase(std::string_view element) {
  std::erase_if(children_, [&](const Child& child) { return child.element == element; });
}

void FieldSet::Add(const FieldSet& other) {
  member_ |= other.member_;
  // In place where there is little to move.
  constexpr std::size_t kFew = 8;
  if (other.children_.size() <= kFew) {
    for (const Child& child : other.children_) At(child.element).Add(child.set);
    return;
  }
  std::vector<Child> both;
  both.reserve(children_.size() + other.children_.size());
  auto next = children_.begin();
  for (const Child& child : other.children_) {
    while (next != children_.end() && next->element < child.element) {
      both.push_back(std::move(*next++));
    }
    if (next != children_.end() && next->element == child.element) {
      both.push_back(std::move(*next++));
      both.back().set.Add(child.set);
    } else {
      both.push_back(child);
    }
  }
  std::move(next, children_.end(), std::back_inserter(both));
  children_ = std::move(both);
}

void FieldSet::Subtract(const FieldSet& other) {
  if (other.member_) member_ = false;
  for (Child& child : children_) {
    if (const FieldSet* theirs = other.Find(child.element)) child.set.Subtract(*theirs);
  }
  std::erase_if(children_, [](const Child& child) { return child.set.empty(); });
}

FieldSet FieldSet::Intersect(const FieldSet& other) const {
  FieldSet both;
  both.member_ = member_ && other.member_;
  for (const Child& child : children_) {
    const FieldSet* theirs = other.Find(child.element);
    if (theirs == nullptr) continue;
    FieldSet below = child.set.Intersect(*theirs);
    if (!below.empty()) both.children_.push_back({child.element, std::move(below)});
  }
  return both;
}

void FieldSet::AppendJson(std::string& out) const {
  out += '{';
  if (member_ && !children_.empty()) out += "\".\":{}";
  for (const Child& child : children_) {
    if (out.back() != '{') out += ',';
    // Fields have plain names; keys and values may need escapes.
    if (child.element.starts_with("f:") &&
        child.element.find_first_of("\"\\") == std::string::npos) {
      out += '"';
      out += child.element;
      out += '"';
    } else {
      out += api::ToJson(StringNode(child.element));
    }
    out += ':';
    child.set.AppendJson(out);
  }
  out += '}';
}

std::string FieldSet::ToJson() const {
  std::string out;
  AppendJson(out);
  return out;
}

StatusOr<FieldSet> FieldSet::Parse(std::string_view json) {
  FieldSet set;
  DRAY_RETURN_IF_ERROR(Reader(json).Read(set));
  return set;
}

void FieldSet::AppendPaths(const std::string& prefix, std::vector<std::string>& out) const {
  if (member_) out.push_back(prefix);
  for (const Child& child : children_) {
    if (out.size() >= kMaxPaths) return;
    child.set.AppendPaths(prefix + Shown(child.element), out);
  }
}

std::vector<std::string> FieldSet::Paths() const {
  std::vector<std::string> paths;
  AppendPaths("", paths);
  return paths;
}

}  // namespace dray::rest
