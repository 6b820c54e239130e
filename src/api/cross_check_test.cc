// SPDX-License-Identifier: Apache-2.0
//
// One test per check. Objects are written as people write them.
#include "api/cross_check.h"

#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dray::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Object> Objects(std::string_view yaml) {
  std::vector<Diagnostic> diagnostics;
  std::vector<Object> objects;
  for (const DocumentNode& document : ParseYaml(yaml, diagnostics)) {
    for (const ObjectNode& source : ObjectsIn(document, diagnostics)) {
      if (auto object = DecodeObject(source, Severity::kError, diagnostics)) {
        objects.push_back(*std::move(object));
      }
    }
  }
  for (const Diagnostic& diagnostic : diagnostics) ADD_FAILURE() << ToString(diagnostic);
  return objects;
}

// "error UnknownDeviceClass 1 spec.x": enough to tell findings apart; texts are looked at where
// they are the point.
std::vector<std::string> Found(std::string_view yaml) {
  std::vector<std::string> lines;
  for (const CrossFinding& f : CrossCheck(Objects(yaml))) {
    lines.push_back(fmt::format("{} {} {} {}", f.severity == Severity::kError ? "error" : "warning",
                                f.reason, f.object, f.path.ToString()));
  }
  return lines;
}

CrossFinding Only(std::string_view yaml) {
  const std::vector<CrossFinding> findings = CrossCheck(Objects(yaml));
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? CrossFinding{} : findings.front();
}

std::string Class(std::string_view name, std::string_view spec = "{}") {
  return fmt::format(R"(
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: {}}}
spec: {}
)",
                     name, spec);
}

std::string Claim(std::string_view devices) {
  return fmt::format(R"(
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: claim}}
spec: {{devices: {}}}
)",
                     devices);
}

struct SliceText {
  std::string_view name = "slice";
  std::string_view pool = "{name: pool, generation: 1, resourceSliceCount: 1}";
  std::string_view content = "devices: []";
};

std::string Slice(const SliceText& text) {
  return fmt::format(R"(
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: {}}}
spec: {{driver: gpu.example.com, nodeName: node-1, pool: {}, {}}}
)",
                     text.name, text.pool, text.content);
}

constexpr std::string_view kPoolOfTwo = "{name: pool, generation: 1, resourceSliceCount: 2}";

TEST(CrossCheck, NothingGivenIsFine) { EXPECT_THAT(CrossCheck({}), IsEmpty()); }

TEST(CrossCheck, TwoObjectsOfOneNameAreAnError) {
  EXPECT_THAT(Found(Class("a") + Class("b") + Class("a")),
              ElementsAre("error DuplicateObject 2 metadata.name"));
  EXPECT_EQ(Only(Class("a") + Class("a")).related, 0u);
}

TEST(CrossCheck, OneNameInTwoNamespacesOrKindsIsFine) {
  EXPECT_THAT(Found(R"(
apiVersion: v1
kind: List
items:
- {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: a}}
- {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: a, namespace: other}}
- {apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: a}}
)"),
              IsEmpty());
}

TEST(CrossCheck, ANamelessNamespaceIsDefaultAndVersionsAreOneKind) {
  EXPECT_THAT(Found(R"(
apiVersion: v1
kind: List
items:
- {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: a}}
- {apiVersion: resource.k8s.io/v1beta1, kind: ResourceClaim, metadata: {name: a, namespace: default}}
)"),
              ElementsAre("error DuplicateObject 1 metadata.name"));
}

TEST(CrossCheck, ARequestForAClassThatIsNotGivenIsAnErrorWhenClassesAreGiven) {
  const std::string claim =
      Claim("{requests: [{name: r, exactly: {deviceClassName: gpu.exmaple.com}}]}");
  const CrossFinding finding = Only(Class("gpu.example.com") + claim);
  EXPECT_EQ(finding.reason, "UnknownDeviceClass");
  EXPECT_EQ(finding.path.ToString(), "spec.devices.requests[0].exactly.deviceClassName");
  EXPECT_EQ(finding.hint, "did you mean \"gpu.example.com\"?");
  EXPECT_THAT(Found(claim), IsEmpty());
}

