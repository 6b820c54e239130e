// SPDX-License-Identifier: Apache-2.0
#include "crash/load.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/job.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/workloads.h"
#include "fmt/format.h"

namespace dray::crash {
namespace {

using process::Call;
using process::PathOf;

constexpr std::size_t kMost = 14;  // objects at a time
constexpr std::size_t kLeft = 4;   // after shrinking
constexpr std::string_view kMergePatch = "application/merge-patch+json";

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

std::string Metadata(std::string_view name, int mark) {
  return fmt::format(R"("metadata":{{"name":"{}","annotations":{{"{}":"{}"}}}})", name, kMark,
                     mark);
}

}  // namespace

Load::Load(int index, std::uint64_t seed)
    : space_(fmt::format("load-{}", index)), dice_(seed * 16 + static_cast<std::uint64_t>(index)) {}

void Load::Run(process::Requests& requests, const std::atomic<bool>& stop) {
  while (!stop && complaints_.empty() && Step(requests)) {
  }
}

bool Load::Step(process::Requests& requests) {
  const std::size_t there = static_cast<std::size_t>(
      std::ranges::count_if(witness_.memories(), [](const auto& m) { return !m.second.deleted; }));
  // Of those there nobody may know any for sure.
  const std::string some = Any();
  if (there < 3 || some.empty()) return Create(requests);
  if (there >= kMost || dice_.Chance(0.2)) return Delete(requests, some);
  if (dice_.Chance(0.3)) return Mark(requests, some);
  if (dice_.Chance(0.1)) return Scale(requests);
  return Create(requests);
}

bool Load::Shrink(process::Requests& requests) {
  // Which of the partitions on a card come first decides what else fits there.
  for (std::string path = Any("vgpu"); !path.empty(); path = Any("vgpu")) {
    if (!Delete(requests, path)) return false;
  }
  const auto left = [this] {
    return std::ranges::count_if(witness_.memories(), [](const auto& m) {
      return m.second.uid.has_value() && !m.second.deleted;
    });
  };
  while (left() > static_cast<std::ptrdiff_t>(kLeft)) {
    if (!Delete(requests, Any())) return false;
  }
  return true;
}

std::string Load::Any(std::string_view sort) {
  std::vector<std::string> paths;
  for (const auto& [path, memory] : witness_.memories()) {
    // Nobody knows whether there is one without a uid.
    if (!memory.uid || memory.deleted) continue;
    if (sort.empty() || memory.sort == sort) paths.push_back(path);
  }
  return paths.empty() ? std::string() : dice_.Pick(paths);
}

bool Load::Ask(process::Requests& requests, const Call& call, std::initializer_list<int> refusals,
               std::optional<api::Object>& object, int& status) {
  const apiserver::ClientResponse response = requests.Do(call);
  status = response.status;
  if (status == 0) return false;
  ++answers_;
  const bool refused = std::ranges::find(refusals, status) != refusals.end();
  if (status / 100 != 2 && !refused) {
    complaints_.push_back(
        fmt::format("{} {}: {} {}", call.method, call.path, status, response.body));
  }
  if (status / 100 == 2 && response.body.find(R"("kind":"Status")") == std::string::npos) {
    object = process::Decoded(response.body);
  }
  return true;
}

bool Load::Lose(process::Requests& requests, const Call& call) {
  if (!requests.DoAndHangUp(call, std::chrono::microseconds(dice_.Range(0, 3'000)))) return false;
  ++lost_;
  return true;
}

std::string Load::PodSpec(std::string_view sort) {
  const std::string_view policy = sort == "job" || sort == "plain" ? "Never" : "Always";
  std::string resources = R"("requests":{"cpu":"500m"})";
  std::string claims;
  if (sort == "extended") {
    resources = R"("requests":{"cpu":"500m"},"limits":{"example.com/gpu":"1"})";
  } else if (sort == "shared") {
    const std::string claim = Any("claim");
    claims = fmt::format(R"({{"name":"c","resourceClaimName":"{}"}})",
                         claim.substr(claim.rfind('/') + 1));
  } else if (sort != "plain" && sort != "job") {
    const std::string_view name = sort == "deployment" ? "gpu" : sort;
    claims = fmt::format(R"({{"name":"c","resourceClaimTemplateName":"{}"}})", name);
  }
  if (!claims.empty()) resources += R"(,"claims":[{"name":"c"}])";
  return fmt::format(R"("spec":{{"restartPolicy":"{}","terminationGracePeriodSeconds":0,)"
                     R"("resourceClaims":[{}],)"
                     R"("containers":[{{"name":"c","image":"i","resources":{{{}}}}}]}})",
                     policy, claims, resources);
}

bool Load::Create(process::Requests& requests) {
  std::string sort = dice_.Pick({"gpu", "gpu", "nic", "mig", "vgpu", "shared", "extended", "plain",
                                 "claim", "deployment", "job"});
  if (sort == "shared" && Any("claim").empty()) sort = "claim";
  const std::string name = fmt::format("{}-{}", sort, names_++);
  const int mark = ++marks_;
  const api::KindInfo* kind = &KindOf<api::Pod>();
  std::string body;
  if (sort == "claim") {
    kind = &KindOf<api::ResourceClaim>();
    body = R"("spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":)"
           R"("gpu.example.com"}}]}})";
  } else if (sort == "deployment") {
    kind = &KindOf<api::Deployment>();
    body = fmt::format(R"("spec":{{"replicas":{},"selector":{{"matchLabels":{{"a":"{}"}}}},)"
                       R"("template":{{"metadata":{{"labels":{{"a":"{}"}}}},{}}}}})",
                       dice_.Range(1, 2), name, name, PodSpec(sort));
  } else if (sort == "job") {
    kind = &KindOf<api::Job>();
    body = fmt::format(R"("spec":{{"completions":2,"parallelism":2,"template":{{"metadata":)"
                       R"({{"annotations":{{"dray/runs-for":"200ms"}}}},{}}}}})",
                       PodSpec(sort));
  } else {
    body = PodSpec(sort);
  }
  const std::string path = PathOf(*kind, space_, name);
  Memory& memory = witness_.Asked(path, {.kind = kind, .name = name, .sort = sort});
  std::optional<api::Object> object;
  int status = 0;
  const Call call{.method = "POST",
                  .path = PathOf(*kind, space_),
                  .body = fmt::format(R"({{"apiVersion":"{}","kind":"{}",{},{}}})",
                                      kind->ApiVersion(), kind->kind, Metadata(name, mark), body)};
  const bool lost = Loses();
  if (lost && !Lose(requests, call)) return false;
  // After a loss the same again: made now, or refused because it was made then.
  if (!lost) {
    if (!Ask(requests, call, {403}, object, status)) return false;
  } else {
    if (!Ask(requests, call, {403, 409}, object, status)) return false;
    const int answer = status;
    if (!object && !Ask(requests, {.path = path}, {404}, object, status)) return false;
    if (answer != 201 && object) ++lost_and_done_;
    if (object && MarkOf(*object) != mark) complaints_.push_back(path + " is not what was sent");
    if (answer == 409 && !object) complaints_.push_back(path + " exists, and is not there");
  }
  if (object) {
    witness_.Confirmed(memory, *object);
  } else if (!lost) {
    witness_.Refused(path);  // the quota is used up
  }
  // Lost and refused for the quota: the first one may have used it up, and be there in a moment.
  return true;
}

bool Load::Mark(process::Requests& requests, const std::string& path) {
  Memory& memory = witness_.memories().at(path);
  const bool lost = Loses();
  std::string expected;
  if (lost) {
    std::optional<api::Object> before;
    int status = 0;
    if (!Ask(requests, {.path = path}, {}, before, status)) return false;
    if (!before) return true;  // and there is a complaint
    expected = fmt::format(R"("resourceVersion":"{}",)", before->metadata().resource_version);
  }
  const int mark = ++marks_;
  memory.asked_mark = mark;
  const Call call{.method = "PATCH",
                  .path = path,
                  .body = fmt::format(R"({{"metadata":{{{}"annotations":{{"{}":"{}"}}}}}})",
                                      expected, kMark, mark),
                  .content_type = std::string(kMergePatch)};
  if (lost) return Lose(requests, call) && Again(requests, call, memory, mark);
  std::optional<api::Object> object;
  int status = 0;
  if (!Ask(requests, call, {}, object, status)) return false;
  if (object) witness_.Confirmed(memory, *object);
  return true;
}

// Done now, or the version that it expects is history: then it was done, or never will be.
bool Load::Again(process::Requests& requests, const Call& call, Memory& memory, int mark) {
  std::optional<api::Object> object;
  int status = 0;
  if (!Ask(requests, call, {409}, object, status)) return false;
  if (!object) {
    if (!Ask(requests, {.path = call.path}, {}, object, status)) return false;
    if (!object) return true;  // and there is a complaint
    if (MarkOf(*object) == mark) ++lost_and_done_;
  }
  if (MarkOf(*object) != mark && MarkOf(*object) != memory.mark) {
    complaints_.push_back(fmt::format("{} has mark {}, {} was told and {} asked for", call.path,
                                      MarkOf(*object), memory.mark, mark));
  }
  witness_.Confirmed(memory, *object);
  return true;
}

// The older way: read, change, write back, and be told if somebody else was faster.
bool Load::Scale(process::Requests& requests) {
  const std::string path = Any("deployment");
  if (path.empty()) return true;
  Memory& memory = witness_.memories().at(path);
  std::optional<api::Object> object;
  int status = 0;
  if (!Ask(requests, {.path = path}, {}, object, status)) return false;
  if (!object) return true;
  const int mark = ++marks_;
  object->Mutable<api::Deployment>()->spec.replicas = dice_.Range(0, 3);
  object->MutableMetadata().annotations[kMark] = std::to_string(mark);
  memory.asked_mark = mark;
  std::optional<api::Object> written;
  const Call call{.method = "PUT", .path = path, .body = object->ToJson()};
  if (Loses()) return Lose(requests, call) && Again(requests, call, memory, mark);
  if (!Ask(requests, call, {409}, written, status)) return false;
  if (written) {
    witness_.Confirmed(memory, *written);
  } else {
    memory.asked_mark.reset();
  }
  return true;
}

bool Load::Delete(process::Requests& requests, const std::string& path) {
  Memory& memory = witness_.memories().at(path);
  memory.asked_deletion = true;
  std::optional<api::Object> object;
  int status = 0;
  const Call call{.method = "DELETE", .path = path};
  const bool lost = Loses();
  if (lost && !Lose(requests, call)) return false;
  if (!Ask(requests, call, {lost ? 404 : 200}, object, status)) return false;
  if (status == 404) ++lost_and_done_;
  memory.deleted = true;
  return true;
}

}  // namespace dray::crash
