// SPDX-License-Identifier: Apache-2.0
//
// A control plane in a process of its own, so that what it costs can be told from what its clients
// cost, and what these benchmarks say to it.
#pragma once

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/device_class.h"
#include "api/namespace.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "apiserver/client_for_test.h"
#include "base/check.h"
#include "base/clock.h"
#include "etcd_process.h"
#include "fmt/format.h"
#include "plane/control_plane.h"

namespace dray::plane::load {

using Moment = std::chrono::steady_clock::time_point;

inline double MillisecondsSince(Moment start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// In milliseconds.
class Latencies {
 public:
  void Add(double latency) { all_.push_back(latency); }
  std::size_t size() const { return all_.size(); }
  double At(double share) {
    if (all_.empty()) return 0;
    std::ranges::sort(all_);
    return all_[static_cast<std::size_t>(share * static_cast<double>(all_.size() - 1))];
  }

 private:
  std::vector<double> all_;
};

inline api::Node NodeOf(int index) {
  api::Node node;
  node.metadata.name = fmt::format("node-{:04}", index);
  return node;
}
inline api::ResourceSlice SliceOf(const api::Node& node, int count) {
  api::ResourceSlice slice;
  slice.metadata.name = node.metadata.name + "-gpus";
  slice.spec.driver = "gpu.example.com";
  slice.spec.node_name = node.metadata.name;
  slice.spec.pool = {.name = node.metadata.name, .generation = 1, .resource_slice_count = 1};
  auto& devices = slice.spec.devices.emplace();
  for (int i = 0; i < count; ++i) devices.emplace_back().name = fmt::format("gpu-{}", i);
  return slice;
}

// Nodes of ten devices each, and namespaces with a template "one" for a claim for one of them.
inline std::vector<api::Object> ClusterOf(int nodes, std::vector<std::string> namespaces) {
  std::vector<api::Object> objects;
  for (int n = 0; n < nodes; ++n) {
    const api::Node node = NodeOf(n);
    objects.push_back(api::Object::Of(node));
    objects.push_back(api::Object::Of(SliceOf(node, 10)));
  }
  api::DeviceClass gpus;
  gpus.metadata.name = "gpu";
  objects.push_back(api::Object::Of(gpus));
  for (const std::string& name : namespaces) {
    api::Namespace space;
    space.metadata.name = name;
    objects.push_back(api::Object::Of(space));
    api::ResourceClaimTemplate one;
    one.metadata.name = "one";
    one.metadata.namespace_ = name;
    api::DeviceRequest& request = one.spec.spec.devices.requests.emplace_back();
    request.name = "gpu";
    request.exactly.emplace().device_class_name = "gpu";
    objects.push_back(api::Object::Of(one));
  }
  return objects;
}

// What a pod with one of the devices asks for.
inline constexpr std::string_view kPodSpec =
    R"({"containers":[{"name":"c","image":"example.com/i","resources":{"requests":{"cpu":"10m"},)"
    R"("claims":[{"name":"gpu"}]}}],"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":)"
    R"("one"}]})";

class Server {
 public:
  // The objects are made in the other process. This one has no other threads yet.
  explicit Server(const std::function<PlaneOptions()>& options) {
    folder_ = (std::filesystem::temp_directory_path() / "dray-load-XXXXXX").string();
    DRAY_CHECK(::mkdtemp(folder_.data()) != nullptr, "mkdtemp");
    int told[2] = {-1, -1};
    int end[2] = {-1, -1};
    DRAY_CHECK(::pipe(told) == 0 && ::pipe(end) == 0, "pipe");
    process_ = ::fork();
    DRAY_CHECK(process_ >= 0, "fork");
    if (process_ == 0) {
      ::close(told[0]);
      ::close(end[1]);
      Serve(options(), told[1], end[0]);
    }
    ::close(told[1]);
    ::close(end[0]);
    end_ = end[1];
    DRAY_CHECK(::read(told[0], &port_, sizeof(port_)) == sizeof(port_),
               "the server has not come up");
    ::close(told[0]);
    tls_ = {.authority = ReadAll("/pki/ca.crt"),
            .client = apiserver::KeyPair{.certificate = ReadAll("/pki/admin.crt"),
                                         .key = ReadAll("/pki/admin.key")}};
  }
  ~Server() {
    ::close(end_);
    ::waitpid(process_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::unique_ptr<apiserver::TestClient> Connect() const {
    auto client = std::make_unique<apiserver::TestClient>(port_, tls_);
    DRAY_CHECK(client->connected(), "no connection");
    return client;
  }
  // Where its kubeconfigs are.
  const std::string& folder() const { return folder_; }
  // Of the processor, so far.
  double Seconds() const { return SecondsOf(process_); }
  double PeakMebibytes() const { return MebibytesOf(process_, "VmHWM:"); }
  // Until it does hardly anything any more: a hundredth of a processor.
  void AwaitRest() const {
    using namespace std::chrono_literals;
    for (double before = Seconds();;) {
      std::this_thread::sleep_for(200ms);
      const double now = Seconds();
      if (now - before < 0.02) return;
      before = now;
    }
  }

 private:
  [[noreturn]] void Serve(PlaneOptions options, int told, int end) const {
    const base::SystemClock clock;
    options.data = folder_;
    auto plane = ControlPlane::Start(std::move(options), clock);
    if (!plane.ok()) {
      fmt::print(stderr, "{}\n", plane.status().ToString());
      ::_exit(1);
    }
    const std::string& url = (*plane)->url();
    const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    char byte = 0;
    if (::write(told, &port, sizeof(port)) == sizeof(port)) {
      while (::read(end, &byte, 1) > 0) {
      }
    }
    *plane = nullptr;
    ::_exit(0);
  }
  std::string ReadAll(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + name, std::ios::binary).rdbuf();
    return text.str();
  }

  std::string folder_;
  pid_t process_ = -1;
  int end_ = -1;  // closing it ends the server
  std::uint16_t port_ = 0;
  apiserver::ClientTls tls_;
};

inline apiserver::ClientResponse Say(apiserver::TestClient& client, std::string_view method,
                                     std::string_view path, std::string_view body,
                                     std::string_view type = "application/json") {
  client.Send(
      fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {}\r\nContent-Length: "
                  "{}\r\n\r\n{}",
                  method, path, type, body.size(), body));
  return client.ReadResponse();
}

inline void CreatePod(apiserver::TestClient& client, std::string_view namespace_,
                      const std::string& name) {
  const auto response =
      Say(client, "POST", fmt::format("/api/v1/namespaces/{}/pods", namespace_),
          fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{}}})", name, kPodSpec));
  DRAY_CHECK(response.status == 201, response.body);
}