TEST(CrossCheck, ClassesOfPrioritizedListsAndTemplatesAreLookedUp) {
  const CrossFinding finding = Only(Class("a.example.com") + Class("b.example.com") + R"(
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: t}
spec:
  spec:
    devices:
      requests:
      - name: r
        firstAvailable:
        - {name: one, deviceClassName: a.example.com}
        - {name: two, deviceClassName: something-else}
)");
  EXPECT_EQ(finding.path.ToString(),
            "spec.spec.devices.requests[0].firstAvailable[1].deviceClassName");
  EXPECT_EQ(finding.hint, "classes in the input: \"a.example.com\", \"b.example.com\"");
}

TEST(CrossCheck, ADerivedAttributeThatNoConstraintUsesIsAWarning) {
  EXPECT_THAT(Found(Claim(R"({
    requests: [
      {name: gpu, exactly: {deviceClassName: c, derivedAttributes: [
         {name: numa, expression: "1"}, {name: spare, expression: "1"}]}},
      {name: nic, exactly: {deviceClassName: c, derivedAttributes: [{name: numa, expression: "1"}]}}],
    constraints: [{matchAttribute: numa}]})")),
              ElementsAre("warning UnusedDerivedAttribute 0 "
                          "spec.devices.requests[0].exactly.derivedAttributes[1].name"));
}

TEST(CrossCheck, AConstraintUsesOnlyWhatItsRequestsDerive) {
  // The constraint is on nic alone, so gpu's attribute is not used.
  EXPECT_THAT(Found(Claim(R"({
    requests: [
      {name: gpu, exactly: {deviceClassName: c, derivedAttributes: [{name: numa, expression: "1"}]}},
      {name: nic, firstAvailable: [
         {name: fast, deviceClassName: c, derivedAttributes: [{name: numa, expression: "1"}]}]}],
    constraints: [{requests: [nic/fast], matchAttribute: numa}]})")),
              ElementsAre("warning UnusedDerivedAttribute 0 "
                          "spec.devices.requests[0].exactly.derivedAttributes[0].name"));
}

TEST(CrossCheck, AConstraintOnAnAttributeThatNoGivenDeviceHasIsAWarning) {
  const std::string claim = Claim(R"({
    requests: [{name: r, exactly: {deviceClassName: c}}],
    constraints: [{matchAttribute: k8s.io/pcieRoot}]})");
  const std::string slice =
      Slice({.content = "devices: [{name: d, attributes: {resource.kubernetes.io/pcieRoot: "
                        "{string: a}, model: {string: b}}}]"});
  const CrossFinding finding = Only(slice + claim);
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.reason, "UnknownAttribute");
  EXPECT_EQ(finding.hint, "did you mean \"resource.kubernetes.io/pcieRoot\"?");
  EXPECT_THAT(Found(claim), IsEmpty());
}

TEST(CrossCheck, ABareAttributeOfADeviceIsInItsDriversDomain) {
  const std::string slice =
      Slice({.content = "devices: [{name: d, attributes: {model: {int: 1}}}]"});
  const auto claim = [](std::string_view name) {
    return Claim(
        fmt::format("{{requests: [{{name: r, exactly: {{deviceClassName: c}}}}], constraints: "
                    "[{{distinctAttribute: {}}}]}}",
                    name));
  };
  EXPECT_THAT(Found(slice + claim("gpu.example.com/model")), IsEmpty());
  const CrossFinding finding = Only(slice + claim("model"));
  EXPECT_EQ(finding.severity, Severity::kError);
  EXPECT_EQ(finding.path.ToString(), "spec.devices.constraints[0].distinctAttribute");
  EXPECT_EQ(finding.hint, "did you mean \"gpu.example.com/model\"?");
}

TEST(CrossCheck, ABareAttributeThatNobodyDerivesIsAnErrorWithoutSlicesToo) {
  EXPECT_THAT(Found(Claim("{requests: [{name: r, exactly: {deviceClassName: c}}], "
                          "constraints: [{matchAttribute: numa}]}")),
              ElementsAre("error UnknownAttribute 0 spec.devices.constraints[0].matchAttribute"));
}

