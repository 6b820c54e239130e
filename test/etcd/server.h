// SPDX-License-Identifier: Apache-2.0
//
// A server in this process with its objects in etcd, and a client of it over HTTPS.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "client/http_client.h"
#include "logs/output_for_test.h"
#include "plane/plane_for_test.h"

namespace dray::etcd {

constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";
inline std::string Named(std::string_view name) {
  return std::string(kMaps) + "/" + std::string(name);
}
// A ConfigMap as JSON.
std::string MapNamed(std::string_view name, std::string_view value);

// One thread, but for Ask.
class Server {
 public:
  // The key pairs of the first one, which all servers of a store have in common; null: it is the first.
  explicit Server(const Server* first = nullptr);

  // An API server alone, as `dray apiserver`. Fails the test if it does not start.
  void Start(const store::EtcdAddress& address, plane::PlaneOptions options = {});
  Status TryStart(plane::PlaneOptions options);
  void Stop();

  // Status 0: no whole answer came.
  client::HttpResponse Ask(std::string method, std::string target, std::string body = "");
  int Get(std::string target) { return Ask("GET", std::move(target)).status; }
  int Put(std::string_view name, std::string_view value) {
    return Ask("POST", std::string(kMaps), MapNamed(name, value)).status;
  }
  // Lines of a watch from there on, for as long as the stream lives.
  std::shared_ptr<client::LineStream> Watch(std::string_view resource_version);

  // Of the metrics: the value in the line that begins so; -1: there is none.
  double Metric(std::string_view name);
  std::string Logged() const { return logged_; }
  const std::string& folder() const { return folder_.folder(); }
  plane::ControlPlane& plane() { return *plane_; }

 private:
  plane::TestPlane folder_;  // for its folder
  const base::SystemClock clock_{};
  std::string logged_;
  std::unique_ptr<logs::Log> log_;
  std::unique_ptr<plane::ControlPlane> plane_;
  std::unique_ptr<client::HttpClient> http_;
};

// As long as it takes, two minutes at most.
bool Until(const std::function<bool()>& done);

}  // namespace dray::etcd
