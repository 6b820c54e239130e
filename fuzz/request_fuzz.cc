// SPDX-License-Identifier: Apache-2.0
//
// The HTTP door behind the sockets: any method, path, query, headers and body on a small cluster.
//
// Input: lines METHOD, PATH?QUERY, CONTENT-TYPE, ACCEPT, then the body. No crash; every request is
// answered once; every error is a Status with its own code; a write that is refused leaves the
// store's revision alone.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "registry/handler.h"
#include "registry/registry.h"
#include "rest/tree.h"
#include "store/memory/memory_store.h"

namespace {

using dray::registry::kMasters;

class Once final : public dray::apiserver::Responder {
 public:
  void Send(dray::apiserver::Response response) override {
    DRAY_CHECK(++sent_ == 1, "answered once");
    response_ = std::move(response);
  }
  int sent() const { return sent_; }
  dray::apiserver::Response& response() { return response_; }

 private:
  int sent_ = 0;
  dray::apiserver::Response response_;
};

struct World {
  World() {
    Ask("POST", "/api/v1/namespaces", "", "", R"({"metadata":{"name":"default"}})");
    Ask("POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", "", "",
        R"({"metadata":{"name":"c","labels":{"a":"b"}},"spec":{"devices":{"requests":[{"name":"r",)"
        R"("exactly":{"deviceClassName":"gpu"}}]}}})");
    Ask("POST", "/api/v1/namespaces/default/pods", "", "",
        R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"x"}]}})");
  }
  std::shared_ptr<Once> Ask(std::string_view method, std::string_view target,
                            std::string_view content_type, std::string_view accept,
                            std::string_view body) {
    dray::apiserver::Request request;
    request.method = method;
    const std::size_t question = target.find('?');
    request.path = target.substr(0, question);
    if (question != std::string_view::npos) request.query = target.substr(question + 1);
    if (!content_type.empty()) request.headers.Add("Content-Type", std::string(content_type));
    if (!accept.empty()) request.headers.Add("Accept", std::string(accept));
    request.body = body;
    request.user = {"admin", {std::string(kMasters)}};
    auto once = std::make_shared<Once>();
    handler.Handle(std::move(request), once);
    return once;
  }

  dray::base::ManualClock clock{dray::base::Time::FromUnix(1'000'000)};
  dray::base::SeededRandomSource random{1};
  dray::registry::RoleAuthorizer roles;
  std::unique_ptr<dray::store::Store> store = dray::store::MakeMemoryStore();
  dray::registry::Registry registry{*store, clock, random, {}};
  dray::registry::RestHandler handler{registry, roles};
};

std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view method = TakeLine(text);
  const std::string_view target = TakeLine(text);
  const std::string_view content_type = TakeLine(text);
  const std::string_view accept = TakeLine(text);
  if (!target.starts_with('/')) return 0;
  World world;
  const auto before = world.store->revision();
  const auto once = world.Ask(method, target, content_type, accept, text);
  DRAY_CHECK(once->sent() == 1, "answered");
  dray::apiserver::Response& response = once->response();
  if (response.stream != nullptr) {
    std::vector<dray::apiserver::Bytes> lines;
    response.stream->Start([] {});
    for (int i = 0; i < 4; ++i) response.stream->Pull(lines);
  }
  if (response.status < 400) return 0;
  DRAY_CHECK(world.store->revision() == before, "a refused write changes nothing");
  if (response.headers.Find("Content-Type") != "application/json") return 0;
  const auto status = dray::rest::ReadTree(*response.body);
  DRAY_CHECK(status.ok(), "an error is JSON");
  DRAY_CHECK(dray::rest::FindIn(*status, "code")->text == std::to_string(response.status),
             "an error says its code");
  return 0;
}
