// SPDX-License-Identifier: Apache-2.0
//
// Cluster: the verbs on objects, whoever serves them: memory, this process's API server, or one at
// the other end of a connection. Deciders are handed one and cannot tell which.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "base/status.h"

namespace dray::api {

struct Change {
  enum class Kind : std::uint8_t { kAdded, kUpdated, kDeleted };
  Kind kind = Kind::kAdded;
  Object object;  // as it is now; of a deletion, as it last was
};

// What has happened to some kinds, in order: first everything that is there, as added, then every
// change. Nothing is left out and nothing comes twice. One thread.
class ObjectWatch {
 public:
  virtual ~ObjectWatch() = default;
  // Nothing: all that has happened so far was taken.
  virtual std::optional<Change> Next() = 0;
};

struct EventNote {
  Object about;        // the object that it is about
  std::string type;    // Normal, Warning
  std::string reason;  // FailedScheduling
  std::string message;
  std::string component;  // who says so: default-scheduler
  std::string action;     // what was being done: Scheduling
};

// Thread story: that of the implementation; deciders use one from one thread.
class Cluster {
 public:
  virtual ~Cluster() = default;

  // Objects are those of a kind's hub, `kind` any version of it. In order of namespace and name.
  virtual std::vector<Object> List(const KindInfo& kind) const = 0;
  virtual std::optional<Object> Find(const KindInfo& kind, std::string_view namespace_,
                                     std::string_view name) const = 0;
  virtual std::unique_ptr<ObjectWatch> Watch(std::span<const KindInfo* const> kinds) = 0;

  // What is stored then. AlreadyExists, NotFound; Aborted when the resourceVersion that is given is
  // not the stored one; InvalidArgument with all faults when it is not valid. generateName is
  // completed. A failed write has no effect.
  virtual StatusOr<Object> Create(Object object) = 0;
  virtual StatusOr<Object> Update(Object object) = 0;
  virtual StatusOr<Object> UpdateStatus(Object object) = 0;
  // With finalizers the object only gets a deletion timestamp; it goes when the last one is removed
  // by an Update. `uid`: only if it has that one.
  virtual Status Delete(const KindInfo& kind, std::string_view namespace_, std::string_view name,
                        std::string_view uid = {}) = 0;
  // Sets the node of a pod that has none.
  virtual Status Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
                      std::string_view node) = 0;
  // Tells people. Never fails visibly; repeated notes are folded into one event with a count.
  virtual void Note(const EventNote& note) = 0;
};

}  // namespace dray::api
