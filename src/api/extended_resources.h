// SPDX-License-Identifier: Apache-2.0
//
// Extended resources that device classes serve: which class is meant by a name in a container's
// requests.
//
// Spec: KEP-5004 "Device Class API" and "Implicit Extended Resource Name".
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "api/device_class.h"
#include "api/meta.h"
#include "api/resource_claim.h"
#include "base/string_map.h"
#include "base/time.h"

namespace dray::api {

// Every class can be asked for by this prefix and its name.
inline constexpr std::string_view kDeviceClassResourcePrefix =
    "deviceclass.resource.kubernetes.io/";
inline constexpr std::string_view kRequestsPrefix = "requests.";
inline constexpr std::string_view kHugePagesPrefix = "hugepages-";

// A name without a domain, or of Kubernetes's own: cpu, kubernetes.io/x.
bool IsNativeResource(std::string_view name);
// A name that device plugins and classes may give to a resource: not native, and fit to follow
// "requests." in a quota.
bool IsExtendedResourceName(std::string_view name);
// The same, or the implicit name of a class.
bool IsDeviceResourceName(std::string_view name);
std::string ImplicitResourceName(std::string_view class_name);

// The pod that a claim was made for by the scheduler because of the pod's extended resources; null
// for any other claim. The annotation's value is "true" (Kubernetes) or the pod's name (KEP-5004);
// who the pod is says the controller reference.
const OwnerReference* ExtendedResourcePod(const ResourceClaim& claim);

// Which class serves a resource name. Of several classes with one explicit name the newest serves
// it, of equally new ones the one whose name sorts first. So a name moves from one class to another
// without a gap: create the new class, then clear the name in the old class or delete it.
//
// Kept from events, and the answer is always that of the present classes: in contrast to
// Kubernetes's cache the other class takes over at once when one goes, and a class that lost its
// explicit name to another still has its implicit one.
//
// Thread-compatible. A value: a copy is a snapshot.
class ExtendedResourceIndex {
 public:
  // An event for a class replaces what was known by its name, whatever that was; adding a known
  // class, updating or deleting an unknown one is no mistake.
  void OnAdd(const DeviceClass& added) { Put(added); }
  void OnUpdate(const DeviceClass& updated) { Put(updated); }
  void OnDelete(const DeviceClass& deleted) { Remove(deleted.metadata.name); }

  // The name of the class, or null when no class serves the resource. Valid until the next event.
  const std::string* FindClass(std::string_view resource_name) const;
  // The explicit name that a class carries, even if another class serves it; or null.
  const std::string* FindExplicitName(std::string_view class_name) const;

 private:
  struct Entry {
    std::string explicit_name;  // empty: none
    std::optional<base::Time> created;
  };
  // A class that carries an explicit name. Ordered: the one that serves it first.
  struct Candidate {
    std::optional<base::Time> created;
    std::string class_name;
    bool operator<(const Candidate& other) const {
      if (created != other.created) return created > other.created;
      return class_name < other.class_name;
    }
  };

  void Put(const DeviceClass& device_class);
  void Remove(const std::string& class_name);

  // Invariant: candidates_[n] holds exactly the classes whose entry has the explicit name n, and is
  // not there when there is none.
  std::map<std::string, Entry, std::less<>> classes_;
  base::StringMap<std::set<Candidate>> candidates_;
};

}  // namespace dray::api
