// SPDX-License-Identifier: Apache-2.0
#include "node/plugin_table.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace dray::node {
namespace {

// As metrics name calls: the whole path.
std::string MethodPath(rpc::DraService service, std::string_view method) {
  return fmt::format("/k8s.io.kubelet.pkg.apis.dra.{}.DRAPlugin/{}",
                     service == rpc::DraService::kV1 ? "v1" : "v1beta1", method);
}

}  // namespace

// What is heard of its socket is posted to the loop under its number: by then it may be gone.
class PluginTable::Endpoint final : public rpc::PluginListener {
 public:
  Endpoint(PluginTable& table, Plugin plugin, std::uint64_t id)
      : table_(table),
        loop_(table.parts_.loop),
        alive_(table.alive_),
        plugin(std::move(plugin)),
        id(id) {}

  void OnConnected(bool connected) override {
    Post([connected](PluginTable& table, Endpoint& self) { table.Connected(self, connected); });
  }
  void OnHealth(std::vector<rpc::DeviceHealth> devices) override {
    Post([devices = std::move(devices)](PluginTable& table, Endpoint& self) {
      table.Reported(self, devices);
    });
  }
  void OnHealthEnd(Status why) override {
    Post([why = std::move(why)](PluginTable& table, Endpoint& self) {
      table.StreamEnded(self, why);
    });
  }

 private:
  template <class What>
  void Post(What what) {
    loop_.Post([&table = table_, alive = alive_, id = id, what = std::move(what)] {
      if (alive.lock() == nullptr) return;
      if (Endpoint* self = table.Find(id); self != nullptr) what(table, *self);
    });
  }

  PluginTable& table_;
  Loop& loop_;
  const std::weak_ptr<int> alive_;

 public:
  const Plugin plugin;
  const std::uint64_t id;
  bool connected = false;
  bool streaming = false;                       // a health stream is open
  bool declined = false;                        // the driver has no health to tell
  std::chrono::nanoseconds next_message{0};     // not before
  Loop::Timer timer;                            // opens the stream, or reads on in it
  std::unique_ptr<rpc::PluginChannel> channel;  // last: it tells until it is gone
};

PluginTable::PluginTable(PluginTableParts parts) : parts_(std::move(parts)) {}

PluginTable::~PluginTable() = default;

