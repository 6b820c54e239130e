// SPDX-License-Identifier: Apache-2.0
#include "rest/json_patch.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/valid_utf8.h"
#include "fmt/format.h"
#include "rest/api_error.h"

namespace dray::rest {
namespace {

using Pointer = std::vector<std::string>;

// A part of a patch in an answer about it: it may be as long as a request.
constexpr std::size_t kMaxShown = 400;

std::string_view Brief(std::string_view text) { return base::Beginning(text, kMaxShown); }

// RFC 6901: "/a~1b/0".
StatusOr<Pointer> ParsePointer(std::string_view text) {
  Pointer pointer;
  if (text.empty()) return pointer;
  if (text.front() != '/') {
    return Unprocessable(fmt::format("a path begins with \"/\", \"{}\" does not", Brief(text)));
  }
  std::string token;
  for (std::size_t i = 1; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == '/') {
      pointer.push_back(std::move(token));
      token.clear();
    } else if (text[i] == '~') {
      ++i;
      if (i == text.size() || (text[i] != '0' && text[i] != '1')) {
        return Unprocessable(
            fmt::format("\"~\" in a path is followed by 0 or 1; it is not in \"{}\"", Brief(text)));
      }
      token += text[i] == '0' ? '~' : '/';
    } else {
      token += text[i];
    }
  }
  return pointer;
}

// "0", "12"; nothing for what no index looks like.
std::optional<std::size_t> NumberOf(std::string_view digits) {
  std::size_t number = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number);
  const bool canonical = digits.size() == 1 || !digits.starts_with('0');
  if (error != std::errc() || end != last || !canonical) return std::nullopt;
  return number;
}

// Of an item that is there, or of the place after the last for an insertion. Kubernetes counts
// negative ones from the end: -1 is the last item, or the place after it.
StatusOr<std::size_t> IndexOf(std::string_view token, std::size_t size, bool insert) {
  if (token == "-" && insert) return size;
  const std::size_t places = size + (insert ? 1 : 0);
  const bool from_end = token.size() > 1 && token.starts_with('-');
  const auto number = NumberOf(from_end ? token.substr(1) : token);
  if (!number || (from_end && *number == 0)) {
    return Unprocessable(fmt::format("\"{}\" is not an index of an array", Brief(token)));
  }
  if (from_end ? *number > places : *number >= places) {
    return Unprocessable(fmt::format("there is no index {} in an array of {}", token, size));
  }
  return from_end ? places - *number : *number;
}

std::size_t CountNodes(const DocumentNode& node) {
  std::size_t n = 1;
  for (const DocumentNode& item : node.items) n += CountNodes(item);
  for (const api::Member& member : node.members) n += CountNodes(member.value);
  return n;
}

std::size_t CountBytes(const DocumentNode& node) {
  std::size_t n = node.text.size();
  for (const DocumentNode& item : node.items) n += CountBytes(item);
  for (const api::Member& member : node.members) n += member.key.size() + CountBytes(member.value);
  return n;
}

std::size_t DepthOf(const DocumentNode& node) {
  std::size_t depth = 0;
  for (const DocumentNode& item : node.items) depth = std::max(depth, DepthOf(item));
  for (const api::Member& member : node.members) depth = std::max(depth, DepthOf(member.value));
  return depth + 1;
}

class Patcher {
 public:
  explicit Patcher(DocumentNode& document) : document_(document), nodes_(CountNodes(document)) {}

  Status Operation(const DocumentNode& operation) {
    const std::string_view op = TextIn(operation, "op");
    const DocumentNode* path = FindIn(operation, "path");
    if (path == nullptr || !IsString(*path)) return Unprocessable("an operation needs a path");
    DRAY_ASSIGN_OR_RETURN(const Pointer at, ParsePointer(path->text));
    if (op == "remove") return Take(at).status();
    if (op == "move" || op == "copy") return FromElsewhere(op == "move", operation, at);
    // One that is left out is null.
    const DocumentNode* given = FindIn(operation, "value");
    const DocumentNode value = given == nullptr ? DocumentNode{} : *given;
    if (op == "add") return Add(at, value);
    if (op == "replace") return Replace(at, value);
    if (op == "test") return Test(at, value);
    return Unprocessable(fmt::format(
        "\"{}\" is no operation; there are add, remove, replace, move, copy, test", Brief(op)));
  }

