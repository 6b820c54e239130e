// SPDX-License-Identifier: Apache-2.0
//
// Manifests as people have them, with the real kubectl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "kubectl.h"

namespace dray::e2e {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// What the chart of a driver has besides roles: kinds that were refused, and one that nobody here
// knows in their midst.
constexpr std::string_view kChart = R"(
apiVersion: v1
kind: ServiceAccount
metadata: {name: driver}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {level: "3"}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin, labels: {app: plugin}}
spec:
  selector: {matchLabels: {app: plugin}}
  updateStrategy: {type: RollingUpdate}
  template:
    metadata: {labels: {app: plugin}}
    spec:
      priorityClassName: system-node-critical
      containers:
      - name: plugin
        image: example.com/plugin:1
        securityContext: {privileged: true}
        volumeMounts: [{name: plugins, mountPath: /var/lib/kubelet/plugins}]
      volumes: [{name: plugins, hostPath: {path: /var/lib/kubelet/plugins}}]
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec: {limits: [{type: Container, default: {cpu: 500m}}]}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
)";

constexpr std::string_view kList = R"(
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
- apiVersion: v1
  kind: Secret
  metadata: {name: b}
  stringData: {key: value}
)";

class EverydayKubectl : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Cluster::WhyNot(); !why.empty()) GTEST_SKIP() << why;
    cluster_ = std::make_unique<Cluster>();
  }
  std::string Ok(std::string_view arguments, std::string_view input = "") {
    const Output output = cluster_->Kubectl(arguments, input);
    EXPECT_EQ(output.code, 0) << "kubectl " << arguments << "\n" << output.text;
    return output.text;
  }

  std::unique_ptr<Cluster> cluster_;
};

TEST_F(EverydayKubectl, AnUnknownKindIsNamedAndTheRestIsApplied) {
  const Output applied = cluster_->Kubectl("apply -f -", kChart);
  EXPECT_NE(applied.code, 0);
  EXPECT_THAT(applied.text, HasSubstr("no matches for kind \"Widget\""));
  EXPECT_THAT(applied.text, Not(HasSubstr("openapi")));
  for (const char* made : {"serviceaccount/driver created", "configmap/settings created",
                           "daemonset.apps/plugin created", "limitrange/limits created",
                           "deviceclass.resource.k8s.io/gpu.example.com created"}) {
    EXPECT_THAT(applied.text, HasSubstr(made));
  }
}

TEST_F(EverydayKubectl, AListIsApplied) {
  EXPECT_THAT(Ok("apply -f -", kList), HasSubstr("secret/b created"));
  EXPECT_THAT(Ok("apply -f -", kList), HasSubstr("configmap/a unchanged"));
  EXPECT_THAT(Ok("get secret b -o jsonpath={.data.key}"), HasSubstr("dmFsdWU="));
}

TEST_F(EverydayKubectl, CreatesGetsDescribesAndExplains) {
  Ok("create configmap settings --from-literal=a=1");
  Ok("create secret generic keys --from-literal=a=1");
  Ok("create serviceaccount robot");
  Ok("create service clusterip web --tcp=80:8080");
  Ok("create cronjob nightly --image=i --schedule=@daily");
  Ok("create poddisruptionbudget keep --selector=app=web --min-available=1");
  Ok("create ingress site --rule=a.example/=web:80");
  EXPECT_THAT(Ok("get cm,secret,sa,svc,cj,pdb,ing"), HasSubstr("service/web"));
  EXPECT_THAT(Ok("get svc web"), ContainsRegex("web +ClusterIP +<none> +<none> +80/TCP"));
  EXPECT_THAT(Ok("describe svc web"), ContainsRegex("TargetPort: +8080/TCP"));
  EXPECT_THAT(Ok("describe cm settings"), HasSubstr("BinaryData"));
  EXPECT_THAT(Ok("explain ingress.spec.rules"), HasSubstr("host"));
  EXPECT_THAT(Ok("explain secret.stringData"), HasSubstr("plain text"));
  EXPECT_THAT(Ok("apply --server-side -f -", kList), HasSubstr("serverside-applied"));
  Ok(R"(patch svc web -p '{"spec":{"ports":[{"port":80,"name":"http"}]}}')");
  EXPECT_THAT(Ok("get svc web -o yaml"), HasSubstr("name: http"));
  Ok("delete cm settings");
}

}  // namespace
}  // namespace dray::e2e
