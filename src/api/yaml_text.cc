// SPDX-License-Identifier: Apache-2.0
#include "api/yaml_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string_view>

#include "absl/strings/ascii.h"
#include "api/internal/json_text.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

// What YAML 1.1 takes for something else than text.
constexpr std::array<std::string_view, 9> kWords = {"y",   "n",    "yes",   "no",  "on",
                                                    "off", "true", "false", "null"};

bool IsWord(std::string_view text) {
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    return std::ranges::equal(text, word, {}, absl::ascii_tolower);
  });
}

// Amounts and ids begin with a digit as numbers do: only with a letter that is in no number they
// are surely text.
bool LooksLikeNumber(std::string_view text) {
  if (!absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) return false;
  if (text.size() > 1 && text[0] == '0' && text[1] != '.') return true;
  return std::ranges::none_of(text, [](char c) {
    return absl::ascii_isalpha(static_cast<unsigned char>(c)) && c != 'e' && c != 'E';
  });
}

bool IsPlain(std::string_view text) {
  if (text.empty() || IsWord(text) || LooksLikeNumber(text)) return false;
  const auto begins = static_cast<unsigned char>(text[0]);
  if (!absl::ascii_isalnum(begins) && text[0] != '/') return false;
  if (text.back() == ' ' || text.back() == ':') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) continue;
    if (std::string_view("_-./@%+=*()<>;'\"&|!?$^~[]{}\\,").find(c) != std::string_view::npos) {
      continue;
    }
    // A colon ends a key, a number sign after a blank begins a comment. Times are quoted.
    if (c == ':' && text[i + 1] != ' ' && !absl::ascii_isdigit(begins)) continue;
    if (c == ' ' && text[i + 1] != '#') continue;
    if (c == '#') continue;
    return false;
  }
  return true;
}

// A block keeps lines as they are: no blanks where they would be lost or taken for indentation.
bool IsBlock(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text[0] == ' ' || text[0] == '\n') return false;
  char before = 0;
  for (const char c : text) {
    const bool printable = (c >= ' ' && c <= '~') || c == '\n';
    if (!printable || (c == '\n' && before == ' ')) return false;
    before = c;
  }
  return before != ' ' && !text.ends_with("\n\n");
}

// JSON's strings are YAML's, but for characters that YAML wants escaped.
void AppendQuoted(std::string_view text, std::string& out) {
  std::string json;
  internal::AppendJsonString(text, json);
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto byte = [&](std::size_t at) {
      return at < json.size() ? static_cast<std::uint8_t>(json[at]) : std::uint8_t{0};
    };
    std::uint32_t code = 0;
    std::size_t length = 1;
    if (byte(i) == 0x7F) {
      code = 0x7F;
    } else if (byte(i) == 0xC2 && byte(i + 1) < 0xA0) {
      code = byte(i + 1);
      length = 2;
    } else if ((byte(i) == 0xE2 && byte(i + 1) == 0x80 && (byte(i + 2) & 0xFE) == 0xA8) ||
               (byte(i) == 0xEF && byte(i + 1) == 0xBB && byte(i + 2) == 0xBF) ||
               (byte(i) == 0xEF && byte(i + 1) == 0xBF && byte(i + 2) >= 0xBE)) {
      code = (byte(i) & 0x0Fu) << 12 | (byte(i + 1) & 0x3Fu) << 6 | (byte(i + 2) & 0x3Fu);
      length = 3;
    }
    if (code == 0) {
      out += json[i];
    } else {
      out += fmt::format("\\u{:04x}", code);
    }
    i += length - 1;
  }
}

class Writer {
 public:
  std::string Take() { return std::move(out_); }

  // After "key:" or "-", or at the very beginning.
  void Value(const DocumentNode& node, std::size_t indent, bool in_list) {
    switch (node.kind) {
      case DocumentNode::Kind::kList:
        List(node, indent, in_list);
        return;
      case DocumentNode::Kind::kMap:
        Map(node, indent, in_list);
        return;
      case DocumentNode::Kind::kNull:
        Scalar("null");
        return;
      case DocumentNode::Kind::kBool:
        Scalar(node.boolean ? "true" : "false");
        return;
      case DocumentNode::Kind::kNumber:
        Scalar(node.text);
        return;
      case DocumentNode::Kind::kString:
        Text(node.text, indent);
        return;
    }
  }

 private:
  void Scalar(std::string_view text) {
    if (!out_.empty()) out_ += ' ';
    out_.append(text).append("\n");
  }

  void Text(std::string_view text, std::size_t indent) {
    if (!IsBlock(text)) {
      std::string shown;
      AppendText(text, shown);
      Scalar(shown);
      return;
    }
    Scalar(text.ends_with('\n') ? "|" : "|-");
    const std::size_t by = std::max<std::size_t>(indent, 2);
    while (!text.empty()) {
      const auto end = std::min(text.find('\n'), text.size());
      if (end > 0) out_.append(by, ' ').append(text.substr(0, end));
      out_ += '\n';
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  static void AppendText(std::string_view text, std::string& out) {
    if (IsPlain(text)) {
      out += text;
    } else {
      AppendQuoted(text, out);
    }
  }

  // `indent` is where the entries of a map begin; those of a list that a map holds begin two to the
  // left of it, where its key does.
  void List(const DocumentNode& node, std::size_t indent, bool in_list) {
    if (node.items.empty()) return Scalar("[]");
    const std::size_t at = in_list || indent == 0 ? indent : indent - 2;
    bool first = true;
    for (const DocumentNode& item : node.items) {
      Begin(at, in_list && first);
      out_ += '-';
      Value(item, at + 2, true);
      first = false;
    }
  }

  void Map(const DocumentNode& node, std::size_t indent, bool in_list) {
    if (node.members.empty()) return Scalar("{}");
    bool first = true;
    for (const Member& member : node.members) {
      Begin(indent, in_list && first);
      AppendText(member.key, out_);
      out_ += ':';
      Value(member.value, indent + 2, false);
      first = false;
    }
  }

  // A new line, unless the entry stands behind a dash.
  void Begin(std::size_t indent, bool behind_dash) {
    if (behind_dash) {
      out_ += ' ';
      return;
    }
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
    out_.append(indent, ' ');
  }

  std::string out_;
};

}  // namespace

std::string ToYaml(const DocumentNode& node) {
  Writer writer;
  writer.Value(node, 0, false);
  return writer.Take();
}

}  // namespace dray::api
