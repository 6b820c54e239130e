// SPDX-License-Identifier: Apache-2.0
//
// What a store and etcd say to each other. Keys and values are bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace dray::rpc {

struct EtcdHeader {
  std::uint64_t cluster = 0;
  std::uint64_t member = 0;
  std::int64_t revision = 0;  // of the database, not of what was read
};

struct EtcdKeyValue {
  std::string key;
  std::string value;
  std::int64_t created = 0;
  std::int64_t modified = 0;
  std::int64_t lease = 0;
};

// The end of the range of keys that begin with `prefix`, which is not empty and not all 0xff.
std::string EtcdPrefixEnd(std::string prefix);

struct EtcdRange {
  std::string key;
  std::string end;  // empty: that key alone
  std::int64_t limit = 0;
  std::int64_t revision = 0;  // 0: now
  bool serializable = false;
  bool keys_only = false;
  bool count_only = false;
};
struct EtcdRangeAnswer {
  EtcdHeader header;
  std::vector<EtcdKeyValue> kvs;
  bool more = false;
  std::int64_t count = 0;
};

struct EtcdPut {
  std::string key;
  std::shared_ptr<const std::string> value;
  std::int64_t lease = 0;
};
struct EtcdDelete {
  std::string key;
};

// Of a key: `what` is `number`, or greater.
struct EtcdCompare {
  enum class What : std::uint8_t { kCreated, kModified };
  std::string key;
  What what = What::kModified;
  bool greater = false;
  std::int64_t number = 0;
};

struct EtcdOperation;
struct EtcdTransaction {
  std::vector<EtcdCompare> compares;
  std::vector<EtcdOperation> success;
  std::vector<EtcdOperation> failure;
};
struct EtcdOperation {
  std::variant<EtcdRange, EtcdPut, EtcdDelete, EtcdTransaction> what;
};

struct EtcdOperationAnswer;
struct EtcdTransactionAnswer {
  EtcdHeader header;  // of the outermost one alone
  bool succeeded = false;
  std::vector<EtcdOperationAnswer> answers;  // of the branch that was taken
};
struct EtcdOperationAnswer {
  std::vector<EtcdKeyValue> kvs;      // of a range
  EtcdTransactionAnswer transaction;  // of a nested one
};

struct EtcdEvent {
  EtcdKeyValue kv;  // of a deletion: key and revision
  bool deleted = false;
};

struct EtcdWatchRequest {
  std::string key;
  std::string end;
  std::int64_t start = 0;  // events from this revision on
};
struct EtcdWatchAnswer {
  EtcdHeader header;
  std::int64_t watch = 0;  // -1: of all watches of the stream
  bool created = false;
  bool canceled = false;
  bool fragment = false;       // more of the same follows
  std::int64_t compacted = 0;  // canceled because it began before this
  std::string reason;
  std::vector<EtcdEvent> events;
};

struct EtcdStatus {
  EtcdHeader header;
  std::string version;
  std::int64_t size = 0;
  std::int64_t size_in_use = 0;
  std::uint64_t leader = 0;  // 0: none
  std::vector<std::string> errors;
  bool learner = false;
};

}  // namespace dray::rpc
