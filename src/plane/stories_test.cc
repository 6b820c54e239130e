// SPDX-License-Identifier: Apache-2.0
//
// The stories of the proposals, as a real Kubernetes played them: the same classes, slices and pods
// here end with the same nodes, devices, refusals and quota.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/node.h"
#include "api/resource_quota.h"
#include "fmt/format.h"
#include "plane/plane_for_test.h"
#include "rest/tree.h"
#include "testing/objects_from.h"
#include "testing/recorded_cases.h"

namespace dray::plane {
namespace {

using rest::DocumentNode;
using rest::FindIn;
using rest::TextIn;

constexpr std::string_view kGpus = "example.com/gpu";
// Of the one story with a workload; its pods have names that were made up.
constexpr std::string_view kDeployment = "demo";

const DocumentNode& In(const DocumentNode& node, std::initializer_list<std::string_view> path) {
  static const DocumentNode nothing = rest::MapNode();
  const DocumentNode* at = &node;
  for (const std::string_view key : path) {
    at = FindIn(*at, key);
    if (at == nullptr) return nothing;
  }
  return *at;
}

bool OfDeployment(const DocumentNode& pod) {
  return TextIn(pod, "name").starts_with(fmt::format("{}-", kDeployment));
}
bool WasRefused(const DocumentNode& pod) { return TextIn(In(pod, {"spec"}), "nodeName").empty(); }
bool HasImplicitClaim(const DocumentNode& pod) {
  return FindIn(In(pod, {"status"}), "extendedResourceClaimStatus") != nullptr;
}
bool AsksForGpus(const DocumentNode& pod) {
  for (const DocumentNode& container : In(pod, {"spec", "containers"}).items) {
    if (FindIn(In(container, {"resources", "limits"}), kGpus) != nullptr) return true;
  }
  return false;
}

// "nic eth1 bandwidth=1Mi"
std::string Shown(const api::DeviceRequestAllocationResult& result) {
  std::string text =
      fmt::format("{} {}/{}/{}", result.request, result.driver, result.pool, result.device);
  for (const auto& [name, amount] : result.consumed_capacity) {
    text += fmt::format(" {}={}", name, amount.ToString());
  }
  return text;
}

// What is the same in every run. Claims that were made for a pod have other names in each, and
// which of them has which device depends on who came first.
std::multiset<std::string> Outcome(const std::vector<api::ResourceClaim>& claims) {
  std::multiset<std::string> lines;
  for (const api::ResourceClaim& claim : claims) {
    const bool made = !claim.metadata.generate_name.empty();
    const std::string name = made ? "made" : claim.metadata.name;
    lines.insert(fmt::format("{}: {} finalizers, reserved for {}", name,
                             claim.metadata.finalizers.size(), claim.status.reserved_for.size()));
    if (!claim.status.allocation) continue;
    for (const auto& result : claim.status.allocation->devices.results) {
      lines.insert(made ? fmt::format("device {}", result.device)
                        : fmt::format("{}: {}", name, Shown(result)));
    }
  }
  return lines;
}

std::map<std::string, std::string> Used(const std::vector<api::ResourceQuota>& quotas) {
  std::map<std::string, std::string> used;
  for (const api::ResourceQuota& quota : quotas) {
    for (const auto& [name, amount] : quota.status.used)
      used[std::string(name)] = amount.ToString();
  }
  return used;
}

template <typename T>
std::vector<T> ObjectsOf(const DocumentNode& list) {
  std::vector<T> all;
  for (const DocumentNode& item : list.items) {
    for (const api::Object& object : testing::ObjectsFrom(ToJson(item))) {
      all.push_back(*object.As<T>());
    }
  }
  return all;
}

// One thread.
class Story {
 public:
  explicit Story(const DocumentNode& record)
      : given_(In(record, {"given"})), then_(In(record, {"then"})) {}

