// SPDX-License-Identifier: Apache-2.0
//
// The requests that were recorded from a real API server, asked again: same codes, same reasons and
// details, same objects, tables, events and pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "registry/world_for_test.h"
#include "rest/api_error.h"
#include "rest/paging.h"

namespace dray::registry {
namespace {

using rest::DocumentNode;
using rest::FindIn;
using rest::TextIn;

constexpr std::string_view kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

// Messages that say the same in other words.
const std::set<std::string, std::less<>>& OwnWords() {
  static const std::set<std::string, std::less<>> titles = {
      "malformed JSON",                  // the JSON reader's words
      "not acceptable",                  // protobuf is not written here
      "json patch that fails its test",  // says which one, too
      "list with a bad continue token",
      "delete with wrong uid precondition",  // has uids of that run
      "list at a revision in the future",    // has a revision of that run
      "invalid: many causes",                // dray has its own words for what is wrong
      "claim spec is immutable",             // likewise
      "list by bad label selector",
      "list by unsupported field",
  };
  return titles;
}

// Recorded identifiers, and what they are here.
class Names {
 public:
  void Learn(const DocumentNode& recorded, const DocumentNode& ours) {
    if (recorded.kind != ours.kind) return;
    for (std::size_t i = 0; i < std::min(recorded.items.size(), ours.items.size()); ++i) {
      Learn(recorded.items[i], ours.items[i]);
    }
    for (const api::Member& member : recorded.members) {
      const DocumentNode* other = rest::FindIn(ours, member.key);
      if (other == nullptr) continue;
      const bool name =
          member.key == "uid" || member.key == "resourceVersion" || member.key == "continue";
      if (name) Set(member.value.text, other->text);
      Learn(member.value, *other);
    }
  }
  void Set(const std::string& recorded, const std::string& ours) {
    if (!recorded.empty()) names_[recorded] = ours;
  }
  std::string Of(const std::string& recorded) const {
    const auto it = names_.find(recorded);
    return it == names_.end() ? recorded : it->second;
  }
  void Translate(DocumentNode& node) const {
    for (DocumentNode& item : node.items) Translate(item);
    for (api::Member& member : node.members) {
      if (member.key == "uid" || member.key == "resourceVersion") {
        member.value.text = Of(member.value.text);
      }
      Translate(member.value);
    }
  }
  // A query's resourceVersion and continue.
  std::string Translated(std::string path) const {
    for (const std::string_view key : {"resourceVersion=", "continue="}) {
      const std::size_t at = path.find(key);
      if (at == std::string::npos) continue;
      const std::size_t begin = at + key.size();
      const std::size_t end = std::min(path.find('&', begin), path.size());
      path.replace(begin, end - begin, Of(path.substr(begin, end - begin)));
    }
    return path;
  }

