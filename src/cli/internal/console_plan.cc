// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/console_plan.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "allocator/explanation.h"
#include "allocator/policy.h"
#include "api/job.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "api/stateful_set.h"
#include "api/workloads.h"
#include "cel/device_env.h"
#include "cli/internal/console_scenarios.h"
#include "cli/internal/server_objects.h"
#include "cli/manifests.h"
#include "cli/run.h"
#include "cli/validate.h"
#include "fleet/fleet_json.h"
#include "fleet/json.h"
#include "fmt/format.h"
#include "planner/cures.h"
#include "planner/edits.h"
#include "planner/plan.h"
#include "scheduler/explanation.h"

namespace dray::cli::internal {
namespace {

using api::DocumentNode;
using console::Answer;
using console::Scene;
using fleet::JsonOut;
using planner::State;

// Bounds on what a browser may ask for.
constexpr std::size_t kMostObjects = 10'000;  // of manifests
constexpr std::size_t kMostMadePods = 20'000;
constexpr std::size_t kMostMembers = 200;   // of a cause that are named
constexpr std::size_t kMostCauses = 32;     // whose cures are looked for
constexpr std::size_t kMostExplained = 32;  // outcomes of a plan

std::string_view StateText(State state) {
  switch (state) {
    case State::kExisting:
      return "Existing";
    case State::kPlaced:
      return "Placed";
    case State::kWaiting:
      return "Waiting";
    case State::kRefused:
      return "Refused";
    case State::kPreempted:
      return "Preempted";
  }
  return "";
}

Answer OfStatus(const Status& status) {
  switch (status.code()) {
    case StatusCode::kNotFound:
      return Refusal(404, "NotFound", base::Message(status));
    case StatusCode::kDeadlineExceeded:
      return Refusal(504, "Timeout",
                     "it takes too long for the console; 'dray plan' and 'dray explain' take the "
                     "time that they need");
    default:
      return Refusal(422, "Invalid", base::Message(status));
  }
}

// What is wrong with manifests, with its places.
Answer OfReport(const Report& report) {
  JsonOut out;
  std::string message;
  JsonOut issues;
  issues.BeginList();
  std::size_t errors = 0;
  for (const Finding& finding : report.findings) {
    if (finding.level != Level::kError) continue;
    if (++errors > 100) break;
    const std::string text = finding.field.empty()
                                 ? finding.message
                                 : fmt::format("{}: {}", finding.field, finding.message);
    if (message.empty()) message = text;
    issues.BeginMap().Count("line", finding.position.line).Count("column", finding.position.column);
    issues.Text("message", text).Text("hint", finding.hint).EndMap();
  }
  issues.EndList();
  out.BeginMap().Text("kind", "Status").Text("apiVersion", "v1").Map("metadata").EndMap();
  out.Text("status", "Failure");
  out.Text("message", message.empty() ? "the manifests cannot be used" : message);
  out.Text("reason", "Invalid").Count("code", 422).Key("issues").Raw(issues.Take()).EndMap();
  return {.code = 422, .json = out.Take()};
}

// What files add is younger than all that is there, whatever the clocks say.
base::Time AfterAll(base::Time now, const std::vector<api::Object>& stored) {
  for (const api::Object& object : stored) {
    const auto& created = object.metadata().creation_timestamp;
    if (created) now = std::max(now, *created + std::chrono::seconds(1));
  }
  return now;
}

planner::PlanOptions OptionsFor(const Scene& scene, const api::FeatureGates& gates) {
  return {.gates = gates,
          .now = AfterAll(scene.now, scene.objects),
          .assume_schedulers = true,
          .max_made_pods = kMostMadePods,
          .expired = scene.expired};
}

std::string Sentence(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  if (!text.empty() && !text.ends_with('.')) text += '.';
  return text;
}

// What is in the way, without what is this pod's own.
std::string LackOf(const scheduler::PodExplanation& why) {
  if (!why.before.empty()) return why.before.front().text;
  if (why.closest) return why.closest->lacks;
  for (const scheduler::NodeGroup& group : why.groups) {
    if (!group.reasons.empty()) return group.reasons.front().text;
  }
  return why.error.empty() ? std::string("there are no nodes") : why.error;
}

// A request for more devices than any node has, whoever has them.
struct TooMany {
  std::string device_class;
  std::int64_t needed = 0;
  std::int64_t most = 0;
  std::string node;  // that has so many
};
std::optional<TooMany> ExceedsEveryNode(const scheduler::PodExplanation& why) {
  if (!why.before.empty() || why.groups.empty()) return std::nullopt;
  std::map<std::string, TooMany> requests;
  std::map<std::string, std::size_t> groups;
  for (const scheduler::NodeGroup& group : why.groups) {
    for (const scheduler::Reason& reason : group.reasons) {
      if (reason.devices == nullptr) continue;
      for (const allocator::ClaimReport& claim : reason.devices->claims) {
        for (const allocator::RequestReport& request : claim.requests) {
          // Of alternatives each could do.
          if (request.alternatives.size() != 1) continue;
          const allocator::AlternativeReport& report = request.alternatives.front();
          if (report.all || !report.error.empty() || report.needed <= report.of_class) continue;
          const std::string key = claim.name + "/" + request.name;
          ++groups[key];
          TooMany& found = requests[key];
          found.device_class = report.device_class;
          found.needed = report.needed;
          if (report.of_class >= found.most && !group.examples.empty()) {
            found.most = report.of_class;
            found.node = group.examples.front();
          }
        }
      }
    }
  }
  for (const auto& [key, found] : requests) {
    if (groups[key] == why.groups.size()) return found;
  }
  return std::nullopt;
}

std::string CauseOf(const scheduler::PodExplanation& why) {
  if (const auto found = ExceedsEveryNode(why)) {
    return fmt::format("count_exceeds_node/{}", found->device_class);
  }
  std::set<std::string> codes;
  const auto add = [&](const scheduler::Reason& reason) { codes.insert(reason.code); };
  for (const scheduler::Reason& reason : why.before) add(reason);
  for (const scheduler::NodeGroup& group : why.groups) {
    for (const scheduler::Reason& reason : group.reasons) add(reason);
  }
  return fmt::format("{}/{}", fmt::join(codes, "+"), LackOf(why));
}

// "; 2 devices are incompatible with what is in use on gpu-0", of a node.
std::string IncompatibleOn(const scheduler::PodExplanation& why, const std::string& node) {
  for (const scheduler::NodeGroup& group : why.groups) {
    if (std::ranges::find(group.examples, node) == group.examples.end()) continue;
    for (const scheduler::Reason& reason : group.reasons) {
      if (reason.devices == nullptr) continue;
      for (const allocator::ClaimReport& claim : reason.devices->claims) {
        for (const allocator::RequestReport& request : claim.requests) {
          for (const allocator::AlternativeReport& report : request.alternatives) {
            for (const allocator::Drop& drop : report.drops) {
              if (drop.reason != allocator::Reason::kGroups) continue;
              return fmt::format(
                  "; {} there {} incompatible with what is in use on {}",
                  drop.devices == 1 ? "1 device" : fmt::format("{} devices", drop.devices),
                  drop.devices == 1 ? "is" : "are", drop.counter_set);
            }
          }
        }
      }
    }
  }
  return "";
}

std::string AnswerOf(const scheduler::PodExplanation& why) {
  if (!why.before.empty() || why.groups.empty()) return Sentence(LackOf(why));
  if (const auto found = ExceedsEveryNode(why)) {
    if (found->most == 0) {
      return fmt::format("No node has a device of class {}, of which the request asks for {}.",
                         found->device_class, found->needed);
    }
    return fmt::format("No node has {} devices of class {}; the largest, {}, has {}.",
                       found->needed, found->device_class, found->node, found->most);
  }
  const std::string nodes = why.nodes == 1
                                ? "The only node cannot run it"
                                : fmt::format("None of the {} nodes can run it", why.nodes);
  if (!why.closest) return Sentence(fmt::format("{}: {}", nodes, LackOf(why)));
  const std::string& lacks = why.closest->lacks;
  return Sentence(fmt::format("{}; the nearest, {}, {}{}{}", nodes, why.closest->node,
                              lacks.starts_with("short of") ? "is " : "", lacks,
                              IncompatibleOn(why, why.closest->node)));
}

std::string CauseSentence(const scheduler::PodExplanation& why) {
  if (const auto found = ExceedsEveryNode(why)) {
    return found->most == 0 ? fmt::format("No node has devices of class {}.", found->device_class)
                            : fmt::format("The request is larger than any node ({} × {}).",
                                          found->needed, found->device_class);
  }
  const std::string where =
      why.closest && why.before.empty() ? IncompatibleOn(why, why.closest->node) : std::string();
  return Sentence(LackOf(why) + where);
}

// --- Cures.

template <typename T>
const T* FindIn(const std::vector<api::Object>& objects, const api::ObjectMeta& like) {
  for (const api::Object& object : objects) {
    const T* found = object.As<T>();
    if (found != nullptr && found->metadata.name == like.name &&
        found->metadata.namespace_ == like.namespace_) {
      return found;
    }
  }
  return nullptr;
}

struct RequestSums {
  std::size_t selectors = 0;
  std::size_t tolerations = 0;
};
RequestSums SumsOf(const api::ResourceClaim& claim) {
  RequestSums sums;
  const auto add = [&](const auto& request) {
    sums.selectors += request.selectors.size();
    sums.tolerations += request.tolerations.size();
  };
  for (const api::DeviceRequest& request : claim.spec.devices.requests) {
    if (request.exactly.has_value()) add(*request.exactly);
    for (const api::DeviceSubRequest& sub : request.first_available) add(sub);
  }
  return sums;
}

// What sort of change it is, read off the objects.
std::string_view KindOf(const planner::Cure& cure, const std::vector<api::Object>& objects) {
  if (cure.new_node) return "add_node";
  bool pods = false;
  for (const planner::ObjectRef& gone : cure.changes.gone) pods |= gone.kind->kind == "Pod";
  if (pods) return "wait_for";
  if (!cure.changes.gone.empty()) return "delete";
  for (const api::Object& put : cure.changes.put) {
    if (const auto* claim = put.As<api::ResourceClaim>()) {
      const auto* before = FindIn<api::ResourceClaim>(objects, claim->metadata);
      if (before == nullptr || before->spec == claim->spec) continue;
      const RequestSums old = SumsOf(*before);
      const RequestSums now = SumsOf(*claim);
      if (now.selectors < old.selectors) return "drop_selector";
      if (now.tolerations > old.tolerations) return "tolerate";
      return "change_request";
    }
    if (const auto* pod = put.As<api::Pod>()) {
      const auto* before = FindIn<api::Pod>(objects, pod->metadata);
      if (before != nullptr && pod->spec.tolerations.size() > before->spec.tolerations.size()) {
        return "tolerate";
      }
    }
  }
  return "other";
}

// A body of POST plan that brings the changes about: what changes goes, and comes again.
void PlanOfCure(JsonOut& out, const planner::Cure& cure, const std::vector<api::Object>& objects) {
  std::vector<std::string> gone;
  std::vector<std::string> items;
  std::optional<std::string> like;
  for (const planner::ObjectRef& ref : cure.changes.gone) {
    // What a pod owns goes with it.
    if (ref.kind->kind != "Pod" && ref.kind->kind != "ResourceClaim") continue;
    gone.push_back(fmt::format("{}/{}/{}", ref.kind->kind == "Pod" ? "pod" : "claim",
                               ref.namespace_, ref.name));
  }
  const bool leaves = std::ranges::any_of(
      cure.changes.gone, [](const planner::ObjectRef& ref) { return ref.kind->kind == "Pod"; });
  if (leaves)
    std::erase_if(gone, [](const std::string& name) { return name.starts_with("claim/"); });
  for (const api::Object& put : cure.changes.put) {
    const api::ObjectMeta& metadata = put.metadata();
    if (const auto* claim = put.As<api::ResourceClaim>()) {
      const auto* before = FindIn<api::ResourceClaim>(objects, claim->metadata);
      if (before != nullptr && before->spec == claim->spec) continue;
      if (before != nullptr) {
        gone.push_back(fmt::format("claim/{}/{}", metadata.namespace_, metadata.name));
      }
    } else if (const auto* pod = put.As<api::Pod>()) {
      const auto* before = FindIn<api::Pod>(objects, pod->metadata);
      if (before != nullptr && before->spec == pod->spec) continue;
      if (before != nullptr) {
        gone.push_back(fmt::format("pod/{}/{}", metadata.namespace_, metadata.name));
      }
    } else if (cure.new_node && put.As<api::Node>() != nullptr) {
      constexpr std::string_view kMore = "-more";
      const auto end = metadata.name.rfind(kMore);
      if (end != std::string::npos) like = metadata.name.substr(0, end);
      continue;
    } else if (cure.new_node) {
      continue;
    }
    api::Object shown = put;
    api::ObjectMeta& stripped = shown.MutableMetadata();
    stripped.uid.clear();
    stripped.resource_version.clear();
    stripped.creation_timestamp.reset();
    stripped.managed_fields.clear();
    items.push_back(shown.ToJson());
  }
  out.Map("plan");
  if (!items.empty()) {
    JsonOut list;
    list.BeginMap().Text("apiVersion", "v1").Text("kind", "List").List("items");
    for (const std::string& item : items) list.Raw(item);
    list.EndList().EndMap();
    out.Text("manifests", list.Take());
  }
  if (!gone.empty()) {
    out.List("delete");
    for (const std::string& name : gone) out.String(name);
    out.EndList();
  }
  if (like) {
    out.List("nodes").BeginMap().Text("like", *like).Count("count", 1).EndMap().EndList();
  }
  out.EndMap();
}

void Cures(JsonOut& out, const planner::Help& help, const std::vector<api::Object>& objects) {
  out.List("cures");
  for (const planner::Cure& cure : help.cures) {
    out.BeginMap().Text("kind", KindOf(cure, objects)).Text("text", cure.text);
    out.Text("verified", "sufficient").Text("node", cure.node);
    if (cure.new_node) out.Flag("newNode", true);
    std::vector<std::string> pods;
    for (const planner::ObjectRef& gone : cure.changes.gone) {
      if (gone.kind->kind == "Pod") pods.push_back(gone.namespace_ + "/" + gone.name);
    }
    if (!pods.empty()) {
      out.List("pods");
      for (const std::string& pod : pods) out.String(pod);
      out.EndList();
    }
    PlanOfCure(out, cure, objects);
    out.EndMap();
  }
  out.EndList().List("hints");
  for (const std::string& hint : help.hints) out.String(hint);
  out.EndList();
}

// The answer, the groups of nodes, and the whole explanation as it is documented elsewhere.
void Why(JsonOut& out, const scheduler::PodExplanation& why, const Scene& scene) {
  out.Text("answer", AnswerOf(why)).Text("cause", CauseOf(why));
  std::vector<api::Diagnostic> none;
  const DocumentNode whole = api::ParseJson(scheduler::ToJson(why), none);
  out.List("groups");
  const api::Member* groups = whole.Find("groups");
  for (std::size_t i = 0;
       groups != nullptr && i < why.groups.size() && i < groups->value.items.size(); ++i) {
    const scheduler::NodeGroup& group = why.groups[i];
    out.BeginMap().Count("nodes", group.nodes).List("examples");
    std::vector<std::uint32_t> ids;
    for (const std::string& node : group.examples) {
      out.String(node);
      if (const auto id = scene.node_id(node)) ids.push_back(*id);
    }
    out.EndList();
    // Only where all of them are known.
    if (ids.size() == group.nodes) out.Text("nodeSet", fleet::RangesOf(ids));
    if (why.closest &&
        std::ranges::find(group.examples, why.closest->node) != group.examples.end()) {
      out.Flag("nearest", true);
    }
    const api::Member* reasons = groups->value.items[i].Find("reasons");
    out.Key("reasons").Raw(reasons == nullptr ? "[]" : api::ToJson(reasons->value)).EndMap();
  }
  out.EndList().Key("explanation").Raw(api::ToJson(whole));
}

void Claims(JsonOut& out, const std::vector<const planner::ClaimUse*>& claims, const Scene& scene) {
  out.List("claims");
  for (const planner::ClaimUse* claim : claims) {
    out.BeginMap().Text("name", claim->name).TextIf("podClaim", claim->pod_claim).List("devices");
    for (const planner::DeviceGrant& device : claim->devices) {
      out.BeginMap().Text("request", device.request).Text("driver", device.driver);
      out.Text("pool", device.pool).Text("device", device.device);
      if (const auto id = scene.device_id(device.driver, device.pool, device.device)) {
        out.Count("id", *id);
      }
      if (!device.consumed.empty()) {
        out.Map("consumedCapacity");
        for (const auto& [name, amount] : device.consumed) out.Text(name, amount);
        out.EndMap();
      }
      out.TextIf("share", device.share_id);
      if (device.admin_access) out.Flag("adminAccess", true);
      out.EndMap();
    }
    out.EndList().EndMap();
  }
  out.EndList();
}

void Missing(JsonOut& out, const planner::Plan& plan) {
  out.List("podsNotCreated");
  for (const planner::MissingPods& entry : plan.missing) {
    out.BeginMap().Text("namespace", entry.namespace_).List("owners");
    for (const std::string& owner : entry.owners) out.String(owner);
    out.EndList().Count("wanted", entry.wanted).Count("missing", entry.missing);
    out.Text("reason", entry.reason).EndMap();
  }
  out.EndList();
}

std::string KeyOf(std::string_view namespace_, std::string_view name) {
  return fmt::format("{}/{}", namespace_, name);
}

// --- A plan as an answer.

class PlanPage {
 public:
  PlanPage(const console::PlanRequest& request, Scene scene, const api::FeatureGates& gates)
      : request_(request), scene_(std::move(scene)), options_(OptionsFor(scene_, gates)) {}

