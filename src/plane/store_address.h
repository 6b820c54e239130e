// SPDX-License-Identifier: Apache-2.0
//
// Where objects are kept, as people write it: sqlite:FILE, memory, etcd://HOST:PORT,HOST:PORT/PREFIX,
// or etcds:// over TLS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/etcd/etcd_store.h"

namespace dray::plane {

struct StoreAddress {
  enum class Kind : unsigned char {
    kData,    // a SQLite file in the data folder
    kSqlite,  // one somewhere else
    kMemory,  // objects end with the process
    kEtcd,    // shared by several servers
  };
  Kind kind = Kind::kData;
  std::string path;                    // of the file
  std::vector<std::string> endpoints;  // of etcd: host:port
  std::string prefix;                  // of its keys: /dray
  bool tls = false;                    // to etcd

  // kInvalidArgument says what would have been right.
  static StatusOr<StoreAddress> Parse(std::string_view text);
  static StoreAddress Memory() { return {.kind = Kind::kMemory}; }
  static StoreAddress In(const store::EtcdAddress& etcd);
  store::EtcdAddress Etcd() const;

  // The SQLite file; empty: there is none.
  std::string File(const std::string& data) const;
  // For people.
  std::string Text(const std::string& data) const;
  friend bool operator==(const StoreAddress&, const StoreAddress&) = default;
};

}  // namespace dray::plane
