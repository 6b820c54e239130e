// SPDX-License-Identifier: Apache-2.0
//
// JSON text to a tree with positions.
#include <algorithm>
#include <utility>

#include "api/document.h"
#include "api/internal/json_text.h"
#include "fmt/format.h"
#include "simdjson.h"

namespace dray::api {
namespace {

namespace od = simdjson::ondemand;

// Offsets to lines and columns; columns count bytes, as compilers do.
class Lines {
 public:
  explicit Lines(std::string_view text) {
    starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }
  Position At(std::size_t offset) const {
    const auto line = std::upper_bound(starts_.begin(), starts_.end(), offset) - starts_.begin();
    return {static_cast<int>(line),
            static_cast<int>(offset - starts_[static_cast<std::size_t>(line) - 1]) + 1};
  }

 private:
  std::vector<std::size_t> starts_;
};

class TreeBuilder {
 public:
  TreeBuilder(const simdjson::padded_string& text, const Lines& lines)
      : text_(text), lines_(lines) {}

  simdjson::error_code Build(od::value value, int depth, DocumentNode& node) {
    const std::string_view token = value.raw_json_token();
    node.position = At(token.data());
    last_ = token.data();
    if (depth > kMaxDocumentDepth) return simdjson::DEPTH_ERROR;
    od::json_type type;
    if (const auto error = value.type().get(type)) return error;
    switch (type) {
      case od::json_type::null: {
        bool null = false;
        node.kind = DocumentNode::Kind::kNull;
        if (const auto error = value.is_null().get(null)) return error;
        return null ? simdjson::SUCCESS : simdjson::N_ATOM_ERROR;
      }
      case od::json_type::boolean:
        node.kind = DocumentNode::Kind::kBool;
        return value.get_bool().get(node.boolean);
      case od::json_type::string: {
        node.kind = DocumentNode::Kind::kString;
        node.style = DocumentNode::Style::kJson;
        std::string_view text;
        if (const auto error = value.get_string().get(text)) return error;
        node.text.assign(text);
        KeepWritten(token, node.text, node.written);
        return simdjson::SUCCESS;
      }
      case od::json_type::number:
        return Number(value, token, node);
      case od::json_type::array:
        return List(value, depth, node);
      case od::json_type::object:
        return Map(value, depth, node);
    }
    return simdjson::UNEXPECTED_ERROR;
  }

  Position last() const { return At(last_); }

 private:
  // `token` begins with the string and may go on behind it.
  static void KeepWritten(std::string_view token, const std::string& value,
                          Box<std::string>& written) {
    // Without escapes there is one way to write a string.
    const std::size_t end = EndOfString(token);
    token = token.substr(0, end);
    if (token.find('\\') == std::string_view::npos) return;
    std::string usual;
    internal::AppendJsonString(value, usual);
    if (usual != token) written.emplace(token);
  }
  void KeepWritten(const char* start, const std::string& value, Box<std::string>& written) const {
    KeepWritten({start, static_cast<std::size_t>(text_.data() + text_.size() - start)}, value,
                written);
  }
  // Behind the closing quote of the string that `token` begins with.
  static std::size_t EndOfString(std::string_view token) {
    std::size_t i = 1;
    while (i < token.size() && token[i] != '"') i += token[i] == '\\' ? 2 : 1;
    return std::min(i + 1, token.size());
  }

  static simdjson::error_code Number(od::value value, std::string_view token, DocumentNode& node) {
    node.kind = DocumentNode::Kind::kNumber;
    while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ')
      token.remove_suffix(1);
    double number = 0;
    if (const auto error = value.get_double().get(number)) return error;
    node.text.assign(token);
    return simdjson::SUCCESS;
  }

  simdjson::error_code List(od::value value, int depth, DocumentNode& node) {
    node.kind = DocumentNode::Kind::kList;
    od::array items;
    if (const auto error = value.get_array().get(items)) return error;
    for (auto item_or : items) {
      od::value item;
      if (const auto error = item_or.get(item)) return error;
      if (const auto error = Build(item, depth + 1, node.items.emplace_back())) return error;
    }
    return simdjson::SUCCESS;
  }

  simdjson::error_code Map(od::value value, int depth, DocumentNode& node) {
    node.kind = DocumentNode::Kind::kMap;
    od::object fields;
    if (const auto error = value.get_object().get(fields)) return error;
    for (simdjson::simdjson_result<od::field> field_or : fields) {
      od::field field;
      if (const auto error = std::move(field_or).get(field)) return error;
      Member& member = node.members.emplace_back();
      const char* start = field.key().raw() - 1;  // at the opening quote
      member.key_position = At(start);
      last_ = start;
      std::string_view key;
      if (const auto error = field.unescaped_key().get(key)) return error;
      member.key.assign(key);
      KeepWritten(start, member.key, member.written);
      if (const auto error = Build(field.value(), depth + 1, member.value)) return error;
    }
    return simdjson::SUCCESS;
  }

  Position At(const char* where) const {
    return lines_.At(static_cast<std::size_t>(where - text_.data()));
  }

  const simdjson::padded_string& text_;
  const Lines& lines_;
  const char* last_ = text_.data();
};

Diagnostic SyntaxError(Position position, std::string_view what) {
  return {.severity = Severity::kError,
          .reason = "SyntaxError",
          .path = {},
          .message = fmt::format("not valid JSON: {}", what),
          .hint = {},
          .position = position};
}

std::string Describe(simdjson::error_code error) {
  switch (error) {
    case simdjson::DEPTH_ERROR:
      return fmt::format("nested deeper than {} levels", kMaxDocumentDepth);
    case simdjson::EMPTY:
      return "the document is empty";
    case simdjson::UTF8_ERROR:
      return "the text is not UTF-8";
    case simdjson::UNCLOSED_STRING:
      return "a string is not closed";
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
      return "an object or array is not closed";
    default:
      return fmt::format("{}", simdjson::error_message(error));
  }
}

}  // namespace

DocumentNode ParseJson(std::string_view text, std::vector<Diagnostic>& diagnostics) {
  const simdjson::padded_string padded(text.data(), text.size());
  const Lines lines(text);
  od::parser parser;
  od::document document;
  DocumentNode root;
  if (const auto error = parser.iterate(padded).get(document)) {
    diagnostics.push_back(SyntaxError({1, 1}, Describe(error)));
    return {};
  }
  // A whole document that is a scalar has no On-Demand value; API objects never are.
  od::value value;
  if (document.get_value().get(value)) {
    bool scalar = false;
    if (document.is_scalar().get(scalar) == simdjson::SUCCESS && scalar) {
      diagnostics.push_back(SyntaxError({1, 1}, "expected an object or array"));
    } else {
      diagnostics.push_back(SyntaxError({1, 1}, "expected a value"));
    }
    return {};
  }
  TreeBuilder builder(padded, lines);
  if (const auto error = builder.Build(value, 0, root)) {
    diagnostics.push_back(
        SyntaxError(builder.last(), fmt::format("{}, after this", Describe(error))));
    return {};
  }
  if (const char* here = nullptr; document.current_location().get(here) == simdjson::SUCCESS) {
    const Position position = lines.At(static_cast<std::size_t>(here - padded.data()));
    diagnostics.push_back(SyntaxError(position, "more text after the end of the document"));
    return {};
  }
  return root;
}

}  // namespace dray::api
