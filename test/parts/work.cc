// SPDX-License-Identifier: Apache-2.0
#include "parts/work.h"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "fmt/format.h"

namespace dray::parts {
namespace {

using process::Call;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kPodSpec =
    R"("spec":{"terminationGracePeriodSeconds":0,"resourceClaims":[{"name":"c",)"
    R"("resourceClaimTemplateName":"gpu"}],"containers":[{"name":"c","image":"i","resources":)"
    R"({"requests":{"cpu":"100m"},"claims":[{"name":"c"}]}}]})";
constexpr std::string_view kPlainSpec =
    R"("spec":{"terminationGracePeriodSeconds":0,"containers":[{"name":"c","image":"i",)"
    R"("resources":{"requests":{"cpu":"100m"}}}]})";

struct Made {
  std::string path;
  std::string body;
};

std::vector<Made> World() {
  std::vector<Made> all;
  const std::string dra = "/apis/resource.k8s.io/v1/";
  all.push_back(
      {dra + "deviceclasses",
       R"({"metadata":{"name":"gpu.example.com"},"spec":{"extendedResourceName":"example.com/gpu","selectors":[{"cel":)"
       R"({"expression":"device.driver == \"gpu.example.com\""}}]}})"});
  for (int n = 0; n < kNodes; ++n) {
    all.push_back({"/api/v1/nodes", fmt::format(R"({{"metadata":{{"name":"node-{}"}}}})", n)});
    std::string devices;
    for (int d = 0; d < kDevicesPerNode; ++d) {
      devices += fmt::format(R"({}{{"name":"gpu-{}"}})", d == 0 ? "" : ",", d);
    }
    all.push_back(
        {dra + "resourceslices",
         fmt::format(
             R"({{"metadata":{{"name":"node-{0}-gpus"}},"spec":{{"driver":"gpu.example.com",)"
             R"("nodeName":"node-{0}","pool":{{"name":"node-{0}","generation":1,)"
             R"("resourceSliceCount":1}},"devices":[{1}]}}}})",
             n, devices)});
  }
  const auto space = [&](std::string_view name) {
    all.push_back({"/api/v1/namespaces", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name)});
  };
  space(kRegisters);
  for (int i = 0; i < kSpaces; ++i) {
    const std::string name = fmt::format("load-{}", i);
    space(name);
    all.push_back(
        {fmt::format("/api/v1/namespaces/{}/resourcequotas", name),
         R"({"metadata":{"name":"some"},"spec":{"hard":{"pods":"12","count/pods":"14",)"
         R"("requests.cpu":"4","count/resourceclaims.resource.k8s.io":"11","count/configmaps":"6",)"
         R"("gpu.example.com.deviceclass.resource.k8s.io/devices":"10","requests.example.com/gpu":"10"}}})"});
    all.push_back({fmt::format("{}namespaces/{}/resourceclaimtemplates", dra, name),
                   R"({"metadata":{"name":"gpu"},"spec":{"spec":{"devices":{"requests":[{"name":)"
                   R"("gpu","exactly":{"deviceClassName":"gpu.example.com"}}]}}}})"});
  }
  return all;
}

}  // namespace

std::string MakeWorld(const Doors& doors) {
  Asker asker("maker", doors, 1);
  for (const Made& made : World()) {
    const auto response = asker.Do({.method = "POST", .path = made.path, .body = made.body});
    if (response.status != 201) {
      return fmt::format("POST {}: {} {}", made.path, response.status, response.body);
    }
  }
  return "";
}

PodClient::PodClient(int index, const Doors& doors, std::uint64_t seed)
    : index_(index),
      space_(fmt::format("load-{}", index % kSpaces)),
      asker_(fmt::format("worker-{}", index), doors,
             seed * 64 + 48 + static_cast<std::uint64_t>(index)) {}

std::string PodClient::Path(std::string_view plural) const {
  return fmt::format("/api/v1/namespaces/{}/{}", space_, plural);
}