 private:
  static constexpr std::size_t kItem = 4;

  // One unit: a key that is looked at. An item that is moved is some of them.
  Status Spend(std::size_t units) {
    work_ += units;
    if (work_ <= kMaxPatchWork) return {};
    return TooLarge("the operations of the patch look at too many values of the object");
  }

  StatusOr<DocumentNode*> Find(const Pointer& at, std::size_t depth) {
    DocumentNode* node = &document_;
    for (std::size_t i = 0; i < depth; ++i) {
      DRAY_RETURN_IF_ERROR(Spend(node->members.size()));
      if (IsMap(*node)) {
        node = FindIn(*node, at[i]);
        if (node == nullptr) return Unprocessable(fmt::format("there is no \"{}\"", Brief(at[i])));
      } else if (IsList(*node)) {
        DRAY_ASSIGN_OR_RETURN(const std::size_t index, IndexOf(at[i], node->items.size(), false));
        node = &node->items[index];
      } else {
        return Unprocessable(
            fmt::format("\"{}\" is looked for in a {}", Brief(at[i]), JsonKindName(*node)));
      }
    }
    return node;
  }

  Status Add(const Pointer& at, DocumentNode value) {
    nodes_ += CountNodes(value);
    if (nodes_ > kMaxPatchedNodes) {
      return TooLarge(fmt::format("the patch makes more than {} values", kMaxPatchedNodes));
    }
    if (at.size() + DepthOf(value) > static_cast<std::size_t>(api::kMaxDocumentDepth)) {
      return Unprocessable(
          fmt::format("the patch nests values deeper than {} levels", api::kMaxDocumentDepth));
    }
    if (at.empty()) {
      document_ = std::move(value);
      return {};
    }
    DRAY_ASSIGN_OR_RETURN(DocumentNode* const parent, Find(at, at.size() - 1));
    DRAY_RETURN_IF_ERROR(Spend(parent->members.size() + kItem * parent->items.size()));
    if (IsMap(*parent)) {
      SetIn(*parent, at.back(), std::move(value));
      return {};
    }
    if (!IsList(*parent)) {
      return Unprocessable(
          fmt::format("\"{}\" is to be added to a {}", Brief(at.back()), JsonKindName(*parent)));
    }
    DRAY_ASSIGN_OR_RETURN(const std::size_t index, IndexOf(at.back(), parent->items.size(), true));
    parent->items.insert(parent->items.begin() + static_cast<std::ptrdiff_t>(index),
                         std::move(value));
    return {};
  }

  StatusOr<DocumentNode> Take(const Pointer& at) {
    if (at.empty()) return Unprocessable("the whole document cannot be removed");
    DRAY_ASSIGN_OR_RETURN(DocumentNode* const found, Find(at, at.size()));
    DocumentNode taken = std::move(*found);
    DocumentNode& parent = **Find(at, at.size() - 1);
    DRAY_RETURN_IF_ERROR(Spend(parent.members.size() + kItem * parent.items.size()));
    if (IsMap(parent)) {
      EraseIn(parent, at.back());
    } else {
      parent.items.erase(parent.items.begin() + (found - parent.items.data()));
    }
    return taken;
  }

  // A key that a map does not have is set: scripts count on it, though RFC 6902 would refuse it.
  Status Replace(const Pointer& at, const DocumentNode& value) {
    if (!at.empty()) {
      DRAY_ASSIGN_OR_RETURN(const DocumentNode* const map, Find(at, at.size() - 1));
      if (IsMap(*map)) return Add(at, value);
    }
    DRAY_ASSIGN_OR_RETURN(DocumentNode* const found, Find(at, at.size()));
    // In a list the place must be emptied first: adding there inserts.
    DocumentNode* const parent = at.empty() ? nullptr : *Find(at, at.size() - 1);
    if (parent != nullptr && IsList(*parent)) {
      parent->items.erase(parent->items.begin() + (found - parent->items.data()));
    }
    return Add(at, value);
  }

