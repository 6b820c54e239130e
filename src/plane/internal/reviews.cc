// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/reviews.h"

#include <openssl/sha.h>

#include <utility>
#include <vector>

#include "api/document.h"
#include "api/json.h"
#include "fmt/format.h"

namespace dray::plane::internal {
namespace {

using api::DocumentNode;

constexpr std::size_t kMostKnown = 4096;

std::string DigestOf(std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

std::string Quoted(std::string_view text) { return api::EncodeJson(std::string(text)); }

std::string ListOf(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) {
    list.append(list.empty() ? "" : ",").append(Quoted(text));
  }
  return fmt::format("[{}]", list);
}

const DocumentNode* FindIn(const DocumentNode* node, std::string_view key) {
  const api::Member* member = node == nullptr ? nullptr : node->Find(key);
  return member == nullptr ? nullptr : &member->value;
}
std::string TextIn(const DocumentNode* node, std::string_view key) {
  const DocumentNode* value = FindIn(node, key);
  return value != nullptr && value->kind == DocumentNode::Kind::kString ? value->text : "";
}
bool TrueIn(const DocumentNode* node, std::string_view key) {
  const DocumentNode* value = FindIn(node, key);
  return value != nullptr && value->kind == DocumentNode::Kind::kBool && value->boolean;
}
std::vector<std::string> TextsOf(const DocumentNode* list) {
  std::vector<std::string> texts;
  if (list == nullptr) return texts;
  for (const DocumentNode& item : list->items) {
    if (item.kind == DocumentNode::Kind::kString) texts.push_back(item.text);
  }
  return texts;
}

// The status of the review that the server answers with.
StatusOr<DocumentNode> Review(client::HttpClient& http, std::string_view group,
                              std::string_view kind, std::string_view plural,
                              std::string_view spec) {
  const std::string target = fmt::format("/apis/{}/v1/{}", group, plural);
  DRAY_ASSIGN_OR_RETURN(
      const client::HttpResponse response,
      http.Send({.method = "POST",
                 .target = target,
                 .body = fmt::format(R"({{"apiVersion":"{}/v1","kind":"{}","spec":{}}})", group,
                                     kind, spec)}));
  if (response.status >= 300) {
    return base::Unavailable(
        fmt::format("{}: {}", plural, base::Message(client::FailureOf(response))));
  }
  std::vector<api::Diagnostic> diagnostics;
  const DocumentNode answer = api::ParseJson(response.body, diagnostics);
  const DocumentNode* status = diagnostics.empty() ? FindIn(&answer, "status") : nullptr;
  if (status == nullptr || status->kind != DocumentNode::Kind::kMap) {
    return base::Unavailable(fmt::format("{}: the server's answer cannot be read", plural));
  }
  return *status;
}

// The fields of a review that say who it is about; of an apiserver::User or an api::UserInfo.
template <typename User>
std::string Subject(const User& user) {
  std::string extra;
  for (const auto& [name, values] : user.extra) {
    extra += fmt::format("{}{}:{}", extra.empty() ? "" : ",", Quoted(name), ListOf(values));
  }
  return fmt::format(R"("user":{},"groups":{},"uid":{},"extra":{{{}}})", Quoted(user.name),
                     ListOf(user.groups), Quoted(user.uid), extra);
}

}  // namespace

const Reviews::Known* Reviews::Find(const Memory& memory, std::string_view key) const {
  const auto found = memory.find(key);
  return found == memory.end() || found->second.until <= clock_.Monotonic() ? nullptr
                                                                            : &found->second;
}

void Reviews::Keep(Memory& memory, std::string key, Known known) const {
  const std::chrono::nanoseconds now = clock_.Monotonic();
  if (memory.size() >= kMostKnown) {
    std::erase_if(memory, [&](const auto& entry) { return entry.second.until <= now; });
    if (memory.size() >= kMostKnown) memory.clear();
  }
  memory.insert_or_assign(std::move(key), std::move(known));
}

StatusOr<apiserver::User> Reviews::WhoHas(const std::string& token) {
  const std::string key = DigestOf(token);
  {
    const base::MutexLock lock(mutex_);
    if (const Known* known = Find(tokens_, key)) {
      if (!known->status.ok()) return known->status;
      return known->user;
    }
  }
  DRAY_ASSIGN_OR_RETURN(const DocumentNode status,
                        Review(authentication_, "authentication.k8s.io", "TokenReview",
                               "tokenreviews", fmt::format(R"({{"token":{}}})", Quoted(token))));
  Known known{.until = clock_.Monotonic() + times_.token};
  if (TrueIn(&status, "authenticated")) {
    const DocumentNode* user = FindIn(&status, "user");
    known.user = {.name = TextIn(user, "username"),
                  .groups = TextsOf(FindIn(user, "groups")),
                  .uid = TextIn(user, "uid")};
    if (const DocumentNode* extra = FindIn(user, "extra")) {
      for (const api::Member& member : extra->members) {
        known.user.extra[member.key] = TextsOf(&member.value);
      }
    }
  } else {
    known.status = base::MakeStatus(StatusCode::kUnauthenticated, "the token is not known");
  }
  const base::MutexLock lock(mutex_);
  Keep(tokens_, key, known);
  if (!known.status.ok()) return known.status;
  return known.user;
}

Status Reviews::May(const apiserver::User& user, std::string_view verb, std::string_view path) {
  const std::string spec = fmt::format(R"({{{},"nonResourceAttributes":{{"path":{},"verb":{}}}}})",
                                       Subject(user), Quoted(path), Quoted(verb));
  {
    const base::MutexLock lock(mutex_);
    if (const Known* known = Find(rights_, spec)) return known->status;
  }
  DRAY_ASSIGN_OR_RETURN(const DocumentNode status,
                        Review(authorization_, "authorization.k8s.io", "SubjectAccessReview",
                               "subjectaccessreviews", spec));
  const bool allowed = TrueIn(&status, "allowed") && !TrueIn(&status, "denied");
  Known known{.until = clock_.Monotonic() + (allowed ? times_.allowed : times_.denied)};
  if (!allowed) {
    const std::string why = TextIn(&status, "reason");
    known.status =
        base::MakeStatus(StatusCode::kPermissionDenied,
                         fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"{}{}", user.name,
                                     verb, path, why.empty() ? "" : ": ", why));
  }
  const base::MutexLock lock(mutex_);
  Keep(rights_, spec, known);
  return known.status;
}

api::AuthorizationDecision ReviewAuthorizer::Authorize(
    const api::AuthorizationRequest& request) const {
  const std::string about =
      request.IsResource()
          ? fmt::format(R"("resourceAttributes":{{"verb":{},"group":{},"resource":{},)"
                        R"("subresource":{},"namespace":{},"name":{}}})",
                        Quoted(request.verb), Quoted(request.api_group), Quoted(request.resource),
                        Quoted(request.subresource), Quoted(request.namespace_),
                        Quoted(request.name))
          : fmt::format(R"("nonResourceAttributes":{{"path":{},"verb":{}}})", Quoted(request.path),
                        Quoted(request.verb));
  const auto status =
      Review(http_, "authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews",
             fmt::format("{{{},{}}}", Subject(request.user), about));
  if (!status.ok()) return {.error = status.status()};
  return {.allowed = TrueIn(&*status, "allowed") && !TrueIn(&*status, "denied"),
          .reason = TextIn(&*status, "reason")};
}

}  // namespace dray::plane::internal
