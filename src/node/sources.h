// SPDX-License-Identifier: Apache-2.0
//
// What the cluster keeps for pods and a node fetches for them: config maps, secrets, tokens. Exactly
// those objects are asked for that a pod of this node names, one by one, since a node may read no
// others.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "client/http_client.h"

namespace dray::node {

// A config map or a secret: bytes by key.
struct Kept {
  std::map<std::string, std::string> data;
  bool immutable = false;
  friend bool operator==(const Kept&, const Kept&) = default;
};

struct TokenWish {
  std::string namespace_;
  std::string account;
  std::string audience;  // empty: the API server's
  std::chrono::seconds lasts{3600};
  std::string pod;
  std::string pod_uid;
};

struct Token {
  std::string text;
  base::Time expires;
};

// Everything waits. Thread-safe.
class Sources {
 public:
  virtual ~Sources() = default;
  // Nothing: there is none by that name.
  virtual StatusOr<std::optional<Kept>> ConfigMap(const std::string& namespace_,
                                                  const std::string& name) = 0;
  virtual StatusOr<std::optional<Kept>> Secret(const std::string& namespace_,
                                               const std::string& name) = 0;
  // A token of a service account, bound to the pod.
  virtual StatusOr<Token> MakeToken(const TokenWish& wish) = 0;
};

// Of the API server. It outlives this.
std::unique_ptr<Sources> MakeSources(client::HttpClient& http);

}  // namespace dray::node
