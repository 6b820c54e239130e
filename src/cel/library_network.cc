// SPDX-License-Identifier: Apache-2.0
#include "cel/library.h"

namespace dray::cel::library {

// net.IP and net.CIDR.
const std::string_view kNetwork = R"(
ip
  string_to_ip (string) -> net.IP
  cidr_ip net.CIDR.() -> net.IP
ip.isCanonical
  ip_is_canonical (string) -> bool
isIP
  is_ip (string) -> bool
isCIDR
  is_cidr (string) -> bool
cidr
  string_to_cidr (string) -> net.CIDR
masked
  cidr_masked net.CIDR.() -> net.CIDR
prefixLength
  cidr_prefix_length net.CIDR.() -> int
family
  ip_family net.IP.() -> int
isUnspecified
  ip_is_unspecified net.IP.() -> bool
isLoopback
  ip_is_loopback net.IP.() -> bool
isLinkLocalMulticast
  ip_is_link_local_multicast net.IP.() -> bool
isLinkLocalUnicast
  ip_is_link_local_unicast net.IP.() -> bool
isGlobalUnicast
  ip_is_global_unicast net.IP.() -> bool
containsIP
  cidr_contains_ip_string net.CIDR.(string) -> bool
  cidr_contains_ip_ip net.CIDR.(net.IP) -> bool
containsCIDR
  cidr_contains_cidr_string net.CIDR.(string) -> bool
  cidr_contains_cidr net.CIDR.(net.CIDR) -> bool
string
  ip_to_string (net.IP) -> string
  cidr_to_string (net.CIDR) -> string
)";

}  // namespace dray::cel::library