// The events of a watch, line by line.
class Lines {
 public:
  Lines(const Server& server, std::string_view path) : client_(server.Connect()) {
    client_->Send(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path));
    client_->ReadUntil("\r\n\r\n");
  }
  std::string Next() {
    for (;;) {
      if (const auto end = text_.find('\n', begin_); end != std::string::npos) {
        std::string line = text_.substr(begin_, end - begin_);
        begin_ = end + 1;
        return line;
      }
      text_.erase(0, std::exchange(begin_, 0));
      const std::string chunk = client_->ReadChunk();
      DRAY_CHECK(!chunk.empty(), "the watch has ended");
      text_ += chunk;
    }
  }
  // The name of a pod that has a node, once for each.
  void AwaitBound(std::string_view pod) {
    const std::string name = fmt::format("\"name\":\"{}\"", pod);
    for (;;) {
      const std::string line = Next();
      if (line.find(name) != std::string::npos &&
          line.find("\"nodeName\":\"") != std::string::npos) {
        return;
      }
    }
  }
  // Until so many whose names begin so have one.
  void AwaitAllBound(std::size_t pods, std::string_view prefix = "p") {
    const std::string begin = fmt::format("\"name\":\"{}-", prefix);
    std::set<std::string> bound;
    while (bound.size() < pods) {
      const std::string line = Next();
      const auto name = line.find(begin);
      if (name == std::string::npos || line.find("\"nodeName\":\"") == std::string::npos) continue;
      bound.insert(line.substr(name, line.find('"', name + 8) - name));
    }
  }

 private:
  std::unique_ptr<apiserver::TestClient> client_;
  std::string text_;
  std::size_t begin_ = 0;
};

}  // namespace dray::plane::load
