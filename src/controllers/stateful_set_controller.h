// SPDX-License-Identifier: Apache-2.0
//
// StatefulSets: pods with numbers, made in order of their numbers and deleted in the opposite one,
// each with volumes of its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "api/cluster.h"
#include "api/pod.h"
#include "api/stateful_set.h"
#include "base/clock.h"
#include "base/status.h"
#include "controllers/children.h"
#include "controllers/index.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// The number at the end of a pod's name, if it is one of the set's.
std::optional<std::int32_t> OrdinalOf(std::string_view set, std::string_view pod);

// The pod of a number, made from a template that is kept as the revision of that name; and the
// claims for volumes that it has for itself.
api::Pod StatefulPod(const api::Object& set, const api::PodTemplateSpec& made_from,
                     std::int32_t ordinal, std::string_view revision);
std::vector<api::Object> StatefulVolumeClaims(const api::Object& set, std::int32_t ordinal);

// One thread.
class StatefulSetController final : public Reconciler {
 public:
  // Both outlive it.
  StatefulSetController(const Source& source, const base::Clock& clock);

  std::string_view name() const override { return "statefulset-controller"; }

 private:
  using ByOrdinal = absl::btree_map<std::int32_t, api::Object>;
  struct Revisions {
    api::Object current;
    api::Object update;
  };

  void OnChange(const api::Object* before, const api::Object* after) override;
  void QueueSelecting(const api::ObjectMeta& orphan);
  Status Reconcile(const ObjectKey& key) override;
  StatusOr<Revisions> RevisionsOf(const api::Object& set);
  ByOrdinal PodsOf(const api::Object& set) const;

  // What may be done after pods were made: nothing, everything, or only to replace what is old.
  enum class Step : std::uint8_t { kWait, kGoOn, kReplace };
  // Each does what may be done now.
  // There is more to do, once others had their turn.
  Step GoOnLater(const api::Object& set);
  StatusOr<Step> Fill(const api::Object& set, const Revisions& revisions, const ByOrdinal& pods);
  // False: what comes after has to wait.
  StatusOr<bool> Shrink(const api::Object& set, const ByOrdinal& pods);
  Status RollOut(const api::Object& set, const Revisions& revisions, const ByOrdinal& pods);
  Status MakePod(const api::Object& set, const Revisions& revisions, std::int32_t ordinal);
  Status Adopt(const api::Object& set, const std::string& pod);
  Status EnsureClaims(const api::Object& set, const api::Pod& pod, std::int32_t ordinal);
  Status WriteStatus(const api::Object& set, const Revisions& revisions);
  bool IsHealthy(const api::Object& set, const api::Object& pod) const;

  Children pods_;
  Children revisions_;
  Index sets_;  // by namespace
};

}  // namespace dray::controllers