  void Play() {
    plane_.Start({});
    for (const DocumentNode& name : In(given_, {"nodes"}).items) CreateNode(name.text);
    for (const std::string_view kind : {"deviceClasses", "resourceSlices"}) {
      for (const DocumentNode& item : In(given_, {kind}).items) Create(item);
    }
    for (const DocumentNode& quota : In(then_, {"resourceQuotas"}).items)
      Create(Without(quota, "status"));
    CreateClaims();
    // Those that were refused came last.
    for (const bool refused : {false, true}) {
      for (const DocumentNode& pod : In(then_, {"pods"}).items) {
        if (WasRefused(pod) == refused && !OfDeployment(pod)) CreatePod(pod);
      }
      if (!refused) CreateDeployment();
    }
    AwaitPods();
  }

  void Compare() {
    std::multiset<std::string> theirs;
    for (const DocumentNode& pod : In(then_, {"pods"}).items) {
      theirs.insert(Line(TextIn(pod, "name"), TextIn(In(pod, {"spec"}), "nodeName")));
    }
    std::multiset<std::string> ours;
    for (const auto& pod : plane_.All<api::Pod>()) {
      ours.insert(Line(pod.metadata.name, pod.spec.node_name));
    }
    EXPECT_EQ(ours, theirs);
    EXPECT_EQ(Outcome(plane_.All<api::ResourceClaim>()),
              Outcome(ObjectsOf<api::ResourceClaim>(In(then_, {"resourceClaims"}))));
    const auto used = Used(ObjectsOf<api::ResourceQuota>(In(then_, {"resourceQuotas"})));
    EXPECT_TRUE(plane_.Until([&] { return Used(plane_.All<api::ResourceQuota>()) == used; }))
        << ::testing::PrintToString(Used(plane_.All<api::ResourceQuota>()));
    for (const DocumentNode& event : In(then_, {"events"}).items) {
      const std::string_view on = TextIn(event, "on");
      if (!on.starts_with("Pod/") || on.starts_with(fmt::format("Pod/{}-", kDeployment))) continue;
      EXPECT_TRUE(plane_.AwaitEvent(on.substr(4), TextIn(event, "reason"))) << on;
    }
  }

 private:
  static DocumentNode Without(DocumentNode object, std::string_view key) {
    rest::EraseIn(object, key);
    return object;
  }
  // Pods that any node takes may be on any.
  std::string Line(std::string_view name, std::string_view node) const {
    const bool any = In(given_, {"nodes"}).items.size() > 1 && !node.empty();
    return fmt::format("{} on {}", any || name.starts_with(kDeployment) ? "some pod" : name, node);
  }

  void Create(const DocumentNode& item) {
    for (const api::Object& object : testing::ObjectsFrom(ToJson(item))) {
      api::Object made = object;
      if (made.kind().namespaced) made.MutableMetadata().namespace_ = "default";
      const auto stored = plane_.plane().cluster().Create(std::move(made));
      EXPECT_TRUE(stored.ok()) << stored.status();
    }
  }

  // A node with a device plugin has as many devices as pods got without a claim.
  void CreateNode(const std::string& name) {
    const auto plugin =
        std::ranges::count_if(In(then_, {"pods"}).items, [&](const DocumentNode& pod) {
          return TextIn(In(pod, {"spec"}), "nodeName") == name && AsksForGpus(pod) &&
                 !HasImplicitClaim(pod);
        });
    api::Node node;
    node.metadata.name = name;
    auto& capacity = node.status.capacity;
    capacity["cpu"] = *base::Quantity::Parse("32");
    capacity["memory"] = *base::Quantity::Parse("128Gi");
    capacity["pods"] = *base::Quantity::Parse("110");
    if (plugin > 0) capacity[kGpus] = *base::Quantity::Parse(std::to_string(plugin));
    node.status.allocatable = capacity;
    plane_.Create(node);
    // Whoever keeps nodes alive writes to this one as well; who comes second reads again.
    api::Cluster& cluster = plane_.plane().cluster();
    const auto& kind = api::HubKind(api::TypeInfoOf<api::Node>());
    StatusOr<api::Object> stored = base::Aborted("not tried");
    for (int i = 0; i < 100 && stored.status().code() == StatusCode::kAborted; ++i) {
      api::Object now = **cluster.Find(kind, "", name);
      now.Mutable<api::Node>()->status = node.status;
      stored = cluster.UpdateStatus(now);
    }
    EXPECT_TRUE(stored.ok()) << stored.status();
  }