  Answer Make() {
    const auto begun = std::chrono::steady_clock::now();
    if (!request_.policy.empty()) {
      const auto policy = allocator::FindPolicy(request_.policy);
      if (!policy) {
        return Refusal(422, "Invalid",
                       fmt::format("policy: \"{}\" is none; there is {}", request_.policy,
                                   allocator::PolicyNames(", ")));
      }
      options_.policy = *policy;
    }
    Remember();
    if (auto refused = Change()) return *std::move(refused);
    auto plan = planner::MakePlan(std::move(scene_.objects), options_);
    if (!plan.ok()) return OfStatus(plan.status());
    Write(*plan, begun);
    return {.json = out_.Take()};
  }

 private:
  // How it was before anything is changed.
  void Remember() {
    for (const api::Object& object : scene_.objects) {
      if (const auto* pod = object.As<api::Pod>()) {
        before_[KeyOf(pod->metadata.namespace_, pod->metadata.name)] =
            pod->spec.node_name.empty() ? State::kRefused : State::kExisting;
      } else if (const auto* claim = object.As<api::ResourceClaim>()) {
        claims_before_[KeyOf(claim->metadata.namespace_, claim->metadata.name)] =
            claim->status.allocation.has_value() ? State::kExisting : State::kRefused;
      }
    }
  }

