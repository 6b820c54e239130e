// SPDX-License-Identifier: Apache-2.0
//
// The user stories of the five proposals, from the manifests in examples/ to what is written about
// pods and claims. Golden files: stories/; DRAY_UPDATE_GOLDEN=1 rewrites them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "api/workloads.h"
#include "scheduler/plugins/dynamic_resources_test_support.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler::scenes {
namespace {

std::string ReadAll(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::filesystem::path Source() {
  const char* source = std::getenv("DRAY_SOURCE");
  return source == nullptr ? std::filesystem::path(".") : std::filesystem::path(source);
}

// What controllers would do: nodes register, deployments have pods, templates become claims, and
// every claim has a pod that uses it.
class Stage {
 public:
  explicit Stage(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    for (const auto& file : files) {
      for (api::Object& object : ObjectsFrom(ReadAll(file))) objects_.push_back(std::move(object));
    }
    AddNodes();
    AddPodsOfDeployments();
    AddClaimsFromTemplates();
    AddPodsOfClaims();
  }

  std::vector<api::Object> objects() const { return objects_; }
  std::vector<std::string> Pods() const {
    std::set<std::string> names;
    for (const api::Object& object : objects_) {
      const auto* pod = object.As<api::Pod>();
      if (pod != nullptr && pod->spec.node_name.empty()) names.insert(pod->metadata.name);
    }
    return {names.begin(), names.end()};
  }

 private:
  void AddNodes() {
    std::set<std::string> missing;
    for (const api::Object& object : objects_) {
      const auto* slice = object.As<api::ResourceSlice>();
      if (slice != nullptr && slice->spec.node_name.has_value()) {
        missing.insert(*slice->spec.node_name);
      }
    }
    for (const api::Object& object : objects_) {
      if (object.As<api::Node>() != nullptr) missing.erase(object.metadata().name);
    }
    for (const std::string& name : missing) {
      api::Node node;
      node.metadata.name = name;
      objects_.push_back(api::Object::Of(std::move(node)));
    }
    // A kubelet says what can be allocated; manifests say what there is.
    for (api::Object& object : objects_) {
      if (api::Node* node = object.Mutable<api::Node>()) {
        if (node->status.allocatable.empty()) node->status.allocatable = node->status.capacity;
      }
    }
  }

  void AddPodsOfDeployments() {
    std::vector<api::Object> pods;
    for (const api::Object& object : objects_) {
      const auto* deployment = object.As<api::Deployment>();
      if (deployment == nullptr) continue;
      api::Pod pod{.metadata = deployment->spec.template_.metadata,
                   .spec = deployment->spec.template_.spec};
      pod.metadata.name = deployment->metadata.name + "-0";
      pod.metadata.namespace_ = deployment->metadata.namespace_;
      pods.push_back(api::Object::Of(std::move(pod)));
    }
    std::ranges::move(pods, std::back_inserter(objects_));
  }

  void AddClaimsFromTemplates() {
    std::vector<api::Object> claims;
    for (api::Object& object : objects_) {
      if (object.As<api::Pod>() == nullptr) continue;
      api::Pod& pod = *object.Mutable<api::Pod>();
      if (pod.metadata.uid.empty()) pod.metadata.uid = "uid-" + pod.metadata.name;
      for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
        if (!entry.resource_claim_template_name.has_value()) continue;
        const auto source = std::ranges::find_if(objects_, [&](const api::Object& other) {
          return other.As<api::ResourceClaimTemplate>() != nullptr &&
                 other.metadata().name == *entry.resource_claim_template_name;
        });
        ASSERT_NE(source, objects_.end());
        api::ResourceClaim claim{.spec = source->As<api::ResourceClaimTemplate>()->spec.spec};
        claim.metadata.name = fmt::format("{}-{}", pod.metadata.name, entry.name);
        claim.metadata.namespace_ = pod.metadata.namespace_;
        claim.metadata.owner_references.push_back({.api_version = "v1",
                                                   .kind = "Pod",
                                                   .name = pod.metadata.name,
                                                   .uid = pod.metadata.uid,
                                                   .controller = true});
        if (!pod.status.resource_claim_statuses) pod.status.resource_claim_statuses.emplace();
        pod.status.resource_claim_statuses->push_back(
            {.name = entry.name, .resource_claim_name = claim.metadata.name});
        claims.push_back(api::Object::Of(std::move(claim)));
      }
    }
    std::ranges::move(claims, std::back_inserter(objects_));
  }

  void AddPodsOfClaims() {
    std::vector<api::Object> pods;
    for (const api::Object& object : objects_) {
      const auto* claim = object.As<api::ResourceClaim>();
      if (claim == nullptr || api::FindController(claim->metadata) != nullptr) continue;
      const bool used = std::ranges::any_of(objects_, [&](const api::Object& other) {
        const auto* pod = other.As<api::Pod>();
        return pod != nullptr && UsesClaim(*pod, *claim);
      });
      if (used) continue;
      api::Pod pod;
      pod.metadata.name = "uses-" + claim->metadata.name;
      pod.metadata.namespace_ = claim->metadata.namespace_;
      pod.metadata.uid = "uid-" + pod.metadata.name;
      pod.spec.containers.push_back({.name = "c", .image = "i"});
      pod.spec.resource_claims.push_back(
          {.name = "c", .resource_claim_name = claim->metadata.name});
      pods.push_back(api::Object::Of(std::move(pod)));
    }
    std::ranges::move(pods, std::back_inserter(objects_));
  }

  std::vector<api::Object> objects_;
};

std::string Describe(const api::ResourceClaim& claim) {
  std::string text = fmt::format("  claim {}\n", claim.metadata.name);
  if (!claim.status.allocation.has_value()) return text + "    not allocated\n";
  for (const auto& result : claim.status.allocation->devices.results) {
    text += fmt::format("    {}: {}/{}/{}{}\n", result.request, result.driver, result.pool,
                        result.device, result.share_id.has_value() ? ", a share" : "");
    for (const auto& [name, amount] : result.consumed_capacity) {
      text += fmt::format("      {} of {}\n", amount.ToString(), name.view());
    }
    for (const auto& [set, groups] : result.compatibility_groups) {
      for (const std::string& group : groups) {
        text += fmt::format("      group {} on {}\n", group, set.view());
      }
    }
  }
  return text;
}

std::string Describe(const Scene& scene, std::string_view name) {
  const auto pod = scene.Find<api::Pod>(name);
  std::string text;
  for (const api::Object& object : scene.cluster_.All(KindOf<api::ResourceClaim>())) {
    const auto* claim = object.As<api::ResourceClaim>();
    if (UsesClaim(*pod, *claim)) text += Describe(*claim);
  }
  if (const auto& status = pod->status.extended_resource_claim_status) {
    for (const auto& mapping : status->request_mappings) {
      text += fmt::format("  container {}: {} by {} of {}\n", mapping.container_name,
                          mapping.resource_name, mapping.request_name, status->resource_claim_name);
    }
  }
  return text;
}

std::string Play(const Stage& stage, const std::vector<std::string>& pods) {
  Scene scene;
  const Status loaded = scene.cluster_.Load(stage.objects());
  EXPECT_TRUE(loaded.ok()) << loaded.message();
  scene.Sync();
  std::string text;
  for (const std::string& pod : pods) {
    text += fmt::format("{}: {}\n", pod, scene.Schedule(pod));
    text += Describe(scene, pod);
  }
  return text;
}

class StoriesTest : public ::testing::TestWithParam<std::string> {};

TEST_P(StoriesTest, EndAsTheGoldenFileSays) {
  const Stage stage(Source() / "examples" / GetParam());
  std::string text = "# Each pod as if it were the only one.\n";
  for (const std::string& pod : stage.Pods()) text += Play(stage, {pod});
  text += "\n# One after the other.\n" + Play(stage, stage.Pods());
  const std::filesystem::path golden =
      Source() / "src/scheduler/plugins/stories" / (GetParam() + ".txt");
  if (std::getenv("DRAY_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(text, ReadAll(golden)) << golden << " (DRAY_UPDATE_GOLDEN=1 rewrites it)";
}
INSTANTIATE_TEST_SUITE_P(Proposals, StoriesTest,
                         ::testing::Values("kep-5004-extended-resources",
                                           "kep-5075-consumable-capacity",
                                           "kep-5491-list-attributes",
                                           "kep-5963-compatibility-groups",
                                           "kep-6080-derived-attributes"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace dray::scheduler::scenes
