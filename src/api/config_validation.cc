// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "api/internal/claim_validation.h"
#include "api/internal/name_validation.h"

namespace dray::api::internal {

void CheckRawObject(Report& report, const Path& at, const RawJson& raw, std::size_t max,
                    bool stored) {
  if (raw.text.empty() || raw.text == "null") return report.Required(at, "must be a JSON object");
  // The limit came after the field: what is stored may be larger.
  if (!stored && !CheckLength(report, at, raw.text, max)) return;
  if (!raw.text.starts_with('{')) {
    report.InvalidAsIs(at, "<value omitted>", "must be a JSON object");
  }
}

void ValidateOpaqueConfiguration(Report& report, const Path& at,
                                 const Box<OpaqueDeviceConfiguration>& opaque, bool stored) {
  const Path here = at.Child("opaque");
  if (!opaque) return report.Required(here);
  CheckDriverName(report, here.Child("driver"), opaque->driver);
  CheckRawObject(report, here.Child("parameters"), opaque->parameters, kOpaqueParametersMaxLength,
                 stored);
}

void CheckAmounts(Report& report, const Path& at, const Map<base::Quantity>& amounts) {
  static const base::Quantity max =
      base::Quantity::FromInt(std::numeric_limits<std::int64_t>::max());
  for (const auto& [name, amount] : amounts) {
    if (amount.Sign() >= 0 && amount <= max) continue;
    report.InvalidQuantity(at.Key(name), amount, "must be from 0 to 9223372036854775807");
  }
}

}  // namespace dray::api::internal
