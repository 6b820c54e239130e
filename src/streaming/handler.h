// SPDX-License-Identifier: Apache-2.0
//
// Handler: logs and processes of this node's containers, for the API server.
//
//   GET  /containerLogs/{namespace}/{pod}/{container}?follow&tailLines&sinceSeconds&...
//   GET  /exec/{namespace}/{pod}/{container}?command&input&output&error&tty      (WebSocket)
//   GET  /attach/{namespace}/{pod}/{container}?input&output&error&tty            (WebSocket)
//   GET  /portForward/{namespace}/{pod}                              (WebSocket or SPDY)
//   GET  /healthz
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/http.h"
#include "base/clock.h"
#include "base/status.h"
#include "container/runtime.h"

namespace dray::streaming {

// Where a container of a pod is at this moment.
struct ContainerPlace {
  std::string id;  // of the one that runs or ran last; empty: there was none yet
  bool running = false;
  std::string log_path;           // absolute
  std::string previous_log_path;  // of the one before; empty: there is none
};

// Who knows containers. Thread-safe.
class Containers {
 public:
  virtual ~Containers() = default;
  // NotFound: there is no such pod here, or no such container in it. `done` is called once, from any
  // thread.
  virtual void Find(std::string namespace_, std::string pod, std::string container,
                    std::function<void(StatusOr<ContainerPlace>)> done) = 0;
  // The sandbox that a pod has now. NotFound: there is no such pod here; FailedPrecondition: it has
  // none.
  virtual void FindSandbox(std::string namespace_, std::string pod,
                           std::function<void(StatusOr<std::string>)> done) = 0;
};

struct HandlerOptions {
  // Who may ask; everybody in the group system:masters may, too.
  std::vector<std::string> users = {"kube-apiserver-kubelet-client"};
};

// Thread-safe.
class Handler final : public apiserver::Handler {
 public:
  // All outlive it.
  Handler(Containers& containers, container::Runtime& runtime, const base::Clock& clock,
          HandlerOptions options = {});

  void Handle(apiserver::Request request, std::shared_ptr<apiserver::Responder> responder) override;

 private:
  bool MayAsk(const apiserver::User& user) const;

  Containers& containers_;
  container::Runtime& runtime_;
  const base::Clock& clock_;
  const HandlerOptions options_;
};

}  // namespace dray::streaming
