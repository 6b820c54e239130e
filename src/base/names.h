// SPDX-License-Identifier: Apache-2.0
//
// The forms that names, keys and addresses have in the Kubernetes API.
//
// Each form has two functions. IsX says yes or no without allocating (an IPv6 address may). CheckX
// gives the reasons why not, one per fault, as they follow a field's path in an error ("must be no
// more than 63 bytes"); no reason means valid. The two always agree (fuzz/names_fuzz.cc).
//
// Spec: k8s.io/apimachinery/pkg/util/validation and pkg/api/validate/content. Lengths are bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dray::base {

inline constexpr std::size_t kDnsLabelMaxLength = 63;
inline constexpr std::size_t kDnsSubdomainMaxLength = 253;
inline constexpr std::size_t kLabelValueMaxLength = 63;
inline constexpr std::size_t kQualifiedNameMaxLength = 63;  // of the part after the '/'
inline constexpr std::size_t kPortNameMaxLength = 15;

using Reasons = std::vector<std::string>;

// RFC 1123 label, lower case: [a-z0-9]([-a-z0-9]*[a-z0-9])?, at most 63.
bool IsDnsLabel(std::string_view s);
Reasons CheckDnsLabel(std::string_view s);

// RFC 1123 subdomain: such labels (of any length) joined by dots, at most 253 in all.
bool IsDnsSubdomain(std::string_view s);
Reasons CheckDnsSubdomain(std::string_view s);
// The same with upper case allowed: driver names.
bool IsDnsSubdomainCaseless(std::string_view s);
Reasons CheckDnsSubdomainCaseless(std::string_view s);

// RFC 1035 label: an RFC 1123 label that starts with a letter.
bool IsDns1035Label(std::string_view s);
Reasons CheckDns1035Label(std::string_view s);

// A domain of at least two labels of at most 63 each; a dot at the end is allowed.
bool IsFullyQualifiedDomainName(std::string_view s);
Reasons CheckFullyQualifiedDomainName(std::string_view s);
// A subdomain of at least three labels, no dot at the end.
bool IsFullyQualifiedName(std::string_view s);
Reasons CheckFullyQualifiedName(std::string_view s);

// [A-Za-z_][A-Za-z0-9_]*, any length: attribute and capacity names check their length themselves.
bool IsCIdentifier(std::string_view s);
Reasons CheckCIdentifier(std::string_view s);

// An optional DNS subdomain and '/', then at most 63 of ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9].
bool IsQualifiedName(std::string_view s);
Reasons CheckQualifiedName(std::string_view s);
// A label's key is a qualified name.
bool IsLabelKey(std::string_view s);
Reasons CheckLabelKey(std::string_view s);
// A qualified name whose prefix is there.
bool IsPrefixedLabelKey(std::string_view s);
Reasons CheckPrefixedLabelKey(std::string_view s);
// Empty, or the second part of a qualified name.
bool IsLabelValue(std::string_view s);
Reasons CheckLabelValue(std::string_view s);

// What can stand in a URL path: not "." or "..", no '/' and '%'. Says nothing on length; empty
// passes.
bool IsPathSegmentName(std::string_view s);
Reasons CheckPathSegmentName(std::string_view s);

// A container port's name: at most 15 of [-a-z0-9], with a letter, no hyphen at the ends or next to
// another.
bool IsPortName(std::string_view s);
Reasons CheckPortName(std::string_view s);

// [-._a-zA-Z][-._a-zA-Z0-9]*, not "." and not beginning with "..".
bool IsEnvVarName(std::string_view s);
Reasons CheckEnvVarName(std::string_view s);
// Since Kubernetes 1.34: printable ASCII without '='.
bool IsRelaxedEnvVarName(std::string_view s);
Reasons CheckRelaxedEnvVarName(std::string_view s);

// A key of a ConfigMap or Secret: at most 253 of [-._a-zA-Z0-9], not "." and not beginning with
// "..".
bool IsConfigMapKey(std::string_view s);
Reasons CheckConfigMapKey(std::string_view s);

// An IPv4 or IPv6 address in canonical form (RFC 5952), not IPv4 mapped into IPv6.
bool IsIp(std::string_view s);
Reasons CheckIp(std::string_view s);
// A network in canonical form: 10.9.8.0/24, no bits beyond the prefix.
bool IsCidr(std::string_view s);
Reasons CheckCidr(std::string_view s);
// An interface's address with the length of its network, in canonical form: 10.9.8.7/24. For
// networkData.ips.
bool IsInterfaceAddress(std::string_view s);
Reasons CheckInterfaceAddress(std::string_view s);

}  // namespace dray::base
