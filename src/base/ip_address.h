// SPDX-License-Identifier: Apache-2.0
//
// IP addresses and prefixes as text: reading them strictly, as Go's net/netip does, or as leniently
// as Kubernetes's older validation, and writing their canonical form.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dray::base {

// An address as 16 bytes; IPv4 is mapped into ::ffff:0:0/96, as in Go's net.IP. Thread-compatible.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  bool written_as_v4 = false;  // dotted, without any colon

  // IPv4, or IPv4 mapped into IPv6.
  bool IsV4() const;
  // An IPv4 address written in IPv6 form, ::ffff:1.2.3.4.
  bool IsV4In6() const { return IsV4() && !written_as_v4; }
  // RFC 5952; an IPv4 address, mapped or not, is dotted.
  std::string ToString() const;

  friend bool operator==(const IpAddress& a, const IpAddress& b) { return a.bytes == b.bytes; }
};

// Eight groups, the longest run of zeros as "::"; also of an address that is IPv4.
std::string Ipv6Text(const std::array<std::uint8_t, 16>& bytes);

// Why a text is no address.
enum class IpFault : std::uint8_t {
  kNone,
  kNotAnAddress,  // neither dot nor colon
  kOnlyZone,      // "%eth0"
  kEmptyZone,
  // IPv4
  kLeadingZero,  // unless zeros are allowed
  kOctetTooLarge,
  kEmptyOctet,
  kTooManyOctets,
  kTooFewOctets,
  kCharacter,
  // IPv6
  kGroupTooLong,  // unless zeros are allowed
  kEmptyGroup,
  kV4TooEarly,  // 1.2.3.4 inside, and groups are missing
  kV4TooLate,
  kNoColon,
  kEndsWithColon,
  kSecondGap,  // "::" twice
  kTrailing,
  kTooShort,
  kGapOfNothing,  // "::" although all groups are there
};

struct IpReading {
  IpAddress address;
  std::string_view zone = {};  // behind '%'
  IpFault fault = IpFault::kNone;
  std::string_view at = {};  // what was left to read, where that tells something
};

struct IpOptions {
  bool zones = false;
  // Before an octet, which stays decimal, or before a group.
  bool extra_zeros = false;
};
IpReading ReadIp(std::string_view text, const IpOptions& options);

// Extra zeros are allowed, zones are not.
std::optional<IpAddress> ParseIp(std::string_view text);

// An address and how many of its leading bits name the network.
struct IpPrefix {
  IpAddress address;
  int length = 0;  // of 32 if written_as_v4, else of 128

  // Canonical; a mapped IPv4 network becomes an IPv4 one if its prefix allows.
  std::string ToString() const;
};

std::optional<IpPrefix> ParseIpPrefix(std::string_view text);

}  // namespace dray::base
