// SPDX-License-Identifier: Apache-2.0
//
// Which objects a quota counts, and under which names. In one place: who refuses what is too much
// (registry/quota_admission.cc) and who sums up what is there (controllers/quota_controller.h) must
// not differ, or a limit is passed by.
#pragma once

#include <string>

#include "api/kinds.h"
#include "api/quota.h"
#include "api/resource_quota.h"

namespace dray::api {

// All scopes of the quota fit the object. Scopes are about pods, but for VolumeAttributesClass, which
// is about claims for volumes: a quota that has any counts nothing else. A scope that is not known
// fits none.
bool QuotaCounts(const ResourceQuotaSpec& quota, const Object& object);

// Whether objects of the kind are counted at all: whatever is in a namespace, but events.
bool IsCounted(const KindInfo& kind);
// "count/pods", "count/deployments.apps".
std::string CountQuotaName(const KindInfo& kind);

// What an object takes, under every name that a quota may have for it. Pods and claims as in
// quota.h, services by their ports on nodes and load balancers, claims for volumes by their storage
// and its class; of other kinds each object is one.
Map<base::Quantity> QuotaUsage(const Object& object, const QuotaContext& context);

// Whether an update of such an object can take more than before. Of others only the number counts, and
// what a pod takes stays; but a deadline brings it into another scope.
bool QuotaHandlesUpdate(const Object& object, const Object& old);

// False: nothing that the quota limits is about objects of the kind.
bool QuotaIsAbout(const Map<base::Quantity>& hard, const KindInfo& kind);

}  // namespace dray::api
