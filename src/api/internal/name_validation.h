// SPDX-License-Identifier: Apache-2.0
//
// Names in fields: of drivers, pools, devices, attributes. The forms themselves are base/names.h.
#pragma once

#include <string>
#include <string_view>

#include "api/internal/path.h"
#include "api/internal/report.h"
#include "base/names.h"

namespace dray::api::internal {

// A form of names: a quick answer, and the reasons when it is no.
struct NameForm {
  bool (*is)(std::string_view);
  base::Reasons (*check)(std::string_view);
};
inline constexpr NameForm kDnsLabel = {base::IsDnsLabel, base::CheckDnsLabel};
inline constexpr NameForm kDns1035Label = {base::IsDns1035Label, base::CheckDns1035Label};
inline constexpr NameForm kDnsSubdomain = {base::IsDnsSubdomain, base::CheckDnsSubdomain};
inline constexpr NameForm kPathSegment = {base::IsPathSegmentName, base::CheckPathSegmentName};
inline constexpr NameForm kLabelKey = {base::IsLabelKey, base::CheckLabelKey};
inline constexpr NameForm kLabelValue = {base::IsLabelValue, base::CheckLabelValue};
inline constexpr NameForm kInterfaceAddress = {base::IsInterfaceAddress,
                                               base::CheckInterfaceAddress};

// ASCII only.
std::string LowerCase(std::string_view text);

// Invalid, once per reason, when `name` does not have the form.
void CheckForm(Report& report, const Path& at, std::string_view name, const NameForm& form);
// Required when empty, else as above.
void CheckRequiredForm(Report& report, const Path& at, std::string_view name, const NameForm& form);

// A DNS subdomain of at most 63, upper case allowed. Required when empty.
void CheckDriverName(Report& report, const Path& at, std::string_view name);
// DNS subdomains separated by '/', at most 253 in all. Required when empty.
void CheckPoolName(Report& report, const Path& at, std::string_view name);
// The key of an attribute or a capacity: an identifier, or a driver name, '/', an identifier.
// A key with several slashes passes, as it does in Kubernetes.
void CheckQualifiedName(Report& report, const Path& at, std::string_view name);
// What a claim calls an attribute: the domain must be there, and in lower case.
void CheckFullyQualifiedName(Report& report, const Path& at, std::string_view name);
bool IsFullyQualifiedName(std::string_view name);
// A device's share: a UUID in lower case.
void CheckShareId(Report& report, const Path& at, std::string_view id);
// The name that pods use for a class's devices instead of a claim (KEP-5004).
void CheckExtendedResourceName(Report& report, const Path& at, std::string_view name);

}  // namespace dray::api::internal
