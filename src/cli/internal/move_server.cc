// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/move_server.h"

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/cluster.h"
#include "api/document.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/percent.h"
#include "cli/internal/json_tree.h"
#include "cli/internal/server_objects.h"
#include "client/http_client.h"
#include "client/object_client.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::chrono::milliseconds kMoment{500};

class RemoteMoves final : public planner::MoveServer {
 public:
  RemoteMoves(client::ServerAccess access, std::unique_ptr<client::HttpClient> http)
      : access_(std::move(access)), http_(std::move(http)), client_(*http_, "dray-defrag") {}

  StatusOr<std::vector<api::Object>> Read() override {
    std::vector<std::string> notes;  // as the first time
    return ReadServer(access_, notes);
  }
  StatusOr<std::vector<api::Object>> Pods(std::string_view namespace_) override {
    api::Selection selection;
    selection.namespace_ = namespace_;
    DRAY_ASSIGN_OR_RETURN(auto listing,
                          client_.List(api::HubKind(api::TypeInfoOf<api::Pod>()), selection));
    return std::move(listing.objects);
  }
  Status Evict(const planner::PodName& pod, std::string_view uid) override {
    const auto quoted = [](const std::string& text) { return api::ToJson(String(text)); };
    const std::string target =
        fmt::format("/api/v1/namespaces/{}/pods/{}/eviction", base::PercentEncoded(pod.namespace_),
                    base::PercentEncoded(pod.name));
    const std::string body = fmt::format(
        R"({{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":{},"namespace":{}}},)"
        R"("deleteOptions":{{"preconditions":{{"uid":{}}}}}}})",
        quoted(pod.name), quoted(pod.namespace_), quoted(std::string(uid)));
    DRAY_ASSIGN_OR_RETURN(const client::HttpResponse response,
                          http_->Send({.method = "POST", .target = target, .body = body}));
    if (response.status < 400) return {};
    const Status failure = client::FailureOf(response);
    return response.status >= 500 ? api::OutcomeUnknown(base::Message(failure)) : failure;
  }
  Status Cordon(const std::string& node, bool closed) override {
    // As kubectl does it: null takes the field away.
    return client_.Patch(
        api::HubKind(api::TypeInfoOf<api::Node>()), "", node,
        closed ? R"({"spec":{"unschedulable":true}})" : R"({"spec":{"unschedulable":null}})");
  }
  void Wait() override { std::this_thread::sleep_for(kMoment); }

 private:
  const client::ServerAccess access_;
  const std::unique_ptr<client::HttpClient> http_;
  const client::ObjectClient client_;
};

}  // namespace

StatusOr<std::unique_ptr<planner::MoveServer>> MakeMoveServer(const client::ServerAccess& access) {
  // Who waits for a budget says so, and waits by itself.
  DRAY_ASSIGN_OR_RETURN(auto http, client::HttpClient::Create(access, {.throttled_tries = 0}));
  return std::make_unique<RemoteMoves>(access, std::move(http));
}

}  // namespace dray::cli::internal
