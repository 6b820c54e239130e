// SPDX-License-Identifier: Apache-2.0
//
// Judge: looks at everything that becomes durable, and says what may not be. It knows what is
// stored and what clients were told, and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/kinds.h"
#include "api/resource_claim.h"
#include "api/resource_quota.h"
#include "model/instance.h"
#include "store/store.h"
#include "system/server.h"
#include "system/stage.h"
#include "system/wire.h"

namespace dray::system {

// One thread.
class Judge {
 public:
  // It outlives this one.
  explicit Judge(Stage& stage) : stage_(stage) {}

  // Of a server that has just started, from what its disk has.
  void Attend(Server& server);
  void Leave();
  // What has happened since the last look.
  void Look();

  // When an object changed that somebody may wait for: none that only says who leads or what happened.
  Nanos changed() const { return changed_; }

  void OnArrival(const Sent& sent);
  void OnAnswer(const Sent& sent, int status, const std::string& body);

  // When nothing goes wrong any more and everybody had time: everything is as it should be.
  void Settled(Server& server);
  // And nobody doubts any more what has become of its writes.
  void SettledDoubts(std::string_view who, std::size_t doubts);
  // Nor is a leader kept from seeing what happens.
  void SettledSight(std::string_view who, const Status& blind);

 private:
  struct Holders {
    std::set<std::string> exclusive;  // keys of claims
    std::set<std::string> shared;
  };
  struct Leader {
    Nanos since;
    std::string holder;
  };

  void OnChange(const std::string& key, const std::optional<api::Object>& before,
                const std::optional<api::Object>& after, bool is_new, bool deleted);
  void OnClaim(const std::string& key, const api::ResourceClaim* before,
               const api::ResourceClaim* after);
  void CheckAgainstModel(const api::ResourceClaim& claim);
  void CheckQuota(const api::Object& added);
  void CheckRemoved(const api::Object& removed);
  std::int64_t CountedBy(const std::string& resource, const std::string& namespace_) const;
  void OnPod(const api::Pod* before, const api::Pod* after);
  // "namespace/name"; empty: it has none.
  static std::string GroupOf(const api::Pod& pod);
  void SettledGroups();
  void SettledPods(Server& server);
  void SettledClaims();
  void SettledOwners();
  void SettledQuotas();

  using Objects = std::map<std::string, std::optional<api::Object>>;
  template <typename T>
  static void Add(const Objects& objects, std::vector<const T*>& all) {
    for (const auto& [key, object] : objects) {
      if (!object) continue;
      if (const T* typed = object->template As<T>()) all.push_back(typed);
    }
  }
  template <typename T>
  std::vector<const T*> All() const {
    std::vector<const T*> all;
    Add(objects_, all);
    return all;
  }
  // With those that cannot be read now, as they last were.
  template <typename T>
  std::vector<const T*> AllThere() const {
    std::vector<const T*> all = All<T>();
    Add(hidden_, all);
    return all;
  }
  const api::Object* FindUid(const std::string& uid) const;

  Stage& stage_;
  Server* server_ = nullptr;
  std::unique_ptr<store::Watch> watch_;
  bool woken_ = false;
  Nanos changed_{};
  std::int64_t seen_ = 0;     // up to here everything was looked at
  std::int64_t acked_ = 0;    // somebody was told of this revision
  std::int64_t durable_ = 0;  // what the disk is known to have
  Objects objects_;           // by key; nothing: cannot be read
  Objects hidden_;            // those, as they last could be
  // Every slice that there ever was: users put back what they have taken away, so that a device and
  // its counters are always the same.
  Objects slices_;
  Objects nodes_;                              // likewise
  std::map<std::string, std::string> by_uid_;  // keys
  std::map<std::string, Holders> devices_;
  std::map<std::string, std::string> shares_;
  std::vector<Leader> leaders_;
  std::set<std::string> lost_members_;  // groups of which a pod has gone, or ended
  std::set<std::string> asked_away_;    // "pods/ns/name" that users have asked to delete
};

}  // namespace dray::system