TEST(CrossCheck, AnIncompletePoolIsAWarning) {
  const CrossFinding finding = Only(Slice({.pool = kPoolOfTwo}));
  EXPECT_EQ(finding.reason, "IncompletePool");
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.message,
            "pool \"pool\" should have 2 slices of generation 1, but the input has 1");
}

TEST(CrossCheck, MoreSlicesThanThePoolSaysIsAnError) {
  EXPECT_THAT(Found(Slice({.name = "a"}) + Slice({.name = "b"})),
              ElementsAre("error IncompletePool 0 spec.pool.resourceSliceCount"));
}

TEST(CrossCheck, SlicesOfOneGenerationAgreeOnTheirNumber) {
  EXPECT_THAT(Found(Slice({.name = "a", .pool = kPoolOfTwo}) + Slice({.name = "b"})),
              ElementsAre("error PoolDisagrees 1 spec.pool.resourceSliceCount"));
}

TEST(CrossCheck, ASliceOfAnOlderGenerationIsAWarningAndDoesNotCount) {
  EXPECT_THAT(
      Found(Slice({.name = "old"}) +
            Slice({.name = "new", .pool = "{name: pool, generation: 2, resourceSliceCount: 1}"})),
      ElementsAre("warning StaleSlice 0 spec.pool.generation"));
}

TEST(CrossCheck, PoolsOfOneNameAndTwoDriversAreTwoPools) {
  EXPECT_THAT(Found(Slice({.name = "a"}) + R"(
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: b}
spec: {driver: nic.example.com, nodeName: node-1, pool: {name: pool, generation: 1, resourceSliceCount: 1}}
)"),
              IsEmpty());
}

TEST(CrossCheck, TwoDevicesOfOneNameInAPoolAreAnError) {
  EXPECT_THAT(
      Found(Slice({.name = "a", .pool = kPoolOfTwo, .content = "devices: [{name: gpu-0}]"}) +
            Slice({.name = "b",
                   .pool = kPoolOfTwo,
                   .content = "devices: [{name: gpu-1}, {name: gpu-0}]"})),
      ElementsAre("error DuplicateInPool 1 spec.devices[1].name"));
}

std::string Counters(std::string_view name, std::string_view set) {
  const std::string content = fmt::format("sharedCounters: [{}]", set);
  return Slice({.name = name, .pool = kPoolOfTwo, .content = content});
}

TEST(CrossCheck, TwoCounterSetsOfOneNameInAPoolAreAnError) {
  EXPECT_THAT(Found(Counters("a", "{name: set, counters: {memory: {value: 1Gi}}}") +
                    Counters("b", "{name: set, counters: {memory: {value: 1Gi}}}")),
              ElementsAre("error DuplicateInPool 1 spec.sharedCounters[0].name"));
}

std::string Consumer(std::string_view consumption) {
  const std::string content =
      fmt::format("devices: [{{name: d, consumesCounters: [{}]}}]", consumption);
  return Slice({.name = "consumer", .pool = kPoolOfTwo, .content = content});
}

TEST(CrossCheck, AConsumedCounterSetIsInThePool) {
  const CrossFinding finding =
      Only(Counters("counters", "{name: gpu-0-counters, counters: {memory: {value: 40Gi}}}") +
           Consumer("{counterSet: gpu-0-counter, counters: {memory: {value: 1Gi}}}"));
  EXPECT_EQ(finding.reason, "UnknownCounterSet");
  EXPECT_EQ(finding.path.ToString(), "spec.devices[0].consumesCounters[0].counterSet");
  EXPECT_EQ(finding.hint, "did you mean \"gpu-0-counters\"?");
}

TEST(CrossCheck, ACounterSetIsNotMissingFromAPoolThatIsIncomplete) {
  EXPECT_THAT(Found(Consumer("{counterSet: elsewhere, counters: {memory: {value: 1Gi}}}")),
              ElementsAre("warning IncompletePool 0 spec.pool.resourceSliceCount"));
}

TEST(CrossCheck, AConsumedCounterIsInItsSetAndNotAboveIt) {
  EXPECT_THAT(
      Found(Counters("counters", "{name: set, counters: {memory: {value: 40Gi}}}") +
            Consumer("{counterSet: set, counters: {memory: {value: 41Gi}, cores: {value: 1}}}")),
      ElementsAre("error UnknownCounter 1 spec.devices[0].consumesCounters[0].counters[cores]",
                  "error CounterExceeded 1 "
                  "spec.devices[0].consumesCounters[0].counters[memory].value"));
}

