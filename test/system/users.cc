// SPDX-License-Identifier: Apache-2.0
#include "system/users.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "api/namespace.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_quota.h"
#include "api/resource_slice.h"
#include "api/workloads.h"
#include "base/check.h"
#include "fmt/format.h"
#include "system/shown.h"

namespace dray::system {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

api::Object FromJson(const std::string& json) {
  api::JsonDecoder decoder;
  auto object = api::DecodeObject(decoder, json);
  DRAY_CHECK(object.ok(), std::string(object.status().message()));
  return *std::move(object);
}

constexpr const char* kSpaces[] = {"a", "b", "c"};
constexpr const char* kTemplates[] = {"one-gpu", "two-gpus", "memory", "part"};
constexpr const char* kRichTemplates[] = {"fabric", "gpu-and-fabric", "either"};

std::string Requests(std::string_view what) {
  const auto exactly = [](std::string_view name, std::string_view rest) {
    return fmt::format(
        R"({{"devices":{{"requests":[{{"name":"r","exactly":{{"deviceClassName":"{}"{}}}}}]}}}})",
        name, rest);
  };
  if (what == "one-gpu") return exactly("gpu", "");
  if (what == "two-gpus") return exactly("gpu", R"(,"count":2)");
  if (what == "memory") {
    return exactly("memory", R"(,"capacity":{"requests":{"bytes":"3"}})");
  }
  if (what == "fabric") return exactly("fabric", "");
  if (what == "gpu-and-fabric") {
    return R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}},{"name":"f","exactly":{"deviceClassName":"fabric"}}]}})";
  }
  if (what == "either") {
    return R"({"devices":{"requests":[{"name":"r","firstAvailable":[{"name":"two","deviceClassName":"gpu","count":2},{"name":"part","deviceClassName":"part"},{"name":"one","deviceClassName":"gpu"}]}]}})";
  }
  return exactly("part", "");
}

std::vector<const char*> TemplatesOf(const Town& town) {
  std::vector<const char*> all(std::begin(kTemplates), std::end(kTemplates));
  if (town.rich) all.insert(all.end(), std::begin(kRichTemplates), std::end(kRichTemplates));
  return all;
}

// Devices that all nodes can use.
std::string FabricManifest() {
  return R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"fabric"},"spec":{"driver":"fabric.example.com","allNodes":true,"pool":{"name":"fabric","generation":1,"resourceSliceCount":1},"devices":[{"name":"channel-0"},{"name":"channel-1"},{"name":"channel-2"}]}})";
}

// The objects of a list, as they are written.
std::vector<std::string_view> ItemsIn(std::string_view list) {
  constexpr std::string_view kItems = "\"items\":[";
  std::vector<std::string_view> items;
  const std::size_t from = list.find(kItems);
  if (from == list.npos) return items;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = from + kItems.size(); at < list.size(); ++at) {
    const char c = list[at];
    if (c == '"') {
      for (++at; list[at] != '"'; ++at) at += list[at] == '\\' ? 1 : 0;
    } else if (c == '{' || c == '[') {
      if (depth++ == 0) begin = at;
    } else if (c == '}' || c == ']') {
      if (depth == 0) break;
      if (--depth == 0) items.push_back(list.substr(begin, at + 1 - begin));
    }
  }
  return items;
}

}  // namespace

std::string NodeManifest(int node, bool rich) {
  const std::string zone =
      rich ? fmt::format(R"(,"topology.kubernetes.io/zone":"zone-{}")", node / 2) : "";
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{0}","labels":{{"kubernetes.io/hostname":"node-{0}"{1}}}}},"status":{{"capacity":{{"cpu":"4","memory":"8Gi","pods":"20"}},"allocatable":{{"cpu":"4","memory":"8Gi","pods":"20"}}}}}})",
      node, zone);
}

