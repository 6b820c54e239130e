// SPDX-License-Identifier: Apache-2.0
#include "rest/internal/field_tree.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "api/document.h"
#include "api/json.h"
#include "fmt/format.h"
#include "rest/internal/fields_text.h"

namespace dray::rest::internal {
namespace {

using Branches = absl::InlinedVector<Branch, 16>;

constexpr FieldTree kMember{.member = true};

bool IsTag(char c) { return c == 'f' || c == 'k' || c == 'v' || c == 'i'; }

// Reads what ToJson writes, and other ways to write it.
class TreeReader : private FieldsText {
 public:
  TreeReader(Arena& arena, std::string_view text) : FieldsText(text), arena_(arena) {}

  StatusOr<const FieldTree*> Read() {
    const FieldTree* tree = nullptr;
    DRAY_RETURN_IF_ERROR(Object(tree, 0));
    if (!AtEnd()) return Wrong("nothing more");
    return tree;
  }

 private:
  Status Object(const FieldTree*& tree, int depth) {
    if (depth > api::kMaxDocumentDepth) return Wrong("less nesting");
    if (!Take('{')) return Wrong("{");
    if (Take('}')) return {};
    bool member = false;
    bool in_order = true;
    Branches branches;
    do {
      std::string_view text;
      DRAY_RETURN_IF_ERROR(Text(text));
      if (!Take(':')) return Wrong(":");
      const FieldTree* below = nullptr;
      if (text == ".") {
        DRAY_RETURN_IF_ERROR(Object(below, depth + 1));
        member = true;
        continue;
      }
      if (text.size() < 2 || text[1] != ':' || !IsTag(text[0])) {
        return Wrong("f:, k:, v:, i: or .");
      }
      DRAY_RETURN_IF_ERROR(Object(below, depth + 1));
      const Element element{text[0], text.substr(2)};
      in_order = in_order && (branches.empty() || branches.back().element < element);
      branches.push_back({element, below != nullptr ? below : &kMember});
    } while (Take(','));
    if (!Take('}')) return Wrong("}");
    if (!in_order) Sort(branches);
    tree = MakeTree(arena_, member, branches);
    return {};
  }

  // One that came twice is both.
  void Sort(Branches& branches) {
    std::ranges::stable_sort(branches, {}, &Branch::element);
    Branches once;
    for (const Branch& branch : branches) {
      if (!once.empty() && once.back().element == branch.element) {
        once.back().below = Union(arena_, once.back().below, branch.below);
      } else {
        once.push_back(branch);
      }
    }
    branches = std::move(once);
  }

  Status Text(std::string_view& out) {
    std::string_view raw;
    std::size_t escapes = 0;
    DRAY_RETURN_IF_ERROR(Raw(raw, escapes));
    out = raw;
    return escapes == 0 ? Status() : Unescape(raw, escapes, out);
  }

  // k: and v: have quotes, and hardly ever anything else that is escaped.
  Status Unescape(std::string_view raw, std::size_t escapes, std::string_view& out) {
    char* const plain = arena_.Array<char>(raw.size() - escapes);
    std::size_t size = 0;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] == '\\') {
        ++i;
        if (raw[i] != '"' && raw[i] != '\\') return UnescapeAny(raw, out);
      }
      plain[size++] = raw[i];
    }
    out = {plain, size};
    return {};
  }
  Status UnescapeAny(std::string_view raw, std::string_view& out) {
    std::vector<api::Diagnostic> diagnostics;
    const api::DocumentNode list = api::ParseJson(fmt::format("[\"{}\"]", raw), diagnostics);
    if (!diagnostics.empty() || list.items.empty()) return Wrong("a string");
    out = arena_.Keep(list.items.front().text);
    return {};
  }

  Arena& arena_;
};

void AppendElement(const Element& element, std::string& out) {
  const bool plain = std::ranges::none_of(element.rest, [](char c) {
    return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
  });
  if (plain) {
    const char head[] = {'"', element.tag, ':'};
    out.append(head, sizeof(head)).append(element.rest).push_back('"');
    return;
  }
  std::string whole{element.tag, ':'};
  whole += element.rest;
  api::EncodeJson(api::TypeInfoOf<std::string>(), &whole, out);
}

void AppendJson(const FieldTree& tree, std::string& out) {
  out.push_back('{');
  if (tree.member && tree.size > 0) out += "\".\":{}";
  for (const Branch& branch : tree.branches()) {
    if (out.back() != '{') out.push_back(',');
    AppendElement(branch.element, out);
    out.push_back(':');
    if (branch.below->size == 0) {
      out += "{}";
    } else {
      AppendJson(*branch.below, out);
    }
  }
  out.push_back('}');
}