TEST(CrossCheck, OfTwoClassesWithOneExtendedResourceNameTheOlderIsWarnedAbout) {
  const auto with_time = [](std::string_view name, std::string_view time) {
    return fmt::format(R"(
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: {}, creationTimestamp: "{}"}}
spec: {{extendedResourceName: example.com/gpu}}
)",
                       name, time);
  };
  const CrossFinding finding =
      Only(with_time("a", "2026-01-01T00:00:00Z") + with_time("b", "2026-01-02T00:00:00Z"));
  EXPECT_EQ(finding.reason, "SharedExtendedResourceName");
  EXPECT_EQ(finding.object, 0u);
  EXPECT_THAT(finding.message, HasSubstr("DeviceClass \"b\""));
}

TEST(CrossCheck, OfEquallyOldClassesTheSmallerNameWins) {
  const std::string_view spec = "{extendedResourceName: example.com/gpu}";
  EXPECT_THAT(Found(Class("b", spec) + Class("a", spec)),
              ElementsAre("warning SharedExtendedResourceName 0 spec.extendedResourceName"));
}

TEST(CrossCheck, AClassNameTooLongForAnImplicitResourceNameIsAWarning) {
  const std::string name(64, 'a');
  EXPECT_THAT(Found(Class(name)), ElementsAre("warning NoImplicitResourceName 0 metadata.name"));
  EXPECT_THAT(Found(Class(name, "{extendedResourceName: example.com/gpu}")), IsEmpty());
  EXPECT_THAT(Found(Class(name.substr(1))), IsEmpty());
}

TEST(CrossCheck, ATaintRuleThatSelectsNoGivenDeviceIsAWarning) {
  const auto rule = [](std::string_view selector) {
    return fmt::format(R"(
---
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {{name: rule}}
spec: {{deviceSelector: {}, taint: {{key: k, effect: NoExecute}}}}
)",
                       selector);
  };
  const std::string slice = Slice({.content = "devices: [{name: gpu-0}]"});
  EXPECT_EQ(Only(slice + rule("{driver: gpu.exampl.com}")).hint,
            "did you mean \"gpu.example.com\"?");
  EXPECT_EQ(Only(slice + rule("{driver: gpu.example.com, pool: other}")).hint,
            "pools in the input: \"pool\"");
  EXPECT_EQ(Only(slice + rule("{device: gpu-8}")).hint, "did you mean \"gpu-0\"?");
  EXPECT_THAT(Found(slice + rule("{driver: gpu.example.com, device: gpu-0}")), IsEmpty());
  EXPECT_THAT(Found(slice + rule("{}")), IsEmpty());
  EXPECT_THAT(Found(rule("{driver: anything}")), IsEmpty());
}

TEST(CrossCheck, AdminAccessNeedsALabelledNamespace) {
  const std::string claim =
      Claim("{requests: [{name: r, exactly: {deviceClassName: c, adminAccess: true}}]}");
  const auto name_space = [](std::string_view labels) {
    return fmt::format(
        "---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: default, labels: {}}}\n", labels);
  };
  EXPECT_THAT(Found(claim), IsEmpty());
  EXPECT_THAT(Found(claim + name_space("{resource.kubernetes.io/admin-access: 'true'}")),
              IsEmpty());
  EXPECT_THAT(Found(claim + name_space("{resource.kubernetes.io/admin-access: 'false'}")),
              ElementsAre("error AdminAccessForbidden 0 "
                          "spec.devices.requests[0].exactly.adminAccess"));
}

std::string PodText(std::string_view claims, std::string_view resources = "{}") {
  return fmt::format(R"(
---
apiVersion: v1
kind: Pod
metadata: {{name: pod}}
spec: {{resourceClaims: [{}], containers: [{{name: c, image: i, resources: {}}}]}}
)",
                     claims, resources);
}