std::vector<std::string> NodeManifests(int node, int generation) {
  const std::string name = fmt::format("node-{}", node);
  std::vector<std::string> all;
  const auto slice = [&](std::string_view driver, std::string_view devices, std::string_view more) {
    all.push_back(fmt::format(
        R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{{"name":"{0}-{1}"}},"spec":{{"driver":"{1}.example.com","nodeName":"{0}","pool":{{"name":"{0}-{1}","generation":{2},"resourceSliceCount":1}}{4},"devices":[{3}]}}}})",
        name, driver, generation, devices, more));
  };
  slice("gpu", R"({"name":"gpu-0"},{"name":"gpu-1"},{"name":"gpu-2"})", "");
  if (node % 2 == 0) {
    slice(
        "memory",
        R"({"name":"memory-0","allowMultipleAllocations":true,"capacity":{"bytes":{"value":"10","requestPolicy":{"default":"1","validRange":{"min":"1"}}}}})",
        "");
  } else {
    const auto part = [](int number) {
      return fmt::format(
          R"({{"name":"part-{}","consumesCounters":[{{"counterSet":"set","counters":{{"slots":{{"value":"2"}}}}}}]}})",
          number);
    };
    all.push_back(fmt::format(
        R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{{"name":"{0}-counters"}},"spec":{{"driver":"part.example.com","nodeName":"{0}","pool":{{"name":"{0}-part","generation":{1},"resourceSliceCount":2}},"sharedCounters":[{{"name":"set","counters":{{"slots":{{"value":"5"}}}}}}]}}}})",
        name, generation));
    all.push_back(fmt::format(
        R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{{"name":"{0}-part"}},"spec":{{"driver":"part.example.com","nodeName":"{0}","pool":{{"name":"{0}-part","generation":{1},"resourceSliceCount":2}},"devices":[{2},{3},{4}]}}}})",
        name, generation, part(0), part(1), part(2)));
  }
  return all;
}

User::User(Stage& stage, Wire& wire, const Town& town, int number)
    : stage_(stage),
      town_(town),
      number_(number),
      process_(stage.kernel),
      http_(wire.MakeClient(fmt::format("user-{}", number), process_,
                            {.name = "admin", .groups = {"system:masters"}},
                            {.request_timeout = seconds(20)})),
      client_(*http_, "user") {
  count_.namespace_ = "always";
  count_.name = fmt::format("count-{}", number);
}

User::~User() {
  stopping_ = true;
  process_.Kill();
  running_ = nullptr;
}

bool User::Create(const std::string& json) {
  const auto made = client_.Create(FromJson(json));
  if (made.ok()) {
    const api::ObjectMeta& metadata = made->metadata();
    names_.push_back({made->kind().hub, metadata.namespace_, metadata.name});
  }
  stage_.Trace(fmt::format("user-{}", number_),
               fmt::format("create: {}", made.ok() ? made->metadata().name
                                                   : std::string(made.status().message())));
  return made.ok();
}

void User::CreateForSure(const std::string& json) {
  while (!stopping_) {
    const auto made = client_.Create(FromJson(json));
    if (made.ok() || made.status().code() == StatusCode::kAlreadyExists) return;
    stage_.Trace("setup", std::string(made.status().message()));
    stage_.kernel.Sleep(milliseconds(200));
  }
}

