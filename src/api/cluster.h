// SPDX-License-Identifier: Apache-2.0
//
// Cluster: the verbs on objects, whoever serves them: memory, this process's API server, or one at
// the other end of a connection. Deciders are handed one and cannot tell which.
//
// Outcomes are explicit. A read answers what is there, "there is none" included, or is an error;
// an error is never an answer. A write has happened (OK), has not (an error), or nobody knows
// (MayHaveHappened): whoever wrote then reads before deciding anything that depends on it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_selector.h"
#include "api/kinds.h"
#include "api/label_selector.h"
#include "base/status.h"

namespace dray::api {

struct Change {
  enum class Kind : std::uint8_t { kAdded, kUpdated, kDeleted };
  Kind kind = Kind::kAdded;
  Object object;  // as it is now; of a deletion, as it last was
};

// Which objects are meant: everything that is said must hold.
struct Selection {
  std::string namespace_;  // empty: all of them; objects outside of namespaces are always meant
  FieldSelector fields;    // of SelectableFields(kind)
  LabelMatcher labels;

  bool empty() const { return namespace_.empty() && fields.empty() && labels.empty(); }
  bool Matches(const Object& object) const;
};

// That it is there is known, and nothing else: what is stored cannot be understood.
struct UnreadableObject {
  const KindInfo* kind = nullptr;
  std::string namespace_;
  std::string name;
};

// What has happened to some kinds, in order: first everything that is there, as added, then every
// change. Nothing is left out and nothing comes twice. With a selection it is as if others did not
// exist: an object that begins to match is added, one that no longer does is deleted. One thread.
class ObjectWatch {
 public:
  virtual ~ObjectWatch() = default;
  // Nothing: all that is known to have happened so far was taken.
  virtual std::optional<Change> Next() = 0;
  // Not OK: more may have happened than can be told now, and why. Whoever decides by what was told
  // waits until it is OK again.
  virtual Status Stale() const { return {}; }
  // What is there, may be meant, and cannot be told as it is now: Stale is DataLoss then.
  virtual std::vector<UnreadableObject> Unreadable() const { return {}; }
};

// The outcome of a write about which nothing is known: it may have been done, and it may still be.
inline Status OutcomeUnknown(std::string_view message) {
  return base::MakeStatus(StatusCode::kUnknown, message);
}
inline bool MayHaveHappened(const Status& status) { return status.code() == StatusCode::kUnknown; }

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
  // An error: it could not be read, and nothing follows from that. Unavailable when nobody could
  // be asked, DataLoss when what is stored cannot be understood; a list of a kind then fails as a
  // whole, since nobody could tell what it lacks.
  virtual StatusOr<std::vector<Object>> List(const KindInfo& kind) const = 0;
  // Nothing: there is none by that name.
  virtual StatusOr<std::optional<Object>> Find(const KindInfo& kind, std::string_view namespace_,
                                               std::string_view name) const = 0;
  // The selection holds for each of the kinds.
  virtual std::unique_ptr<ObjectWatch> Watch(std::span<const KindInfo* const> kinds,
                                             const Selection& selection = {}) = 0;

  // What is stored then. AlreadyExists, NotFound; Aborted when the resourceVersion that is given is
  // not the stored one; InvalidArgument with all faults when it is not valid. generateName is
  // completed. A failed write has no effect, unless MayHaveHappened says that nobody knows. Aborted
  // and AlreadyExists may be told of one's own write, where a request was sent twice.
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
