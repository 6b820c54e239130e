// SPDX-License-Identifier: Apache-2.0
#include "driver/cluster_pools.h"

#include <utility>

#include "api/forwarding_cluster.h"
#include "fmt/format.h"

namespace dray::driver {

// Who has lost the lease, and does not know yet because a request took its time, writes nothing.
class ClusterPools::Guarded final : public api::ForwardingCluster {
 public:
  Guarded(api::Cluster& inner, const client::LeaderElector* elector)
      : ForwardingCluster(inner), elector_(elector) {}
  StatusOr<api::Object> Create(api::Object object) override {
    DRAY_RETURN_IF_ERROR(MayWrite());
    return ForwardingCluster::Create(std::move(object));
  }
  StatusOr<api::Object> Update(api::Object object) override {
    DRAY_RETURN_IF_ERROR(MayWrite());
    return ForwardingCluster::Update(std::move(object));
  }
  Status Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid) override {
    DRAY_RETURN_IF_ERROR(MayWrite());
    return ForwardingCluster::Delete(kind, namespace_, name, uid);
  }

 private:
  Status MayWrite() const {
    if (elector_ == nullptr || elector_->leading()) return {};
    return base::Unavailable("another process may have the lease by now");
  }
  const client::LeaderElector* const elector_;
};

ClusterPools::ClusterPools(ClusterPoolOptions options, api::Cluster& cluster,
                           const base::Clock& clock)
    : options_(std::move(options)), clock_(clock), source_(options_.description) {
  if (options_.lease) elector_.emplace(cluster, clock, *options_.lease);
  cluster_ = std::make_unique<Guarded>(cluster, elector_ ? &*elector_ : nullptr);
}

ClusterPools::~ClusterPools() {
  publisher_.reset();
  if (elector_) elector_->Release();
}

StatusOr<std::unique_ptr<ClusterPools>> ClusterPools::Start(ClusterPoolOptions options,
                                                            api::Cluster& cluster,
                                                            const base::Clock& clock) {
  std::unique_ptr<ClusterPools> pools(new ClusterPools(std::move(options), cluster, clock));
  DRAY_RETURN_IF_ERROR(pools->Read());
  pools->looked_ = clock.Monotonic();
  return pools;
}

Status ClusterPools::Read() {
  DRAY_ASSIGN_OR_RETURN(const DeviceFile file, source_.Read());
  if (options_.driver.empty()) options_.driver = file.driver;
  if (options_.driver.empty()) {
    return base::InvalidArgument("the driver has no name: neither --name nor `driver:` says one");
  }
  pools_ = ClusterPoolsOf(file);
  if (pools_.empty()) {
    return base::InvalidArgument(
        "no pool is for more than one node: such a pool has `allNodes: true` or a `nodeSelector`");
  }
  return {};
}

void ClusterPools::Tick() {
  Elect();
  Look();
  if (publisher_ != nullptr) (void)publisher_->Step();
}

void ClusterPools::Elect() {
  bool leads = true;
  if (elector_) {
    const std::chrono::nanoseconds now = clock_.Monotonic();
    if (!tried_ || now - *tried_ >= options_.lease->retry) {
      tried_ = now;
      (void)elector_->Try();
      const Status& trouble = elector_->trouble();
      if (!trouble.ok() && trouble_ != base::Message(trouble) && options_.problem) {
        options_.problem(base::Annotate(
            trouble, fmt::format("lease {}/{}", options_.lease->namespace_, options_.lease->name)));
      }
      trouble_ = base::Message(trouble);
    }
    leads = elector_->leading();
  }
  if (leads == (publisher_ != nullptr)) return;
  publisher_.reset();
  if (leads) {
    PublisherOptions publishing = options_.publishing;
    publishing.driver = options_.driver;
    publishing.node.clear();
    publishing.problem = options_.problem;
    publisher_ = std::make_unique<SlicePublisher>(*cluster_, clock_, std::move(publishing));
    publisher_->Publish(pools_);
  }
  if (options_.leading) options_.leading(leads);
}

void ClusterPools::Look() {
  const std::chrono::nanoseconds now = clock_.Monotonic();
  if (now - looked_ < options_.look) return;
  looked_ = now;
  const auto file = source_.ReadIfChanged();
  if (!file.ok()) {
    if (options_.problem) {
      options_.problem(base::Annotate(file.status(), "the devices are as before"));
    }
    return;
  }
  if (!file->has_value()) return;
  pools_ = ClusterPoolsOf(**file);
  if (publisher_ != nullptr) publisher_->Publish(pools_);
}

}  // namespace dray::driver
