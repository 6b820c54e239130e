// SPDX-License-Identifier: Apache-2.0
#include "console/handler.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "api/event.h"
#include "api/resource_claim.h"
#include "apiserver/query.h"
#include "console/assets.h"
#include "console/requests.h"
#include "console/stream.h"
#include "fleet/fleet_json.h"
#include "fleet/json.h"
#include "fleet/playground.h"
#include "fmt/format.h"

namespace dray::console {
namespace {

constexpr std::chrono::seconds kRightsLast{3};
constexpr std::size_t kMostKnownRights = 1000;
constexpr std::size_t kMostHeavy = 64;  // that wait, of all users together
constexpr std::size_t kPiece = 500;     // devices that an expression is tried on in one go

// Everybody who may read the API's answers tells users apart by this.
std::string KeyOf(const apiserver::User& user) {
  std::string key = user.name + "\n" + user.uid;
  std::vector<std::string> groups = user.groups;
  std::ranges::sort(groups);
  for (const std::string& group : groups) key += "\n" + group;
  for (const auto& [name, values] : user.extra) {
    key += "\n\n" + name;
    for (const std::string& value : values) key += "\n" + value;
  }
  return key;
}

template <typename T>
std::optional<T> NumberIn(std::string_view text) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace

// One request on its way.
struct ConsoleHandler::Asked {
  apiserver::Request request;
  std::shared_ptr<apiserver::Responder> responder;
  apiserver::Query query;
  std::string user;  // by whom limits are counted
  std::shared_ptr<View> view;
  std::function<void()> done;  // called once, before the answer is sent

