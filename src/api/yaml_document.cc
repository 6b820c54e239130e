// SPDX-License-Identifier: Apache-2.0
//
// YAML text to trees with positions, on libyaml's event parser. What a key or a value becomes is what
// kubectl would send as JSON.
#include <yaml.h>

#include <algorithm>
#include <string>

#include "api/document.h"
#include "api/internal/yaml_scalar.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

// Of text that is copied for anchors and aliases: few values can be long ones.
constexpr std::size_t kMaxAliasBytes = 32u << 20;

Position At(const yaml_mark_t& mark) {
  return {static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1};
}

DocumentNode::Style StyleOf(yaml_scalar_style_t style) {
  switch (style) {
    case YAML_PLAIN_SCALAR_STYLE:
      return DocumentNode::Style::kPlain;
    case YAML_SINGLE_QUOTED_SCALAR_STYLE:
      return DocumentNode::Style::kSingleQuoted;
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
      return DocumentNode::Style::kDoubleQuoted;
    case YAML_LITERAL_SCALAR_STYLE:
      return DocumentNode::Style::kLiteral;
    case YAML_FOLDED_SCALAR_STYLE:
      return DocumentNode::Style::kFolded;
    default:
      return DocumentNode::Style::kUnknown;
  }
}

// One stream. Stops at the first error; what was read before stays.
class YamlReader {
 public:
  YamlReader(std::string_view text, std::vector<Diagnostic>& diagnostics)
      : diagnostics_(diagnostics) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;
  ~YamlReader() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }

  std::vector<DocumentNode> Documents() {
    std::vector<DocumentNode> documents;
    while (Next() && event_.type != YAML_STREAM_END_EVENT) {
      if (event_.type != YAML_DOCUMENT_START_EVENT) continue;
      anchors_.clear();
      DocumentNode root;
      if (!Next() || !Value(root, 0)) break;
      if (root.kind != DocumentNode::Kind::kNull) documents.push_back(std::move(root));
    }
    return documents;
  }

 private:
  bool Next() {
    yaml_event_delete(&event_);
    event_ = {};
    if (yaml_parser_parse(&parser_, &event_) != 0) return true;
    const char* problem = parser_.problem != nullptr ? parser_.problem : "cannot be read";
    Position position = At(parser_.problem_mark);
    if (parser_.error == YAML_READER_ERROR || position.line < 1) position = At(parser_.mark);
    std::string message = fmt::format("not valid YAML: {}", problem);
    if (parser_.context != nullptr) message += fmt::format(" ({})", parser_.context);
    return Fail(position, std::move(message));
  }

  bool Fail(Position position, std::string message) {
    std::string hint;
    if (message.find("cannot start any token") != std::string::npos)
      hint = "tabs cannot indent YAML, use spaces";
    diagnostics_.push_back({.severity = Severity::kError,
                            .reason = "SyntaxError",
                            .path = {},
                            .message = std::move(message),
                            .hint = std::move(hint),
                            .position = position});
    return false;
  }

  // Reads the value that the current event starts.
  bool Value(DocumentNode& node, int depth) {
    node.position = At(event_.start_mark);
    if (depth > kMaxDocumentDepth) return FailTooDeep(node.position);
    std::string anchor;
    bool read = false;
    switch (event_.type) {
      case YAML_ALIAS_EVENT:
        return Alias(node, depth);
      case YAML_SCALAR_EVENT:
        if (event_.data.scalar.anchor != nullptr) anchor = Text(event_.data.scalar.anchor);
        read = Scalar(node);
        break;
      case YAML_SEQUENCE_START_EVENT:
        if (event_.data.sequence_start.anchor != nullptr)
          anchor = Text(event_.data.sequence_start.anchor);
        read = List(node, depth);
        break;
      case YAML_MAPPING_START_EVENT:
        if (event_.data.mapping_start.anchor != nullptr)
          anchor = Text(event_.data.mapping_start.anchor);
        read = Map(node, depth);
        break;
      default:
        return Fail(node.position, "not valid YAML: expected a value");
    }
    return read && (anchor.empty() || Remember(anchor, node));
  }

  static std::string Text(const yaml_char_t* text) { return reinterpret_cast<const char*>(text); }

  struct Anchor {
    DocumentNode node;
    std::size_t nodes = 0;  // in all of it
    std::size_t bytes = 0;  // of their text and keys
    int depth = 0;          // of the deepest value below it
  };

  // The anchor's copy counts like an alias: anchors inside each other would otherwise multiply what
  // is in the innermost.
  bool Remember(const std::string& name, const DocumentNode& node) {
    Anchor anchor;
    Measure(node, 0, anchor);
    if (!Spend(anchor, node.position)) return false;
    anchor.node = node;
    anchors_[name] = std::move(anchor);
    return true;
  }

  bool Alias(DocumentNode& node, int depth) {
    const std::string name = Text(event_.data.alias.anchor);
    const auto it = anchors_.find(name);
    if (it == anchors_.end())
      return Fail(node.position, fmt::format("not valid YAML: unknown anchor \"{}\"", name));
    const Anchor& anchor = it->second;
    if (depth + anchor.depth > kMaxDocumentDepth) return FailTooDeep(node.position);
    if (!Spend(anchor, node.position)) return false;
    const Position here = node.position;
    node = anchor.node;
    node.position = here;
    node.style = DocumentNode::Style::kUnknown;
    return true;
  }

  bool Spend(const Anchor& anchor, Position position) {
    copied_nodes_ += anchor.nodes;
    copied_bytes_ += anchor.bytes;
    if (copied_nodes_ > kMaxAliasNodes) {
      return Fail(position,
                  fmt::format("anchors and aliases expand to more than {} values", kMaxAliasNodes));
    }
    if (copied_bytes_ <= kMaxAliasBytes) return true;
    return Fail(position,
                fmt::format("anchors and aliases expand to more than {} bytes", kMaxAliasBytes));
  }

  static void Measure(const DocumentNode& node, int depth, Anchor& anchor) {
    ++anchor.nodes;
    anchor.bytes += node.text.size();
    anchor.depth = std::max(anchor.depth, depth);
    for (const DocumentNode& item : node.items) Measure(item, depth + 1, anchor);
    for (const Member& member : node.members) {
      anchor.bytes += member.key.size();
      Measure(member.value, depth + 1, anchor);
    }
  }

  bool FailTooDeep(Position position) {
    return Fail(position,
                fmt::format("not valid YAML: nested deeper than {} levels", kMaxDocumentDepth));
  }

  bool Scalar(DocumentNode& node) {
    const auto& scalar = event_.data.scalar;
    const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    node.style = StyleOf(scalar.style);
    const std::string fault =
        internal::ResolveScalar(scalar.tag != nullptr ? Text(scalar.tag) : "",
                                scalar.style == YAML_PLAIN_SCALAR_STYLE, text, node);
    return fault.empty() || Fail(node.position, fault);
  }

  bool List(DocumentNode& node, int depth) {
    node.kind = DocumentNode::Kind::kList;
    while (Next()) {
      if (event_.type == YAML_SEQUENCE_END_EVENT) return true;
      if (!Value(node.items.emplace_back(), depth + 1)) return false;
    }
    return false;
  }

  bool Map(DocumentNode& node, int depth) {
    node.kind = DocumentNode::Kind::kMap;
    std::vector<DocumentNode> merged;
    while (Next()) {
      if (event_.type == YAML_MAPPING_END_EVENT) return Merge(node, merged);
      const bool quoted =
          event_.type == YAML_SCALAR_EVENT && event_.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
      std::string source;
      if (event_.type == YAML_SCALAR_EVENT) {
        source.assign(reinterpret_cast<const char*>(event_.data.scalar.value),
                      event_.data.scalar.length);
      }
      DocumentNode key;
      if (!Value(key, depth + 1)) return false;
      if (key.kind == DocumentNode::Kind::kList || key.kind == DocumentNode::Kind::kMap) {
        return Fail(key.position, "a list or a map cannot be a key");
      }
      if (key.kind == DocumentNode::Kind::kNull) {
        return Fail(key.position, "null cannot be a key");
      }
      Member member;
      member.key_position = key.position;
      member.key = KeyText(key);
      if (!Next() || !Value(member.value, depth + 1)) return false;
      if (source == "<<" && !quoted) {
        merged.push_back(std::move(member.value));
      } else {
        node.members.push_back(std::move(member));
      }
    }
    return false;
  }

  static std::string KeyText(const DocumentNode& key) {
    switch (key.kind) {
      case DocumentNode::Kind::kBool:
        return key.boolean ? "true" : "false";
      default:
        return key.text;
    }
  }

  // Merge keys: what the map has itself wins, then earlier sources.
  bool Merge(DocumentNode& node, const std::vector<DocumentNode>& sources) {
    if (sources.empty()) return true;
    base::StringSet keys;
    for (const Member& member : node.members) keys.insert(member.key);
    for (const DocumentNode& source : sources) {
      if (source.kind == DocumentNode::Kind::kList) {
        for (const DocumentNode& item : source.items) {
          if (!MergeOne(node, item, keys)) return false;
        }
      } else if (!MergeOne(node, source, keys)) {
        return false;
      }
    }
    return true;
  }
  bool MergeOne(DocumentNode& node, const DocumentNode& source, base::StringSet& keys) {
    if (source.kind != DocumentNode::Kind::kMap)
      return Fail(source.position, "a merge key (<<) takes a map or a list of maps");
    for (const Member& member : source.members) {
      if (keys.insert(member.key).second) node.members.push_back(member);
    }
    return true;
  }

  std::vector<Diagnostic>& diagnostics_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
  base::StringMap<Anchor> anchors_;
  std::size_t copied_nodes_ = 0;  // for anchors and aliases, in the whole stream
  std::size_t copied_bytes_ = 0;
};

}  // namespace

std::vector<DocumentNode> ParseYaml(std::string_view text, std::vector<Diagnostic>& diagnostics) {
  // A byte order mark says that it is UTF-8, which it is anyway.
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return YamlReader(text, diagnostics).Documents();
}

}  // namespace dray::api
