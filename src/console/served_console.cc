// SPDX-License-Identifier: Apache-2.0
#include "console/served_console.h"

#include <utility>

#include "console/handler.h"
#include "console/hub.h"
#include "console/source.h"

namespace dray::console {
namespace {

class Served final : public apiserver::Handler {
 public:
  Served(ServedOptions options, api::Cluster& cluster, const api::Authorizer& authorizer,
         apiserver::Handler& next, Desk& desk, const base::Clock& clock)
      : source_(MakeLocalSource(cluster)),
        hub_(*source_, desk, clock, {.gates = options.gates}),
        handler_(hub_, desk, Handling(std::move(options), authorizer, next)) {}

  void Handle(apiserver::Request request,
              std::shared_ptr<apiserver::Responder> responder) override {
    handler_.Handle(std::move(request), std::move(responder));
  }

 private:
  static HandlerOptions Handling(ServedOptions options, const api::Authorizer& authorizer,
                                 apiserver::Handler& next) {
    HandlerOptions handling;
    handling.door.scheme = "https";
    handling.version = std::move(options.version);
    handling.cluster = std::move(options.cluster);
    handling.authorizer = &authorizer;
    handling.next = &next;
    return handling;
  }

  const std::unique_ptr<Source> source_;
  Hub hub_;
  ConsoleHandler handler_;
};

}  // namespace

std::unique_ptr<apiserver::Handler> MakeServedConsole(ServedOptions options, api::Cluster& cluster,
                                                      const api::Authorizer& authorizer,
                                                      apiserver::Handler& next, Desk& desk,
                                                      const base::Clock& clock) {
  return std::make_unique<Served>(std::move(options), cluster, authorizer, next, desk, clock);
}

}  // namespace dray::console
