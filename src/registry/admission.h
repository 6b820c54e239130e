// SPDX-License-Identifier: Apache-2.0
//
// What a write has to pass besides validation, because it depends on other objects: the namespace
// is there, the priority class exists, the quota suffices.
//
// Each adds to the transaction what must still be true when it is committed, so that two writers
// cannot both slip through.
#pragma once

#include <string_view>

#include "api/kinds.h"
#include "api/write_rules.h"
#include "base/status.h"
#include "base/time.h"
#include "base/uuid.h"
#include "registry/objects.h"
#include "registry/policies.h"
#include "store/store.h"

namespace dray::registry {

// A new object's namespace exists and is not on its way out.
Status AdmitNamespace(const Objects& objects, const api::Object& object,
                      store::Transaction& transaction);

// Fills in the priority of a new pod or PodGroup from its class. Other kinds pass.
Status AdmitPriority(const Objects& objects, const api::FeatureGates& gates, api::Object& object);

// There is one PriorityClass for those who name none. Other kinds pass.
Status AdmitDefaultPriority(const Objects& objects, const api::Object& object);

// A new PodGroup stays until none of its pods runs any more (podgroup-protection).
void AdmitGroup(api::Object& object);

// A pod stays for five minutes on a node that is not ready or not heard of, unless it says
// otherwise. Also when it is replaced, since a manifest does not have what was filled in when it was
// first stored. Other kinds pass.
void AdmitTolerations(api::Object& object);

// Gives a new pod's containers what the LimitRanges of its namespace say for those that do not ask,
// and refuses what is too little or too much; of claims for volumes the size, when they are new (`old`
// null) and when it changes. Other kinds pass.
Status AdmitLimits(const Objects& objects, api::Object& object, const api::Object* old);

// Gives a new pod its service account, "default" if it names none, and the volume with the account's
// token that every container finds at the usual place. Forbidden: the account is not there. Other
// kinds pass.
Status AdmitServiceAccount(const Objects& objects, api::Object& object, base::RandomSource& random);

// Refuses what nobody here would obey: webhook configurations, since webhooks are not called,
// policies that change objects, and ReplicationControllers. Of those that may be ignored it is noted
// that they are; `notes` may be null.
Status AdmitWebhooks(const api::Object& object, WriteNotes* notes);

// Whether the disruption budget of a pod allows that it is evicted, which is taken off it in the
// transaction. TooManyRequests when it does not.
Status AdmitEviction(const Objects& objects, const api::Object& evicted, base::Time now,
                     store::Transaction& transaction);

// Whether writes there may have to be charged to a quota, as far as is known now.
bool HasQuotas(const Objects& objects, std::string_view namespace_);

// Charges a new object (`old` null) or a changed one to the quotas of its namespace: their
// status.used is part of the transaction. Forbidden names the quota, what was asked, what is used
// and what the limit is. Only more usage is refused, and only of resources that a quota limits.
Status AdmitQuota(const Objects& objects, const api::Object& object, const api::Object* old,
                  const api::WriteRules& rules, base::Time now, store::Transaction& transaction);

// A quota that is new, or limits something new, begins with what is there (its status.used): it holds
// from the moment at which it is stored, whenever its controller comes to count. Changes nothing
// else. [cost] O(objects in the namespace of kinds that it limits), when there is something new.
void CountForLimits(const Objects& objects, api::Object& quota, const api::Object* old,
                    const api::WriteRules& rules, base::Time now);

// Whether a quota's status.used may become less: not less than what is there. Whoever counts over
// HTTP has a watch for each kind, and may be shown a quota's new charge before the object that it is
// for; a sum without that object would let in one too many. A conflict: it has to be counted again.
// [cost] O(objects in the namespace), when something becomes less.
Status CheckRecount(const Objects& objects, const api::Object& object, const api::Object& old,
                    const api::WriteRules& rules, base::Time now);

}  // namespace dray::registry