  // A key that is not there is null, likewise.
  Status Test(const Pointer& at, const DocumentNode& value) {
    if (!at.empty() && IsNull(value)) {
      DRAY_ASSIGN_OR_RETURN(const DocumentNode* const map, Find(at, at.size() - 1));
      if (IsMap(*map) && FindIn(*map, at.back()) == nullptr) return {};
    }
    DRAY_ASSIGN_OR_RETURN(DocumentNode* const found, Find(at, at.size()));
    DRAY_RETURN_IF_ERROR(Spend(CountNodes(value)));
    if (JsonEqual(*found, value)) return {};
    return Unprocessable(fmt::format("the value is not {}", Brief(ToJson(value))));
  }

  Status FromElsewhere(bool move, const DocumentNode& operation, const Pointer& at) {
    const DocumentNode* text = FindIn(operation, "from");
    if (text == nullptr || !IsString(*text)) return Unprocessable("move and copy need a from");
    DRAY_ASSIGN_OR_RETURN(const Pointer from, ParsePointer(text->text));
    if (move) {
      const bool into_itself =
          from.size() < at.size() && std::equal(from.begin(), from.end(), at.begin());
      if (into_itself) return Unprocessable("a value cannot be moved into itself");
      DRAY_ASSIGN_OR_RETURN(DocumentNode value, Take(from));
      return Add(at, std::move(value));
    }
    DRAY_ASSIGN_OR_RETURN(const DocumentNode* const found, Find(from, from.size()));
    copied_bytes_ += CountBytes(*found);
    if (copied_bytes_ > kMaxCopiedBytes) {
      return TooLarge(fmt::format("the patch copies more than {} bytes", kMaxCopiedBytes));
    }
    return Add(at, *found);
  }

  DocumentNode& document_;
  std::size_t nodes_;
  std::size_t copied_bytes_ = 0;
  std::size_t work_ = 0;
};

}  // namespace

Status ApplyJsonPatch(const DocumentNode& patch, DocumentNode& document) {
  if (!IsList(patch)) {
    return BadRequest(
        fmt::format("a JSON patch is an array of operations, not a {}", JsonKindName(patch)));
  }
  if (patch.items.size() > kMaxJsonPatchOperations) {
    return TooLarge(fmt::format("The allowed maximum operations in a JSON patch is {}, got {}",
                                kMaxJsonPatchOperations, patch.items.size()));
  }
  DocumentNode changed = document;
  Patcher patcher(changed);
  for (std::size_t i = 0; i < patch.items.size(); ++i) {
    const DocumentNode& operation = patch.items[i];
    if (!IsMap(operation)) {
      return Unprocessable(fmt::format("operation {} is not an object", i));
    }
    if (Status done = patcher.Operation(operation); !done.ok()) {
      ApiError error = FromStatus(done);
      error.message += fmt::format(" (operation {}: {} {})", i, Brief(TextIn(operation, "op")),
                                   Brief(TextIn(operation, "path")));
      return ToStatus(error);
    }
  }
  document = std::move(changed);
  return {};
}

void ApplyMergePatch(const DocumentNode& patch, DocumentNode& document) {
  if (!IsMap(patch)) {
    document = patch;
    return;
  }
  if (!IsMap(document)) document = MapNode();
  MapEditor members(document, patch.members.size());
  for (const api::Member& member : patch.members) {
    if (IsNull(member.value)) {
      members.Erase(member.key);
      continue;
    }
    DocumentNode* present = members.Find(member.key);
    if (present == nullptr) present = &members.Set(member.key, DocumentNode{});
    ApplyMergePatch(member.value, *present);
  }
}

}  // namespace dray::rest
