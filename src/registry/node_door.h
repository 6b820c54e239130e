// SPDX-License-Identifier: Apache-2.0
//
// What only the node of a pod can answer: what its containers have written, and processes in them.
// The server finds the node and passes requests on; what is said on a connection that has become
// another protocol's is a matter between the client and the node.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "apiserver/http.h"

namespace dray::registry {

// A request for a node, as a kubelet understands it.
struct NodeRequest {
  std::string node;     // its name: who must answer
  std::string address;  // where it is
  std::uint16_t port = 0;
  std::string method;
  std::string target;          // path and query, encoded
  apiserver::Headers headers;  // those that the node may see
};

// The way to nodes. Thread-safe.
class NodeDoor {
 public:
  virtual ~NodeDoor() = default;
  // Does not wait. `answer` is called once, from any thread; a node that cannot be reached is an
  // answer, too. The answer's stream goes on for as long as both sides want.
  virtual void Ask(NodeRequest request, std::function<void(apiserver::Response)> answer) = 0;
};

}  // namespace dray::registry