int PodClient::Ask(const Call& call, std::initializer_list<int> usual) {
  const auto response = asker_.Do(call);
  const bool expected = response.status == 0 || response.status / 100 == 2 ||
                        response.status == 429 || response.status == 503 ||
                        response.status == 504 ||
                        std::ranges::find(usual, response.status) != usual.end();
  if (!expected) {
    complaints_.push_back(
        fmt::format("{} {}: {} {}", call.method, call.path, response.status, response.body));
  }
  return response.status;
}

void PodClient::Run(const std::atomic<bool>& stop) {
  while (!stop) {
    Step();
    std::this_thread::sleep_for(milliseconds(asker_.dice().Range(0, 150)));
  }
}

void PodClient::Create(std::set<std::string>& own, std::string_view plural, const std::string& name,
                       std::string body) {
  const std::string path = Path(plural);
  own.insert(fmt::format("{}/{}", path, name));
  const int status = Ask({.method = "POST",
                          .path = path,
                          .body = fmt::format(R"({{"metadata":{{"name":"{}"}},{}}})", name, body)},
                         {403});
  made_ += status == 201 ? 1 : 0;
  if (status == 403) {
    ++refused_;
    own.erase(fmt::format("{}/{}", path, name));
  }
}

bool PodClient::Delete(std::set<std::string>& own, const std::string& path) {
  const int status = Ask({.method = "DELETE", .path = path}, {404});
  if (status / 100 != 2 && status != 404) return false;
  own.erase(path);
  return true;
}

bool PodClient::Scale(int replicas) {
  const std::string path = fmt::format("/apis/apps/v1/namespaces/{}/deployments", space_);
  if (deployment_) {
    return Ask({.method = "PATCH",
                .path = path + "/d",
                .body = fmt::format(R"({{"spec":{{"replicas":{}}}}})", replicas),
                .content_type = "application/merge-patch+json"},
               {409}) == 200;
  }
  const int status = Ask(
      {.method = "POST",
       .path = path,
       .body = fmt::format(R"({{"metadata":{{"name":"d"}},"spec":{{"replicas":{},"selector":)"
                           R"({{"matchLabels":{{"a":"d"}}}},"template":{{"metadata":{{"labels":)"
                           R"({{"a":"d"}}}},{}}}}}}})",
                           replicas, kPodSpec)},
      {409});
  deployment_ = status == 201 || status == 409;
  return deployment_;
}

void PodClient::Step() {
  const int roll = asker_.dice().Range(0, 99);
  const std::string name = fmt::format("{}-{}", index_, ++names_);
  if (roll < 8 && index_ < kSpaces) {
    Scale(asker_.dice().Range(0, 3));
  } else if (roll < 30) {
    // Far more often than there is room for.
    if (settings_.size() < 4) return Create(settings_, "configmaps", "s-" + name, R"("data":{})");
    Delete(settings_, *settings_.begin());
  } else if (pods_.size() >= kMost || (roll < 55 && !pods_.empty())) {
    auto any = pods_.begin();
    std::advance(any, asker_.dice().Range(0, static_cast<int>(pods_.size()) - 1));
    Delete(pods_, std::string(*any));
  } else {
    Create(pods_, "pods", "p-" + name,
           std::string(asker_.dice().Chance(0.75) ? kPodSpec : kPlainSpec));
  }
}

bool PodClient::Shrink(seconds patience) {
  const auto deadline = Clock::now() + patience;
  bool scaled = index_ >= kSpaces;
  while (Clock::now() < deadline) {
    if (!scaled) scaled = Scale(1);
    if (!settings_.empty()) Delete(settings_, std::string(*settings_.begin()));
    if (pods_.size() > kLeft) Delete(pods_, std::string(*pods_.begin()));
    if (scaled && settings_.empty() && pods_.size() <= kLeft) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return false;
}

}  // namespace dray::parts
