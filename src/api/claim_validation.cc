// SPDX-License-Identifier: Apache-2.0
//
// ResourceClaim and ResourceClaimTemplate: specs are written once.
#include "api/internal/claim_validation.h"
#include "api/field_table.h"
#include "api/internal/kind_validation.h"
#include "api/internal/meta_validation.h"

namespace dray::api::internal {
namespace {

constexpr std::string_view kImmutable = "must not change; delete the object and create another";

void CheckTemplateSpec(Report& report, const ResourceClaimTemplateSpec& spec, bool fresh) {
  const Path at("spec");
  ValidateTemplateMeta(report, at.Child("metadata"), spec.metadata);
  const Path inner = at.Child("spec");
  ValidateDeviceClaim(report, inner.Child("devices"), spec.spec.devices, fresh);
}

}  // namespace

void ValidateClaimCreate(Report& report, const ResourceClaim& claim) {
  const Path at("spec");
  ValidateDeviceClaim(report, at.Child("devices"), claim.spec.devices, true);
}

void ValidateClaimUpdate(Report& report, const ResourceClaim& claim, const ResourceClaim& old) {
  if (!SemanticEqual(claim.spec, old.spec)) {
    report.InvalidAsIs(Path("spec"), "<value omitted>", kImmutable);
  }
}

void ValidateTemplateCreate(Report& report, const ResourceClaimTemplate& object) {
  CheckTemplateSpec(report, object.spec, true);
}

void ValidateTemplateUpdate(Report& report, const ResourceClaimTemplate& object,
                            const ResourceClaimTemplate& old) {
  // Rules that came later than a stored template do not apply to it while it stays as it is.
  const bool changed = !SemanticEqual(object.spec, old.spec);
  CheckTemplateSpec(report, object.spec, changed);
  if (changed) report.InvalidAsIs(Path("spec"), "<value omitted>", kImmutable);
}

}  // namespace dray::api::internal
