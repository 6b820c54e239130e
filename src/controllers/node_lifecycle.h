// SPDX-License-Identifier: Apache-2.0
//
// Nodes that are not heard of any more: their conditions become Unknown, they are tainted so that
// nothing is sent there, and what runs there counts as not ready. Who is driven away by the taints
// is taint_eviction.h's.
//
// A node is heard of when its lease (kube-node-lease/<name>) is renewed or its status is written;
// what counts is when that was seen here, not what the clocks of others say. A node that never had a
// lease is an object that somebody made by hand: nobody promised to report, and it stays as it is.
//
// Of many that fall silent at once the network is likelier to be at fault than each of them, so that
// taints which drive pods away are put on slowly, and not at all when every node is silent.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "api/cluster.h"
#include "api/node.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/string_map.h"
#include "controllers/pods_on_nodes.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

inline constexpr std::string_view kNodeLeaseNamespace = "kube-node-lease";

struct NodeLifecycleOptions {
  // Silence for longer means that it is gone; a lease that lasts longer says so itself.
  std::chrono::seconds grace{50};
  // Between two nodes of a zone whose pods are driven away; in a large zone most of which is
  // silent, and in one that is small or healthy.
  std::chrono::seconds between_evictions{10};
  std::chrono::seconds between_evictions_when_most_are_silent{100};
  std::size_t large_zone = 50;  // nodes; smaller ones that are mostly silent lose nobody
};

// One thread.
class NodeLifecycle final : public Reconciler {
 public:
  // Cluster and clock outlive it.
  NodeLifecycle(const Source& source, const base::Clock& clock, NodeLifecycleOptions options = {});

  std::string_view name() const override { return "node-lifecycle-controller"; }

 private:
  struct Watched {
    std::chrono::nanoseconds heard{0};     // by the monotonic clock
    std::chrono::nanoseconds patience{0};  // how long its lease lasts; 0: it never had one
    std::optional<std::string> zone;       // none: it is counted nowhere (yet)
    bool silent = false;                   // as its condition says
    std::optional<std::uint64_t> turn;     // where it is in its zone's line
  };
  struct Zone {
    std::size_t nodes = 0;
    std::set<std::string, std::less<>> silent;
    std::chrono::nanoseconds next_eviction{0};
    // Those who wait for their pods to be driven away, in the order in which they came. Only the
    // first is looked at when the next eviction is due: all of them each time would be the square
    // of their number by the time the last has had its turn.
    std::map<std::uint64_t, std::string> line;
  };
  // How many of a zone's nodes are silent decides how fast their pods may be driven away.
  enum class Pace : std::uint8_t { kUsual, kSlow, kNever };

  void OnChange(const api::Object* before, const api::Object* after) override;
  void OnNode(const api::Object* before, const api::Object* after);
  void OnLease(const api::Object* before, const api::Object* after);
  void OnPod(const api::Object* before, const api::Object* after);
  // The node is counted in this zone and no other; none: it is gone. Whoever is concerned by what
  // that changes is looked at again.
  void Count(std::string_view name, Watched& watched, bool silent, std::optional<std::string> zone);

  Status Reconcile(const ObjectKey& key) override;
  Status ReconcileNode(const ObjectKey& key, const api::Object& object);
  Status ReconcilePod(const api::Object& pod);
  Status MarkUnknown(const api::Object& node);
  Status SetTaints(const api::Object& object, Watched& watched);
  // Whether pods may be driven away from a node that is silent; it is in the line when not yet.
  bool MayEvict(std::string_view name, Watched& watched);
  void LeaveLine(Watched& watched);
  // The first of the line is looked at when the next eviction is due.
  void CallFirst(const Zone& zone);
  bool NobodyIsHeard() const { return silent_ == counted_; }
  Pace PaceOf(const Zone& zone) const;

  const NodeLifecycleOptions options_;
  base::StringMap<Watched> nodes_;
  std::map<std::string, Zone, std::less<>> zones_;  // none without nodes
  std::size_t counted_ = 0;                         // nodes of all zones
  std::size_t silent_ = 0;                          // those of them that are
  std::uint64_t turns_ = 0;                         // given out so far
  PodsOnNodes pods_;
};

}  // namespace dray::controllers
