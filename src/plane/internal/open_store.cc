// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/open_store.h"

#include <utility>

#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace dray::plane::internal {
namespace {

StatusOr<std::unique_ptr<store::Store>> OpenSqlite(std::string path, StoreMetrics& metrics,
                                                   CommitWatch& watch) {
  store::SqliteOptions sqlite{.path = std::move(path)};
  sqlite.on_begin = [&watch] { watch.OnBegin(); };
  sqlite.on_commit = [&metrics, &watch](const store::CommitReport& report) {
    metrics.OnCommit(report);
    watch.OnCommit(report);
  };
  return store::OpenSqliteStore(sqlite);
}

}  // namespace

StatusOr<std::unique_ptr<store::Store>> OpenStore(const StoreAddress& address,
                                                  const std::string& data, StoreMetrics& metrics,
                                                  CommitWatch& watch) {
  switch (address.kind) {
    case StoreAddress::Kind::kMemory:
      return store::MakeMemoryStore();
    case StoreAddress::Kind::kEtcd:
      return base::InvalidArgument("etcd:// cannot be opened by this build");
    default:
      return OpenSqlite(address.File(data), metrics, watch);
  }
}

}  // namespace dray::plane::internal
