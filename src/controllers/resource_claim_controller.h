// SPDX-License-Identifier: Apache-2.0
//
// Claims from templates, and their end: makes a claim for every entry of a pod that names a
// template, takes pods that are over out of reservations, gives the devices of claims back that
// nobody uses, and deletes claims whose pod is over.
//
// A PodGroup's entries are one claim each, whatever number of pods shares it.
//
// Spec: KEP-4381 "Resource claim controller", KEP-5004 (claims for extended resources), KEP-5729
// (claims of groups, with DRAWorkloadResourceClaims).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "api/cluster.h"
#include "api/gates.h"
#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/pod_group.h"
#include "api/resource_claim.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/string_map.h"
#include "controllers/index.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread.
class ResourceClaimController final : public Reconciler {
 public:
  // Cluster and clock outlive it.
  ResourceClaimController(const Source& source, const base::Clock& clock, api::FeatureGates gates);

  std::string_view name() const override { return "resource_claim"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  void OnPod(const api::Pod* before, const api::Pod* after);
  void OnClaim(const api::ResourceClaim* before, const api::ResourceClaim* after);
  void OnTemplate(const api::ResourceClaimTemplate& changed);
  void OnGroup(const api::PodGroup* before, const api::PodGroup* after);
  void FileUnder(const api::Pod& pod, bool present);
  void FileUnder(const api::PodGroup& group, bool present);
  void QueueClaimsOf(const api::Pod& pod);

  Status Reconcile(const ObjectKey& key) override;
  bool MayOverlap() const override { return true; }
  Status ReconcilePod(const api::Object& object);
  // Tells that the claim of an entry could not be made. What a reconciler returns then.
  Status NotMade(const api::Object& about, std::string_view entry, const Status& why);
  Status ReconcileClaim(const api::Object& object);
  Status ReconcileGroup(const api::Object& object);

  // What is known of a pod's entries, found once for all of them.
  struct Entries {
    Entries(const api::Pod& pod, const View& view, const Index& claims_of_pod);
    api::ClaimsOfPod names;
    base::StringMap<std::string> made;  // claims that were made for the pod, by entry
  };
  // The claim's name, when the pod's status does not have it yet.
  StatusOr<std::optional<std::string>> MakeClaim(const api::Pod& pod,
                                                 const api::PodResourceClaim& entry,
                                                 const Entries& entries);
  // Of a pod or of a group: who it is for.
  struct Owner {
    const api::ObjectMeta& metadata;
    std::string_view api_version;
    std::string_view kind;
  };
  StatusOr<std::string> CreateFrom(std::string_view made_from, const Owner& owner,
                                   std::string_view entry);

  // resource_claim_groups.cc. Whether an entry of the pod is its group's; nothing: the group is not
  // known (yet), so that nobody can tell.
  std::optional<bool> IsOfGroup(const api::Pod& pod, const api::PodResourceClaim& entry) const;
  const api::PodGroup* GroupOf(const api::Pod& pod) const;
  StatusOr<std::optional<std::string>> MakeGroupClaim(const api::PodGroup& group,
                                                      const api::PodGroupResourceClaim& entry);
  StatusOr<bool> IsGroupOver(const api::ResourceClaim& claim,
                             const api::ResourceClaimConsumerReference& user) const;
  StatusOr<bool> IsThere(const api::Pod& pod, const api::PodResourceClaim& entry,
                         std::string_view claim) const;
  Status Reserve(const api::Pod& pod);

  StatusOr<bool> IsOver(const api::ResourceClaim& claim,
                        const api::ResourceClaimConsumerReference& user) const;
  StatusOr<bool> IsPodOver(std::string_view namespace_, std::string_view name,
                           std::string_view uid) const;
  Status Release(const api::Object& claim,
                 std::vector<api::ResourceClaimConsumerReference> remaining);
  Status RemoveFinalizer(const api::Object& claim);
  Status Unprotect(const api::Object& claim);
  // Keeps `left_`.
  void NoteLeft(const api::ResourceClaim* before, const api::ResourceClaim* after);
  // Its devices are nobody's: it was used, is not any more, and no pod that goes on names it.
  bool IsLeft(const api::ResourceClaim& claim) const;

  // A claim that is protected and has nothing to protect: in which version that was noticed, and
  // until when it may be because an allocation is on its way.
  struct Needless {
    std::string version;
    std::chrono::nanoseconds until{0};
  };

  const api::FeatureGates gates_;
  // Names of pods by "namespace/name" of what they use; names of claims by the owner's uid.
  Index pods_of_claim_;
  Index pods_of_template_;
  Index claims_of_pod_;
  Index pods_of_group_;
  Index groups_of_template_;
  absl::flat_hash_map<ObjectKey, Needless> needless_;
  // Claims whose last reservation somebody has taken away and left the devices, as Kubernetes's
  // scheduler does for a pod that it could not bind and tries again.
  absl::flat_hash_set<ObjectKey> left_;
};

}  // namespace dray::controllers
