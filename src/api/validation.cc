// SPDX-License-Identifier: Apache-2.0
#include "api/validation.h"

namespace dray::api {

ErrorList ValidateCreate(const Object&, const ValidationOptions&) { return {}; }
ErrorList ValidateUpdate(const Object&, const Object&, const ValidationOptions&) { return {}; }
ErrorList ValidateStatusUpdate(const Object&, const Object&, const ValidationOptions&) {
  return {};
}

}  // namespace dray::api
