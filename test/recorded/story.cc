// SPDX-License-Identifier: Apache-2.0
#include "recorded/story.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "api/kinds.h"
#include "fmt/format.h"
#include "rest/tree.h"

namespace dray::recorded {
namespace {

using rest::DocumentNode;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};
constexpr milliseconds kPause{200};
// Until events are written and nothing is left to be heard.
constexpr milliseconds kAftermath{1'500};
constexpr int kNotFound = 404;
constexpr int kConflict = 409;

std::string_view NameOf(const DocumentNode& object) {
  const DocumentNode* metadata = rest::FindIn(object, "metadata");
  return metadata == nullptr ? std::string_view() : rest::TextIn(*metadata, "name");
}

// Where objects of its kind are. Those that live in a namespace live in the story's, if they name
// none.
StatusOr<std::string> CollectionOf(const DocumentNode& object) {
  const std::string_view version = rest::TextIn(object, "apiVersion");
  const api::KindInfo* kind = api::FindKind(version, rest::TextIn(object, "kind"));
  if (kind == nullptr) {
    return base::InvalidArgument(
        fmt::format("no kind {} of {}", rest::TextIn(object, "kind"), version));
  }
  std::string path = fmt::format("/{}/{}", kind->group.empty() ? "api" : "apis", version);
  if (kind->namespaced) {
    const DocumentNode* metadata = rest::FindIn(object, "metadata");
    std::string_view space = metadata == nullptr ? "" : rest::TextIn(*metadata, "namespace");
    if (space.empty()) space = kNamespace;
    path += fmt::format("/namespaces/{}", space);
  }
  return fmt::format("{}/{}", path, kind->plural);
}

StatusOr<client::HttpResponse> Ask(client::HttpClient& admin, client::HttpRequest request,
                                   std::set<int> fine = {}) {
  const std::string what = fmt::format("{} {}", request.method, request.target);
  auto response = admin.Send(request);
  if (!response.ok()) return response;
  if (response->status >= 300 && !fine.contains(response->status)) {
    return base::Annotate(client::FailureOf(*response), what);
  }
  return response;
}

// The object or list at the path; null: there is none.
StatusOr<DocumentNode> Look(client::HttpClient& admin, std::string path) {
  DRAY_ASSIGN_OR_RETURN(const client::HttpResponse response,
                        Ask(admin, {.target = std::move(path)}, {kNotFound}));
  if (response.status == kNotFound) return DocumentNode();
  return rest::ReadTree(response.body);
}

const DocumentNode& In(const DocumentNode& node, std::initializer_list<std::string_view> path) {
  static const DocumentNode nothing;
  const DocumentNode* at = &node;
  for (const std::string_view key : path) {
    at = rest::FindIn(*at, key);
    if (at == nullptr) return nothing;
  }
  return *at;
}

std::set<std::string> DevicesOf(const DocumentNode& claim) {
  std::set<std::string> devices;
  for (const DocumentNode& result :
       In(claim, {"status", "allocation", "devices", "results"}).items) {
    devices.emplace(rest::TextIn(result, "device"));
  }
  return devices;
}

bool PodHolds(const DocumentNode& pod, const std::vector<std::string>& words) {
  const std::string& what = words[2];
  if (what == "gone") return rest::IsNull(pod);
  const std::string& node = In(pod, {"spec", "nodeName"}).text;
  if (what == "on") return node == words.at(3);
  if (what == "bound") return !node.empty();
  for (const DocumentNode& condition : In(pod, {"status", "conditions"}).items) {
    if (rest::TextIn(condition, "type") == "PodScheduled") {
      return what == "waits" && rest::TextIn(condition, "status") == "False";
    }
  }
  return false;
}

}  // namespace

StatusOr<Story> Story::Load(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  auto tree = rest::ReadTree(text.str(), true);
  if (!tree.ok()) return base::Annotate(tree.status(), file.string());
  Story story;
  story.title_ = rest::TextIn(*tree, "title");
  story.as_ = rest::TextIn(*tree, "as");
  story.lease_ = In(*tree, {"lease"}).boolean;
  story.before_ = In(*tree, {"before"}).items;
  for (const DocumentNode& told : In(*tree, {"steps"}).items) {
    Step& step = story.steps_.emplace_back();
    for (const api::Member& member : told.members) {
      if (member.key == "until") {
        for (const DocumentNode& condition : member.value.items) {
          step.until.push_back(condition.text);
        }
      } else {
        step.acts.push_back({member.key, member.value.items});
      }
    }
  }
  if (story.title_.empty()) return base::InvalidArgument(file.string() + ": no title");
  return story;
}

Status Story::Do(client::HttpClient& admin, const Act& act) {
  for (const DocumentNode& object : act.objects) {
    DRAY_ASSIGN_OR_RETURN(const std::string collection, CollectionOf(object));
    const std::string place = fmt::format("{}/{}", collection, NameOf(object));
    client::HttpRequest request;
    if (act.verb == "create") {
      request = {.method = "POST", .target = collection, .body = ToJson(object)};
    } else if (act.verb == "delete") {
      request = {.method = "DELETE",
                 .target = place,
                 .body = R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0})"};
    } else if (act.verb == "patch" || act.verb == "status") {
      request = {.method = "PATCH",
                 .target = act.verb == "status" ? place + "/status" : place,
                 .body = ToJson(object),
                 .content_type = "application/merge-patch+json"};
    } else {
      return base::InvalidArgument(fmt::format("no verb {}", act.verb));
    }
    DRAY_RETURN_IF_ERROR(Ask(admin, std::move(request)).status());
  }
  return {};
}

