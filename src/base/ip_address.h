// SPDX-License-Identifier: Apache-2.0
//
// IP addresses and prefixes as text: reading them as leniently as Kubernetes does, and writing
// their canonical form.
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
  bool written_as_v4 = false;    // dotted, without any colon
  bool has_extra_zeros = false;  // an octet with leading zeros, or a group of more than four digits

  // IPv4, or IPv4 mapped into IPv6.
  bool IsV4() const;
  // An IPv4 address written in IPv6 form, ::ffff:1.2.3.4.
  bool IsV4In6() const { return IsV4() && !written_as_v4; }
  // RFC 5952; an IPv4 address, mapped or not, is dotted.
  std::string ToString() const;

  friend bool operator==(const IpAddress& a, const IpAddress& b) { return a.bytes == b.bytes; }
};

// Zones ("%eth0") are not part of an address here. Leading zeros are read as decimal, and noted.
std::optional<IpAddress> ParseIp(std::string_view text);

// An address and how many of its leading bits name the network.
struct IpPrefix {
  IpAddress address;
  int length = 0;                       // of 32 if written_as_v4, else of 128
  bool length_has_extra_zeros = false;  // "/08"

  // Whether all bits past the prefix are zero.
  bool IsMasked() const;
  // Canonical; a mapped IPv4 network becomes an IPv4 one if its prefix allows.
  std::string ToString() const;
};

std::optional<IpPrefix> ParseIpPrefix(std::string_view text);

}  // namespace dray::base
