// SPDX-License-Identifier: Apache-2.0
#include "node/plugin_registrar.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/names.h"
#include "fmt/format.h"
#include "node/pod_claims.h"

namespace dray::node {
namespace {

constexpr std::size_t kLongestDriverName = 63;
constexpr std::size_t kLongestEndpoint = 4095;  // PATH_MAX, without the end

// Newest first.
constexpr std::array<std::pair<std::string_view, rpc::DraService>, 2> kDraServices = {{
    {"v1.DRAPlugin", rpc::DraService::kV1},
    {"v1beta1.DRAPlugin", rpc::DraService::kV1Beta1},
}};
constexpr std::array<std::pair<std::string_view, rpc::HealthService>, 2> kHealthServices = {{
    {"v1.DRAResourceHealth", rpc::HealthService::kV1},
    {"v1alpha1.DRAResourceHealth", rpc::HealthService::kV1Alpha1},
}};

bool Offers(const std::vector<std::string>& supported, std::string_view name) {
  return std::ranges::find(supported, name) != supported.end();
}

}  // namespace

StatusOr<PluginServices> ChooseServices(const std::vector<std::string>& supported_versions) {
  if (supported_versions.empty()) {
    return base::InvalidArgument("empty list of supported gRPC services (aka supported versions)");
  }
  PluginServices out;
  const auto dra = std::ranges::find_if(
      kDraServices, [&](const auto& known) { return Offers(supported_versions, known.first); });
  if (dra == kDraServices.end()) {
    return base::InvalidArgument(fmt::format(
        "none of the driver's gRPC services is supported by this node: the driver has [{}], the "
        "node needs one of [{}, {}]",
        Shortened(absl::StrJoin(supported_versions, ", ")), kDraServices[0].first,
        kDraServices[1].first));
  }
  out.dra = dra->second;
  for (const auto& [name, service] : kHealthServices) {
    if (out.health == rpc::HealthService::kNone && Offers(supported_versions, name)) {
      out.health = service;
    }
  }
  return out;
}

StatusOr<Plugin> ReadPlugin(const rpc::PluginInfo& info, const std::string& socket) {
  if (info.type != "DRAPlugin") {
    return base::InvalidArgument(fmt::format(
        "no handler registered for plugin type: {} at socket {}", Shortened(info.type), socket));
  }
  if (info.name.empty()) return base::InvalidArgument("DRA driver name is empty");
  if (info.name.size() > kLongestDriverName || !base::IsDnsSubdomain(info.name)) {
    return base::InvalidArgument(
        fmt::format("DRA driver name \"{}\" is not a DNS subdomain of at most {} characters",
                    Shortened(info.name), kLongestDriverName));
  }
  Plugin out{.driver = info.name, .endpoint = info.endpoint.empty() ? socket : info.endpoint};
  if (!out.endpoint.starts_with('/')) {
    return base::InvalidArgument(
        fmt::format("endpoint \"{}\" is not an absolute path", Shortened(out.endpoint)));
  }
  if (out.endpoint.size() > kLongestEndpoint) {
    return base::InvalidArgument(fmt::format("endpoint \"{}\" has {} bytes, no path has so many",
                                             Shortened(out.endpoint), out.endpoint.size()));
  }
  DRAY_ASSIGN_OR_RETURN(out.services, ChooseServices(info.supported_versions));
  return out;
}

PluginRegistrar::PluginRegistrar(Loop& loop, rpc::PluginConnector& connector,
                                 PluginHandler& handler, logs::Logger log,
                                 std::function<void(const PluginCounts&)> changed)
    : loop_(loop),
      connector_(connector),
      handler_(handler),
      log_(log),
      changed_(std::move(changed)) {}

PluginRegistrar::~PluginRegistrar() = default;

void PluginRegistrar::SocketFound(const std::string& path) {
  Socket& socket = sockets_[path];
  socket.desired = ++appearances_;
  // Whoever made it anew is not to blame for what was there before.
  socket.retry = kFirstRetry;
  Tell();
  Reconcile(path);
}

void PluginRegistrar::SocketGone(const std::string& path) {
  const auto found = sockets_.find(path);
  if (found == sockets_.end()) return;
  found->second.desired = 0;
  Tell();
  Reconcile(path);
}

const Plugin* PluginRegistrar::Registered(const std::string& path) const {
  const auto found = sockets_.find(path);
  if (found == sockets_.end() || found->second.registered == 0) return nullptr;
  return &found->second.plugin;
}

// One thing at a time for a socket: what is under way comes to its end first.
void PluginRegistrar::Reconcile(const std::string& path) {
  const auto found = sockets_.find(path);
  if (found == sockets_.end() || found->second.client != nullptr) return;
  Socket& socket = found->second;
  socket.timer.Cancel();
  if (socket.registered != 0 && socket.registered != socket.desired) Deregister(path, socket);
  if (socket.desired == 0) {
    sockets_.erase(found);
    return;
  }
  if (socket.registered != 0 || socket.waiting) return;
  if (handshakes_ < kMostHandshakes) return Begin(path, socket);
  socket.waiting = true;
  (socket.retry == kFirstRetry ? fresh_ : retries_).push_back(path);
}

void PluginRegistrar::EndHandshake(Socket& socket) {
  if (socket.client == nullptr) return;
  socket.client = nullptr;
  --handshakes_;
  // Not from inside of whatever ends here.
  loop_.Post([this, alive = std::weak_ptr(alive_)] {
    while (alive.lock() != nullptr && handshakes_ < kMostHandshakes) {
      std::deque<std::string>& next = fresh_.empty() ? retries_ : fresh_;
      if (next.empty()) return;
      const std::string path = std::move(next.front());
      next.pop_front();
      const auto found = sockets_.find(path);
      if (found == sockets_.end() || !std::exchange(found->second.waiting, false)) continue;
      Reconcile(path);
    }
  });
}

void PluginRegistrar::Deregister(const std::string& path, Socket& socket) {
  log_.Info(0, "Plugin deregistered", {{"driver", socket.plugin.driver}, {"socket", path}});
  socket.registered = 0;
  handler_.RemovePlugin(socket.plugin);
  Tell();
}

template <class T>
std::function<void(T)> PluginRegistrar::OnLoop(const std::string& path,
                                               void (PluginRegistrar::*then)(const std::string&,
                                                                             const T&)) {
  return [this, &loop = loop_, alive = std::weak_ptr(alive_), path, then](T value) {
    loop.Post([this, alive, path, then, value = std::move(value)] {
      if (alive.lock() != nullptr) (this->*then)(path, value);
    });
  };
}

void PluginRegistrar::Begin(const std::string& path, Socket& socket) {
  socket.trying = socket.desired;
  StatusOr<std::unique_ptr<rpc::RegistrationClient>> client = connector_.Registration(path);
  if (!client.ok()) {
    Failed(path, "connect", client.status());
    return;
  }
  socket.client = *std::move(client);
  ++handshakes_;
  socket.client->GetInfo(kGetInfoDeadline, OnLoop(path, &PluginRegistrar::GotInfo));
}

void PluginRegistrar::GotInfo(const std::string& path, const StatusOr<rpc::PluginInfo>& info) {
  Socket& socket = sockets_.at(path);
  if (socket.desired != socket.trying) {
    // It has gone, or somebody else is there by now.
    EndHandshake(socket);
    Reconcile(path);
    return;
  }
  if (!info.ok()) {
    Failed(path, "GetInfo", info.status());
    return;
  }
  StatusOr<Plugin> plugin = ReadPlugin(*info, path);
  if (!plugin.ok()) {
    Refuse(path, plugin.status());
    return;
  }
  socket.plugin = *std::move(plugin);
  if (const Status status = handler_.AddPlugin(socket.plugin); !status.ok()) {
    Refuse(path, status);
    return;
  }
  socket.client->Notify("", kNotifyDeadline, OnLoop(path, &PluginRegistrar::Notified));
}

void PluginRegistrar::Notified(const std::string& path, const Status& status) {
  Socket& socket = sockets_.at(path);
  if (!status.ok()) {
    handler_.RemovePlugin(socket.plugin);
    Failed(path, "NotifyRegistrationStatus", status);
    return;
  }
  EndHandshake(socket);
  socket.registered = socket.trying;
  socket.retry = kFirstRetry;
  log_.Info(
      0, "Plugin registered",
      {{"driver", socket.plugin.driver}, {"endpoint", socket.plugin.endpoint}, {"socket", path}});
  Tell();
  handler_.PluginReady(socket.plugin);
  // It may have gone meanwhile.
  Reconcile(path);
}

// Whatever it answers: it was told.
void PluginRegistrar::Refuse(const std::string& path, const Status& why) {
  sockets_.at(path).client->Notify(
      std::string(base::Message(why)), kNotifyDeadline,
      [this, &loop = loop_, alive = std::weak_ptr(alive_), path, why](const Status&) {
        loop.Post([this, alive, path, why] {
          if (alive.lock() != nullptr) Failed(path, "register", why);
        });
      });
}

void PluginRegistrar::Failed(const std::string& path, std::string_view step, const Status& why) {
  Socket& socket = sockets_.at(path);
  EndHandshake(socket);
  log_.Warning("Plugin could not be registered",
               {{"socket", path}, {"step", step}, {"error", why}, {"retry_in", socket.retry}});
  if (socket.desired != socket.trying) {
    Reconcile(path);
    return;
  }
  socket.timer = loop_.After(socket.retry, [this, path] { Reconcile(path); });
  socket.retry = std::min<std::chrono::nanoseconds>(socket.retry * 2, kLongestRetry);
}

// Once for everything that happens at a time: many sockets may come together.
void PluginRegistrar::Tell() {
  if (!changed_ || std::exchange(telling_, true)) return;
  loop_.Post([this, alive = std::weak_ptr(alive_)] {
    if (alive.lock() == nullptr) return;
    telling_ = false;
    PluginCounts counts;
    for (const auto& [path, socket] : sockets_) {
      if (socket.desired != 0) counts.desired.push_back(path);
      if (socket.registered != 0) counts.actual.push_back(path);
    }
    changed_(counts);
  });
}

}  // namespace dray::node
