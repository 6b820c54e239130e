// SPDX-License-Identifier: Apache-2.0
//
// MemoryCluster: a Cluster that is nothing but memory. What `dray plan`, simulations and tests of
// deciders run against; its writes go through the same defaults, strategies and validation as a
// server's.
//
// Owners are not followed: deleting an object leaves what it owns. That is a controller's work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "api/cluster.h"
#include "api/expression_checker.h"
#include "api/gates.h"
#include "api/write_rules.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/uuid.h"

namespace dray::api {

namespace internal {
class ChangeLog;
}  // namespace internal
class EventFolder;

struct MemoryClusterOptions {
  FeatureGates gates;
  // Null: of expressions only the length is checked. Outlives the cluster.
  const ExpressionChecker* expressions = nullptr;
  // Off for bulk loads of objects that a trusted generator has made. Whatever else a write can be
  // refused for is still looked at.
  bool validate = true;
  // Events kept; beyond that the one that was told longest ago goes.
  std::size_t max_events = 10'000;
  // What completes the generateName of an object: asked again as long as the name is taken, and
  // never the same twice. None: chance does, as on a server.
  std::function<std::string(const Object&)> name_suffix;
};

enum class Verb : std::uint8_t { kCreate, kUpdate, kUpdateStatus, kDelete, kBind };

// One thread.
class MemoryCluster final : public Cluster {
 public:
  // Both outlive it. Uids and generated names come from `random`.
  MemoryCluster(const base::Clock& clock, base::RandomSource& random,
                MemoryClusterOptions options = {});
  ~MemoryCluster() override;

  // Takes in a dump: objects as they are, status and all; defaults are filled in, and uid,
  // resourceVersion, times and the namespace "default" where they are missing. All or none:
  // InvalidArgument for an object without a name, AlreadyExists for one that is there.
  Status Load(std::vector<Object> objects);

  // Called before each write with what is to be written (a deletion, a binding: with what is
  // stored); what it returns unless OK is what the write returns. It may write itself, as another
  // client would at that moment. For tests of failures.
  using WriteHook = std::function<Status(Verb, const Object&)>;
  void SetWriteHook(WriteHook hook) { hook_ = std::move(hook); }
  // Called after each write that was done, with what is stored then (of a deletion: was); what it
  // returns unless OK is what the writer is told instead, although the write stands.
  void SetAnswerHook(WriteHook hook) { answer_hook_ = std::move(hook); }
  // Called before each List and Find; what it returns unless OK is what they return.
  using ReadHook = std::function<Status(const KindInfo&)>;
  void SetReadHook(ReadHook hook) { read_hook_ = std::move(hook); }

  // The resourceVersion of the latest write.
  std::uint64_t revision() const { return revision_; }
  // Changes that are kept because some watch has not taken them.
  std::size_t backlog() const;

  // What List and Find answer, for those who hold the memory in their hands: it cannot fail, and
  // no hook is asked.
  std::vector<Object> All(const KindInfo& kind) const;
  std::optional<Object> Stored(const KindInfo& kind, std::string_view namespace_,
                               std::string_view name) const;

  StatusOr<std::vector<Object>> List(const KindInfo& kind) const override;
  StatusOr<std::optional<Object>> Find(const KindInfo& kind, std::string_view namespace_,
                                       std::string_view name) const override;
  std::unique_ptr<ObjectWatch> Watch(std::span<const KindInfo* const> kinds,
                                     const Selection& selection = {}) override;
  StatusOr<Object> Create(Object object) override;
  StatusOr<Object> Update(Object object) override;
  StatusOr<Object> UpdateStatus(Object object) override;
  Status Delete(const KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid = {}) override;
  Status Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
              std::string_view node) override;
  void Note(const EventNote& note) override;

 private:
  struct KeyView {
    std::string_view namespace_;
    std::string_view name;
    friend auto operator<=>(const KeyView&, const KeyView&) = default;
  };
  struct Key {
    std::string namespace_;
    std::string name;
    operator KeyView() const { return {namespace_, name}; }  // NOLINT: that is what it is
  };
  struct KeyLess {
    using is_transparent = void;
    bool operator()(KeyView a, KeyView b) const { return a < b; }
  };
  using Objects = absl::btree_map<Key, Object, KeyLess>;

  static KeyView KeyOf(const KindInfo& kind, std::string_view namespace_, std::string_view name);
  static KeyView KeyOf(const Object& object);
  Objects& ObjectsOf(const KindInfo& kind) { return objects_[kind.hub]; }
  Object* FindStored(const KindInfo& kind, std::string_view namespace_, std::string_view name);
  // The stored object that a write is about, if it is the one that the writer means.
  StatusOr<Object*> Target(Verb verb, const Object& object);
  StatusOr<Object*> Target(Verb verb, const KindInfo& kind, std::string_view namespace_,
                           std::string_view name, std::string_view uid);
  StatusOr<Object> Replace(Verb verb, Object& stored, Object object);
  Status Ask(Verb verb, const Object& object) const;
  Status AskToRead(const KindInfo& kind) const;
  // What the writer is told of a write that was done.
  Status Answer(Verb verb, const Object& object) const;
  // Gives the object a name from its generateName that is not taken.
  void CompleteName(Object& object);
  const Object& Insert(Object object);
  void Overwrite(Object& stored, Object object);
  void Remove(const Object& object);

  const base::Clock& clock_;
  base::RandomSource& random_;
  const MemoryClusterOptions options_;
  const WriteRules rules_;
  WriteHook hook_;
  WriteHook answer_hook_;
  ReadHook read_hook_;
  absl::flat_hash_map<const TypeInfo*, Objects> objects_;
  std::shared_ptr<internal::ChangeLog> log_;
  std::unique_ptr<EventFolder> events_;
  std::uint64_t revision_ = 0;
};

}  // namespace dray::api