StatusOr<bool> Story::Holds(client::HttpClient& admin, std::string_view condition) {
  std::vector<std::string> words;
  std::istringstream text{std::string(condition)};
  for (std::string word; text >> word;) words.push_back(word);
  if (words.empty()) return base::InvalidArgument("an empty condition");
  const auto claims =
      fmt::format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims", kNamespace);
  if (words[0] == "pod" && words.size() >= 3) {
    DRAY_ASSIGN_OR_RETURN(
        const DocumentNode pod,
        Look(admin, fmt::format("/api/v1/namespaces/{}/pods/{}", kNamespace, words[1])));
    return PodHolds(pod, words);
  }
  if (words[0] == "claim" && words.size() >= 3) {
    DRAY_ASSIGN_OR_RETURN(const DocumentNode claim, Look(admin, claims + "/" + words[1]));
    const std::set<std::string> devices = DevicesOf(claim);
    if (words[2] == "free") return devices.empty();
    return devices == std::set<std::string>(words.begin() + 3, words.end());
  }
  if (words[0] == "claims" && words.size() == 2) {
    DRAY_ASSIGN_OR_RETURN(const DocumentNode list, Look(admin, claims));
    const auto count = std::ranges::count_if(
        In(list, {"items"}).items, [](const auto& claim) { return !DevicesOf(claim).empty(); });
    return std::to_string(count) == words[1];
  }
  if (words[0] == "event" && words.size() == 4) {
    DRAY_ASSIGN_OR_RETURN(const DocumentNode list,
                          Look(admin, fmt::format("/api/v1/namespaces/{}/events", kNamespace)));
    return std::ranges::any_of(In(list, {"items"}).items, [&](const DocumentNode& event) {
      return rest::TextIn(event, "reason") == words[1] &&
             In(event, {"involvedObject", "name"}).text == words[3];
    });
  }
  return base::InvalidArgument(fmt::format("nobody knows when \"{}\" holds", condition));
}

Status Story::Await(client::HttpClient& admin, const std::vector<std::string>& until) {
  const auto end = steady_clock::now() + kPatience;
  for (const std::string& condition : until) {
    for (;;) {
      DRAY_ASSIGN_OR_RETURN(const bool holds, Holds(admin, condition));
      if (holds) break;
      if (steady_clock::now() > end) {
        return base::Unavailable(fmt::format("never came to pass: {}", condition));
      }
      std::this_thread::sleep_for(kPause);
    }
  }
  // What comes behind belongs to this step.
  std::this_thread::sleep_for(kAftermath);
  return {};
}

Status Story::Tell(client::HttpClient& admin, const std::function<Status()>& schedule,
                   const std::function<void()>& stop) const {
  const auto told = [&]() -> Status {
    DRAY_RETURN_IF_ERROR(
        Ask(admin, {.method = "POST",
                    .target = "/api/v1/namespaces",
                    .body = fmt::format(
                        R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})",
                        kNamespace)})
            .status());
    // Pods cannot be made before.
    const auto end = steady_clock::now() + kPatience;
    for (;;) {
      DRAY_ASSIGN_OR_RETURN(
          const DocumentNode account,
          Look(admin, fmt::format("/api/v1/namespaces/{}/serviceaccounts/default", kNamespace)));
      if (!rest::IsNull(account)) break;
      if (steady_clock::now() > end) return base::Unavailable("no service account is made");
      std::this_thread::sleep_for(kPause);
    }
    DRAY_RETURN_IF_ERROR(Do(admin, {"create", before_}));
    // Claims of pods that are there already.
    std::this_thread::sleep_for(kAftermath);
    DRAY_RETURN_IF_ERROR(schedule());
    for (const Step& step : steps_) {
      for (const Act& act : step.acts) {
        if (act.verb == "restart") {
          stop();
          DRAY_RETURN_IF_ERROR(schedule());
        } else {
          DRAY_RETURN_IF_ERROR(Do(admin, act));
        }
      }
      DRAY_RETURN_IF_ERROR(Await(admin, step.until));
    }
    return {};
  }();
  stop();
  const Status cleaned = CleanUp(admin);
  return told.ok() ? cleaned : told;
}

Status Story::CleanUp(client::HttpClient& admin) const {
  std::set<std::string> places;
  const auto note = [&](const DocumentNode& object) -> Status {
    DRAY_ASSIGN_OR_RETURN(const std::string collection, CollectionOf(object));
    places.insert(fmt::format("{}/{}", collection, NameOf(object)));
    return {};
  };
  for (const DocumentNode& object : before_) DRAY_RETURN_IF_ERROR(note(object));
  for (const Step& step : steps_) {
    for (const Act& act : step.acts) {
      for (const DocumentNode& object : act.objects) DRAY_RETURN_IF_ERROR(note(object));
    }
  }
  const auto remove = [&](const std::string& place) {
    return Ask(admin,
               {.method = "DELETE",
                .target = place,
                .body = R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0})"},
               {kNotFound, kConflict})
        .status();
  };
  for (const std::string& place : places) DRAY_RETURN_IF_ERROR(remove(place));
  const std::string space = fmt::format("/api/v1/namespaces/{}", kNamespace);
  // Pods that a controller has made, too: no node is there to end them.
  DRAY_RETURN_IF_ERROR(remove(space));
  const auto end = steady_clock::now() + kPatience;
  for (;;) {
    DRAY_ASSIGN_OR_RETURN(const DocumentNode pods, Look(admin, space + "/pods"));
    for (const DocumentNode& pod : In(pods, {"items"}).items) {
      DRAY_RETURN_IF_ERROR(remove(fmt::format("{}/pods/{}", space, NameOf(pod))));
    }
    DRAY_ASSIGN_OR_RETURN(const DocumentNode left, Look(admin, space));
    if (rest::IsNull(left)) return {};
    if (steady_clock::now() > end) return base::Unavailable("the namespace does not go away");
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace dray::recorded
