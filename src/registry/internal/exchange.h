// SPDX-License-Identifier: Apache-2.0
//
// One request and its answer, while it is being worked on.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "apiserver/http.h"
#include "audit/auditor.h"
#include "base/status.h"
#include "registry/negotiation.h"
#include "registry/objects.h"
#include "registry/registry.h"
#include "registry/request_log.h"
#include "registry/roles.h"
#include "registry/route.h"
#include "rest/table.h"
#include "rest/tree.h"

namespace dray::registry {
class AccountTokens;
}  // namespace dray::registry

namespace dray::registry::internal {

// Where a request has come to, and when: for whoever asks why it took so long. A few steps, kept in
// place: noting one reads a clock and nothing else.
class Steps {
 public:
  struct Step {
    std::string_view name;  // a constant
    std::chrono::nanoseconds at{0};
  };

  void Note(std::string_view name, std::chrono::nanoseconds now) {
    if (size_ < steps_.size()) steps_[size_++] = {name, now};
  }
  std::span<const Step> all() const { return {steps_.data(), size_}; }

 private:
  std::array<Step, 8> steps_ = {};
  std::size_t size_ = 0;
};

// Held by whoever has to answer; Send* is called once. One thread at a time.
struct Exchange {
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  // A request that nobody has answered is told 500 by the server; who looks on learns of it here.
  ~Exchange();

  apiserver::Request request;
  std::shared_ptr<apiserver::Responder> responder;
  Registry* registry = nullptr;
  // What is served, from the beginning of the request to its end.
  std::shared_ptr<const rest::ServedKinds> kinds = nullptr;
  Route route = {};
  Query query = {};
  Format format = {};
  std::string verb = {};  // get, list, watch, create, update, patch, delete, deletecollection
  std::vector<std::string> warnings = {};
  std::shared_ptr<WriteNotes> notes = nullptr;  // null: no policy can have anything to say
  const RequestLog* log = nullptr;              // null: nobody looks on
  std::unique_ptr<audit::Trail> trail = {};     // null: the policy does not want to know
  std::chrono::nanoseconds began{0};            // with a log
  Steps steps = {};
  bool answered = false;

  // The kind in the version that was asked for.
  const api::KindInfo& kind() const { return *route.kind; }
  api::UserInfo user() const;

  // Where the request has come to.
  void Note(std::string_view step);
  // What was sent, once it has been read.
  void Decoded(const api::Object& object);

  // Every response goes through here.
  void Answer(apiserver::Response response);
  void Send(int code, std::string body);
  void SendText(int code, std::string body);
  void SendNoSuchPath() { SendText(404, "404 page not found\n"); }
  void SendError(const Status& status);
  // In the shape that was asked for.
  void SendObject(int code, const api::Object& object);
  // {"kind":"Status",...,"status":"Success"}
  void SendSuccess(int code, const api::Object* about = nullptr);
  apiserver::Response Begin(int code, std::string_view content_type) const;

 private:
  // What was just written or read is mostly what is stored: its text is at hand. Nothing: make it.
  std::optional<std::string> StoredText(const api::Object& object) const;
};
using ExchangePtr = std::shared_ptr<Exchange>;

// What goes with tables of slices: how many of their devices nobody holds.
rest::TableContext TableContextFor(const Registry& registry, const api::KindInfo& kind);
StatusOr<rest::IncludeObject> IncludeOf(const Query& query);

// collections.cc
void HandleGet(const ExchangePtr& exchange);
void HandleList(const ExchangePtr& exchange);
void HandleWatch(const ExchangePtr& exchange);
void HandleDeleteCollection(const ExchangePtr& exchange);
// writes.cc
void HandleCreate(const ExchangePtr& exchange);
void HandleUpdate(const ExchangePtr& exchange);
void HandleDelete(const ExchangePtr& exchange);
void HandleBinding(const ExchangePtr& exchange);
void HandleEviction(const ExchangePtr& exchange);
// A small object that is no kind of the store, as a tree: DeleteOptions, Binding, Scale.
StatusOr<rest::DocumentNode> SmallBody(const Exchange& exchange, const api::TypeInfo& type);
// patches.cc
void HandlePatch(const ExchangePtr& exchange);
// What a JSON patch, a merge patch or a strategic one makes of a document.
Status Patched(PatchKind how, const rest::DocumentNode& patch, const api::TypeInfo& type,
               rest::DocumentNode& document);
// scale.cc
void HandleScale(const ExchangePtr& exchange);
// As reviews show somebody.
rest::DocumentNode UserNode(const api::UserInfo& user);
// reviews.cc: questions about who may do what.
void HandleReview(const ExchangePtr& exchange, const RoleAuthorizer& authorizer);

// token_requests.cc. `lookup` knows tokens that are of no service account; both may be null.
using TokenLookup = std::function<std::optional<apiserver::User>(std::string_view token)>;
void HandleTokenRequest(const ExchangePtr& exchange, const AccountTokens* tokens,
                        const RoleAuthorizer& authorizer);
void HandleTokenReview(const ExchangePtr& exchange, const AccountTokens* tokens,
                       const TokenLookup& lookup);

inline Part PartOf(const Exchange& exchange) {
  const std::string& part = exchange.route.subresource;
  if (part == "ephemeralcontainers") return Part::kEphemeralContainers;
  if (part == "approval") return Part::kApproval;
  return part == "status" ? Part::kStatus : Part::kObject;
}

}  // namespace dray::registry::internal
