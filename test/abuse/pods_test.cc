// SPDX-License-Identifier: Apache-2.0
//
// Pods that ask for more than anybody needs: the scheduler decides, and lives on.
#include <chrono>
#include <string>
#include <thread>

#include "abuse/up_for_test.h"
#include "api/json.h"
#include "api/pod.h"
#include "fmt/format.h"

namespace dray::abuse {
namespace {

using process::Call;

class GreedyPodTest : public UpTest {
 protected:
  void Post(const std::string& path, std::string body) {
    process::Requests requests = Admin();
    const auto response = requests.Do({.method = "POST", .path = path, .body = std::move(body)});
    ASSERT_EQ(response.status, 201) << response.body;
  }
  // The pod's node, within two minutes. That it cannot be scheduled is no answer: so the scheduler
  // says while claims are still being made from their templates.
  std::string NodeOf(const std::string& name) {
    process::Requests requests = Admin();
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (std::chrono::steady_clock::now() < end) {
      const auto response = requests.Do({.path = "/api/v1/namespaces/default/pods/" + name});
      const auto pod = api::JsonDecoder().Decode<api::Pod>(response.body);
      if (pod.ok() && !pod->spec.node_name.empty()) return pod->spec.node_name;
      last_ = response.body;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return "";
  }
  std::string last_;  // what the server said of the pod
};

TEST_F(GreedyPodTest, FourHundredClaimsOfThirtyTwoRequestsAreDecided) {
  Post("/apis/resource.k8s.io/v1/deviceclasses",
       R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"greedy"}})");
  Post("/apis/resource.k8s.io/v1/resourceslices",
       R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"greedy"},)"
       R"("spec":{"driver":"greedy.example.com","allNodes":true,)"
       R"("pool":{"name":"greedy","generation":1,"resourceSliceCount":1},)"
       R"("devices":[{"name":"all","allowMultipleAllocations":true}]}})");
  std::string requests;
  for (int i = 0; i < 32; ++i) {
    requests += fmt::format(
        R"({}{{"name":"r{}","exactly":{{"deviceClassName":"greedy","allocationMode":"ExactCount",)"
        R"("count":1}}}})",
        i == 0 ? "" : ",", i);
  }
  Post(std::string(kTemplates),
       fmt::format(R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate",)"
                   R"("metadata":{{"name":"greedy"}},"spec":{{"spec":{{"devices":{{)"
                   R"("requests":[{}]}}}}}}}})",
                   requests));
  std::string claims;
  for (int i = 0; i < 400; ++i) {
    claims += fmt::format(R"({}{{"name":"c{}","resourceClaimTemplateName":"greedy"}})",
                          i == 0 ? "" : ",", i);
  }
  Post("/api/v1/namespaces/default/pods",
       fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"greedy"}},)"
                   R"("spec":{{"containers":[{{"name":"c","image":"i"}}],)"
                   R"("resourceClaims":[{}]}}}})",
                   claims));
  EXPECT_NE(NodeOf("greedy"), "") << last_;
  EXPECT_TRUE(server().Running()) << server().Said();
  process::Requests admin = Admin();
  admin.Do({.method = "DELETE", .path = "/api/v1/namespaces/default/pods/greedy"});
}

}  // namespace
}  // namespace dray::abuse
