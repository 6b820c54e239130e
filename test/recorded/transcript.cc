// SPDX-License-Identifier: Apache-2.0
#include "recorded/transcript.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "api/document.h"
#include "api/values.h"
#include "fmt/format.h"
#include "rest/tree.h"

namespace dray::recorded {
namespace {

using rest::DocumentNode;

// Answers that are longer, and of which every run has the same, are in a file of their own.
constexpr std::size_t kLongAnswer = 20'000;
constexpr std::string_view kOpenApi = "/openapi/";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); }

// "2026-08-20T18:59:46Z", with a fraction or without: what it looks like. Empty: it is no time.
std::string_view FormOfTime(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < kForm.size() + 1 || text.back() != 'Z') return {};
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == 'd' ? !IsDigit(text[i]) : text[i] != kForm[i]) return {};
  }
  return text.size() == kForm.size() + 1 ? "TIME" : "MICROTIME";
}

// Events are named by their object and the time: "pod.18c0a1b2c3d4e5f6".
std::string WithoutTimeInName(std::string_view name) {
  constexpr std::size_t kDigits = 16;
  if (name.size() <= kDigits + 1 || name[name.size() - kDigits - 1] != '.') {
    return std::string(name);
  }
  for (const char c : name.substr(name.size() - kDigits)) {
    if (!IsHex(c)) return std::string(name);
  }
  return std::string(name.substr(0, name.size() - kDigits)) + "TIME";
}

void Blur(DocumentNode& node) {
  rest::EraseIn(node, "managedFields");
  for (DocumentNode& item : node.items) Blur(item);
  for (api::Member& member : node.members) Blur(member.value);
  if (node.kind != DocumentNode::Kind::kString) return;
  if (const std::string_view form = FormOfTime(node.text); !form.empty()) {
    node = rest::StringNode(form);
  } else if (const std::string name = WithoutTimeInName(node.text); name != node.text) {
    node = rest::StringNode(name);
  }
}

void Drop(DocumentNode& node, std::string_view key) {
  rest::EraseIn(node, key);
  for (DocumentNode& item : node.items) Drop(item, key);
  for (api::Member& member : node.members) Drop(member.value, key);
}

// Nothing: it is not JSON.
std::optional<DocumentNode> Tree(std::string_view text) {
  if (text.empty() || (text.front() != '{' && text.front() != '[')) return std::nullopt;
  std::vector<api::Diagnostic> diagnostics;
  DocumentNode tree = api::ParseJson(text, diagnostics);
  if (!diagnostics.empty()) return std::nullopt;
  return tree;
}

bool IsLease(std::string_view target) { return target.find("/leases") != target.npos; }

// The path with the query; how long a watch may take is chosen anew each time.
std::string NormalTarget(std::string_view target) {
  const std::size_t mark = target.find('?');
  const std::string_view path = target.substr(0, mark);
  std::string normal = WithoutTimeInName(path);
  if (mark == target.npos) return normal;
  char separator = '?';
  std::string_view query = target.substr(mark + 1);
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (part.starts_with("timeoutSeconds=")) continue;
    normal.append(1, separator).append(part);
    separator = '&';
  }
  return normal;
}

std::string NormalBody(std::string_view target, const std::string& body) {
  auto tree = Tree(body);
  if (!tree) return body;
  Blur(*tree);
  // A lease is renewed as often as there is time for it.
  if (IsLease(target)) Drop(*tree, "resourceVersion");
  return ToJson(*tree);
}

// JSON as it is, other bytes as base64.
void SetText(DocumentNode& entry, std::string_view key, std::string_view bytes_key,
             const std::string& text) {
  if (text.empty()) return;
  if (auto tree = Tree(text)) {
    rest::SetIn(entry, key, *std::move(tree));
  } else {
    rest::SetIn(entry, bytes_key, rest::StringNode(api::Base64Of({text})));
  }
}

std::string TextOf(const DocumentNode& entry, std::string_view key, std::string_view bytes_key) {
  if (const DocumentNode* tree = rest::FindIn(entry, key)) return ToJson(*tree);
  api::Bytes bytes;
  api::ReadBase64(rest::TextIn(entry, bytes_key), bytes);
  return bytes.data;
}

// "/openapi/v3/apis/resource.k8s.io/v1" -> "openapi-v3-apis-resource.k8s.io-v1.json"
std::string FileOf(std::string_view target) {
  std::string name(target.substr(1, target.find('?') - 1));
  for (char& c : name) {
    if (c == '/') c = '-';
  }
  return name + ".json";
}

StatusOr<std::string> Read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return base::NotFound(fmt::format("{} cannot be read", file.string()));
  return text.str();
}

Status Write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text;
  out.flush();
  if (!out) return base::Unavailable(fmt::format("{} cannot be written", file.string()));
  return {};
}

StatusOr<Entry> ReadEntry(std::string_view text, const std::filesystem::path& folder) {
  const auto tree = Tree(text);
  if (!tree) return base::InvalidArgument("a line is no JSON object");
  const auto number = [&](std::string_view key) {
    const DocumentNode* found = rest::FindIn(*tree, key);
    return found == nullptr ? 0 : std::stoi(found->text);
  };
  Entry entry;
  if (const DocumentNode* event = rest::FindIn(*tree, "event")) {
    entry.line = ToJson(*event);
    entry.watch = static_cast<std::size_t>(number("of"));
    return entry;
  }
  entry.method = rest::TextIn(*tree, "method");
  entry.target = rest::TextIn(*tree, "target");
  entry.content_type = rest::TextIn(*tree, "contentType");
  entry.accept = rest::TextIn(*tree, "accept");
  entry.body = TextOf(*tree, "body", "bodyBytes");
  entry.status = number("status");
  if (const std::string_view file = rest::TextIn(*tree, "answerFile"); !file.empty()) {
    DRAY_ASSIGN_OR_RETURN(entry.answer, Read(folder / file));
  } else {
    entry.answer = TextOf(*tree, "answer", "answerBytes");
  }
  return entry;
}