  // Those that pods name; from those that were made from a template, the template.
  void CreateClaims() {
    std::set<std::string> templates;
    for (const DocumentNode& pod : In(then_, {"pods"}).items) {
      for (const DocumentNode& entry : In(pod, {"spec", "resourceClaims"}).items) {
        const std::string from(TextIn(entry, "resourceClaimTemplateName"));
        for (DocumentNode claim : In(then_, {"resourceClaims"}).items) {
          const std::string_view name = TextIn(In(claim, {"metadata"}), "name");
          const bool named = name == TextIn(entry, "resourceClaimName");
          const bool made =
              !from.empty() &&
              name.starts_with(fmt::format("{}-{}-", TextIn(pod, "name"), TextIn(entry, "name")));
          if (!named && !made) continue;
          DocumentNode metadata = rest::MapNode();
          rest::SetIn(metadata, "name", rest::StringNode(named ? std::string(name) : from));
          DocumentNode spec = In(claim, {"spec"});
          if (made) {
            if (!templates.insert(from).second) continue;
            DocumentNode inner = rest::MapNode();
            rest::SetIn(inner, "spec", std::move(spec));
            spec = std::move(inner);
          }
          Create(Object("resource.k8s.io/v1", made ? "ResourceClaimTemplate" : "ResourceClaim",
                        std::move(metadata), std::move(spec)));
        }
      }
    }
  }

  static DocumentNode Object(std::string_view version, std::string_view kind, DocumentNode metadata,
                             DocumentNode spec) {
    DocumentNode object = rest::MapNode();
    rest::SetIn(object, "apiVersion", rest::StringNode(version));
    rest::SetIn(object, "kind", rest::StringNode(kind));
    rest::SetIn(object, "metadata", std::move(metadata));
    rest::SetIn(object, "spec", std::move(spec));
    return object;
  }

  void CreatePod(const DocumentNode& pod) {
    DocumentNode metadata = rest::MapNode();
    rest::SetIn(metadata, "name", rest::StringNode(TextIn(pod, "name")));
    Create(Object("v1", "Pod", std::move(metadata), Without(In(pod, {"spec"}), "nodeName")));
  }

  void CreateDeployment() {
    const DocumentNode& pods = In(then_, {"pods"});
    const auto count = std::ranges::count_if(pods.items, OfDeployment);
    if (count == 0) return;
    const DocumentNode spec =
        Without(In(*std::ranges::find_if(pods.items, OfDeployment), {"spec"}), "nodeName");
    for (
        const api::Object& object : testing::ObjectsFrom(fmt::format(
            R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{0}","namespace":)"
            R"("default"}},"spec":{{"replicas":{1},"selector":{{"matchLabels":{{"app":"{0}"}}}},)"
            R"("template":{{"metadata":{{"labels":{{"app":"{0}"}}}},"spec":{2}}}}}}})",
            kDeployment, count, ToJson(spec)))) {
      const auto stored = plane_.plane().cluster().Create(object);
      EXPECT_TRUE(stored.ok()) << stored.status();
    }
  }

  // Until each has a node or was refused.
  void AwaitPods() {
    const auto count = In(then_, {"pods"}).items.size();
    EXPECT_TRUE(plane_.Until([&] {
      const auto pods = plane_.All<api::Pod>();
      return pods.size() == count && std::ranges::all_of(pods, [](const api::Pod& pod) {
               return !pod.spec.node_name.empty() || !pod.status.conditions.empty();
             });
    }));
  }

  const DocumentNode& given_;
  const DocumentNode& then_;
  TestPlane plane_;
};

TEST(Stories, EndAsKubernetesEndsThem) {
  const auto folder = testing::SharedFolder("transcripts");
  if (!folder) GTEST_SKIP() << "shared/transcripts is not there";
  const auto records = rest::ReadTree(testing::ReadFile(*folder / "scenarios.json"));
  ASSERT_TRUE(records.ok()) << records.status();
  ASSERT_GE(records->items.size(), 7u);
  for (const DocumentNode& record : records->items) {
    SCOPED_TRACE(TextIn(record, "title"));
    Story story(record);
    story.Play();
    story.Compare();
  }
}

}  // namespace
}  // namespace dray::plane