  std::optional<Answer> Change() {
    for (const console::ObjectName& name : request_.gone) {
      const api::KindInfo* kind = planner::KindCalled(name.kind);
      if (kind == nullptr) {
        return Refusal(422, "Invalid", fmt::format("delete: there is no kind \"{}\"", name.kind));
      }
      const Status done = planner::RemoveObject(scene_.objects, *kind, name.namespace_, name.name);
      if (!done.ok()) return OfStatus(done);
    }
    if (!request_.manifests.empty()) {
      Sources sources;
      sources.files.push_back({"manifests", request_.manifests});
      Manifests manifests = ReadManifests(std::move(sources));
      if (manifests.manifests.size() > kMostObjects) {
        return Refusal(413, "RequestEntityTooLarge",
                       fmt::format("the console plans at most {} objects at a time", kMostObjects));
      }
      const cel::DeviceExpressionChecker expressions;
      const Report report = Validate(manifests, {.gates = options_.gates,
                                                 .expressions = &expressions,
                                                 .now = options_.now,
                                                 .fit_together = false});
      if (report.ExitCode() != kExitOk) return OfReport(report);
      for (const auto& [kind, count] : report.skipped_kinds) skipped_[kind] += count;
      for (const Manifest& manifest : manifests.manifests) {
        const api::ObjectMeta& metadata = manifest.object.metadata();
        const std::string kind(manifest.object.kind().kind);
        const std::string space =
            metadata.namespace_.empty() ? scene_.namespace_ : metadata.namespace_;
        named_.insert(fmt::format("{}/{}/{}", kind, space, metadata.name));
      }
      auto applied = Applied(std::move(scene_.objects), manifests, scene_.namespace_);
      if (!applied.ok()) return OfStatus(applied.status());
      scene_.objects = *std::move(applied);
    }
    for (const auto& [name, count] : request_.scale) {
      const api::KindInfo* kind = planner::KindCalled(name.kind);
      if (kind == nullptr) {
        return Refusal(422, "Invalid", fmt::format("scale: there is no kind \"{}\"", name.kind));
      }
      const Status done =
          planner::ScaleObject(scene_.objects, *kind, name.namespace_, name.name, count);
      if (!done.ok()) return OfStatus(done);
    }
    for (const auto& more : request_.nodes) {
      auto names = planner::AddNodesLike(scene_.objects, more.like, more.count);
      if (!names.ok()) return OfStatus(names.status());
      for (std::string& name : *names) new_nodes_.emplace_back(std::move(name), more.like);
    }
    return std::nullopt;
  }