void User::SetUp() {
  for (const char* name : {"always", "a", "b"}) {
    CreateForSure(fmt::format(
        R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", name));
  }
  for (int i = 0; i < town_.nodes; ++i) {
    CreateForSure(NodeManifest(i, town_.rich));
    for (const std::string& slice : NodeManifests(i, 1)) CreateForSure(slice);
  }
  if (town_.rich) {
    CreateForSure(FabricManifest());
    CreateForSure(
        R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"fabric"},"spec":{"selectors":[{"cel":{"expression":"device.driver == 'fabric.example.com'"}}]}})");
    CreateForSure(
        R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"polite"},"value":500,"preemptionPolicy":"Never"})");
  }
  const std::pair<const char*, int> priorities[] = {{"low", 10}, {"high", 1000}};
  for (const auto& [name, value] : priorities) {
    if (!town_.groups) break;
    CreateForSure(fmt::format(
        R"({{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{{"name":"{}"}},"value":{}}})",
        name, value));
  }
  for (const char* name : {"gpu", "memory", "part"}) {
    CreateForSure(fmt::format(
        R"({{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{{"name":"{0}"}},"spec":{{"selectors":[{{"cel":{{"expression":"device.driver == '{0}.example.com'"}}}}]{1}}}}})",
        name,
        std::string_view(name) == "gpu" ? R"(,"extendedResourceName":"example.com/gpu")" : ""));
  }
  for (const char* space : {"a", "b"}) {
    for (const char* what : TemplatesOf(town_)) {
      CreateForSure(fmt::format(
          R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{{"name":"{}","namespace":"{}"}},"spec":{{"spec":{}}}}})",
          what, space, Requests(what)));
    }
  }
}

void User::Start(Nanos think) {
  running_ = process_.Start([this, think] {
    CreateForSure(fmt::format(
        R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{{"name":"{}","namespace":"always","annotations":{{"count":"0"}}}},"spec":{{"spec":{}}}}})",
        count_.name, Requests("one-gpu")));
    while (!stopping_) {
      stage_.kernel.Sleep(stage_.About(think));
      if (!stopping_) Act();
    }
    stopped_ = true;
  });
}

void User::Act() {
  struct Thing {
    const char* name;
    int often;
    std::function<void(User&)> act;
  };
  static const std::vector<Thing> things = {
      {"add pod", 30, [](User& u) { u.AddPod(); }},
      {"add claim", 5, [](User& u) { u.AddClaim(); }},
      {"remove pod", 22, [](User& u) { u.Remove("v1", "Pod"); }},
      {"remove claim", 4, [](User& u) { u.Remove("resource.k8s.io/v1", "ResourceClaim"); }},
      {"add deployment", 4,
       [](User& u) {
         if (u.town_.workloads) u.AddDeployment();
       }},
      {"add job", 4,
       [](User& u) {
         if (u.town_.workloads) u.AddJob();
       }},
      {"add group", 6,
       [](User& u) {
         if (u.town_.groups) u.AddGroup();
       }},
      {"remove group", 2,
       [](User& u) {
         if (u.town_.groups) u.Remove("scheduling.k8s.io/v1beta1", "PodGroup");
       }},
      {"scale", 6,
       [](User& u) {
         if (u.town_.workloads) u.Scale();
       }},
      {"remove deployment", 3, [](User& u) { u.Remove("apps/v1", "Deployment"); }},
      {"remove job", 3, [](User& u) { u.Remove("batch/v1", "Job"); }},
      {"change quota", 5,
       [](User& u) {
         if (u.town_.quotas) u.ChangeQuota();
       }},
      {"change namespace", 2,
       [](User& u) {
         if (u.town_.namespaces) u.ChangeNamespace();
       }},
      {"change node", 2, [](User& u) { u.ChangeNode(); }},
      {"change slice", 3,
       [](User& u) {
         if (u.town_.changes_devices) u.ChangeSlice();
       }},
      {"increase", 6, [](User& u) { u.Increase(); }},
      // Only where everything is possible.
      {"change budget", 5, [](User& u) { u.ChangeBudget(); }},
      {"change taint", 4, [](User& u) { u.ChangeTaint(); }},
      {"remove node", 1, [](User& u) { u.RemoveNode(); }},
  };
  constexpr std::size_t kRich = 3;
  const std::span possible(things.data(), things.size() - (town_.rich ? 0 : kRich));
  int roll = 0;
  for (const Thing& thing : possible) roll += thing.often;
  roll = stage_.dice.Range(0, roll - 1);
  for (const Thing& thing : possible) {
    roll -= thing.often;
    if (roll >= 0) continue;
    stage_.Count(thing.name);
    return thing.act(*this);
  }
}

