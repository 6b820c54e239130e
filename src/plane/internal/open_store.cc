// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/open_store.h"

#include <string>
#include <utility>

#include "plane/etcd_trouble.h"
#include "store/etcd/etcd_store.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace dray::plane::internal {
namespace {

// How long writes take.
template <class Options>
void Tell(Options& options, StoreMetrics& metrics, CommitWatch& watch) {
  options.on_begin = [&watch] { watch.OnBegin(); };
  options.on_commit = [&metrics, &watch](const store::CommitReport& report) {
    metrics.OnCommit(report);
    watch.OnCommit(report);
  };
}

StatusOr<std::unique_ptr<store::Store>> OpenSqlite(std::string path, StoreMetrics& metrics,
                                                   CommitWatch& watch) {
  store::SqliteOptions sqlite{.path = std::move(path)};
  Tell(sqlite, metrics, watch);
  return store::OpenSqliteStore(sqlite);
}

StatusOr<std::unique_ptr<store::Store>> OpenEtcd(const PlaneOptions& options, StoreMetrics& metrics,
                                                 CommitWatch& watch, logs::Logger log) {
  store::EtcdOptions etcd = options.etcd;
  etcd.address = options.store.Etcd();
  etcd.warn = [log](const std::string& what) {
    log.Warning("About the store in etcd", {{"what", what}});
  };
  etcd.counts = &metrics.etcd();
  Tell(etcd, metrics, watch);
  auto store = store::OpenEtcdStore(etcd);
  if (!store.ok()) return EtcdTrouble(store.status(), etcd);
  return store;
}

}  // namespace

StatusOr<std::unique_ptr<store::Store>> OpenStore(const PlaneOptions& options,
                                                  StoreMetrics& metrics, CommitWatch& watch,
                                                  logs::Logger log) {
  if (options.open_store) return options.open_store();
  switch (options.store.kind) {
    case StoreAddress::Kind::kMemory:
      return store::MakeMemoryStore();
    case StoreAddress::Kind::kEtcd:
      return OpenEtcd(options, metrics, watch, log);
    default:
      return OpenSqlite(options.store.File(options.data), metrics, watch);
  }
}

// In etcd the fence of whoever is alone has one name: what somebody before it has still under way
// cannot happen any more once the next one has started.
bool HasStoreAlone(const PlaneOptions& options, const store::Store& store) {
  if (store.early() != nullptr) return true;
  return !options.open_store && options.store.kind == StoreAddress::Kind::kEtcd &&
         options.etcd.alone;
}

}  // namespace dray::plane::internal
