// SPDX-License-Identifier: Apache-2.0
#include "etcd/server.h"

#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "testing/status_matchers.h"

namespace dray::etcd {

std::string MapNamed(std::string_view name, std::string_view value) {
  return fmt::format(R"({{"metadata":{{"name":"{}"}},"data":{{"v":"{}"}}}})", name, value);
}

bool Until(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

Server::Server(const Server* first) {
  log_ = std::make_unique<logs::Log>(logs::LogOptions(), clock_,
                                     std::make_unique<logs::StringOutput>(logged_));
  if (first == nullptr) return;
  std::filesystem::create_directories(folder() + "/pki");
  for (const char* name : {"ca.crt", "ca.key", "sa.key"}) {
    std::filesystem::copy_file(first->folder() + "/pki/" + name, folder() + "/pki/" + name);
  }
}

void Server::Start(const store::EtcdAddress& address, plane::PlaneOptions options) {
  options.store = plane::StoreAddress::In(address);
  options.scheduler = options.controllers = options.nodes = false;
  const Status started = TryStart(std::move(options));
  ASSERT_THAT(started, testing::IsOk());
}

Status Server::TryStart(plane::PlaneOptions options) {
  Stop();
  options.data = folder();
  options.log = log_.get();
  DRAY_ASSIGN_OR_RETURN(plane_, plane::ControlPlane::Start(std::move(options), clock_));
  DRAY_ASSIGN_OR_RETURN(const client::ServerAccess access,
                        client::LoadAccess({.kubeconfig = folder() + "/admin.kubeconfig"}));
  client::HttpOptions http;
  http.throttled_tries = 0;
  DRAY_ASSIGN_OR_RETURN(http_, client::HttpClient::Create(access, http));
  return {};
}

void Server::Stop() {
  http_ = nullptr;
  plane_ = nullptr;
  log_->Flush(std::chrono::seconds(1));
}

client::HttpResponse Server::Ask(std::string method, std::string target, std::string body) {
  client::HttpRequest request{.method = std::move(method), .target = std::move(target)};
  request.body = std::move(body);
  if (request.method == "PATCH") request.content_type = "application/merge-patch+json";
  auto answer = http_->Send(request);
  EXPECT_THAT(answer, testing::IsOk()) << request.method << " " << request.target;
  return answer.ok() ? *std::move(answer) : client::HttpResponse{};
}

std::shared_ptr<client::LineStream> Server::Watch(std::string_view resource_version) {
  auto stream =
      http_->Open({.target = fmt::format("{}?watch=1&resourceVersion={}", kMaps, resource_version)},
                  std::chrono::minutes(2), std::chrono::minutes(2));
  EXPECT_THAT(stream, testing::IsOk());
  return stream.ok() ? *stream : nullptr;
}

double Server::Metric(std::string_view name) {
  const std::string text = plane_->Metrics();
  const std::string line = fmt::format("\n{} ", name);
  const std::size_t at = text.find(line);
  return at == std::string::npos ? -1 : std::atof(text.c_str() + at + line.size());
}

}  // namespace dray::etcd
