// SPDX-License-Identifier: Apache-2.0
//
// Event: what is written down of a request, as audit.k8s.io/v1 has it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/http.h"
#include "audit/policy.h"
#include "base/time.h"

namespace dray::audit {

struct ObjectRef {
  std::string resource;
  std::string namespace_;
  std::string name;
  std::string uid;
  std::string group;
  std::string version;
  std::string resource_version;
  std::string subresource;
};

struct Event {
  Level level = Level::kMetadata;
  std::string audit_id;
  std::string request_uri;
  std::string verb;
  apiserver::User user;
  std::optional<apiserver::User> impersonated;
  std::vector<std::string> source_ips;
  std::string user_agent;
  std::optional<ObjectRef> object;
  int code = 0;                // of the response; 0: there is none yet
  std::string status;          // fields of a Status but its metadata and code, as JSON: "a":1,"b":2
  std::string request_object;  // JSON; empty: not wanted, or there was none
  std::string response_object;  // likewise
  base::Time received;
  std::map<std::string, std::string, std::less<>> annotations;
};

// One line of JSON, with its line break.
std::string ToLine(const Event& event, Stage stage, base::Time now);

// Where a request came from: what proxies say in X-Forwarded-For and X-Real-Ip, as far as it is
// addresses, and who sent it to us.
std::vector<std::string> SourceIps(const apiserver::Request& request);

}  // namespace dray::audit
