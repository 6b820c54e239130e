// SPDX-License-Identifier: Apache-2.0
//
// `dray explain` as a command line.
#include <sstream>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "cli/cli_test_support.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kAsks = R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one, namespace: default}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: spare, namespace: default}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: good, namespace: default}
spec:
  containers: [{name: c, image: i}]
  resourceClaims: [{name: gpu, resourceClaimName: one}]
---
apiVersion: v1
kind: Pod
metadata: {name: big, namespace: default}
spec:
  containers: [{name: c, image: i, resources: {requests: {cpu: "9"}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: good, namespace: other}
spec:
  containers: [{name: c, image: i}]
)";

std::string Input() { return OneNodeYaml("  devices: [{name: gpu-0}]\n") + std::string(kAsks); }

Outcome Explain(std::vector<std::string> words, const RunOptions& options = {}) {
  std::vector<std::string> line = {"explain"};
  line.insert(line.end(), words.begin(), words.end());
  line.insert(line.end(), {"-f", "-"});
  RunOptions with_input = options;
  with_input.in = Input();
  return RunLine(line, with_input);
}

TEST(ExplainCommand, TellsWhatIsInTheWayAndWhatWouldHelp) {
  const Outcome outcome = Explain({"pod/big"});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_EQ(outcome.out,
            "Pod default/big is pending: it needs 9 cpu; the only node, n1, has 8 free\n"
            "what would help, each by itself:\n"
            "  - node n1 needs 1 more cpu\n");
}

TEST(ExplainCommand, DetailsAreForWhoAsks) {
  const std::string details =
      "Pod default/big is pending: it needs 9 cpu; the only node, n1, has 8 free\n"
      "what would help, each by itself:\n"
      "  - node n1 needs 1 more cpu\n"
      "details:\n"
      "├─ nearest fit: node n1, short of 1 cpu\n"
      "├─ 1 node: n1\n"
      "│  └─ Insufficient cpu (NodeResourcesFit)\n"
      "│     └─ cpu: 9 needed, 8 free\n"
      "└─ preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling. "
      "(DefaultPreemption)\n";
  EXPECT_EQ(Explain({"pod/big", "--details"}).out, details);
  EXPECT_EQ(Explain({"pod/big", "-v"}).out, details);
}

// Not every terminal has more than ASCII.
TEST(ExplainCommand, TreesAreDrawnWithWhatTheLocaleHas) {
  const auto locale = [](std::map<std::string, std::string, std::less<>> variables) {
    return Explain({"pod/big", "-v"}, {.variables = std::move(variables)}).out;
  };
  const std::string plain =
      "details:\n"
      "|- nearest fit: node n1, short of 1 cpu\n"
      "|- 1 node: n1\n"
      "|  `- Insufficient cpu (NodeResourcesFit)\n"
      "|     `- cpu: 9 needed, 8 free\n"
      "`- preemption: ";
  EXPECT_THAT(locale({{"LC_ALL", "C"}, {"LANG", "en_US.UTF-8"}}), HasSubstr(plain));
  EXPECT_THAT(locale({{"LC_ALL", ""}, {"LC_CTYPE", "POSIX"}}), HasSubstr(plain));
  EXPECT_THAT(locale({{"LANG", "de_DE.ISO-8859-1"}}), HasSubstr(plain));
  for (const char* utf8 : {"C.UTF-8", "en_US.utf8"}) {
    EXPECT_THAT(locale({{"LC_ALL", utf8}, {"LANG", "C"}}), HasSubstr("└─ preemption")) << utf8;
  }
  EXPECT_THAT(locale({}), HasSubstr("└─ preemption"));
  // As data it is what it is.
  EXPECT_EQ(Explain({"pod/big", "-o", "json"}, {.variables = {{"LC_ALL", "C"}}}).out,
            Explain({"pod/big", "-o", "json"}).out);
}

TEST(ExplainCommand, WithoutANameTellsOfEverythingThatIsPending) {
  const Outcome outcome = Explain({});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_EQ(outcome.out,
            "1 pod: no node has enough cpu free\n"
            "  - pod default/big: it needs 9 cpu; the only node, n1, has 8 free\n"
            "what would help, each by itself:\n"
            "  - node n1 needs 1 more cpu\n"
            "\n"
            "1 claim: devices of class gpu would go first to other pending pods\n"
            "  - claim default/spare: the only node, n1, has no usable device of class gpu for "
            "request gpu: 1 would go first to pod good\n"
            "what would help, each by itself:\n"
            "  - schedule it before pod good, which would get gpu-0 (it would then go to node n1)\n"
            "  - node n1 needs 1 more device like gpu-0\n"
            "  - add 1 node like n1\n");
  EXPECT_EQ(Explain({"-n", "other"}).code, kExitOk);
  EXPECT_EQ(Explain({"-n", "other"}).out, "Nothing is pending.\n");
  EXPECT_EQ(Explain({"-n", "nosuch"}).code, kExitUsage);
  EXPECT_THAT(Explain({"-o", "json"}).out, AllOf(HasSubstr("\"big\""), HasSubstr("\"spare\"")));
}

TEST(ExplainCommand, WhatIsPendingForTheSameCauseIsOneGroup) {
  std::string yaml = OneNodeYaml("  devices: [{name: gpu-0}]\n");
  yaml += R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two, namespace: default}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, count: 2}}]}}}
)";
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    yaml += std::string(R"(---
apiVersion: v1
kind: Pod
metadata: {namespace: default, name: )") +
            name + R"(}
spec:
  containers: [{name: c, image: i}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: two}]
)";
  }
  const Outcome outcome = RunLine({"explain", "-f", "-"}, {.in = yaml});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(
      outcome.out,
      AllOf(
          StartsWith("5 pods: more devices of class gpu are needed on one node than any node has\n"
                     "  - pod default/a: request gpu needs 2 devices of class gpu on one node, "
                     "and the only node, n1, has 1\n"),
          HasSubstr("  - and 2 more: pod default/d, pod default/e\n"
                    "what would help pod default/a, each by itself:\n"
                    "  - let request gpu ask for 1 device instead of 2 (it would then go to node "
                    "n1)\n")));
  const Outcome json = RunLine({"explain", "-f", "-", "-o", "json"}, {.in = yaml});
  EXPECT_THAT(json.out,
              AllOf(HasSubstr("\"key\": \"count_exceeds_node/gpu\""), HasSubstr("\"pods\": 5")));
}

