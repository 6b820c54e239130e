// SPDX-License-Identifier: Apache-2.0
//
// Properties: what parses has the form and prints as it was read; what has the form and does not
// parse is out of range; tolerant parsing accepts all that strict parsing does; comparison is
// antisymmetric. Two versions per input, separated by a newline.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/semver.h"

using dray::StatusOr;
using dray::base::IsSemVer;
using dray::base::SemVer;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t newline = input.find('\n');
  const std::string_view first = input.substr(0, newline);
  const StatusOr<SemVer> a = SemVer::Parse(first);
  const StatusOr<SemVer> tolerant = SemVer::ParseTolerant(first);
  if (a.ok()) {
    DRAY_CHECK(IsSemVer(first));
    DRAY_CHECK(a->ToString() == first);
    DRAY_CHECK(tolerant.ok() && tolerant->IdenticalTo(*a));
  } else {
    DRAY_CHECK(IsSemVer(first) == (a.status().code() == dray::StatusCode::kOutOfRange));
  }
  if (!tolerant.ok()) return 0;
  const StatusOr<SemVer> again = SemVer::Parse(tolerant->ToString());
  DRAY_CHECK(again.ok() && again->IdenticalTo(*tolerant));
  if (newline == std::string_view::npos) return 0;
  const StatusOr<SemVer> b = SemVer::ParseTolerant(input.substr(newline + 1));
  if (!b.ok()) return 0;
  DRAY_CHECK(tolerant->Compare(*b) == -b->Compare(*tolerant));
  if (tolerant->IdenticalTo(*b)) DRAY_CHECK(tolerant->ToString() == b->ToString());
  return 0;
}