  bool Named(std::string_view kind, const std::string& space, const std::string& name,
             const std::vector<std::string>& owners) const {
    if (named_.contains(fmt::format("{}/{}/{}", kind, space, name))) return true;
    return std::ranges::any_of(owners, [&](const std::string& owner) {
      const auto slash = owner.find('/');
      return named_.contains(
          fmt::format("{}/{}/{}", owner.substr(0, slash), space, owner.substr(slash + 1)));
    });
  }

  // Nothing: it was not there.
  static std::optional<State> Find(const std::map<std::string, State>& states,
                                   const std::string& key) {
    const auto it = states.find(key);
    if (it == states.end()) return std::nullopt;
    return it->second;
  }

  void Before(const std::map<std::string, State>& states, const std::string& key) {
    if (const auto before = Find(states, key)) out_.Text("before", StateText(*before));
  }

  // Who has to go for each pod.
  static std::map<std::string, std::vector<std::string>> VictimsOf(const planner::Plan& plan) {
    std::map<std::string, std::vector<std::string>> victims;
    constexpr std::string_view kPod = "pod ";
    for (const planner::PodOutcome& pod : plan.pods) {
      if (pod.state != State::kPreempted || !pod.preempted_for.starts_with(kPod)) continue;
      std::string key = pod.preempted_for.substr(kPod.size());
      key.resize(std::min(key.find(' '), key.size()));
      if (key.find('/') == std::string::npos) key = KeyOf(pod.namespace_, key);
      victims[key].push_back(KeyOf(pod.namespace_, pod.name));
    }
    return victims;
  }

