// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/server_metrics.h"

#include <array>
#include <atomic>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "fmt/format.h"
#include "plane/internal/measures.h"

namespace dray::plane::internal {
namespace {

using metrics::Readings;
using metrics::Registry;

// What a store in etcd counts; nothing of it happens in another one.
struct EtcdCount {
  const char* name;
  const char* help;
  std::atomic<std::uint64_t> store::EtcdCounts::*count;
};
constexpr std::array<EtcdCount, 7> kEtcdCounts{{
    {"dray_etcd_requests_total",
     "Write requests to etcd; one request carries several transactions.",
     &store::EtcdCounts::groups},
    {"dray_etcd_transactions_total", "Transactions in write requests to etcd.",
     &store::EtcdCounts::transactions},
    {"dray_etcd_fences_total",
     "Lost responses of etcd, after which the outcome of the writes was looked up.",
     &store::EtcdCounts::fences},
    {"dray_etcd_watches_total", "Times the watch on etcd was opened, including the first time.",
     &store::EtcdCounts::watches},
    {"dray_etcd_relists_total",
     "Times all objects were listed again because etcd had compacted unseen changes.",
     &store::EtcdCounts::relists},
    {"dray_etcd_compactions_total",
     "Compactions of etcd by this server; only one of several servers compacts.",
     &store::EtcdCounts::compactions},
    {"dray_etcd_barriers_total",
     "Times etcd was asked for its current revision; concurrent requests share an answer.",
     &store::EtcdCounts::barriers},
}};

}  // namespace

StoreMetrics::StoreMetrics(Registry& registry)
    : commits_(registry.Counters({"dray_store_commits_total",
                                  "Commits, by outcome; a commit is a group of transactions.",
                                  {"status"}})),
      transactions_(
          registry
              .Histograms({"dray_store_commit_transactions", "Transactions per commit.", {}},
                          metrics::ExponentialBounds(1, 2, 13))
              .With({})),
      changes_(
          registry.Counters({"dray_store_changes_total", "Keys written or deleted.", {}}).With({})),
      wrote_(registry
                 .Histograms({"dray_store_commit_duration_seconds",
                              "Duration of a commit, including the sync to disk.",
                              {}},
                             metrics::ExponentialBounds(0.000125, 2, 17))
                 .With({})),
      waiting_(
          registry
              .Gauges({"dray_store_waiting_transactions",
                       "Transactions that arrived while the previous commit was being written.",
                       {}})
              .With({})) {
  for (const EtcdCount& row : kEtcdCounts) {
    registry.Measure(
        {row.name, row.help, {}},
        [this, count = row.count](Readings& readings) {
          readings.Add({}, static_cast<double>((etcd_.*count).load()));
        },
        Registry::Kind::kCounter);
  }
}

void StoreMetrics::OnCommit(const store::CommitReport& report) {
  commits_.With({report.ok ? "success" : "failure"}).Add();
  waiting_.Set(static_cast<double>(report.waiting));
  if (!report.ok) return;
  transactions_.Observe(static_cast<double>(report.transactions));
  changes_.Add(report.changes);
  wrote_.Observe(Seconds(report.wrote));
}

void AddObjectMetrics(Registry& registry, const registry::Objects& objects,
                      const std::string& path) {
  registry.Measure(
      {"apiserver_storage_objects", "Stored objects, by resource.", {"resource"}},
      [&objects](Readings& readings) {
        for (const api::KindInfo& kind : api::Kinds()) {
          if (&kind != &api::HubKind(*kind.hub)) continue;
          const auto range =
              objects.store().Range(registry::PrefixOf(kind), {.limit = 1, .count = true});
          if (!range.ok()) continue;
          const std::string name = kind.group.empty()
                                       ? std::string(kind.plural)
                                       : fmt::format("{}.{}", kind.plural, kind.group);
          readings.Add({name}, static_cast<double>(range->entries.size() + range->remaining));
        }
      });
  registry.Measure(
      {"apiserver_storage_size_bytes", "Size of the database.", {}}, [path](Readings& readings) {
        double bytes = 0;
        for (const std::string_view tail : {"", "-wal"}) {
          std::error_code error;
          const auto size =
              path.empty() ? 0 : std::filesystem::file_size(path + std::string(tail), error);
          if (!error) bytes += static_cast<double>(size);
        }
        readings.Add({}, bytes);
      });
  registry.Measure({"dray_store_revision", "Revision of the latest change.", {}},
                   [&objects](Readings& readings) {
                     readings.Add({}, static_cast<double>(objects.store().revision().value));
                   });
  registry.Measure({"dray_store_oldest_revision", "Oldest revision in the history.", {}},
                   [&objects](Readings& readings) {
                     readings.Add({}, static_cast<double>(objects.store().oldest_revision().value));
                   });
}

void AddCensusMetrics(Registry& registry, Census& census) {
  const auto truth = [](bool value) { return value ? "true" : "false"; };
  registry.Measure(
      {"dynamic_resource_allocation_resource_claims",
       "ResourceClaims, by allocation, admin access and source.",
       {"allocated", "admin_access", "source"}},
      [&census, truth](Readings& readings) {
        for (const auto& [key, count] : census.Count().claims) {
          const auto& [allocated, admin, source] = key;
          readings.Add({truth(allocated), truth(admin), source}, static_cast<double>(count));
        }
      });
  registry.Measure(
      {"resourceclaim_controller_resource_claims",
       "ResourceClaims, with the names of KEP-5004.",
       {"admin_access", "allocated", "source"}},
      [&census, truth](Readings& readings) {
        for (const auto& [key, count] : census.Count().claims) {
          const auto& [allocated, admin, source] = key;
          const std::string_view name = source == "extended_resource" ? "extended-resource"
                                        : source.empty()              ? ""
                                                                      : "resource-claim-template";
          readings.Add({truth(admin), truth(allocated), name}, static_cast<double>(count));
        }
      });
  registry.Measure(
      {"dray_devices",
       "Devices of a DeviceClass: free, allocated (wholly or in shares), or free but tainted.",
       {"class", "state"}},
      [&census](Readings& readings) {
        for (const auto& [name, counts] : census.Count().devices) {
          readings.Add({name, "free"}, static_cast<double>(counts.free));
          readings.Add({name, "allocated"}, static_cast<double>(counts.allocated));
          readings.Add({name, "tainted"}, static_cast<double>(counts.tainted));
        }
      });
}

void AddConnectionMetrics(Registry& registry, std::function<apiserver::ServerStats()> stats) {
  using apiserver::ServerStats;
  registry.Measure({"dray_http_connections", "Open connections.", {}}, [stats](Readings& readings) {
    readings.Add({}, static_cast<double>(stats().connections));
  });
  const auto count = [&](std::string name, std::string help, std::uint64_t ServerStats::*member) {
    registry.Measure(
        {std::move(name), std::move(help), {}},
        [stats, member](Readings& readings) {
          readings.Add({}, static_cast<double>(stats().*member));
        },
        Registry::Kind::kCounter);
  };
  count("dray_http_connections_accepted_total", "Accepted connections.", &ServerStats::accepted);
  count("dray_http_connections_refused_total", "Connections refused because there were too many.",
        &ServerStats::refused);
  count("dray_http_requests_refused_total",
        "Requests rejected before they were handled: malformed, too large, or without valid "
        "credentials.",
        &ServerStats::malformed);
  count("dray_http_connections_cut_off_total", "Connections closed because they were too slow.",
        &ServerStats::timed_out);
}

void AddVersionMetrics(Registry& registry, const std::string& kubernetes_version,
                       const api::FeatureGates& gates) {
  registry
      .Gauges({"kubernetes_build_info",
               "Kubernetes version of the API; always 1.",
               {"git_version", "platform"}})
      .With({kubernetes_version, "linux/amd64"})
      .Set(1);
  registry.Gauges({"dray_build_info", "Always 1.", {"version"}}).With({DRAY_VERSION}).Set(1);
  auto& features = registry.Gauges(
      {"kubernetes_feature_enabled", "Feature gates: 1 if enabled.", {"name", "stage"}});
  for (const api::GateInfo& gate : api::GateTable()) {
    const std::string_view stage = gate.stage == api::GateStage::kGa ? "" : NameOf(gate.stage);
    features.With({gate.name, stage}).Set(gates.Enabled(gate.gate) ? 1 : 0);
  }
  registry.Measure(
      {"dray_bugs_total", "Internal errors that should never happen; please report them.", {}},
      [](Readings& readings) { readings.Add({}, static_cast<double>(base::BugCount())); },
      Registry::Kind::kCounter);
}

}  // namespace dray::plane::internal
