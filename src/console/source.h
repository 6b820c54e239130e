// SPDX-License-Identifier: Apache-2.0
//
// Source: where objects come from: an API server somewhere, or this process's own.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "api/event.h"
#include "base/clock.h"
#include "base/status.h"
#include "client/kubeconfig.h"

namespace dray::console {

// A kind that may not be read.
struct MissingKind {
  const api::KindInfo* kind = nullptr;
  std::string message;
};

// Thread-safe, but for the watch.
class Source {
 public:
  virtual ~Source() = default;
  // `wake` may be called from any thread when the watch has something to tell; a source that cannot
  // tell is asked now and then.
  virtual std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                                  std::function<void()> wake) = 0;
  virtual bool Wakes() const = 0;
  virtual std::vector<MissingKind> Missing() const = 0;
  // Of resource.k8s.io: v1, v1beta2, v1beta1; empty: there is none, or it is not known yet.
  virtual std::string ResourceVersion() const = 0;
  // About one object.
  virtual StatusOr<std::vector<api::Event>> Events(std::string_view namespace_,
                                                   std::string_view kind,
                                                   std::string_view name) const = 0;
  // What waits fails, now and from then on.
  virtual void Close() = 0;
};

// With the credentials of a kubeconfig, which stay in this process. Nothing is ever written.
StatusOr<std::unique_ptr<Source>> MakeRemoteSource(const client::ServerAccess& access,
                                                   const base::Clock& clock);
// This process's own objects. The cluster outlives it.
std::unique_ptr<Source> MakeLocalSource(api::Cluster& cluster);

}  // namespace dray::console
