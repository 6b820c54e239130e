// SPDX-License-Identifier: Apache-2.0
//
// Reviews: who somebody is and what he may read, asked of an API server (TokenReview and
// SubjectAccessReview), so that a process besides it needs no list of its own.
//
// Spec: k8s.io/apiserver's delegating authentication and authorization.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "api/authorization.h"
#include "apiserver/http.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "client/http_client.h"

namespace dray::plane::internal {

struct ReviewTimes {
  std::chrono::nanoseconds token = std::chrono::seconds(10);
  std::chrono::nanoseconds allowed = std::chrono::seconds(10);
  std::chrono::nanoseconds denied = std::chrono::seconds(10);
};

// Calls wait for the API server, unless it was asked just now. Thread-safe.
class Reviews {
 public:
  // All outlive it.
  Reviews(client::HttpClient& authentication, client::HttpClient& authorization,
          const base::Clock& clock, const ReviewTimes& times)
      : authentication_(authentication),
        authorization_(authorization),
        clock_(clock),
        times_(times) {}

  // kUnauthenticated: nobody. Others: it could not be found out.
  StatusOr<apiserver::User> WhoHas(const std::string& token);
  // OK: the user may. kPermissionDenied says why not; others: it could not be found out.
  Status May(const apiserver::User& user, std::string_view verb, std::string_view path);

 private:
  struct Known {
    std::chrono::nanoseconds until{0};
    Status status;
    apiserver::User user;
  };
  // Nothing is kept for ever, nor is there ever too much: whoever asks can invent names.
  using Memory = std::map<std::string, Known, std::less<>>;
  const Known* Find(const Memory& memory, std::string_view key) const;
  void Keep(Memory& memory, std::string key, Known known) const;

  client::HttpClient& authentication_;
  client::HttpClient& authorization_;
  const base::Clock& clock_;
  const ReviewTimes times_;
  mutable base::Mutex mutex_;
  Memory tokens_ ABSL_GUARDED_BY(mutex_);  // by digest
  Memory rights_ ABSL_GUARDED_BY(mutex_);
};

// What somebody may do with resources, asked each time. Thread-safe.
class ReviewAuthorizer final : public api::Authorizer {
 public:
  // It outlives this.
  explicit ReviewAuthorizer(client::HttpClient& http) : http_(http) {}
  // Waits for the API server; an error says that it could not be found out.
  api::AuthorizationDecision Authorize(const api::AuthorizationRequest& request) const override;

 private:
  client::HttpClient& http_;
};

}  // namespace dray::plane::internal
