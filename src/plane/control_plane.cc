// SPDX-License-Identifier: Apache-2.0
#include "plane/control_plane.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "apiserver/authentication.h"
#include "apiserver/credentials.h"
#include "apiserver/server.h"
#include "base/uuid.h"
#include "cel/device_env.h"
#include "fmt/format.h"
#include "plane/first_objects.h"
#include "plane/internal/loop.h"
#include "plane/internal/snapshots.h"
#include "plane/internal/workers.h"
#include "registry/handler.h"
#include "registry/local_cluster.h"
#include "registry/registry.h"
#include "registry/roles.h"
#include "store/early_store.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace dray::plane {
namespace {

constexpr std::string_view kSchedulerName = "default-scheduler";
constexpr std::string_view kControllersName = "kube-controller-manager";

Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  if (!error) return {};
  return base::Unavailable(fmt::format("{}: {}", folder, error.message()));
}

StatusOr<std::unique_ptr<store::Store>> OpenStore(const PlaneOptions& options) {
  if (options.in_memory) return store::MakeMemoryStore();
  return store::OpenSqliteStore({.path = options.data + "/dray.db"});
}

class Plane final : public ControlPlane {
 public:
  Plane(PlaneOptions options, const base::Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  // The door closes first, so that nobody is told of something that then has no end; deciders stop
  // before what they write to.
  ~Plane() override {
    if (server_ != nullptr) server_->Drain(options_.drain);
    server_ = nullptr;
    snapshots_ = nullptr;
    scheduler_ = nullptr;
    controllers_ = nullptr;
    // Writes that are under way may be tried once more by the registry, which is still there.
    store_ = nullptr;
  }

  Status Open() {
    DRAY_RETURN_IF_ERROR(MakeFolder(options_.data));
    DRAY_ASSIGN_OR_RETURN(store_, OpenStore(options_));
    registry::RegistryOptions registry_options;
    registry_options.rules = {.gates = options_.gates, .expressions = &expressions_};
    registry_options.authorizer = &roles_;
    registry_ = std::make_unique<registry::Registry>(*store_, clock_, random_, registry_options);
    cluster_ = std::make_unique<registry::LocalCluster>(*registry_, "dray");
    // Deciders do not wait for the disk; what clients and watchers see is durable.
    early_ = store::MakeEarlyStore(*store_);
    deciding_ = std::make_unique<registry::Registry>(*early_, clock_, random_, registry_options);
    scheduler_cluster_ =
        std::make_unique<registry::LocalCluster>(*deciding_, std::string(kSchedulerName));
    controller_cluster_ =
        std::make_unique<registry::LocalCluster>(*deciding_, std::string(kControllersName));
    DRAY_RETURN_IF_ERROR(CreateMissing(*controller_cluster_, FirstObjects()));
    DRAY_RETURN_IF_ERROR(CreateMissing(*controller_cluster_, std::move(options_.objects)));
    return Serve();
  }

  void Decide() {
    if (options_.scheduler) {
      scheduler_ = std::make_unique<internal::Loop>(*store_, clock_, [this] {
        return internal::MakeSchedulerWorker(*scheduler_cluster_, clock_, options_.gates,
                                             options_.config);
      });
    }
    const internal::ControllerParts parts{options_.controllers, options_.nodes};
    if (!parts.controllers && !parts.nodes) return;
    controllers_ = std::make_unique<internal::Loop>(*store_, clock_, [this, parts] {
      return internal::MakeControllerWorker(*controller_cluster_, clock_, options_.gates, parts);
    });
  }

  const std::string& url() const override { return url_; }
  const std::string& kubeconfig() const override { return kubeconfig_; }
  std::vector<Component> components() const override {
    const auto unless = [](bool here, std::string text) {
      return here ? std::move(text) : std::string("not here");
    };
    return {{"store", options_.in_memory ? "in memory, ends with this process"
                                         : fmt::format("{}/dray.db", options_.data)},
            {"apiserver", url_},
            {"scheduler", unless(options_.scheduler, std::string(kSchedulerName))},
            {"controllers", unless(options_.controllers, std::string(kControllersName))},
            {"nodes", unless(options_.nodes, "hollow: pods run and end, nothing is executed")}};
  }
  api::Cluster& cluster() override { return *cluster_; }
  Status Health() const override { return store_->Health(); }

 private:
  Status Serve() {
    registry::HandlerOptions handling;
    handling.ready = [this] { return store_->Health(); };
    handler_ = std::make_unique<registry::RestHandler>(*registry_, roles_, std::move(handling));
    const apiserver::CredentialsOptions credentials{
        .folder = options_.data,
        .clients = {{"admin", "kubernetes-admin", {std::string(registry::kMasters)}},
                    {"viewer", "dray-viewer", {std::string(registry::kViewers)}},
                    {"scheduler", std::string(registry::kSchedulerUser), {}}},
        .hosts = {options_.address}};
    DRAY_ASSIGN_OR_RETURN(const apiserver::Credentials made,
                          apiserver::EnsureCredentials(credentials, clock_.Now()));
    apiserver::ServerOptions serving;
    serving.address = options_.address;
    serving.port = options_.port;
    serving.tls = apiserver::TlsOptions{made.server, made.authority};
    snapshots_ = std::make_unique<internal::Snapshots>(*store_, options_.data, *handler_);
    DRAY_ASSIGN_OR_RETURN(server_, apiserver::Server::Start(serving, *snapshots_, authenticator_));
    url_ = server_->url();
    DRAY_ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                          apiserver::WriteKubeconfigs(credentials, url_));
    kubeconfig_ = paths.front();
    return {};
  }

  PlaneOptions options_;
  const base::Clock& clock_;
  base::SystemRandomSource random_;
  cel::DeviceExpressionChecker expressions_;
  registry::RoleAuthorizer roles_;
  apiserver::Authenticator authenticator_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::Store> early_;
  std::unique_ptr<registry::Registry> registry_;
  std::unique_ptr<registry::Registry> deciding_;
  std::unique_ptr<registry::LocalCluster> cluster_;
  std::unique_ptr<registry::LocalCluster> scheduler_cluster_;
  std::unique_ptr<registry::LocalCluster> controller_cluster_;
  std::unique_ptr<registry::RestHandler> handler_;
  std::unique_ptr<internal::Snapshots> snapshots_;
  std::unique_ptr<apiserver::Server> server_;
  std::string url_;
  std::string kubeconfig_;
  std::unique_ptr<internal::Loop> scheduler_;
  std::unique_ptr<internal::Loop> controllers_;
};

}  // namespace

StatusOr<std::unique_ptr<ControlPlane>> ControlPlane::Start(PlaneOptions options,
                                                            const base::Clock& clock) {
  auto plane = std::make_unique<Plane>(std::move(options), clock);
  DRAY_RETURN_IF_ERROR(plane->Open());
  plane->Decide();
  return std::unique_ptr<ControlPlane>(std::move(plane));
}

}  // namespace dray::plane