// Calls `found(begin)` for every uid in the text; it has 36 characters.
template <typename Found>
void EachUid(std::string_view text, Found found) {
  constexpr std::string_view kForm = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
  for (std::size_t i = 0; i + kForm.size() <= text.size();) {
    std::size_t same = 0;
    while (same < kForm.size() &&
           (kForm[same] == 'h' ? IsHex(text[i + same]) : text[i + same] == '-')) {
      ++same;
    }
    if (same == kForm.size()) {
      found(i, text.substr(i, kForm.size()));
      i += same;
    } else {
      ++i;
    }
  }
}

}  // namespace

Entry RequestEntry(const client::HttpRequest& request, bool watch) {
  Entry entry;
  entry.method = watch ? std::string(kWatch) : request.method;
  entry.target = NormalTarget(request.target);
  entry.accept = request.accept;
  entry.body = NormalBody(request.target, request.body);
  if (!request.body.empty()) entry.content_type = request.content_type;
  return entry;
}

std::string Shown(const Entry& entry) {
  return fmt::format("{} {} {}", entry.method, entry.target, entry.body);
}

std::string PlainAnswer(std::string_view target, std::string_view text) {
  auto tree = Tree(text);
  if (!tree) return std::string(text);
  Drop(*tree, "managedFields");
  if (target.starts_with(kOpenApi)) Drop(*tree, "description");
  return ToJson(*tree);
}

Status Save(const Transcript& transcript, const std::filesystem::path& file) {
  std::string text;
  for (const Entry& entry : transcript.entries) {
    DocumentNode line = rest::MapNode();
    if (entry.is_line()) {
      rest::SetIn(line, "of", rest::NumberNode(static_cast<std::int64_t>(entry.watch)));
      SetText(line, "event", "eventBytes", entry.line);
      text += ToJson(line) + "\n";
      continue;
    }
    rest::SetIn(line, "method", rest::StringNode(entry.method));
    rest::SetIn(line, "target", rest::StringNode(entry.target));
    if (!entry.content_type.empty()) {
      rest::SetIn(line, "contentType", rest::StringNode(entry.content_type));
    }
    rest::SetIn(line, "accept", rest::StringNode(entry.accept));
    SetText(line, "body", "bodyBytes", entry.body);
    rest::SetIn(line, "status", rest::NumberNode(entry.status));
    if (entry.answer.size() > kLongAnswer && entry.target.starts_with(kOpenApi)) {
      const std::string name = FileOf(entry.target);
      DRAY_RETURN_IF_ERROR(Write(file.parent_path() / name, entry.answer));
      rest::SetIn(line, "answerFile", rest::StringNode(name));
    } else {
      SetText(line, "answer", "answerBytes", entry.answer);
    }
    text += ToJson(line) + "\n";
  }
  return Write(file, text);
}

std::vector<Transcript> LivesOf(Transcript transcript) {
  std::vector<Transcript> lives(1);
  std::size_t begin = 0;  // of the life, in the whole
  for (std::size_t i = 0; i < transcript.entries.size(); ++i) {
    Entry& entry = transcript.entries[i];
    if (entry.method == kRestart) {
      lives.emplace_back();
      begin = i + 1;
      continue;
    }
    if (entry.is_line()) entry.watch -= begin;
    lives.back().entries.push_back(std::move(entry));
  }
  return lives;
}

StatusOr<Transcript> Load(const std::filesystem::path& file) {
  DRAY_ASSIGN_OR_RETURN(const std::string text, Read(file));
  Transcript transcript;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    auto entry = ReadEntry(line, file.parent_path());
    if (!entry.ok()) return base::Annotate(entry.status(), file.string());
    transcript.entries.push_back(*std::move(entry));
  }
  return transcript;
}

std::string Uids::Counted(std::string_view text) {
  std::string result(text);
  const base::MutexLock lock(mutex_);
  EachUid(text, [&](std::size_t at, std::string_view uid) {
    mutex_.AssertHeld();
    auto known = counted_.find(uid);
    if (known == counted_.end()) {
      const std::string name = fmt::format("00000000-0000-4000-8000-{:012}", ++count_);
      known = counted_.emplace(std::string(uid), name).first;
      original_.emplace(name, std::string(uid));
    }
    result.replace(at, uid.size(), known->second);
  });
  return result;
}

std::string Uids::Original(std::string_view text) {
  std::string result(text);
  const base::MutexLock lock(mutex_);
  EachUid(text, [&](std::size_t at, std::string_view uid) {
    mutex_.AssertHeld();
    if (const auto known = original_.find(uid); known != original_.end()) {
      result.replace(at, uid.size(), known->second);
    } else {
      counted_.emplace(std::string(uid), std::string(uid));
      original_.emplace(std::string(uid), std::string(uid));
    }
  });
  return result;
}

}  // namespace dray::recorded