std::string User::Space() {
  const int roll = stage_.dice.Range(0, 9);
  return roll < 5 ? "a" : roll < 9 ? "b" : "c";
}

void User::AddPod() {
  const std::string name = fmt::format("p{}-{}", number_, made_++);
  const bool ends = stage_.dice.Chance(0.4);
  std::string claims;
  std::string uses;
  std::string resources = R"("requests":{"cpu":"500m"})";
  const int kind = stage_.dice.Range(0, 9);
  std::string space = Space();
  if (kind < 5) {
    claims = fmt::format(R"(,"resourceClaims":[{{"name":"c","resourceClaimTemplateName":"{}"}}])",
                         Template());
    uses = R"(,"claims":[{"name":"c"}])";
  } else if (kind < 7) {
    const auto claim = Any(KindOf<api::ResourceClaim>());
    if (!claim) return;
    space = claim->metadata().namespace_;
    claims = fmt::format(R"(,"resourceClaims":[{{"name":"c","resourceClaimName":"{}"}}])",
                         claim->metadata().name);
    uses = R"(,"claims":[{"name":"c"}])";
  } else if (kind < 9) {
    resources =
        R"("requests":{"cpu":"500m","example.com/gpu":"1"},"limits":{"example.com/gpu":"1"})";
  }
  // Who is started again and again writes its status each time, and nothing follows from that.
  const bool ends_and_begins = !ends && stage_.dice.Chance(0.1);
  const int runs_for = ends || ends_and_begins ? stage_.dice.Range(1, 15) : 3600;
  const std::string labels =
      town_.rich ? fmt::format(R"("labels":{{"team":"{}"}},)", stage_.dice.Pick({"red", "blue"}))
                 : "";
  const std::string priority = Priority();
  Create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"{}",{}"annotations":{{"dray/runs-for":"{}s"}}}},"spec":{{"restartPolicy":"{}"{}{}{},"containers":[{{"name":"c","image":"i","resources":{{{}{}}}}}]}}}})",
      name, space, labels, runs_for, ends ? "Never" : "Always", priority, Profile(), claims,
      resources, uses));
}

std::string User::Template() {
  const std::vector<const char*> all = TemplatesOf(town_);
  return all[static_cast<std::size_t>(stage_.dice.Range(0, static_cast<int>(all.size()) - 1))];
}

std::string User::Profile() {
  if (!town_.rich || stage_.dice.Chance(0.6)) return "";
  return R"(,"schedulerName":"packer")";
}

std::string User::GroupPriority() {
  if (stage_.dice.Chance(0.3)) return "";
  return fmt::format(R"(,"priorityClassName":"{}")", stage_.dice.Pick({"low", "high"}));
}

std::string User::Priority() {
  if (stage_.dice.Chance(0.1)) return R"(,"priorityClassName":"system-cluster-critical")";
  if (!town_.groups || stage_.dice.Chance(0.5)) return "";
  if (town_.rich && stage_.dice.Chance(0.1)) return R"(,"priorityClassName":"polite")";
  return fmt::format(R"(,"priorityClassName":"{}")", stage_.dice.Pick({"low", "high"}));
}