  void Send(apiserver::Response response) {
    // A reader that asks again at once finds its place free.
    if (const auto end = std::exchange(done, nullptr)) end();
    Door::AddHeaders(response, true);
    responder->Send(std::move(response));
  }
  void Json(std::string body) { Send(JsonAnswer(200, std::move(body))); }
  void JsonOr404(std::optional<std::string> body, std::string_view what) {
    if (body) return Json(*std::move(body));
    Fail(404, "NotFound", what);
  }
  void Fail(int code, std::string_view reason, std::string_view message) {
    Send(Failure(code, reason, message));
  }
};

ConsoleHandler::ConsoleHandler(Hub& hub, Desk& desk, HandlerOptions options)
    : hub_(hub),
      desk_(desk),
      options_(std::move(options)),
      door_(options_.door),
      simulations_(desk, hub.clock()) {}

ConsoleHandler::~ConsoleHandler() {
  heavy_.Stop();
  quick_.Stop();
}

void ConsoleHandler::Handle(apiserver::Request request,
                            std::shared_ptr<apiserver::Responder> responder) {
  const bool ours = request.path == kRoot || request.path.starts_with("/console/");
  if (!ours && options_.next != nullptr) {
    options_.next->Handle(std::move(request), std::move(responder));
    return;
  }
  const double now = std::chrono::duration<double>(hub_.clock().Monotonic()).count();
  if (auto refused = door_.Refuse(request, now)) {
    Door::AddHeaders(*refused, true);
    responder->Send(*std::move(refused));
    return;
  }
  if (Door::IsPage(request.path)) {
    responder->Send(ours || request.path == "/" ? ServePage(request)
                                                : Failure(404, "NotFound", "not found"));
    return;
  }
  auto asked = std::make_shared<Asked>();
  asked->query = apiserver::Query(request.query);
  asked->user = served() ? request.user.name : "";
  asked->request = std::move(request);
  asked->responder = std::move(responder);
  if (!asked->request.path.starts_with(kApi)) {
    asked->Fail(404, "NotFound", "the console's API is below /console/api/v1/");
    return;
  }
  hub_.Start();
  quick_.Post([this, asked] { Route(asked); });
}

Rights ConsoleHandler::RightsOf(const apiserver::User& user) const {
  if (!served()) return Rights::All();
  const std::string key = KeyOf(user);
  const auto now = hub_.clock().Monotonic();
  {
    const base::MutexLock lock(mutex_);
    const auto known = rights_.find(key);
    if (known != rights_.end() && now < known->second.until) return known->second.rights;
  }
  const api::UserInfo info{
      .name = user.name, .groups = user.groups, .extra = user.extra, .uid = user.uid};
  Rights rights = Rights::Of(info, *options_.authorizer, hub_.kinds(), hub_.Namespaces());
  const base::MutexLock lock(mutex_);
  if (rights_.size() >= kMostKnownRights) rights_.clear();
  rights_[key] = {rights, now + kRightsLast};
  return rights;
}

bool ConsoleHandler::MayRead(const apiserver::User& user, const api::KindInfo& kind,
                             std::string_view namespace_) const {
  if (!served()) return true;
  const api::UserInfo info{
      .name = user.name, .groups = user.groups, .extra = user.extra, .uid = user.uid};
  return options_.authorizer
      ->Authorize({.user = info,
                   .verb = "list",
                   .api_group = std::string(kind.group),
                   .resource = std::string(kind.plural),
                   .namespace_ = std::string(namespace_)})
      .allowed;
}

void ConsoleHandler::Route(const AskedPtr& asked) {
  const std::string_view what = std::string_view(asked->request.path).substr(kApi.size());
  const std::string& method = asked->request.method;
  const bool reads = method == "GET" || method == "HEAD";
  // These need no cluster.
  if (what == "scenarios" && reads) {
    Answer answer = desk_.Scenarios();
    return asked->Send(JsonAnswer(answer.code, std::move(answer.json)));
  }
  constexpr std::string_view kSimulations = "simulations";
  if (what.starts_with(kSimulations) &&
      (what.size() == kSimulations.size() || what[kSimulations.size()] == '/')) {
    const std::string_view id =
        what.size() > kSimulations.size() ? what.substr(kSimulations.size() + 1) : "";
    if (id.empty() && reads) return asked->Json(simulations_.List(asked->user));
    if (id.empty() && method == "POST") {
      auto request = ReadSimulationRequest(asked->request.body);
      if (!request.ok()) return asked->Fail(422, "Invalid", base::Message(request.status()));
      auto begun = simulations_.Begin(asked->user, *std::move(request));
      if (!begun.ok()) return asked->Fail(429, "TooManyRequests", base::Message(begun.status()));
      fleet::JsonOut out;
      out.BeginMap().Text("id", *begun).EndMap();
      return asked->Send(JsonAnswer(202, out.Take()));
    }
    if (!id.empty() && reads) {
      return asked->JsonOr404(simulations_.Show(asked->user, id), "there is no such simulation");
    }
    if (!id.empty() && method == "DELETE") {
      if (!simulations_.Remove(asked->user, id)) {
        return asked->Fail(404, "NotFound", "there is no such simulation");
      }
      return asked->Json("{}");
    }
    return asked->Fail(405, "MethodNotAllowed", "method not allowed for simulations");
  }
  if (what == "info" && reads) return asked->Json(InfoJson(*asked));
  const Connection connection = hub_.connection();
  if (!connection.ready) {
    apiserver::Response response =
        Failure(503, "ServiceUnavailable",
                connection.message.empty() ? "the objects of the cluster are being read"
                                           : connection.message);
    response.headers.Add("Retry-After", "1");
    return asked->Send(std::move(response));
  }
  auto view = hub_.ViewFor(RightsOf(asked->request.user));
  if (!view.ok()) return asked->Fail(429, "TooManyRequests", base::Message(view.status()));
  asked->view = *std::move(view);
  if (method == "POST") return Post(asked, what);
  if (reads) return Get(asked, what);
  asked->Fail(405, "MethodNotAllowed", "that cannot be deleted");
}

std::string ConsoleHandler::InfoJson(const Asked& asked) const {
  fleet::JsonOut out;
  out.BeginMap().Text("version", options_.version);
  out.Text("mode", served() ? "served" : "local").Text("cluster", options_.cluster);
  out.TextIf("server", options_.server);
  out.Text("user", served() ? asked.request.user.name : options_.user);
  out.Text("namespace", options_.namespace_).Text("started", hub_.started().ToRfc3339());
  out.Text("resourceVersionOf", hub_.source().ResourceVersion());
  out.List("can");
  for (const char* ability : {"plan", "explain", "cel", "history", "simulations"}) {
    out.String(ability);
  }
  out.EndList().List("missing");
  const auto missing = [&](const api::KindInfo& kind, std::string_view message) {
    out.BeginMap().Text("resource", kind.plural).Text("verb", "list").Text("message", message);
    out.EndMap();
  };
  if (served()) {
    const Rights rights = RightsOf(asked.request.user);
    for (const api::KindInfo* kind : hub_.kinds()) {
      if (rights.Everywhere(*kind)) continue;
      missing(*kind, rights.None(*kind)
                         ? fmt::format("you may not list {}", kind->plural)
                         : fmt::format("you may list {} of some namespaces only", kind->plural));
    }
  } else {
    for (const MissingKind& kind : hub_.source().Missing()) missing(*kind.kind, kind.message);
  }
  out.EndList().EndMap();
  return out.Take();
}

void ConsoleHandler::Get(const AskedPtr& asked, std::string_view what) {
  const View& view = *asked->view;
  const base::Time now = hub_.clock().Now();
  const auto look = [&](const auto& make) {
    return view.With([&](const fleet::Fleet& fleet, const std::string& epoch, const auto&) {
      return make(fleet, epoch);
    });
  };
  if (what == "fleet") {
    return asked->Json(look(
        [&](const auto& fleet, const auto& epoch) { return fleet::FleetJson(fleet, epoch, now); }));
  }
  if (what == "holders") {
    return asked->Json(look(
        [&](const auto& fleet, const auto& epoch) { return fleet::HoldersJson(fleet, epoch); }));
  }
  if (what == "stream") return Stream(asked);
  if (what == "device") {
    auto body = look([&](const fleet::Fleet& fleet, const auto&) -> std::optional<std::string> {
      auto id = NumberIn<fleet::Id>(asked->query.Get("id"));
      if (!asked->query.Has("id")) {
        id = fleet.FindDevice(asked->query.Get("driver"), asked->query.Get("pool"),
                              asked->query.Get("device"));
      }
      return id ? fleet::DeviceJson(fleet, *id) : std::nullopt;
    });
    return asked->JsonOr404(std::move(body), "there is no such device");
  }
  if (what == "node") {
    return asked->JsonOr404(look([&](const auto& fleet, const auto&) {
                              return fleet::NodeJson(fleet, asked->query.Get("name"));
                            }),
                            "there is no such node, or you may not read it");
  }
  if (what == "claim") return Claim(asked);
  if (what == "classes") {
    return asked->Json(
        look([&](const auto& fleet, const auto&) { return fleet::ClassesJson(fleet); }));
  }
  if (what == "namespaces") {
    return asked->Json(
        look([&](const auto& fleet, const auto&) { return fleet::NamespacesJson(fleet); }));
  }
  if (what == "history") {
    return asked->JsonOr404(view.With([&](const auto&, const auto&, const fleet::History& history) {
      return history.Json(asked->query.Get("range"), now);
    }),
                            "range must be 1h, 6h, 24h or 7d");
  }
  if (what == "search") {
    const auto limit = NumberIn<std::size_t>(asked->query.Get("limit"));
    return asked->Json(look([&](const auto& fleet, const auto&) {
      return fleet::SearchJson(fleet, asked->query.Get("q"),
                               std::min<std::size_t>(limit.value_or(20), 200));
    }));
  }
  if (what == "scalable") {
    return Heavy(asked, "scalable", 2, [this, asked] {
      Answer answer = desk_.Scalable(hub_.SceneFor(*asked->view));
      asked->Send(JsonAnswer(answer.code, std::move(answer.json)));
    });
  }
  if (what == "plan" || what == "explain" || what == "cel") {
    return asked->Fail(405, "MethodNotAllowed", "use POST for this");
  }
  asked->Fail(404, "NotFound", "not found in the console's API");
}

void ConsoleHandler::Stream(const AskedPtr& asked) {
  apiserver::Response response;
  response.headers.Add("Content-Type", "application/x-ndjson");
  response.tick = std::chrono::milliseconds(1000);
  const std::string epoch = asked->view->With(
      [](const auto&, const std::string& current, const auto&) { return current; });
  const auto from = NumberIn<std::uint64_t>(asked->query.Get("from"));
  if (asked->query.Get("epoch") != epoch || !from) {
    response.stream = MakeResetStream("this process was restarted; request the fleet again");
    return asked->Send(std::move(response));
  }
  StreamOptions options{.from = *from};
  if (served()) {
    options.recheck = [this, user = asked->request.user,
                       view = asked->view](std::function<void(bool)> answer) {
      quick_.Post([this, user, view, answer = std::move(answer)] {
        answer(RightsOf(user).Signature() == view->rights().Signature());
      });
    };
  }
  response.stream = MakeStream(hub_, asked->view, std::move(options));
  asked->Send(std::move(response));
}

void ConsoleHandler::Claim(const AskedPtr& asked) {
  const std::string space(asked->query.Get("namespace"));
  const std::string name(asked->query.Get("name"));
  const api::KindInfo& claims = api::HubKind(api::TypeInfoOf<api::ResourceClaim>());
  const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::Event>());
  if (!asked->view->rights().May(claims, space)) {
    return asked->Fail(404, "NotFound", "there is no such claim, or you may not read it");
  }
  fleet::ClaimNews news;
  news.released = asked->view->ReleasedAt(space, name);
  if (MayRead(asked->request.user, kind, space)) {
    auto events = hub_.source().Events(space, claims.kind, name);
    if (events.ok()) {
      news.events = *std::move(events);
      news.events_known = true;
    }
  }
  asked->JsonOr404(asked->view->With([&](const fleet::Fleet& fleet, const auto&, const auto&) {
    return fleet::ClaimJson(fleet, space, name, news);
  }),
                   "there is no such claim, or you may not read it");
}

void ConsoleHandler::Heavy(const AskedPtr& asked, std::string_view sort, std::size_t most,
                           std::function<void()> work) {
  const std::pair<std::string, std::string> key(asked->user, sort);
  {
    const base::MutexLock lock(mutex_);
    const auto it = busy_.find(key);
    if ((it != busy_.end() && it->second >= most) || heavy_.Waiting() >= kMostHeavy) {
      apiserver::Response response =
          Failure(429, "TooManyRequests",
                  "the previous request is still being processed; try again in a moment");
      response.headers.Add("Retry-After", "1");
      return asked->Send(std::move(response));
    }
    ++busy_[key];
  }
  asked->done = [this, key] {
    const base::MutexLock lock(mutex_);
    const auto it = busy_.find(key);
    if (--it->second == 0) busy_.erase(it);
  };
  heavy_.Post(std::move(work));
}

void ConsoleHandler::Post(const AskedPtr& asked, std::string_view what) {
  if (what == "cel") return Heavy(asked, "cel", 2, [this, asked] { Cel(asked); });
  if (what == "plan") return Heavy(asked, "plan", 1, [this, asked] { Ask(asked, true); });
  if (what == "explain") return Heavy(asked, "explain", 1, [this, asked] { Ask(asked, false); });
  asked->Fail(404, "NotFound", "not found, or not available with POST");
}

void ConsoleHandler::Cel(const AskedPtr& asked) {
  auto request = ReadCelRequest(asked->request.body);
  if (!request.ok()) return asked->Fail(422, "Invalid", base::Message(request.status()));
  const auto end = hub_.clock().Monotonic() + options_.patience;
  fleet::Playground playground(std::move(request->expression), request->derived);
  const auto step = [&] {
    return asked->view->With([&](const fleet::Fleet& fleet, const auto&, const auto&) {
      return playground.Step(fleet, kPiece);
    });
  };
  while (step()) {
    if (hub_.clock().Monotonic() < end) continue;
    return asked->Fail(504, "Timeout", "evaluating the expression on all devices takes too long");
  }
  asked->Json(asked->view->With(
      [&](const fleet::Fleet& fleet, const auto&, const auto&) { return playground.Json(fleet); }));
}

void ConsoleHandler::Ask(const AskedPtr& asked, bool plan) {
  const auto end = hub_.clock().Monotonic() + options_.patience;
  const auto scene = [&] {
    Scene made = hub_.SceneFor(*asked->view);
    made.namespace_ = options_.namespace_;
    made.revision = asked->view->With(
        [](const fleet::Fleet& fleet, const auto&, const auto&) { return fleet.revision(); });
    made.device_id = [view = asked->view](std::string_view driver, std::string_view pool,
                                          std::string_view device) {
      return view->With([&](const fleet::Fleet& fleet, const auto&, const auto&) {
        return fleet.FindDevice(driver, pool, device);
      });
    };
    made.node_id = [view = asked->view](std::string_view node) {
      return view->With([&](const fleet::Fleet& fleet, const auto&, const auto&) {
        return fleet.FindNode(node);
      });
    };
    made.expired = [this, end] { return hub_.clock().Monotonic() >= end; };
    return made;
  };
  Answer answer;
  if (plan) {
    auto request = ReadPlanRequest(asked->request.body);
    if (!request.ok()) return asked->Fail(422, "Invalid", base::Message(request.status()));
    answer = desk_.Plan(*request, scene());
  } else {
    auto request = ReadExplainRequest(asked->request.body);
    if (!request.ok()) return asked->Fail(422, "Invalid", base::Message(request.status()));
    answer = desk_.Explain(*request, scene());
  }
  asked->Send(JsonAnswer(answer.code, std::move(answer.json)));
}

}  // namespace dray::console