  template <typename Outcome>
  void Reasons(const Outcome& outcome, std::optional<planner::CureFinder>& finder) {
    if (!outcome.explanation) return;
    if (!finder || explained_++ >= kMostExplained) {
      out_.Text("answer", AnswerOf(*outcome.explanation));
      return;
    }
    Why(out_, *outcome.explanation, scene_);
    Cures(out_, finder->For(outcome), objects_);
  }

  void Write(const planner::Plan& plan, std::chrono::steady_clock::time_point begun) {
    objects_ = plan.objects;
    std::optional<planner::CureFinder> finder;
    if (request_.explain) finder.emplace(plan, options_);
    const auto victims = VictimsOf(plan);
    out_.BeginMap().Count("rev", scene_.revision).List("assumptions");
    for (const std::string& text : scene_.assumptions) out_.String(text);
    out_.EndList().List("notes");
    for (const std::string& note : plan.notes) out_.String(note);
    out_.EndList();
    std::size_t skipped = 0;
    for (const auto& [kind, count] : skipped_) skipped += count;
    out_.Map("summary").Count("existing", plan.Count(State::kExisting));
    out_.Count("placed", plan.Count(State::kPlaced)).Count("pending", plan.Count(State::kRefused));
    out_.Count("waiting", plan.Count(State::kWaiting));
    out_.Count("preempted", plan.Count(State::kPreempted)).Count("skipped", skipped).EndMap();
    out_.List("outcomes");
    for (const planner::PodOutcome& pod : plan.pods) Pod(pod, victims, finder);
    for (const planner::ClaimOutcome& claim : plan.claims) Claim(claim, finder);
    out_.EndList();
    NewNodes(plan);
    Missing(out_, plan);
    out_.List("skipped");
    for (const auto& [kind, count] : skipped_) {
      out_.BeginMap().Text("kind", kind).Count("count", count).EndMap();
    }
    out_.EndList();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    out_.Key("seconds").Real(took.count(), 3).EndMap();
  }

