// SPDX-License-Identifier: Apache-2.0
#include "cel/library.h"

namespace dray::cel::library {

// kubernetes.Quantity.
const std::string_view kQuantity = R"(
quantity
  string_to_quantity (string) -> kubernetes.Quantity
isQuantity
  is_quantity_string (string) -> bool
sign
  quantity_sign (kubernetes.Quantity) -> int
asInteger
  quantity_get_int kubernetes.Quantity.() -> int
isInteger
  quantity_is_integer kubernetes.Quantity.() -> bool
asApproximateFloat
  quantity_get_float kubernetes.Quantity.() -> double
add
  quantity_add kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity
  quantity_add_int kubernetes.Quantity.(int) -> kubernetes.Quantity
sub
  quantity_sub kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity
  quantity_sub_int kubernetes.Quantity.(int) -> kubernetes.Quantity
isGreaterThan
  quantity_is_greater_than kubernetes.Quantity.(kubernetes.Quantity) -> bool
isLessThan
  quantity_is_less_than kubernetes.Quantity.(kubernetes.Quantity) -> bool
compareTo
  quantity_compare_to kubernetes.Quantity.(kubernetes.Quantity) -> int
)";

// kubernetes.Semver, library version 1.
const std::string_view kSemver = R"(
semver
  string_to_semver (string) -> kubernetes.Semver
  string_bool_to_semver (string, bool) -> kubernetes.Semver
isSemver
  is_semver_string (string) -> bool
  is_semver_string_bool (string, bool) -> bool
major
  semver_major kubernetes.Semver.() -> int
minor
  semver_minor kubernetes.Semver.() -> int
patch
  semver_patch kubernetes.Semver.() -> int
isGreaterThan
  semver_is_greater_than kubernetes.Semver.(kubernetes.Semver) -> bool
isLessThan
  semver_is_less_than kubernetes.Semver.(kubernetes.Semver) -> bool
compareTo
  semver_compare_to kubernetes.Semver.(kubernetes.Semver) -> int
)";

// kubernetes.NamedFormat.
const std::string_view kFormats = R"(
format.byte
  format.byte () -> kubernetes.NamedFormat
format.date
  format.date () -> kubernetes.NamedFormat
format.datetime
  format.datetime () -> kubernetes.NamedFormat
format.dns1035Label
  format.dns1035Label () -> kubernetes.NamedFormat
format.dns1035LabelPrefix
  format.dns1035LabelPrefix () -> kubernetes.NamedFormat
format.dns1123Label
  format.dns1123Label () -> kubernetes.NamedFormat
format.dns1123LabelPrefix
  format.dns1123LabelPrefix () -> kubernetes.NamedFormat
format.dns1123Subdomain
  format.dns1123Subdomain () -> kubernetes.NamedFormat
format.dns1123SubdomainPrefix
  format.dns1123SubdomainPrefix () -> kubernetes.NamedFormat
format.labelValue
  format.labelValue () -> kubernetes.NamedFormat
format.named
  format-named (string) -> optional_type(kubernetes.NamedFormat)
format.qualifiedName
  format.qualifiedName () -> kubernetes.NamedFormat
format.uri
  format.uri () -> kubernetes.NamedFormat
format.uuid
  format.uuid () -> kubernetes.NamedFormat
validate
  format-validate kubernetes.NamedFormat.(string) -> optional_type(list(string))
)";

// kubernetes.URL.
const std::string_view kUrls = R"(
url
  string_to_url (string) -> kubernetes.URL
isURL
  is_url_string (string) -> bool
getEscapedPath
  url_get_escaped_path kubernetes.URL.() -> string
getHost
  url_get_host kubernetes.URL.() -> string
getHostname
  url_get_hostname kubernetes.URL.() -> string
getPort
  url_get_port kubernetes.URL.() -> string
getQuery
  url_get_query kubernetes.URL.() -> map(string, list(string))
getScheme
  url_get_scheme kubernetes.URL.() -> string
)";

}  // namespace dray::cel::library