 private:
  std::map<std::string, std::string> names_;
};

// Takes out what no two runs share.
void Blur(DocumentNode& node) {
  static const std::set<std::string, std::less<>> run = {
      "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "time", "continue"};
  for (DocumentNode& item : node.items) Blur(item);
  for (api::Member& member : node.members) {
    if (run.contains(member.key)) {
      member.value = rest::StringNode("*");
    } else if (member.key == "name" && member.value.text.starts_with("gen-")) {
      member.value = rest::StringNode("gen-*");
    } else {
      Blur(member.value);
    }
  }
}
std::string Blurred(DocumentNode node) {
  Blur(node);
  // Members in any order.
  const auto sort = [](auto&& self, DocumentNode& n) -> void {
    std::ranges::sort(n.members, {}, &api::Member::key);
    for (DocumentNode& item : n.items) self(self, item);
    for (api::Member& member : n.members) self(self, member.value);
  };
  sort(sort, node);
  return ToJson(node);
}

std::vector<std::string> ColumnNames(const DocumentNode& table) {
  std::vector<std::string> names;
  const DocumentNode* columns = rest::FindIn(table, "columnDefinitions");
  if (columns == nullptr) return names;
  for (const DocumentNode& column : columns->items)
    names.emplace_back(rest::TextIn(column, "name"));
  return names;
}

class Replay {
 public:
  void Request(const DocumentNode& record) {
    title_ = rest::TextIn(record, "title");
    SCOPED_TRACE(title_);
    PrepareFor(title_);
    const DocumentNode& request = *rest::FindIn(record, "request");
    const DocumentNode& response = *rest::FindIn(record, "response");
    Asking asking{.method = std::string(rest::TextIn(request, "method")),
                  .path = names_.Translated(std::string(rest::TextIn(request, "path")))};
    if (const DocumentNode* headers = rest::FindIn(request, "headers")) {
      asking.accept = rest::TextIn(*headers, "Accept");
      asking.content_type = rest::TextIn(*headers, "Content-Type");
    }
    const DocumentNode* authenticated = rest::FindIn(request, "authenticated");
    if (authenticated != nullptr && !authenticated->boolean) asking.user = {};
    if (const DocumentNode* body = rest::FindIn(request, "body");
        body != nullptr && !rest::IsNull(*body)) {
      asking.body = BodyOf(*body);
    }
    if (title_ == "watch as table") {
      asking.accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    }
    // Tokens are the HTTP side's to judge; this is what it says then.
    Answer answer;
    if (title_ == "wrong token") {
      const rest::ApiError error = rest::FromStatus(rest::Unauthorized());
      answer.status = error.code;
      answer.text = error.ToJson();
    } else {
      answer = world_.Ask(asking);
    }
    EXPECT_EQ(fmt::format("{}", answer.status), rest::FindIn(response, "status")->text)
        << answer.text;
    if (const DocumentNode* events = rest::FindIn(response, "events"))
      return CompareEvents(*events, answer);
    CompareHeaders(response, answer);
    const DocumentNode* body = rest::FindIn(response, "body");
    if (body->kind == DocumentNode::Kind::kString) return CompareText(body->text, answer.text);
    const DocumentNode ours = answer.Json();
    names_.Learn(*body, ours);
    CompareBody(*body, ours, rest::FindIn(record, "trimmed") != nullptr);
  }

 private:
  // What happened between the recorded requests.
  void PrepareFor(std::string_view title) {
    if (title == "list with limit") {
      for (int i = 0; i < 5; ++i) {
        const Answer made = world_.Post(
            std::string(kClaims),
            fmt::format(R"({{"metadata":{{"name":"c{}","labels":{{"n":"{}"}}}},"spec":{{"devices":)"
                        R"({{"requests":[{{"name":"gpu","exactly":{{"deviceClassName":)"
                        R"("gpu.example.com"}}}}]}}}}}})",
                        i, i));
        ASSERT_EQ(made.status, 201) << made.text;
      }
    }
    if (title == "watch from a revision") {
      names_.Set("284", fmt::format("{}", world_.store().revision().value));
      const std::string claim(kClaims);
      EXPECT_EQ(
          world_.Post(claim, R"({"metadata":{"name":"w"},"spec":{"devices":{"requests":[]}}})")
              .status,
          201);
      EXPECT_EQ(world_
                    .Ask({.method = "PATCH",
                          .path = claim + "/w",
                          .body = R"({"metadata":{"labels":{"x":"y"}}})",
                          .content_type = "application/merge-patch+json"})
                    .status,
                200);
      EXPECT_EQ(world_.Ask({.method = "DELETE", .path = claim + "/w"}).status, 200);
    }
  }

  std::string BodyOf(const DocumentNode& body) const {
    if (body.kind == DocumentNode::Kind::kString) return body.text;
    // Written twice by the recorder; its JSON shows it once.
    if (title_ == "duplicate field, strict") {
      return R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass",)"
             R"("metadata":{"name":"dup","name":"dup"},"spec":{}})";
    }
    DocumentNode translated = body;
    names_.Translate(translated);
    return ToJson(translated);
  }

  void CompareText(std::string_view recorded, std::string_view ours) const {
    if (title_ != "livez") {
      EXPECT_EQ(ours, recorded);
      return;
    }
    EXPECT_TRUE(ours.starts_with("[+]ping ok\n")) << ours;
    EXPECT_TRUE(ours.ends_with("livez check passed\n")) << ours;
  }

  static void CompareHeaders(const DocumentNode& response, const Answer& answer) {
    const DocumentNode* headers = rest::FindIn(response, "headers");
    if (headers == nullptr || answer.headers.list.empty()) return;
    for (const api::Member& header : headers->members) {
      EXPECT_EQ(answer.headers.Find(header.key), header.value.text) << header.key;
    }
  }

  void CompareBody(const DocumentNode& recorded, const DocumentNode& ours, bool trimmed) {
    const std::string_view kind = rest::TextIn(recorded, "kind");
    if (trimmed) return CompareTrimmed(recorded, ours);
    if (kind == "Status") return CompareStatus(recorded, ours);
    if (kind == "Table") return CompareTable(recorded, ours);
    EXPECT_EQ(Blurred(ours), Blurred(recorded));
  }

  // Discovery has more kinds there than here and the other way round; of those that both have,
  // everything is the same.
  static void CompareTrimmed(const DocumentNode& recorded, const DocumentNode& ours) {
    for (const api::Member& member : recorded.members) {
      const DocumentNode* other = rest::FindIn(ours, member.key);
      ASSERT_NE(other, nullptr) << member.key;
      if (member.key == "storageVersionHash" || member.key == "gitVersion") continue;
      if (member.key == "serverRelativeURL" || member.key == "serverAddress") continue;
      if (rest::IsMap(member.value)) {
        CompareTrimmed(member.value, *other);
      } else if (rest::IsList(member.value)) {
        CompareLists(member.value, *other);
      } else {
        EXPECT_EQ(ToJson(*other), ToJson(member.value)) << member.key;
      }
    }
  }
  static std::string IdOf(const DocumentNode& item) {
    for (const std::string_view key :
         {"name", "resource", "subresource", "groupVersion", "version"}) {
      if (!rest::TextIn(item, key).empty()) return std::string(rest::TextIn(item, key));
    }
    const DocumentNode* metadata = rest::IsMap(item) ? rest::FindIn(item, "metadata") : nullptr;
    return metadata == nullptr ? ToJson(item) : std::string(rest::TextIn(*metadata, "name"));
  }
  static void CompareLists(const DocumentNode& recorded, const DocumentNode& ours) {
    for (const DocumentNode& item : ours.items) {
      const auto it = std::ranges::find(recorded.items, IdOf(item), IdOf);
      if (it == recorded.items.end()) continue;
      DocumentNode known = *it;
      rest::EraseIn(known, "storageVersionHash");
      if (rest::IsMap(known)) CompareTrimmed(known, item);
    }
    const auto served = [&](const std::string& id) {
      return std::ranges::find(ours.items, id, IdOf) != ours.items.end();
    };
    for (const std::string id :
         {"resourceclaims", "resourceslices", "pods", "deployments", "create"}) {
      if (std::ranges::find(recorded.items, id, IdOf) != recorded.items.end()) {
        EXPECT_TRUE(served(id)) << id;
      }
    }
  }

  void CompareStatus(const DocumentNode& recorded, const DocumentNode& ours) const {
    for (const std::string_view key : {"kind", "apiVersion", "status", "reason", "code"}) {
      const DocumentNode* mine = rest::FindIn(ours, key);
      ASSERT_NE(mine, nullptr) << key;
      EXPECT_EQ(mine->text, rest::FindIn(recorded, key)->text) << key;
    }
    const DocumentNode* theirs = rest::FindIn(recorded, "details");
    const DocumentNode* mine = rest::FindIn(ours, "details");
    ASSERT_EQ(mine == nullptr, theirs == nullptr) << ToJson(ours);
    if (theirs != nullptr) CompareDetails(*theirs, *mine);
    if (!OwnWords().contains(title_)) {
      EXPECT_EQ(TextIn(ours, "message"), TextIn(recorded, "message"));
    }
  }
  // What is wrong is said in dray's words: same fields, same reasons.
  static void CompareDetails(DocumentNode recorded, DocumentNode ours) {
    for (DocumentNode* details : {&recorded, &ours}) {
      DocumentNode* causes = FindIn(*details, "causes");
      if (causes == nullptr) continue;
      for (DocumentNode& cause : causes->items) {
        if (TextIn(cause, "reason").starts_with("FieldValue")) rest::EraseIn(cause, "message");
      }
      std::ranges::sort(causes->items, {}, [](const DocumentNode& n) { return ToJson(n); });
    }
    EXPECT_EQ(Blurred(ours), Blurred(recorded));
  }

  // Every column that is there is here, in that order, with the same cells; there may be more.
  static void CompareTable(const DocumentNode& recorded, const DocumentNode& ours) {
    const std::vector<std::string> theirs = ColumnNames(recorded);
    const std::vector<std::string> mine = ColumnNames(ours);
    std::vector<std::size_t> places;
    for (const std::string& column : theirs) {
      const auto it = std::ranges::find(mine, column);
      ASSERT_NE(it, mine.end()) << column;
      places.push_back(static_cast<std::size_t>(it - mine.begin()));
    }
    EXPECT_TRUE(std::ranges::is_sorted(places));
    const DocumentNode& rows = *rest::FindIn(recorded, "rows");
    const DocumentNode& own_rows = *rest::FindIn(ours, "rows");
    ASSERT_EQ(own_rows.items.size(), rows.items.size());
    for (std::size_t r = 0; r < rows.items.size(); ++r) {
      EXPECT_EQ(Blurred(*rest::FindIn(own_rows.items[r], "object")),
                Blurred(*rest::FindIn(rows.items[r], "object")));
      for (std::size_t c = 0; c < places.size(); ++c) {
        if (theirs[c] == "Age") continue;
        EXPECT_EQ(rest::FindIn(own_rows.items[r], "cells")->items[places[c]].text,
                  rest::FindIn(rows.items[r], "cells")->items[c].text);
      }
    }
  }

  void CompareEvents(const DocumentNode& recorded, Answer& answer) {
    ASSERT_NE(answer.stream, nullptr);
    const std::vector<DocumentNode> events = world_.Events(*answer.stream);
    // Nothing had been compacted when this was recorded. In etcd the history begins with the server.
    if (title_ == "watch from a revision that is too old" &&
        world_.store().oldest_revision() > store::Revision{1}) {
      ASSERT_EQ(events.size(), 1u);
      EXPECT_EQ(rest::TextIn(events[0], "type"), "ERROR");
      EXPECT_EQ(rest::TextIn(*rest::FindIn(events[0], "object"), "reason"), "Expired");
      return;
    }
    std::vector<std::string> theirs;
    std::vector<std::string> mine;
    const auto shown = [](const DocumentNode& event) {
      const DocumentNode& object = *rest::FindIn(event, "object");
      if (rest::TextIn(object, "kind") == "Table") {
        return fmt::format("{} {}", rest::TextIn(event, "type"),
                           rest::FindIn(object, "rows")->items.at(0).members.size());
      }
      return fmt::format("{} {}", rest::TextIn(event, "type"), Blurred(object));
    };
    for (const DocumentNode& event : recorded.items) theirs.push_back(shown(event));
    for (const DocumentNode& event : events) mine.push_back(shown(event));
    ASSERT_EQ(mine.size(), theirs.size());
    for (std::size_t i = 0; i < mine.size(); ++i) EXPECT_EQ(mine[i], theirs[i]);
  }

  World world_;
  Names names_;
  std::string title_;
};

TEST(Transcripts, RecordedRequestsAreAnsweredAsByKubernetes) {
  const char* shared = std::getenv("DRAY_SHARED");
  std::ifstream in(std::string(shared != nullptr ? shared : "") + "/transcripts/http.json");
  if (!in) GTEST_SKIP() << "shared/transcripts is not there";
  std::stringstream text;
  text << in.rdbuf();
  const auto records = rest::ReadTree(text.str());
  ASSERT_TRUE(records.ok()) << records.status();
  Replay replay;
  for (const DocumentNode& record : records->items) replay.Request(record);
}

}  // namespace
}  // namespace dray::registry
