// SPDX-License-Identifier: Apache-2.0
//
// Documents: YAML or JSON text as a tree whose every value knows its line and column. This is the
// door for people's files; it is made for good messages. Machines' JSON takes the fast way in
// json.h and comes here only to have its errors explained.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "base/field_path.h"

namespace dray::api {

// Both count from 1; 0 means unknown.
struct Position {
  int line = 0;
  int column = 0;
  friend bool operator==(const Position&, const Position&) = default;
};

struct Member;

// A JSON value. A plain aggregate; the tree owns its children.
struct DocumentNode {
  enum class Kind : std::uint8_t { kNull, kBool, kNumber, kString, kList, kMap };
  // How a scalar is written at its position; an alias is written elsewhere.
  enum class Style : std::uint8_t {
    kUnknown,
    kJson,
    kPlain,
    kSingleQuoted,
    kDoubleQuoted,
    kLiteral,
    kFolded,
  };
  Kind kind = Kind::kNull;
  Style style = Style::kUnknown;
  bool boolean = false;
  std::string text;  // kString: the value; kNumber: JSON number text
  std::vector<DocumentNode> items;
  std::vector<Member> members;  // kMap, in source order; keys may repeat
  Position position;
  // How JSON wrote the string, quotes included, where ToJson by itself would choose other escapes.
  Box<std::string> written;

  // The last member with that key, or null.
  const Member* Find(std::string_view key) const;
};

struct Member {
  std::string key;
  Position key_position;
  DocumentNode value;
  Box<std::string> written;  // the key, as of a value
};

enum class Severity : std::uint8_t { kError, kWarning };

// Something to tell about a place in a document.
struct Diagnostic {
  Severity severity = Severity::kError;
  std::string
      reason;  // stable, for machines: SyntaxError, TypeMismatch, UnknownField, DuplicateField, ...
  base::FieldPath path;
  std::string message;
  std::string hint;  // what was probably meant; may be empty
  Position position;
};

// Bounds on hostile input: how many lists and maps may be around a value, and how many values may
// be copied for anchors and aliases.
inline constexpr int kMaxDocumentDepth = 200;
inline constexpr std::size_t kMaxAliasNodes = 1'000'000;

// All documents of a YAML stream (JSON is read too), empty ones left out. On a syntax error the
// documents before it are returned and the last diagnostic says where and why. YAML 1.1 scalars, as
// kubectl reads them (yes/no/on/off are booleans); anchors, aliases and merge keys are expanded
// within bounds.
std::vector<DocumentNode> ParseYaml(std::string_view text, std::vector<Diagnostic>& diagnostics);

// One JSON document; null-kind root and a diagnostic on a syntax error.
DocumentNode ParseJson(std::string_view text, std::vector<Diagnostic>& diagnostics);

// Compact JSON text of a tree. Strings and numbers that were read from JSON are written as they were
// there.
std::string ToJson(const DocumentNode& node);

// Where the value at `path` is in the tree: its key's position for a field, else its own; of the
// closest value that there is when the document has no such field. Paths speak of v1; v1beta1's
// nesting (no `exactly`, `basic`) is seen through.
Position Locate(const DocumentNode& root, const base::FieldPath& path);
// The value at `path`, or null when the document does not have all of the path.
const DocumentNode* FindValue(const DocumentNode& root, const base::FieldPath& path);

// Reads a tree into a value. Every mismatch becomes a diagnostic (TypeMismatch, InvalidValue) and
// leaves its field at its default. Fields that the table does not know are kept as unknown fields,
// repeated ones take the last value; both are reported as UnknownField and DuplicateField with
// `unknown_severity`.
void DecodeNode(const DocumentNode& node, const TypeInfo& type, void* value,
                Severity unknown_severity, std::vector<Diagnostic>& diagnostics);

}  // namespace dray::api