  void Pod(const planner::PodOutcome& pod,
           const std::map<std::string, std::vector<std::string>>& victims,
           std::optional<planner::CureFinder>& finder) {
    const std::string key = KeyOf(pod.namespace_, pod.name);
    if (pod.state == Find(before_, key) && !Named("Pod", pod.namespace_, pod.name, pod.owners)) {
      return;
    }
    out_.BeginMap().Text("kind", "Pod").Text("namespace", pod.namespace_).Text("name", pod.name);
    out_.Text("state", StateText(pod.state));
    if (pod.made) out_.Flag("planned", true);
    if (!pod.owners.empty()) {
      out_.List("owners");
      for (const std::string& owner : pod.owners) out_.String(owner);
      out_.EndList();
    }
    out_.TextIf("node", pod.node);
    Before(before_, key);
    std::vector<const planner::ClaimUse*> claims;
    for (const planner::ClaimUse& claim : pod.claims) claims.push_back(&claim);
    Claims(out_, claims, scene_);
    out_.TextIf("preemptedFor", pod.preempted_for);
    if (const auto found = victims.find(key); found != victims.end()) {
      out_.List("victims");
      for (const std::string& victim : found->second) out_.String(victim);
      out_.EndList();
    }
    Reasons(pod, finder);
    out_.EndMap();
  }

  void Claim(const planner::ClaimOutcome& claim, std::optional<planner::CureFinder>& finder) {
    const std::string key = KeyOf(claim.namespace_, claim.claim.name);
    if (claim.state == Find(claims_before_, key) &&
        !Named("ResourceClaim", claim.namespace_, claim.claim.name, {})) {
      return;
    }
    out_.BeginMap().Text("kind", "ResourceClaim").Text("namespace", claim.namespace_);
    out_.Text("name", claim.claim.name).Text("state", StateText(claim.state));
    out_.TextIf("node", claim.node);
    Before(claims_before_, key);
    Claims(out_, {&claim.claim}, scene_);
    Reasons(claim, finder);
    out_.EndMap();
  }

  void NewNodes(const planner::Plan& plan) {
    std::map<std::string, std::set<std::pair<std::string, std::string>>> pools;
    for (const api::Object& object : plan.objects) {
      const auto* slice = object.As<api::ResourceSlice>();
      if (slice == nullptr || !slice->spec.node_name) continue;
      pools[*slice->spec.node_name].emplace(slice->spec.driver, slice->spec.pool.name);
    }
    out_.List("newNodes");
    for (const auto& [name, like] : new_nodes_) {
      out_.BeginMap().Text("name", name).Text("like", like).List("used");
      for (const planner::PodOutcome& pod : plan.pods) {
        if (pod.node != name) continue;
        for (const planner::ClaimUse& claim : pod.claims) {
          for (const planner::DeviceGrant& device : claim.devices) {
            if (!pools[name].contains({device.driver, device.pool})) continue;
            out_.BeginMap().Text("driver", device.driver).Text("device", device.device);
            out_.Text("by", KeyOf(pod.namespace_, pod.name)).EndMap();
          }
        }
      }
      out_.EndList().EndMap();
    }
    out_.EndList();
  }

  const console::PlanRequest& request_;
  Scene scene_;
  planner::PlanOptions options_;
  std::map<std::string, State> before_;
  std::map<std::string, State> claims_before_;
  std::set<std::string> named_;  // of the manifests: kind/namespace/name
  std::map<std::string, std::size_t> skipped_;
  std::vector<std::pair<std::string, std::string>> new_nodes_;
  std::vector<api::Object> objects_;
  std::size_t explained_ = 0;
  JsonOut out_;
};

// --- Explanations.

class ExplainPage {
 public:
  ExplainPage(const console::ExplainRequest& request, Scene scene, const api::FeatureGates& gates)
      : request_(request), scene_(std::move(scene)), options_(OptionsFor(scene_, gates)) {}

