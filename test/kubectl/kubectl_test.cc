// SPDX-License-Identifier: Apache-2.0
//
// A person with kubectl feels at home.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kubectl.h"

namespace dray::e2e {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr std::string_view kClass = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: gpu.example.com
spec:
  selectors:
  - cel:
      expression: device.driver == 'gpu.example.com'
)";

constexpr std::string_view kClaim = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: one
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
)";

constexpr std::string_view kPod = R"(
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels:
    app: web
spec:
  containers:
  - name: main
    image: example.com/web:1
    resources:
      claims:
      - name: gpu
  resourceClaims:
  - name: gpu
    resourceClaimName: one
)";

class KubectlTest : public ::testing::Test {
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
  std::string Fails(std::string_view arguments, std::string_view input = "") {
    const Output output = cluster_->Kubectl(arguments, input);
    EXPECT_NE(output.code, 0) << "kubectl " << arguments << "\n" << output.text;
    return output.text;
  }

  std::unique_ptr<Cluster> cluster_;
};

TEST_F(KubectlTest, AppliesGetsAndDeletes) {
  EXPECT_THAT(Ok("apply -f -", kClass),
              HasSubstr("deviceclass.resource.k8s.io/gpu.example.com created"));
  EXPECT_THAT(Ok("apply -f -", kClass), HasSubstr("unchanged"));
  EXPECT_THAT(Ok("apply -f -", kClaim), HasSubstr("resourceclaim.resource.k8s.io/one created"));
  EXPECT_THAT(Ok("get resourceclaims"),
              ContainsRegex("NAME +STATE +DEVICES +NODE +RESERVED BY +AGE\none +pending"));
  EXPECT_THAT(Ok("create -f -", kPod), HasSubstr("pod/web created"));
  EXPECT_THAT(Ok("get pods -o wide"), ContainsRegex("web +0/1 +Pending"));
  EXPECT_THAT(Ok("get po web -o yaml"), HasSubstr("resourceClaimName: one"));
  EXPECT_THAT(Ok("get pod web -o jsonpath={.metadata.labels.app}"), HasSubstr("web"));
  EXPECT_THAT(Ok("get all -A"), HasSubstr("pod/web"));
  EXPECT_THAT(Ok("delete pod web"), HasSubstr("pod \"web\" deleted"));
  EXPECT_THAT(Ok("delete resourceclaims --all"), HasSubstr("\"one\" deleted"));
  EXPECT_THAT(Fails("get pod web"),
              HasSubstr("Error from server (NotFound): pods \"web\" not found"));
}

TEST_F(KubectlTest, AppliesOnTheServerAndSaysWhoIsInTheWay) {
  EXPECT_THAT(Ok("apply --server-side -f -", kClass), HasSubstr("serverside-applied"));
  Ok("label deviceclass gpu.example.com team=a --field-manager=one");
  const std::string labelled =
      "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: gpu.example.com\n"
      "  labels:\n    team: b\n";
  const std::string conflict = Fails("apply --server-side --field-manager=two -f -", labelled);
  EXPECT_THAT(conflict, HasSubstr("conflict"));
  EXPECT_THAT(conflict, HasSubstr(".metadata.labels.team"));
  EXPECT_THAT(Ok("apply --server-side --force-conflicts --field-manager=two -f -", labelled),
              HasSubstr("serverside-applied"));
  EXPECT_THAT(Ok("diff --server-side --field-manager=two -f -", labelled), ::testing::IsEmpty());
}

