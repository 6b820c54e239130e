// SPDX-License-Identifier: Apache-2.0
//
// The schema of a definition in the server's OpenAPI documents.
#pragma once

#include "crd/schema.h"

namespace dray::crd {

// Version 3 takes it as it is; readers of version 2 know less: what it cannot say is left out.
DocumentNode OpenApiSchema(const DocumentNode& schema, bool v2);

}  // namespace dray::crd
