// SPDX-License-Identifier: Apache-2.0
//
// What probes and hooks of a container do: run a command in it, ask over HTTP, TCP or gRPC, or just
// wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/box.h"
#include "api/container.h"
#include "api/values.h"
#include "base/status.h"
#include "container/runtime.h"

namespace dray::node {

// Where a question over the network goes: a port of a host, or, for a pod that has no address of its
// own, of the loopback interface in its sandbox.
struct ProbeTarget {
  std::string host;
  std::string sandbox_id;  // not empty: there, and the host is only a name
  std::int32_t port = 0;
  friend bool operator==(const ProbeTarget&, const ProbeTarget&) = default;
};

struct HttpProbe {
  ProbeTarget target;  // an empty host: the pod's
  bool tls = false;    // whoever answers is trusted, whatever certificate it shows
  std::string path;
  std::vector<std::pair<std::string, std::string>> headers;
};

struct GrpcProbe {
  ProbeTarget target;
  std::string service;  // empty: the server as a whole
};

// Where somebody is sent elsewhere, on the same host, that is where it is from.
struct HttpAnswer {
  int code = 0;
  std::string body = {};  // the beginning of it, and only of one that sends to another host
  friend bool operator==(const HttpAnswer&, const HttpAnswer&) = default;
};

// Asks over the network. Answers may come on any thread. Thread-safe.
class ProbeClient {
 public:
  virtual ~ProbeClient() = default;
  virtual void Http(const HttpProbe& probe, std::chrono::nanoseconds timeout,
                    std::function<void(StatusOr<HttpAnswer>)> done) = 0;
  virtual void Tcp(const ProbeTarget& target, std::chrono::nanoseconds timeout,
                   std::function<void(Status)> done) = 0;
  // OK: the service says that it is serving (grpc.health.v1).
  virtual void Grpc(const GrpcProbe& probe, std::chrono::nanoseconds timeout,
                    std::function<void(Status)> done) = 0;
};

// One of these.
struct Action {
  std::vector<std::string> command;
  std::optional<HttpProbe> http;
  std::optional<ProbeTarget> tcp;
  std::optional<GrpcProbe> grpc;
  std::optional<std::chrono::seconds> sleep;
  std::string impossible;  // why it fails whenever it is tried
};

// What is done is done to this container.
struct ActionTarget {
  std::string container_id;
  std::string sandbox_id;
  std::string ip;  // the pod's; empty: it has none of its own
};

// Does it, all but sleeping. `done` is called once, from any thread and perhaps before this returns.
// Any answer over HTTP that is no failure counts, whatever its status, where `any_status` is set. What
// is good and yet worth a word is told to `warn`, before `done` and from the same thread.
void RunAction(const Action& action, const ActionTarget& target, std::chrono::seconds timeout,
               bool any_status, container::Runtime& runtime, ProbeClient& client,
               std::function<void(Status)> done,
               std::function<void(const std::string&)> warn = nullptr);

// A probe as the spec has it.
struct ProbeSpec {
  Action action;
  std::chrono::seconds initial_delay{0};
  std::chrono::seconds timeout{1};
  std::chrono::seconds period{10};
  std::int32_t successes = 1;
  std::int32_t failures = 3;
  std::optional<std::chrono::seconds> grace;  // of a container that is ended because of it
};

// Named ports are looked up in the container. What cannot be understood is impossible.
ProbeSpec ReadProbe(const api::RawJson& json, const api::Container& container);

struct Lifecycle {
  std::optional<Action> post_start;
  std::optional<Action> pre_stop;
  std::string stop_signal;  // SIGUSR1; empty: the image's
};

Lifecycle ReadLifecycle(const api::Container& container);

}  // namespace dray::node