  Answer Make() {
    const auto begun = std::chrono::steady_clock::now();
    for (const api::Object& object : scene_.objects) {
      if (object.As<api::Pod>() == nullptr && object.As<api::ResourceClaim>() == nullptr) continue;
      const auto& created = object.metadata().creation_timestamp;
      if (created) {
        since_[fmt::format("{}/{}", object.kind().kind,
                           KeyOf(object.metadata().namespace_, object.metadata().name))] = *created;
      }
    }
    auto plan = planner::MakePlan(std::move(scene_.objects), options_);
    if (!plan.ok()) return OfStatus(plan.status());
    finder_.emplace(*plan, options_);
    out_.BeginMap().Count("rev", scene_.revision).List("assumptions");
    for (const std::string& text : scene_.assumptions) out_.String(text);
    out_.EndList();
    const bool any = request_.pending ? Pending(*plan) : Target(*plan);
    if (!any) {
      const console::ObjectName& name = *request_.target;
      return Refusal(404, "NotFound",
                     fmt::format("there is no {} {}/{}, or there is nothing to explain about it",
                                 name.kind, name.namespace_, name.name));
    }
    Missing(out_, *plan);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    out_.Key("seconds").Real(took.count(), 3).EndMap();
    return {.json = out_.Take()};
  }

 private:
  struct Member {
    const planner::PodOutcome* pod = nullptr;
    const planner::ClaimOutcome* claim = nullptr;
    std::optional<base::Time> since;
    const std::string& namespace_() const { return pod ? pod->namespace_ : claim->namespace_; }
    const std::string& name() const { return pod ? pod->name : claim->claim.name; }
  };

  std::optional<base::Time> SinceOf(std::string_view kind, const std::string& space,
                                    const std::string& name) const {
    const auto it = since_.find(fmt::format("{}/{}", kind, KeyOf(space, name)));
    if (it == since_.end()) return std::nullopt;
    return it->second;
  }

  bool Pending(const planner::Plan& plan) {
    std::map<std::string, std::vector<Member>> causes;
    for (const planner::PodOutcome& pod : plan.pods) {
      // What a controller would only make is not pending.
      if (!pod.explanation || pod.made) continue;
      causes[CauseOf(*pod.explanation)].push_back(
          {.pod = &pod, .since = SinceOf("Pod", pod.namespace_, pod.name)});
    }
    for (const planner::ClaimOutcome& claim : plan.claims) {
      if (!claim.explanation) continue;
      causes[CauseOf(*claim.explanation)].push_back(
          {.claim = &claim, .since = SinceOf("ResourceClaim", claim.namespace_, claim.claim.name)});
    }
    std::vector<std::pair<const std::string, std::vector<Member>>*> order;
    for (auto& entry : causes) {
      std::ranges::stable_sort(entry.second, {}, [](const Member& member) {
        return std::tuple(!member.since, member.since.value_or(base::Time()));
      });
      order.push_back(&entry);
    }
    std::ranges::stable_sort(order, std::greater(),
                             [](const auto* entry) { return entry->second.size(); });
    out_.List("causes");
    for (const auto* entry : order) {
      const Member& first = entry->second.front();
      const auto& why = first.pod ? first.pod->explanation : first.claim->explanation;
      out_.BeginMap().Text("key", entry->first).Text("sentence", CauseSentence(*why));
      out_.Count("pods", entry->second.size());
      if (first.since) out_.Text("oldest", first.since->ToRfc3339());
      out_.List("members");
      for (std::size_t i = 0; i < std::min(entry->second.size(), kMostMembers); ++i) {
        const Member& member = entry->second[i];
        out_.BeginMap().Text("namespace", member.namespace_()).Text("name", member.name());
        if (member.claim != nullptr) out_.Text("kind", "ResourceClaim");
        if (member.since) out_.Text("since", member.since->ToRfc3339());
        out_.EndMap();
      }
      out_.EndList().EndMap();
    }
    out_.EndList().List("outcomes");
    for (std::size_t i = 0; i < std::min(order.size(), kMostCauses); ++i) {
      const Member& first = order[i]->second.front();
      first.pod ? Outcome(*first.pod, plan) : Outcome(*first.claim, plan);
    }
    out_.EndList();
    return true;
  }

  bool Target(const planner::Plan& plan) {
    const console::ObjectName& name = *request_.target;
    const api::KindInfo* kind = planner::KindCalled(name.kind);
    if (kind == nullptr) return false;
    const bool claim = kind->kind == "ResourceClaim";
    const std::string owner = fmt::format("{}/{}", kind->kind, name.name);
    std::size_t found = 0;
    out_.List("outcomes");
    for (const planner::PodOutcome& pod : plan.pods) {
      if (pod.namespace_ != name.namespace_ || found >= kMostExplained) continue;
      const bool is = kind->kind == "Pod" ? pod.name == name.name
                      : claim
                          ? std::ranges::any_of(
                                pod.claims, [&](const auto& use) { return use.name == name.name; })
                          : std::ranges::find(pod.owners, owner) != pod.owners.end();
      if (!is) continue;
      ++found;
      Outcome(pod, plan);
    }
    for (const planner::ClaimOutcome& outcome : plan.claims) {
      if (!claim || outcome.namespace_ != name.namespace_ || outcome.claim.name != name.name) {
        continue;
      }
      ++found;
      Outcome(outcome, plan);
    }
    out_.EndList();
    return found > 0;
  }

