// SPDX-License-Identifier: Apache-2.0
#include "api/lease.h"

namespace dray::api {

const StructInfo& InfoOf(const LeaseSpec*) {
  using T = LeaseSpec;
  static const StructInfo info =
      Struct<T>("LeaseSpec", {
                                 Field<&T::holder_identity>("holderIdentity"),
                                 Field<&T::lease_duration_seconds>("leaseDurationSeconds"),
                                 Field<&T::acquire_time>("acquireTime"),
                                 Field<&T::renew_time>("renewTime"),
                                 Field<&T::lease_transitions>("leaseTransitions"),
                                 Field<&T::strategy>("strategy"),
                                 Field<&T::preferred_holder>("preferredHolder"),
                             });
  return info;
}

const StructInfo& InfoOf(const Lease*) {
  using T = Lease;
  static const StructInfo info = Struct<T>("Lease", {
                                                        Field<&T::metadata>("metadata"),
                                                        Field<&T::spec>("spec"),
                                                    });
  return info;
}

}  // namespace dray::api