TEST_F(KubectlTest, PatchesLabelsAnnotatesAndReplaces) {
  Ok("apply -f -", kClaim);
  Ok("apply -f -", kPod);
  Ok("label pod web tier=front");
  Ok("annotate pod web note=hello");
  Ok(R"(patch pod web --type=json -p '[{"op":"add","path":"/metadata/labels/j","value":"1"}]')");
  Ok(R"(patch pod web --type=merge -p '{"metadata":{"labels":{"m":"2"}}}')");
  Ok(R"(patch pod web -p '{"metadata":{"labels":{"s":"3"}}}')");
  const std::string labels = Ok("get pod web --show-labels");
  EXPECT_THAT(labels, HasSubstr("app=web,j=1,m=2,s=3,tier=front"));
  EXPECT_THAT(Ok("get pods -l tier=front,m"), HasSubstr("web"));
  EXPECT_THAT(Ok("get pods --field-selector status.phase=Pending"), HasSubstr("web"));
  EXPECT_THAT(Ok("get pods --field-selector status.phase=Running"),
              HasSubstr("No resources found"));
  Ok(R"(patch pod web --subresource=status -p '{"status":{"phase":"Running"}}')");
  EXPECT_THAT(Ok("get pod web"), HasSubstr("Running"));
  EXPECT_THAT(Fails("replace -f -", std::string(kClaim) + "\n  x: 1"), HasSubstr("unknown field"));
  EXPECT_THAT(Ok("wait --for=jsonpath={.status.phase}=Running pod/web --timeout=5s"),
              HasSubstr("condition met"));
}

TEST_F(KubectlTest, DiffsDryRunsAndValidates) {
  EXPECT_THAT(Ok("apply --dry-run=server -f -", kClass), HasSubstr("created (server dry run)"));
  EXPECT_THAT(Fails("get deviceclasses gpu.example.com"), HasSubstr("NotFound"));
  Ok("apply -f -", kClass);
  const std::string changed = std::string(kClass) + "  extendedResourceName: example.com/gpu\n";
  EXPECT_THAT(Fails("diff -f -", changed), HasSubstr("+  extendedResourceName: example.com/gpu"));
  EXPECT_THAT(Fails("apply -f -", std::string(kClass) + "  selektors: []\n"),
              HasSubstr("unknown field \"spec.selektors\""));
  const std::string invalid =
      "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: Bad_Name\nspec: {}\n";
  EXPECT_THAT(Fails("apply -f -", invalid), HasSubstr("The DeviceClass \"Bad_Name\" is invalid"));
}

TEST_F(KubectlTest, ExplainsEveryField) {
  EXPECT_THAT(Ok("explain resourceclaim.spec.devices.requests.exactly"),
              HasSubstr("deviceClassName"));
  EXPECT_THAT(Ok("explain pod.spec.resourceClaims"), HasSubstr("resourceClaimTemplateName"));
  EXPECT_THAT(Ok("explain --api-version=resource.k8s.io/v1beta1 resourceslice.spec.devices"),
              HasSubstr("basic"));
  EXPECT_THAT(Ok("explain resourceslice --recursive"), HasSubstr("sharedCounters"));
}

TEST_F(KubectlTest, SeesWhatThereIs) {
  EXPECT_THAT(Ok("api-resources"), ContainsRegex("resourceclaims +resource.k8s.io/v1 +true"));
  EXPECT_THAT(Ok("api-resources"), ContainsRegex("pods +po +v1 +true +Pod"));
  EXPECT_THAT(Ok("api-versions"), HasSubstr("resource.k8s.io/v1beta1"));
  EXPECT_THAT(Ok("get --raw /readyz"), HasSubstr("ok"));
  EXPECT_THAT(Ok("version"), HasSubstr("Server Version: v1.38"));
}

TEST_F(KubectlTest, DescribesWithEvents) {
  Ok("apply -f -", kClaim);
  Ok("apply -f -", kPod);
  // Events are found by the uid of what they are about.
  const std::string uid = Ok("get pod web -o jsonpath={.metadata.uid}");
  Ok("create -f -", R"(
apiVersion: v1
kind: Event
metadata: {name: web.1, namespace: default}
involvedObject: {kind: Pod, name: web, namespace: default, uid: )" +
                        uid + R"(}
type: Warning
reason: FailedScheduling
message: no node fits
count: 1
)");
  const std::string described = Ok("describe pod web");
  EXPECT_THAT(described, ContainsRegex("Status: +Pending"));
  EXPECT_THAT(described, HasSubstr("no node fits"));
  EXPECT_THAT(Ok("get events"), ContainsRegex("Warning +FailedScheduling +pod/web +no node fits"));
  EXPECT_THAT(Ok("describe resourceclaim one"), HasSubstr("gpu.example.com"));
}