TEST(ExplainCommand, TellsWhereAPodIsAndWithWhat) {
  const Outcome outcome = Explain({"pod", "good", "-n", "default"});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out,
            "Pod default/good would go to node n1\n"
            "└─ claim one (gpu)\n"
            "   └─ request gpu: gpu.example.com/n1/gpu-0\n");
}

TEST(ExplainCommand, AClaimIsExplainedByItsPodsOrByItself) {
  const Outcome used = Explain({"resourceclaim/one"});
  EXPECT_EQ(used.code, kExitOk);
  EXPECT_THAT(used.out, StartsWith("Pod default/good would go to node n1\n"));
  const Outcome loose = Explain({"claim/spare"});
  EXPECT_EQ(loose.code, kExitFindings);
  EXPECT_THAT(
      loose.out,
      AllOf(StartsWith("Claim default/spare cannot be allocated: the only node, n1, has no "
                       "usable device of class gpu for request gpu: 1 would go first to pod "
                       "good\n"),
            HasSubstr("  - schedule it before pod good, which would get gpu-0 (it would "
                      "then go to node n1)\n")));
  EXPECT_THAT(Explain({"claim/spare", "-v"}).out,
              HasSubstr("1 that would go first to others: gpu-0 to pod good (claim one)"));
}

TEST(ExplainCommand, ADeploymentIsExplainedByItsPods) {
  const std::string yaml = Input() + R"(---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: i, resources: {requests: {cpu: "5"}}}]
)";
  const Outcome outcome = RunLine({"explain", "deploy", "web", "-f", "-"}, {.in = yaml});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr(", which Deployment/web would create, would go to node n1\n"),
                    HasSubstr(", which Deployment/web would create, would be pending: it needs 5 "
                              "cpu; the only node, n1, has 3 free\n"),
                    Not(HasSubstr("Pod default/big"))));
}

TEST(ExplainCommand, SpeaksJsonAndYaml) {
  const Outcome json = Explain({"pod/big", "-o", "json"});
  EXPECT_EQ(json.code, kExitFindings);
  EXPECT_THAT(
      json.out,
      AllOf(HasSubstr("\"state\": \"Refused\""), HasSubstr("\"code\": \"insufficient_resource\""),
            HasSubstr("\"answer\": \"It needs 9 cpu; the only node, n1, has "
                      "8 free.\""),
            HasSubstr("\"cause\": \"insufficient_resource/cpu\""),
            HasSubstr("\"kind\": \"extend_node\""), HasSubstr("\"verified\": \"sufficient\""),
            HasSubstr("\"wouldHelp\": [")));
  EXPECT_THAT(
      Explain({"claim/one", "-o", "yaml"}).out,
      AllOf(StartsWith("causes: []\noutcomes:\n- kind: Pod\n"), HasSubstr("device: gpu-0")));
}

