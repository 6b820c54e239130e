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
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dray::base {

inline constexpr std::size_t kDnsLabelMaxLength = 63;
inline constexpr std::size_t kDnsSubdomainMaxLength = 253;
inline constexpr std::size_t kLabelValueMaxLength = 63;
inline constexpr std::size_t kQualifiedNameMaxLength = 63;  // of the part after the '/'

using Reasons = std::vector<std::string>;

// One thing that is wrong with a name, for those who say it in words of their own: expressions have
// Kubernetes's (cel/libraries/named_formats.cc). ToString has ours.
struct NameFault {
  enum class What : std::uint8_t {
    kTooLong,  // than `limit` bytes
    kEmpty,
    kDots,  // a label would do without them
    kLabelForm,
    kSubdomainForm,
    kCaselessSubdomainForm,
    k1035Form,
    kKeyForm,
    kLabelValueForm,
    kSlashes,  // more than one in a qualified name
  };
  enum class Part : std::uint8_t { kWhole, kPrefix, kName };  // of a qualified name

  What what = What::kEmpty;
  Part part = Part::kWhole;
  std::size_t limit = 0;

  std::string ToString() const;
};
using NameFaults = std::vector<NameFault>;

// As CheckX below.
NameFaults FaultsOfDnsLabel(std::string_view s);
NameFaults FaultsOfDnsSubdomain(std::string_view s);
NameFaults FaultsOfDns1035Label(std::string_view s);
NameFaults FaultsOfQualifiedName(std::string_view s);
NameFaults FaultsOfLabelValue(std::string_view s);

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

// [A-Za-z_][A-Za-z0-9_]*, any length: attribute and capacity names check their length themselves.
bool IsCIdentifier(std::string_view s);
Reasons CheckCIdentifier(std::string_view s);

// An optional DNS subdomain and '/', then at most 63 of ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9].
bool IsQualifiedName(std::string_view s);
Reasons CheckQualifiedName(std::string_view s);
// A label's key is a qualified name.
bool IsLabelKey(std::string_view s);
Reasons CheckLabelKey(std::string_view s);
// Empty, or the second part of a qualified name.
bool IsLabelValue(std::string_view s);
Reasons CheckLabelValue(std::string_view s);

// What can stand in a URL path: not "." or "..", no '/' and '%'. Says nothing on length; empty
// passes.
bool IsPathSegmentName(std::string_view s);
Reasons CheckPathSegmentName(std::string_view s);

// An interface's address with the length of its network, in canonical form: 10.9.8.7/24. For
// networkData.ips.
bool IsInterfaceAddress(std::string_view s);
Reasons CheckInterfaceAddress(std::string_view s);

}  // namespace dray::base