PluginTable::Endpoint* PluginTable::Find(std::uint64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

Status PluginTable::AddPlugin(const Plugin& plugin) {
  const auto same = [&](const auto& other) { return other->plugin.endpoint == plugin.endpoint; };
  if (const auto found = drivers_.find(plugin.driver);
      found != drivers_.end() && std::ranges::any_of(found->second, same)) {
    return base::AlreadyExists(fmt::format(
        "endpoint {} already registered for DRA driver plugin {}", plugin.endpoint, plugin.driver));
  }
  if (by_id_.size() >= kMostPlugins) {
    return base::MakeStatus(
        StatusCode::kResourceExhausted,
        fmt::format("this node has {} endpoints of DRA drivers already, and takes no more",
                    kMostPlugins));
  }
  auto endpoint = std::make_unique<Endpoint>(*this, plugin, ++added_);
  DRAY_ASSIGN_OR_RETURN(endpoint->channel,
                        parts_.connector.Channel({.endpoint = plugin.endpoint,
                                                  .dra = plugin.services.dra,
                                                  .health = plugin.services.health},
                                                 *endpoint));
  by_id_[endpoint->id] = endpoint.get();
  drivers_[plugin.driver].push_back(std::move(endpoint));
  TellUsable(plugin.driver);
  return {};
}

void PluginTable::RemovePlugin(const Plugin& plugin) {
  const auto driver = drivers_.find(plugin.driver);
  if (driver == drivers_.end()) return;
  Endpoints& endpoints = driver->second;
  const auto found = std::ranges::find_if(
      endpoints, [&](const auto& other) { return other->plugin.endpoint == plugin.endpoint; });
  if (found == endpoints.end()) return;
  const std::uint64_t id = (*found)->id;
  by_id_.erase(id);
  endpoints.erase(found);
  if (endpoints.empty()) drivers_.erase(driver);
  TellUsable(plugin.driver);
  TellHealth(health_.Forget(plugin.driver, id));
}

void PluginTable::PluginReady(const Plugin& plugin) {
  if (listener_ != nullptr) listener_->OnDriverReady(plugin.driver);
}

Status PluginTable::Registered(std::string_view driver) const { return Pick(driver).status(); }

bool PluginTable::Usable(std::string_view driver) const {
  const auto found = drivers_.find(driver);
  return found != drivers_.end() &&
         std::ranges::any_of(found->second, [](const auto& one) { return one->connected; });
}

StatusOr<PluginTable::Endpoint*> PluginTable::Pick(std::string_view driver) const {
  if (driver.empty()) return base::InvalidArgument("DRA driver name is empty");
  const auto found = drivers_.find(driver);
  if (found == drivers_.end()) {
    return base::NotFound(fmt::format("DRA driver {} is not registered", driver));
  }
  const Endpoints& endpoints = found->second;
  const auto connected = std::find_if(endpoints.rbegin(), endpoints.rend(),
                                      [](const auto& one) { return one->connected; });
  return connected != endpoints.rend() ? connected->get() : endpoints.back().get();
}

template <class Answer>
rpc::Done<Answer> PluginTable::OnLoop(const Endpoint& endpoint, std::string_view method,
                                      rpc::Done<Answer> done) {
  return [this, &loop = parts_.loop, alive = std::weak_ptr(alive_), begun = parts_.loop.Now(),
          driver = endpoint.plugin.driver, path = MethodPath(endpoint.plugin.services.dra, method),
          done = std::move(done)](StatusOr<Answer> answer) {
    loop.Post([this, &loop, alive, begun, driver, path, done, answer = std::move(answer)] {
      if (alive.lock() == nullptr) return;
      if (parts_.metrics != nullptr) {
        parts_.metrics->Called(driver, path, answer.status(), loop.Now() - begun);
      }
      done(answer);
    });
  };
}

void PluginTable::Prepare(std::string_view driver, std::vector<rpc::ClaimName> claims,
                          rpc::Done<rpc::PrepareAnswer> done) {
  const StatusOr<Endpoint*> endpoint = Pick(driver);
  if (!endpoint.ok()) {
    parts_.loop.Post([done = std::move(done), status = endpoint.status()] { done(status); });
    return;
  }
  (*endpoint)->channel->Prepare(std::move(claims), kCallDeadline,
                                OnLoop(**endpoint, "NodePrepareResources", std::move(done)));
}

void PluginTable::Unprepare(std::string_view driver, std::vector<rpc::ClaimName> claims,
                            rpc::Done<rpc::UnprepareAnswer> done) {
  const StatusOr<Endpoint*> endpoint = Pick(driver);
  if (!endpoint.ok()) {
    parts_.loop.Post([done = std::move(done), status = endpoint.status()] { done(status); });
    return;
  }
  (*endpoint)->channel->Unprepare(std::move(claims), kCallDeadline,
                                  OnLoop(**endpoint, "NodeUnprepareResources", std::move(done)));
}

HealthOfDevice PluginTable::HealthOf(const DeviceName& device) const {
  return health_.HealthOf(device, parts_.loop.Now());
}

void PluginTable::TellUsable(const std::string& driver) {
  parts_.wipes.SetUsable(driver, Usable(driver));
}

void PluginTable::Connected(Endpoint& endpoint, bool connected) {
  if (endpoint.connected == connected) return;
  const std::string& driver = endpoint.plugin.driver;
  const bool was_usable = Usable(driver);
  endpoint.connected = connected;
  parts_.log.Info(0, connected ? "Driver connected" : "Driver disconnected",
                  {{"driver", driver}, {"endpoint", endpoint.plugin.endpoint}});
  TellUsable(driver);
  if (!connected) return;
  if (!endpoint.streaming) OpenStream(endpoint);
  if (!was_usable && listener_ != nullptr) listener_->OnDriverReady(driver);
}

void PluginTable::OpenStream(Endpoint& endpoint) {
  if (endpoint.plugin.services.health == rpc::HealthService::kNone || endpoint.declined) return;
  endpoint.streaming = true;
  endpoint.timer.Cancel();
  endpoint.channel->WatchHealth();
}

void PluginTable::Reported(Endpoint& endpoint, const std::vector<rpc::DeviceHealth>& devices) {
  const std::string& driver = endpoint.plugin.driver;
  HealthBook::Change change =
      health_.Report(driver, endpoint.id, devices, Moment::Of(parts_.loop.clock()));
  if (change.ignored > 0) {
    parts_.log.Warning(
        "Driver reports the health of too many devices, new ones are ignored",
        {{"driver", driver}, {"ignored", change.ignored}, {"limit", kMostDevicesOfDriver}});
  }
  TellHealth(std::move(change));
  // A driver that talks all the time is read now and then.
  const auto now = parts_.loop.Now();
  const auto pause = std::max(endpoint.next_message - now, std::chrono::nanoseconds(0));
  // Many devices take their time to be looked at; others want to be served, too.
  endpoint.next_message =
      now + pause + kHealthInterval + static_cast<std::int64_t>(devices.size()) * kHealthPerDevice;
  if (pause == std::chrono::nanoseconds(0)) {
    endpoint.channel->NextHealth();
  } else {
    endpoint.timer = parts_.loop.After(pause, [&endpoint] { endpoint.channel->NextHealth(); });
  }
}

void PluginTable::StreamEnded(Endpoint& endpoint, const Status& why) {
  endpoint.streaming = false;
  parts_.log.Info(1, "Health stream ended", {{"driver", endpoint.plugin.driver}, {"error", why}});
  TellHealth(health_.Forget(endpoint.plugin.driver, endpoint.id));
  if (why.code() == StatusCode::kUnimplemented) {
    // That is how a driver declines, until it registers anew.
    endpoint.declined = true;
    return;
  }
  // One that is not connected is streamed from as soon as it is.
  endpoint.timer = parts_.loop.After(kHealthPause, [this, &endpoint] {
    if (endpoint.connected && !endpoint.streaming) OpenStream(endpoint);
  });
}

void PluginTable::TellHealth(HealthBook::Change change) {
  SetHealthTimer();
  if (parts_.health_known) parts_.health_known();
  if (listener_ != nullptr && !change.devices.empty()) listener_->OnHealthChanged(change.devices);
}

// A kubelet notices that something is too old when it next looks at the pod; here it is told when
// its time is over.
void PluginTable::SetHealthTimer() {
  const auto next = health_.NextEnd();
  if (!next) {
    health_timer_.Cancel();
    return;
  }
  health_timer_ = parts_.loop.After(*next - parts_.loop.Now(),
                                    [this] { TellHealth(health_.Expire(parts_.loop.Now())); });
}

}  // namespace dray::node
