// SPDX-License-Identifier: Apache-2.0
//
// resource.k8s.io/v1beta1: other field tables over the hub's structs. v1beta2 has exactly v1's
// fields.
//
//   v1       requests: [{name, exactly: {deviceClassName, ...}}]
//            devices: [{name, attributes, ...}]
//   v1beta1  requests: [{name, deviceClassName, ...}]
//            devices: [{name, basic: {attributes, ...}}]
#pragma once

#include "api/field_table.h"

namespace dray::api {

const TypeInfo& ResourceSliceV1beta1();
const TypeInfo& ResourceClaimV1beta1();
const TypeInfo& ResourceClaimTemplateV1beta1();

}  // namespace dray::api