TEST(CrossCheck, AClaimOfAPodThatIsNotGivenIsAWarningWhenClaimsAreGiven) {
  const std::string claim = Claim("{requests: []}");
  const CrossFinding finding = Only(claim + PodText("{name: gpu, resourceClaimName: clain}"));
  EXPECT_EQ(finding.reason, "UnknownClaim");
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.path.ToString(), "spec.resourceClaims[0].resourceClaimName");
  EXPECT_EQ(finding.hint, "did you mean \"claim\"?");
  EXPECT_THAT(Found(PodText("{name: gpu, resourceClaimName: clain}")), IsEmpty());
  EXPECT_THAT(Found(claim + PodText("{name: gpu, resourceClaimName: claim}")), IsEmpty());
}

TEST(CrossCheck, AClaimInThePlaceOfATemplateIsRecognized) {
  EXPECT_EQ(
      Only(Claim("{requests: []}") + PodText("{name: gpu, resourceClaimTemplateName: claim}")).hint,
      "there is a ResourceClaim of that name: did you mean resourceClaimName?");
}

TEST(CrossCheck, AContainerUsesAClaimOfItsPod) {
  EXPECT_THAT(Found(PodText("{name: gpu, resourceClaimName: a}", "{claims: [{name: gpus}]}")),
              ElementsAre("error UnknownPodClaim 0 spec.containers[0].resources.claims[0]"));
}

TEST(CrossCheck, AContainerUsesARequestOfTheClaim) {
  const std::string claim = Claim("{requests: [{name: gpu, exactly: {deviceClassName: c}}]}");
  const auto pod = [](std::string_view request) {
    return PodText("{name: gpu, resourceClaimName: claim}",
                   fmt::format("{{claims: [{{name: gpu, request: {}}}]}}", request));
  };
  EXPECT_THAT(Found(claim + pod("gpu")), IsEmpty());
  EXPECT_THAT(Found(claim + pod("gpv")),
              ElementsAre("error UnknownRequest 1 spec.containers[0].resources.claims[0].request"));
}

TEST(CrossCheck, PodsOfADeploymentAreLookedAtToo) {
  EXPECT_THAT(Found(R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  template:
    spec: {initContainers: [{name: c, resources: {claims: [{name: gpu}]}}]}
)"),
              ElementsAre("error UnknownPodClaim 0 "
                          "spec.template.spec.initContainers[0].resources.claims[0]"));
}

TEST(CrossCheck, AnImplicitResourceNameNamesAGivenClass) {
  const std::string pod = PodText("", "{limits: {deviceclass.resource.kubernetes.io/gpu: 1}}");
  EXPECT_THAT(Found(pod), IsEmpty());
  EXPECT_THAT(Found(Class("gpu") + pod), IsEmpty());
  EXPECT_THAT(
      Found(Class("nic") + pod),
      ElementsAre("error UnknownDeviceClass 1 "
                  "spec.containers[0].resources.limits[deviceclass.resource.kubernetes.io/gpu]"));
}

TEST(CrossCheck, AnExtendedResourceMapsToARequestOfItsClaim) {
  const std::string claim =
      Claim("{requests: [{name: container-0-request-0, exactly: {deviceClassName: c}}]}");
  const auto pod = [](std::string_view request) {
    return fmt::format(R"(
---
apiVersion: v1
kind: Pod
metadata: {{name: pod}}
spec: {{containers: [{{name: c, image: i}}]}}
status:
  extendedResourceClaimStatus:
    resourceClaimName: claim
    requestMappings: [{{containerName: c, resourceName: example.com/gpu, requestName: {}}}]
)",
                       request);
  };
  EXPECT_THAT(Found(claim + pod("container-0-request-0")), IsEmpty());
  EXPECT_THAT(Found(claim + pod("container-0-request-1")),
              ElementsAre("error UnknownRequest 1 "
                          "status.extendedResourceClaimStatus.requestMappings[0].requestName"));
}

TEST(CrossCheck, FindingsComeInTheOrderOfTheObjects) {
  EXPECT_THAT(Found(Slice({.pool = kPoolOfTwo}) + Class("a") + Class("a")),
              ElementsAre("warning IncompletePool 0 spec.pool.resourceSliceCount",
                          "error DuplicateObject 2 metadata.name"));
}

}  // namespace
}  // namespace dray::api