// Commands that make their objects themselves send protobuf.
TEST_F(KubectlTest, CreatesWithoutManifests) {
  EXPECT_THAT(Ok("create namespace team"), HasSubstr("namespace/team created"));
  EXPECT_THAT(Ok("create quota q --hard=pods=3"), HasSubstr("resourcequota/q created"));
  EXPECT_THAT(Ok("create deployment web --image=x --replicas=2"),
              HasSubstr("deployment.apps/web created"));
  EXPECT_THAT(Ok("get deployment web"), ContainsRegex("web +0/2"));
  EXPECT_THAT(Ok("create job once --image=x -- run"), HasSubstr("job.batch/once created"));
  EXPECT_THAT(Ok("create priorityclass high --value=7"), HasSubstr("created"));
  EXPECT_THAT(Ok("run solo --image=x"), HasSubstr("pod/solo created"));
  Ok("set image deployment/web x=y");
  EXPECT_THAT(Ok("get deployment web -o wide"), HasSubstr(" y "));
  Ok("delete deployment web");
}

TEST_F(KubectlTest, ViewersAreToldWhatTheyMayNot) {
  Ok("apply -f -", kClaim);
  EXPECT_EQ(cluster_->Kubectl("get resourceclaims", "", "viewer").code, 0);
  const Output refused = cluster_->Kubectl("delete resourceclaim one", "", "viewer");
  EXPECT_THAT(refused.text,
              HasSubstr("Error from server (Forbidden): resourceclaims.resource.k8s.io \"one\" is "
                        "forbidden: User \"eve\" cannot delete resource \"resourceclaims\" in API "
                        "group \"resource.k8s.io\" in the namespace \"default\""));
}

TEST_F(KubectlTest, WatchesAndPages) {
  for (const char* name : {"a", "b", "c"}) {
    Ok("create -f -",
       std::string("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: team-") + name);
  }
  EXPECT_THAT(Ok("get namespaces --chunk-size=2"), HasSubstr("team-c"));
  EXPECT_THAT(cluster_->Kubectl("get namespaces -w --request-timeout=2s").text,
              HasSubstr("team-b"));
  Ok("apply -f -", kClaim);
  Ok("delete resourceclaim one --wait=true");
}

// An object that this version cannot read is an error of that object, and hides no other.
TEST_F(KubectlTest, ShowsWhatCannotBeReadAsAnErrorOfItsOwn) {
  std::string other(kPod);
  other.replace(other.find("name: web"), 9, "name: old");
  Ok("create -f -", kPod);
  Ok("create -f -", other);
  cluster_->Overwrite("/registry/core/pods/default/old",
                      R"({"metadata":{"name":"old"},"spec":{"containers":"none"}})");
  const std::string one = Fails("get pod old");
  EXPECT_THAT(one, HasSubstr("Error from server (StorageReadError)"));
  EXPECT_THAT(one, HasSubstr("cannot be read"));
  const std::string list = Ok("get pods");
  EXPECT_THAT(list, HasSubstr("Warning: "));
  EXPECT_THAT(list, HasSubstr("/registry/core/pods/default/old"));
  EXPECT_THAT(list, ContainsRegex("web +0/1"));
  EXPECT_THAT(Ok("get pod web"), ContainsRegex("web +0/1"));
  // Neither deleted by chance nor taken for absent.
  EXPECT_THAT(Fails("delete pod old"), HasSubstr("cannot be read"));
  EXPECT_THAT(Fails("create -f -", other), HasSubstr("cannot be read"));
  EXPECT_THAT(Fails("get pod old"), HasSubstr("StorageReadError"));
}

}  // namespace
}  // namespace dray::e2e
