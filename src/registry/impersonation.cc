// SPDX-License-Identifier: Apache-2.0
#include "registry/impersonation.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "base/percent.h"
#include "registry/roles.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

constexpr std::string_view kPrefix = "Impersonate-";
constexpr std::string_view kUser = "Impersonate-User";
constexpr std::string_view kGroup = "Impersonate-Group";
constexpr std::string_view kUid = "Impersonate-Uid";
constexpr std::string_view kExtra = "Impersonate-Extra-";
constexpr std::string_view kServiceAccount = "system:serviceaccount:";
constexpr std::string_view kAuthentication = "authentication.k8s.io";

bool Is(std::string_view header, std::string_view name) {
  return absl::EqualsIgnoreCase(base::ToAbsl(header), base::ToAbsl(name));
}
bool Begins(std::string_view header, std::string_view prefix) {
  return absl::StartsWithIgnoreCase(base::ToAbsl(header), base::ToAbsl(prefix));
}

// Who the headers name, word for word.
struct Named {
  std::optional<std::string> user;
  std::optional<std::string> uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::string>> extra;  // key and value, in order
};

// Two different users in one request: whichever of them a proxy on the way has checked, this would
// be the other one.
Status TakeOnly(std::string_view header, const std::string& value, std::optional<std::string>& to) {
  if (value.empty()) return rest::BadRequest(std::string(header) + " is empty");
  if (to.has_value() && *to != value) {
    return rest::BadRequest(std::string(header) + " is given twice with different values");
  }
  to = value;
  return {};
}

StatusOr<Named> Read(const apiserver::Headers& headers) {
  Named named;
  for (const auto& [header, value] : headers.list) {
    if (!Begins(header, kPrefix)) continue;
    if (Is(header, kUser)) {
      DRAY_RETURN_IF_ERROR(TakeOnly(kUser, value, named.user));
    } else if (Is(header, kUid)) {
      DRAY_RETURN_IF_ERROR(TakeOnly(kUid, value, named.uid));
    } else if (Is(header, kGroup)) {
      named.groups.push_back(value);
    } else if (Begins(header, kExtra)) {
      // Header names have no case; keys are in lower case, and what a name cannot hold is encoded.
      const std::string key =
          absl::AsciiStrToLower(base::ToAbsl(std::string_view(header).substr(kExtra.size())));
      named.extra.emplace_back(base::PercentDecoded(key), value);
    } else {
      return rest::BadRequest(header +
                              ": no such header; there are Impersonate-User, "
                              "Impersonate-Group, Impersonate-Uid and Impersonate-Extra-");
    }
  }
  return named;
}

// Namespace and name of a service account; nothing for other users.
std::optional<std::pair<std::string, std::string>> AccountOf(std::string_view user) {
  if (!user.starts_with(kServiceAccount)) return std::nullopt;
  user.remove_prefix(kServiceAccount.size());
  const std::size_t colon = user.find(':');
  if (colon == user.npos || colon == 0 || colon + 1 == user.size()) return std::nullopt;
  if (user.find(':', colon + 1) != user.npos) return std::nullopt;
  return std::pair(std::string(user.substr(0, colon)), std::string(user.substr(colon + 1)));
}

Status Ask(const api::Authorizer& authorizer, api::AuthorizationRequest asked) {
  asked.verb = "impersonate";
  const api::AuthorizationDecision decision = authorizer.Authorize(asked);
  if (decision.allowed) return {};
  const api::KindInfo kind{.group = asked.api_group,
                           .version = "v1",
                           .kind = asked.resource,
                           .plural = asked.resource,
                           .namespaced = !asked.namespace_.empty()};
  return ForbiddenFor(asked, kind, decision.reason);
}

// Every part of who it is has to be allowed by itself.
Status MaySpeakFor(const Named& named, const api::UserInfo& sender,
                   const api::Authorizer& authorizer) {
  if (const auto account = AccountOf(*named.user)) {
    DRAY_RETURN_IF_ERROR(Ask(authorizer, {.user = sender,
                                          .resource = "serviceaccounts",
                                          .namespace_ = account->first,
                                          .name = account->second}));
  } else {
    DRAY_RETURN_IF_ERROR(
        Ask(authorizer, {.user = sender, .resource = "users", .name = *named.user}));
  }
  for (const std::string& group : named.groups) {
    DRAY_RETURN_IF_ERROR(Ask(authorizer, {.user = sender, .resource = "groups", .name = group}));
  }
  for (const auto& [key, value] : named.extra) {
    DRAY_RETURN_IF_ERROR(Ask(authorizer, {.user = sender,
                                          .api_group = std::string(kAuthentication),
                                          .resource = "userextras",
                                          .subresource = key,
                                          .name = value}));
  }
  if (!named.uid) return {};
  return Ask(authorizer, {.user = sender,
                          .api_group = std::string(kAuthentication),
                          .resource = "uids",
                          .name = *named.uid});
}

apiserver::User UserOf(Named named) {
  apiserver::User user{.name = *std::move(named.user), .groups = std::move(named.groups)};
  if (const auto account = AccountOf(user.name); account && user.groups.empty()) {
    user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + account->first};
  }
  // Whoever is impersonated is known or is not, as if they had come themselves.
  const auto in = [&](std::string_view group) {
    return std::ranges::find(user.groups, group) != user.groups.end();
  };
  if (!in(apiserver::kAuthenticated) && !in(apiserver::kUnauthenticated)) {
    user.groups.emplace_back(user.anonymous() ? apiserver::kUnauthenticated
                                              : apiserver::kAuthenticated);
  }
  if (named.uid) user.uid = *std::move(named.uid);
  for (auto& [key, value] : named.extra) user.extra[key].push_back(std::move(value));
  return user;
}

}  // namespace

api::UserInfo InfoOf(const apiserver::User& user) {
  return {.name = user.name, .groups = user.groups, .extra = user.extra, .uid = user.uid};
}

Status Impersonate(apiserver::Request& request, const api::Authorizer& authorizer) {
  const auto& headers = request.headers.list;
  if (std::ranges::none_of(headers,
                           [](const auto& header) { return Begins(header.first, kPrefix); })) {
    return {};
  }
  DRAY_ASSIGN_OR_RETURN(Named named, Read(request.headers));
  if (!named.user) {
    return rest::BadRequest(
        "Impersonate-Group, -Uid or -Extra without Impersonate-User, which names the user");
  }
  DRAY_RETURN_IF_ERROR(MaySpeakFor(named, InfoOf(request.user), authorizer));
  request.sender = std::move(request.user);
  request.user = UserOf(std::move(named));
  // So that nobody behind this takes them for a wish that is still open.
  std::erase_if(request.headers.list,
                [](const auto& header) { return Begins(header.first, kPrefix); });
  return {};
}

}  // namespace dray::registry
