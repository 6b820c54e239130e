// SPDX-License-Identifier: Apache-2.0
#include "registry/world_for_test.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "rbac/bootstrap.h"
#include "registry/local_cluster.h"
#include "store/any_store_for_test.h"

namespace dray::registry {
namespace {

class Mailbox final : public apiserver::Responder {
 public:
  void Send(apiserver::Response response) override { promise_.set_value(std::move(response)); }
  apiserver::Response Wait() { return promise_.get_future().get(); }

 private:
  std::promise<apiserver::Response> promise_;
};

}  // namespace

rest::DocumentNode Answer::Json() const {
  auto tree = rest::ReadTree(text);
  return tree.ok() ? *std::move(tree) : rest::DocumentNode{};
}

World::World(RegistryOptions options, metrics::Registry* metrics, HandlerOptions handling)
    : clock_(base::Time::FromUnix(1'800'000'000)),
      expressions_(std::make_unique<cel::DeviceExpressionChecker>()),
      store_(store::MakeAnyStore()) {
  options.rules.expressions = expressions_.get();
  options.authorizer = &roles_;
  options.roles = &roles_;
  options.policies = &policies_;
  registry_ = std::make_unique<Registry>(*store_, clock_, random_, std::move(options));
  following_ = roles_.Follow(registry_->objects(), RoleAuthorizer::Source::kBootstrap);
  following_policies_ = policies_.Follow(registry_->objects());
  if (metrics != nullptr) metrics_ = std::make_unique<RequestMetrics>(*metrics, clock_);
  handling.metrics = metrics_.get();
  handler_ = std::make_unique<RestHandler>(*registry_, roles_, std::move(handling));
  for (const std::string_view name : {"default", "kube-system"}) {
    Post("/api/v1/namespaces", R"({"metadata":{"name":")" + std::string(name) + "\"}}");
  }
}

World::~World() = default;

void World::Serve(HandlerOptions handling) {
  handling.metrics = metrics_.get();
  handler_ = std::make_unique<RestHandler>(*registry_, roles_, std::move(handling));
}

void World::StoreRoles() {
  LocalCluster cluster(*registry_, "test");
  const Status stored = rbac::EnsureBootstrapObjects(cluster);
  EXPECT_TRUE(stored.ok()) << stored;
  following_ = nullptr;
  following_ = roles_.Follow(registry_->objects());
}

Answer World::Ask(const Asking& asking) {
  apiserver::Request request;
  request.method = asking.method;
  const std::size_t question = asking.path.find('?');
  request.path = asking.path.substr(0, question);
  if (question != std::string::npos) request.query = asking.path.substr(question + 1);
  if (!asking.content_type.empty()) request.headers.Add("Content-Type", asking.content_type);
  if (!asking.accept.empty()) request.headers.Add("Accept", asking.accept);
  for (const auto& [name, value] : asking.headers.list) request.headers.Add(name, value);
  request.body = asking.body;
  request.user = asking.user;
  request.audit_id = "some-id";
  request.remote = "10.0.0.1:40312";
  auto mailbox = std::make_shared<Mailbox>();
  handler_->Handle(std::move(request), mailbox);
  apiserver::Response response = mailbox->Wait();
  Answer answer{response.status, std::move(response.headers), "", std::move(response.stream)};
  if (response.body != nullptr) answer.text = *response.body;
  return answer;
}

Answer World::Post(std::string path, std::string body) {
  return Ask({.method = "POST", .path = std::move(path), .body = std::move(body)});
}

std::vector<rest::DocumentNode> World::Events(apiserver::StreamSource& stream) {
  using State = apiserver::StreamSource::State;
  std::vector<apiserver::Bytes> lines;
  stream.Start([] {});
  State state = State::kMore;
  while (state == State::kMore) state = stream.Pull(lines);
  if (state == State::kWait) {
    clock_.Advance(std::chrono::hours(24));
    while ((state = stream.Pull(lines)) == State::kMore) {
    }
    EXPECT_EQ(state, State::kEnd);
  }
  std::string text;
  for (const apiserver::Bytes& piece : lines) text += *piece;
  std::vector<rest::DocumentNode> events;
  EXPECT_TRUE(text.empty() || text.back() == '\n');
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    auto event = rest::ReadTree(text.substr(begin, end - begin));
    begin = end + 1;
    EXPECT_TRUE(event.ok()) << event.status();
    if (event.ok()) events.push_back(*std::move(event));
  }
  return events;
}

}  // namespace dray::registry