// A gang, mostly whole; sometimes one that goes together, or with a pod too few.
void User::AddGroup() {
  const std::string name = fmt::format("g{}-{}", number_, made_++);
  const std::string space = Space();
  const int pods = stage_.dice.Range(2, 4);
  const int least = stage_.dice.Chance(0.7) ? pods : stage_.dice.Range(1, pods);
  const std::string priority = GroupPriority();
  const std::string what = Template();
  const std::string mode = stage_.dice.Chance(0.3) ? R"(,"disruptionMode":{"all":{}})" : "";
  // One claim for all of it, all of it in one zone, or devices by the name of a resource.
  std::string more;
  std::string own = fmt::format(R"({{"name":"c","resourceClaimTemplateName":"{}"}})", what);
  std::string resources = R"("requests":{"cpu":"500m"},"claims":[{"name":"c"}])";
  std::string profile;
  if (town_.rich) {
    profile = Profile();
    if (stage_.dice.Chance(0.25)) {
      more = R"(,"schedulingConstraints":{"topology":[{"key":"topology.kubernetes.io/zone"}]})";
    }
    const int kind = stage_.dice.Range(0, 9);
    if (kind < 3) {
      const std::string shared = fmt::format(R"({{"name":"s","resourceClaimTemplateName":"{}"}})",
                                             stage_.dice.Pick({"fabric", "one-gpu", "memory"}));
      more += fmt::format(R"(,"resourceClaims":[{}])", shared);
      own = kind == 0 ? shared : fmt::format("{},{}", shared, own);
      resources = kind == 0 ? R"("requests":{"cpu":"500m"},"claims":[{"name":"s"}])"
                            : R"("requests":{"cpu":"500m"},"claims":[{"name":"c"},{"name":"s"}])";
    } else if (kind < 5) {
      own.clear();
      resources =
          R"("requests":{"cpu":"500m","example.com/gpu":"1"},"limits":{"example.com/gpu":"1"})";
    }
  }
  if (!Create(fmt::format(
          R"({{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{{"name":"{}","namespace":"{}"}},"spec":{{"schedulingPolicy":{{"gang":{{"minCount":{}}}}}{}{}{}}}}})",
          name, space, least, mode, priority, more))) {
    return;
  }
  const int runs_for = stage_.dice.Chance(0.4) ? stage_.dice.Range(1, 15) : 3600;
  for (int i = 0; i < pods && !stopping_; ++i) {
    if (stage_.dice.Chance(0.05)) continue;
    Create(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}-{1}","namespace":"{2}","annotations":{{"dray/runs-for":"{3}s"}}}},"spec":{{"schedulingGroup":{{"podGroupName":"{0}"}},"restartPolicy":"Never"{4}{5},"resourceClaims":[{6}],"containers":[{{"name":"c","image":"i","resources":{{{7}}}}}]}}}})",
        name, i, space, runs_for, priority, profile, own, resources));
  }
}

void User::AddClaim() {
  Create(fmt::format(
      R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{{"name":"k{}-{}","namespace":"{}"}},"spec":{}}})",
      number_, made_++, Space(), Requests(Template())));
}