TEST(ExplainCommand, SeveralOfTheNameNeedANamespace) {
  const Outcome outcome = Explain({"pod/good"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("Pod \"good\" is in several namespaces: default, other"),
                                 HasSubstr("as in -n default")));
  EXPECT_EQ(Explain({"pod/good", "-n", "other"}).out, "Pod other/good would go to node n1\n");
  EXPECT_THAT(Explain({"pod/good", "-A"}).out,
              HasSubstr("\n\nPod other/good would go to node n1\n"));
}

TEST(ExplainCommand, WhatIsNotThereIsGuessedAt) {
  EXPECT_THAT(Explain({"pod/bik"}).err, HasSubstr("did you mean big?"));
  EXPECT_THAT(Explain({"pod/nothing-like-it"}).err, HasSubstr("there is big, good"));
  EXPECT_THAT(Explain({"pod/big", "-n", "other"}).err, HasSubstr("it is in another namespace"));
  EXPECT_EQ(Explain({"pod/bik"}).code, kExitUsage);
}

TEST(ExplainCommand, ANamespaceThatIsNotThereIsSaidToBeSo) {
  const Outcome outcome = Explain({"pod/big", "-n", "othe"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("namespace \"othe\" not found"), HasSubstr("did you mean other?")));
  // What is elsewhere is no suggestion.
  EXPECT_THAT(Explain({"pod/nothing-like-it", "-n", "other"}).err, Not(HasSubstr("big")));
}

TEST(ExplainCommand, QuotaIsReported) {
  const std::string yaml = Input() + R"(---
apiVersion: v1
kind: ResourceQuota
metadata: {name: few, namespace: team}
spec: {hard: {pods: "2"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: train, namespace: team}
spec:
  replicas: 3
  selector: {matchLabels: {app: train}}
  template:
    metadata: {labels: {app: train}}
    spec:
      containers: [{name: c, image: i}]
)";
  const Outcome outcome =
      RunLine({"explain", "deploy/train", "-n", "team", "-f", "-"}, {.in = yaml});
  EXPECT_EQ(outcome.code, kExitFindings);
  EXPECT_THAT(
      outcome.out,
      HasSubstr("Deployment team/train asks for 3 pods, 1 of which cannot be created\n"
                "└─ exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"));
  const Outcome json =
      RunLine({"explain", "deploy/train", "-n", "team", "-f", "-", "-o", "json"}, {.in = yaml});
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"podsNotCreated\": ["), HasSubstr("\"missing\": 1")));
}

TEST(ExplainCommand, LongLinesAreBrokenAtTheWidthOfTheTerminal) {
  const Outcome outcome = Explain({"claim/spare", "-v"}, {.columns = 60});
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(base::CodePoints(line), 60U) << line;
  }
  EXPECT_THAT(outcome.out,
              HasSubstr("Claim default/spare cannot be allocated: the only node, n1,\n  has no"));
  EXPECT_THAT(outcome.out, HasSubstr("\n│             usable\n"));
}

TEST(ExplainCommand, APodThatHasEndedIsNotExplained) {
  const Outcome outcome = RunLine(
      {"explain", "pod/old", "-f", "-"},
      {.in = "apiVersion: v1\nkind: Pod\nmetadata: {name: old}\nspec: {nodeName: n1, containers: "
             "[{name: c, image: i}]}\nstatus: {phase: Failed}\n"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("it has ended"));
}

TEST(ExplainCommand, WrongTargetsAreNamed) {
  EXPECT_THAT(Explain({"pod"}).err, HasSubstr("which pod?"));
  EXPECT_THAT(Explain({"node/n1"}).err, HasSubstr("cannot explain a \"node\""));
  EXPECT_THAT(Explain({"pod/a", "pod/b"}).err, HasSubstr("explain takes one object"));
  EXPECT_EQ(Explain({"node/n1"}).code, kExitUsage);
}

TEST(ExplainCommand, ColoursAreForTerminals) {
  EXPECT_THAT(Explain({"pod/big"}).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(Explain({"pod/big", "-v"}, {.terminal = true}).out,
              HasSubstr("\x1b[1mPod default/big is pending"));
}

}  // namespace
}  // namespace dray::cli