void Fill(const FieldTree& tree, FieldSet& set) {
  if (tree.member) set.Insert();
  for (const Branch& branch : tree.branches()) {
    std::string element{branch.element.tag, ':'};
    element += branch.element.rest;
    Fill(*branch.below, set.At(std::move(element)));
  }
}

}  // namespace

void* Arena::Bytes(std::size_t n) {
  n = (n + kAlignment - 1) / kAlignment * kAlignment;
  if (static_cast<std::size_t>(end_ - next_) < n) {
    Block& block = blocks_.emplace_back();
    block.size = std::max(n, kBlock);
    block.bytes = std::make_unique_for_overwrite<char[]>(block.size);
    next_ = block.bytes.get();
    end_ = next_ + block.size;
  }
  return std::exchange(next_, next_ + n);
}

std::string_view Arena::Keep(std::string_view text) {
  if (text.empty()) return {};
  char* const kept = Array<char>(text.size());
  std::memcpy(kept, text.data(), text.size());
  return {kept, text.size()};
}

// Of one that has needed much, the first block is kept for the next who needs some.
void Arena::Clear() {
  if (blocks_.empty()) return;
  blocks_.resize(1);
  next_ = blocks_.front().bytes.get();
  end_ = next_ + blocks_.front().size;
}

const FieldTree* MakeTree(Arena& arena, bool member, std::span<const Branch> branches) {
  if (branches.empty()) return member ? &kMember : nullptr;
  Branch* const kept = arena.Array<Branch>(branches.size());
  std::ranges::copy(branches, kept);
  auto* const tree = arena.Array<FieldTree>(1);
  *tree = {.member = member, .size = static_cast<std::uint32_t>(branches.size()), .first = kept};
  return tree;
}

const FieldTree* Union(Arena& arena, const FieldTree* a, const FieldTree* b) {
  if (a == nullptr) return b;
  if (b == nullptr || a == b) return a;
  Branches branches;
  bool same = a->member || !b->member;
  const Branch* y = b->first;
  const Branch* const end = b->first + b->size;
  for (const Branch& x : a->branches()) {
    for (; y != end && y->element < x.element; ++y) {
      branches.push_back(*y);
      same = false;
    }
    if (y == end || y->element != x.element) {
      branches.push_back(x);
      continue;
    }
    branches.push_back({x.element, Union(arena, x.below, y->below)});
    same = same && branches.back().below == x.below;
    ++y;
  }
  same = same && y == end;
  if (same) return a;
  branches.insert(branches.end(), y, end);
  return MakeTree(arena, a->member || b->member, branches);
}

const FieldTree* Subtract(Arena& arena, const FieldTree* a, const FieldTree* b) {
  if (a == nullptr || b == nullptr) return a;
  Branches branches;
  bool same = !(a->member && b->member);
  const Branch* y = b->first;
  const Branch* const end = b->first + b->size;
  for (const Branch& x : a->branches()) {
    while (y != end && y->element < x.element) ++y;
    const FieldTree* left = x.below;
    if (y != end && y->element == x.element) left = Subtract(arena, x.below, y->below);
    same = same && left == x.below;
    if (left != nullptr) branches.push_back({x.element, left});
  }
  return same ? a : MakeTree(arena, a->member && !b->member, branches);
}

const FieldTree* Without(Arena& arena, const FieldTree* a, const Element& element) {
  if (a == nullptr) return a;
  const auto all = a->branches();
  const auto it = std::ranges::lower_bound(all, element, {}, &Branch::element);
  if (it == all.end() || it->element != element) return a;
  Branches branches(all.begin(), it);
  branches.insert(branches.end(), std::next(it), all.end());
  return MakeTree(arena, a->member, branches);
}

StatusOr<const FieldTree*> ParseTree(Arena& arena, std::string_view json) {
  return TreeReader(arena, json).Read();
}

std::string ToJson(const FieldTree* tree) {
  if (tree == nullptr) return "{}";
  std::string out;
  out.reserve(512);
  AppendJson(*tree, out);
  out.shrink_to_fit();
  return out;
}

const FieldTree* TreeOf(Arena& arena, const FieldSet& set) {
  Branches branches;
  for (const FieldSet::Child& child : set.children()) {
    const FieldTree* below = TreeOf(arena, child.set);
    if (below == nullptr) continue;
    branches.push_back({{child.element[0], std::string_view(child.element).substr(2)}, below});
  }
  return MakeTree(arena, set.member(), branches);
}

FieldSet SetOf(const FieldTree* tree) {
  FieldSet set;
  if (tree != nullptr) Fill(*tree, set);
  return set;
}

}  // namespace dray::rest::internal