void User::AddDeployment() {
  Create(fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"d{0}-{1}","namespace":"{2}"}},"spec":{{"replicas":{3},"selector":{{"matchLabels":{{"app":"d{0}-{1}"}}}},"template":{{"metadata":{{"labels":{{"app":"d{0}-{1}"}}}},"spec":{{"resourceClaims":[{{"name":"c","resourceClaimTemplateName":"{4}"}}],"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"100m"}},"claims":[{{"name":"c"}}]}}}}]}}}}}}}})",
      number_, made_++, Space(), stage_.dice.Range(1, 4), Template()));
}

void User::AddJob() {
  Create(fmt::format(
      R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"j{0}-{1}","namespace":"{2}"}},"spec":{{"completions":{3},"parallelism":2,"template":{{"metadata":{{"annotations":{{"dray/runs-for":"3s"}}}},"spec":{{"restartPolicy":"Never","resourceClaims":[{{"name":"c","resourceClaimTemplateName":"{4}"}}],"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"100m"}},"claims":[{{"name":"c"}}]}}}}]}}}}}}}})",
      number_, made_++, Space(), stage_.dice.Range(1, 4), Template()));
}

std::optional<api::Object> User::Any(const api::KindInfo& kind) {
  const std::string path =
      fmt::format("{}/{}", kind.group.empty() ? "/api" : "/apis/" + std::string(kind.group),
                  fmt::format("{}/{}", kind.version, kind.plural));
  const auto answer = http_->Send({.target = path});
  std::vector<std::string_view> found;
  if (answer.ok() && answer->status == 200) found = ItemsIn(answer->body);
  // Names alone are read here, by far the cheapest: of a hundred objects one is wanted.
  std::erase_if(found, [&](std::string_view item) {
    if (!kind.namespaced) return false;
    return std::ranges::none_of(kSpaces, [&](const char* space) {
      return item.find(fmt::format(R"("namespace":"{}")", space)) != item.npos;
    });
  });
  if (found.empty()) return Remembered(kind);
  api::Object object = api::Object::New(kind);
  api::JsonDecoder decoder;
  const Status read = decoder.Decode(stage_.dice.Pick(found), *kind.type, object.MutableData());
  DRAY_CHECK(read.ok(), std::string(read.message()));
  return object;
}

// A list fails where something cannot be read; people still know what they have made.
std::optional<api::Object> User::Remembered(const api::KindInfo& kind) {
  std::vector<const Name*> names;
  for (const Name& name : names_) {
    if (name.kind == kind.hub) names.push_back(&name);
  }
  if (names.empty()) return std::nullopt;
  const Name name = *stage_.dice.Pick(names);
  auto found = client_.Get(kind, name.namespace_, name.name);
  if (!found.ok()) return std::nullopt;
  return *std::move(found);
}

void User::Scale() {
  auto found = Any(KindOf<api::Deployment>());
  if (!found) return;
  found->Mutable<api::Deployment>()->spec.replicas = stage_.dice.Range(0, 4);
  static_cast<void>(client_.Update(*found));
}

void User::Remove(const char* api_version, const char* kind) {
  const api::KindInfo& info = *api::FindKind(api_version, kind);
  const auto found = Any(info);
  if (!found) return;
  const Status status =
      client_.Delete(info, found->metadata().namespace_, found->metadata().name,
                     stage_.dice.Chance(0.5) ? found->metadata().uid : std::string());
  stage_.Trace(
      fmt::format("user-{}", number_),
      fmt::format("delete {} {}: {}", kind, found->metadata().name, std::string(status.message())));
}

void User::ChangeQuota() {
  const std::string space = stage_.dice.Pick({"a", "b"});
  const int pods = stage_.dice.Range(3, 12);
  auto found = client_.Get(KindOf<api::ResourceQuota>(), space, "quota");
  if (!found.ok()) {
    Create(fmt::format(
        R"({{"apiVersion":"v1","kind":"ResourceQuota","metadata":{{"name":"quota","namespace":"{}"}},"spec":{{"hard":{{"pods":"{}","count/resourceclaims.resource.k8s.io":"{}","count/deployments.apps":"2"}}}}}})",
        space, pods, pods));
    return;
  }
  if (stage_.dice.Chance(0.2)) {
    static_cast<void>(client_.Delete(KindOf<api::ResourceQuota>(), space, "quota", ""));
    return;
  }
  auto& hard = found->Mutable<api::ResourceQuota>()->spec.hard;
  hard["pods"] = *base::Quantity::Parse(std::to_string(pods));
  static_cast<void>(client_.Update(*found));
}

void User::ChangeNamespace() {
  const auto found = client_.Get(KindOf<api::Namespace>(), "", "c");
  if (found.ok()) {
    static_cast<void>(client_.Delete(KindOf<api::Namespace>(), "", "c", ""));
    return;
  }
  if (!Create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"c"}})")) return;
  for (const char* what : TemplatesOf(town_)) {
    Create(fmt::format(
        R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{{"name":"{}","namespace":"c"}},"spec":{{"spec":{}}}}})",
        what, Requests(what)));
  }
}

void User::ChangeNode() {
  auto found = Any(KindOf<api::Node>());
  if (!found) return;
  api::Node& node = *found->Mutable<api::Node>();
  node.spec.unschedulable = !node.spec.unschedulable;
  static_cast<void>(client_.Update(*found));
}

// It goes, or whoever is missing comes back; what its drivers have said stays meanwhile.
void User::RemoveNode() {
  const int node = stage_.dice.Range(0, town_.nodes - 1);
  if (Create(NodeManifest(node, town_.rich))) return;
  static_cast<void>(client_.Delete(KindOf<api::Node>(), "", fmt::format("node-{}", node), ""));
}

void User::ChangeBudget() {
  const std::string space = stage_.dice.Pick({"a", "b"});
  const std::string team = stage_.dice.Pick({"red", "blue"});
  const api::KindInfo& kind = *api::FindKind("policy/v1", "PodDisruptionBudget");
  if (client_.Get(kind, space, team).ok()) {
    static_cast<void>(client_.Delete(kind, space, team, ""));
    return;
  }
  Create(fmt::format(
      R"({{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{{"name":"{0}","namespace":"{1}"}},"spec":{{"{2}":{3},"selector":{{"matchLabels":{{"team":"{0}"}}}}}}}})",
      team, space, stage_.dice.Pick({"minAvailable", "maxUnavailable"}), stage_.dice.Range(0, 3)));
}

// One of a few rules comes, about some device or all of a pool, or goes.
void User::ChangeTaint() {
  const std::string name = fmt::format("rule-{}", stage_.dice.Range(0, 2));
  const api::KindInfo& kind = *api::FindKind("resource.k8s.io/v1", "DeviceTaintRule");
  if (client_.Get(kind, "", name).ok()) {
    static_cast<void>(client_.Delete(kind, "", name, ""));
    return;
  }
  const std::string pool = stage_.dice.Chance(0.2)
                               ? R"("driver":"fabric.example.com","pool":"fabric")"
                               : fmt::format(R"("driver":"gpu.example.com","pool":"node-{}-gpu")",
                                             stage_.dice.Range(0, town_.nodes - 1));
  const std::string device = pool.find("gpu") != pool.npos && stage_.dice.Chance(0.7)
                                 ? fmt::format(R"(,"device":"gpu-{}")", stage_.dice.Range(0, 2))
                                 : "";
  Create(fmt::format(
      R"({{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{{"name":"{}"}},"spec":{{"deviceSelector":{{{}{}}},"taint":{{"key":"example.com/sick","effect":"{}"}}}}}})",
      name, pool, device, stage_.dice.Pick({"NoSchedule", "NoExecute"})));
}

void User::ChangeSlice() {
  auto found = Any(KindOf<api::ResourceSlice>());
  if (!found) return;
  if (stage_.dice.Chance(0.3)) {
    static_cast<void>(client_.Delete(KindOf<api::ResourceSlice>(), "", found->metadata().name, ""));
    return;
  }
  const int node = stage_.dice.Range(0, town_.nodes - 1);
  for (const std::string& slice : NodeManifests(node, 1)) {
    auto again = client_.Create(FromJson(slice));
    static_cast<void>(again);
  }
}

// Reads a number, and writes the next one: what was answered must be there for ever.
void User::Increase() {
  auto found = client_.Get(KindOf<api::ResourceClaimTemplate>(), count_.namespace_, count_.name);
  if (!found.ok()) return;
  const std::string* text = found->metadata().annotations.Find("count");
  const std::int64_t stored = text == nullptr ? -1 : std::strtoll(text->c_str(), nullptr, 10);
  if (stored < count_.least || stored > count_.most) {
    stage_.Find(fmt::format("user {} counts {}, was told {} and has asked for {}", number_, stored,
                            count_.least, count_.most));
  }
  count_.least = std::max(count_.least, stored);
  found->MutableMetadata().annotations["count"] = std::to_string(stored + 1);
  count_.most = stored + 1;
  const auto written = client_.Update(*found);
  if (written.ok()) count_.least = stored + 1;
}

}  // namespace dray::system