  void Outcome(const planner::PodOutcome& pod, const planner::Plan& plan) {
    out_.BeginMap().Text("kind", "Pod").Text("namespace", pod.namespace_).Text("name", pod.name);
    out_.Text("state", StateText(pod.state));
    if (pod.made) out_.Flag("planned", true);
    if (const auto since = SinceOf("Pod", pod.namespace_, pod.name)) {
      out_.Text("since", since->ToRfc3339());
    }
    out_.Text("node", pod.node);
    std::vector<const planner::ClaimUse*> claims;
    for (const planner::ClaimUse& claim : pod.claims) claims.push_back(&claim);
    Claims(out_, claims, scene_);
    Reasons(pod, plan);
    out_.EndMap();
  }

  void Outcome(const planner::ClaimOutcome& claim, const planner::Plan& plan) {
    out_.BeginMap().Text("kind", "ResourceClaim").Text("namespace", claim.namespace_);
    out_.Text("name", claim.claim.name).Text("state", StateText(claim.state));
    if (const auto since = SinceOf("ResourceClaim", claim.namespace_, claim.claim.name)) {
      out_.Text("since", since->ToRfc3339());
    }
    out_.Text("node", claim.node);
    Claims(out_, {&claim.claim}, scene_);
    Reasons(claim, plan);
    out_.EndMap();
  }

  template <typename T>
  void Reasons(const T& outcome, const planner::Plan& plan) {
    if (!outcome.explanation) return;
    Why(out_, *outcome.explanation, scene_);
    Cures(out_, finder_->For(outcome), plan.objects);
  }

  const console::ExplainRequest& request_;
  Scene scene_;
  planner::PlanOptions options_;
  std::map<std::string, base::Time> since_;  // by kind/namespace/name
  std::optional<planner::CureFinder> finder_;
  JsonOut out_;
};

}  // namespace

Answer PlanScene(const console::PlanRequest& request, Scene scene, const api::FeatureGates& gates) {
  return PlanPage(request, std::move(scene), gates).Make();
}

Answer ExplainScene(const console::ExplainRequest& request, Scene scene,
                    const api::FeatureGates& gates) {
  return ExplainPage(request, std::move(scene), gates).Make();
}

Answer ScalableIn(const Scene& scene) {
  JsonOut out;
  out.BeginMap().List("workloads");
  const auto workload = [&](const api::Object& object, std::int64_t replicas,
                            const api::PodSpec& spec) {
    out.BeginMap().Text("kind", object.kind().kind).Text("namespace", object.metadata().namespace_);
    out.Text("name", object.metadata().name).Count("replicas", replicas);
    out.Count("devices", spec.resource_claims.size()).EndMap();
  };
  for (const api::Object& object : scene.objects) {
    if (const auto* deployment = object.As<api::Deployment>()) {
      workload(object, deployment->spec.replicas.value_or(1), deployment->spec.template_.spec);
    } else if (const auto* stateful = object.As<api::StatefulSet>()) {
      workload(object, stateful->spec.replicas.value_or(1), stateful->spec.template_.spec);
    } else if (const auto* job = object.As<api::Job>()) {
      workload(object, job->spec.parallelism.value_or(1), job->spec.template_.spec);
    } else if (const auto* set = object.As<api::ReplicaSet>()) {
      if (set->metadata.owner_references.empty()) {
        workload(object, set->spec.replicas.value_or(1), set->spec.template_.spec);
      }
    }
  }
  out.EndList();
  // Nodes with the same numbers of devices of the same drivers are of one shape.
  std::map<std::string, std::map<std::string, std::size_t>> devices;
  for (const api::Object& object : scene.objects) {
    const auto* slice = object.As<api::ResourceSlice>();
    if (slice == nullptr || !slice->spec.node_name || !slice->spec.devices) continue;
    devices[*slice->spec.node_name][slice->spec.driver] += slice->spec.devices->size();
  }
  std::map<std::string, std::pair<std::string, std::size_t>> shapes;  // by text: first, count
  for (const api::Object& object : scene.objects) {
    if (object.As<api::Node>() == nullptr) continue;
    const std::string& name = object.metadata().name;
    std::string text;
    for (const auto& [driver, count] : devices[name]) {
      text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", count, driver);
    }
    auto [it, fresh] = shapes.try_emplace(text.empty() ? "no devices" : text, name, 0);
    ++it->second.second;
    it->second.first = std::min(it->second.first, name);
  }
  out.List("shapes");
  for (const auto& [text, shape] : shapes) {
    out.BeginMap().Text("like", shape.first).Count("nodes", shape.second).Text("text", text);
    out.EndMap();
  }
  out.EndList().EndMap();
  return {.json = out.Take()};
}

}  // namespace dray::cli::internal
