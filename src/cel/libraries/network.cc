// SPDX-License-Identifier: Apache-2.0
//
// IP addresses and networks. Accepts what Go's net/netip accepts and gives its reasons.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/ip_address.h"
#include "cel/functions.h"
#include "cel/library.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

// An address with its zone, or why there is none.
struct ParsedIp {
  Ip ip;
  std::string_view zone;
  std::string error;
};

// Go's words for what base::ReadIp says.
std::string_view ReasonOf(base::IpFault fault) {
  using enum base::IpFault;
  switch (fault) {
    case kNone:
      break;
    case kNotAnAddress:
      return "unable to parse IP";
    case kOnlyZone:
      return "missing IPv6 address";
    case kEmptyZone:
      return "zone must be a non-empty string";
    case kLeadingZero:
      return "IPv4 field has octet with leading zero";
    case kOctetTooLarge:
      return "IPv4 field has value >255";
    case kEmptyOctet:
      return "IPv4 field must have at least one digit";
    case kTooManyOctets:
      return "IPv4 address too long";
    case kTooFewOctets:
      return "IPv4 address too short";
    case kCharacter:
      return "unexpected character";
    case kGroupTooLong:
      return "each group must have 4 or less digits";
    case kEmptyGroup:
      return "each colon-separated field must have at least one digit";
    case kV4TooEarly:
      return "embedded IPv4 address must replace the final 2 fields of the address";
    case kV4TooLate:
      return "too many hex fields to fit an embedded IPv4 at the end of the address";
    case kNoColon:
      return "unexpected character, want colon";
    case kEndsWithColon:
      return "colon must be followed by more characters";
    case kSecondGap:
      return "multiple :: in address";
    case kTrailing:
      return "trailing garbage after address";
    case kTooShort:
      return "address string too short";
    case kGapOfNothing:
      return "the :: must expand to at least one field of zeros";
  }
  return "";
}

ParsedIp ParseAddress(std::string_view text) {
  const base::IpReading reading = base::ReadIp(text, {.zones = true});
  ParsedIp out{.zone = reading.zone};
  if (reading.fault != base::IpFault::kNone) {
    out.error = fmt::format("ParseAddr({}): {}", QuoteGo(text), ReasonOf(reading.fault));
    if (!reading.at.empty()) out.error += fmt::format(" (at {})", QuoteGo(reading.at));
  }
  const auto& bytes = reading.address.bytes;
  out.ip.v4 = reading.address.written_as_v4;
  // Four bytes in front instead of four at the end.
  if (out.ip.v4) {
    std::copy(bytes.begin() + 12, bytes.end(), out.ip.bytes.begin());
  } else {
    out.ip.bytes = bytes;
  }
  return out;
}

bool IsMapped(const Ip& ip) {
  if (ip.v4) return false;
  return std::all_of(ip.bytes.begin(), ip.bytes.begin() + 10, [](auto b) { return b == 0; }) &&
         ip.bytes[10] == 0xff && ip.bytes[11] == 0xff;
}

// IPv4 mapped into IPv6 is refused; in the language only when the text shows it.
template <Dialect dialect>
bool IsRefused(const Ip& ip, std::string_view text) {
  return IsMapped(ip) &&
         (dialect == Dialect::kKubernetes || text.find('.') != std::string_view::npos);
}

// Without zones and IPv4 mapped into IPv6.
template <Dialect dialect>
ParsedIp ParseIp(std::string_view text) {
  ParsedIp out = ParseAddress(text);
  if (!out.error.empty()) {
    out.error = fmt::format("IP Address {} parse error during conversion from string: {}",
                            QuoteGo(text), out.error);
  } else if (!out.zone.empty()) {
    out.error = fmt::format("IP address {} with zone value is not allowed", QuoteGo(text));
  } else if (IsRefused<dialect>(out.ip, text)) {
    out.error = fmt::format("IPv4-mapped IPv6 address {} is not allowed", QuoteGo(text));
  }
  return out;
}

struct ParsedCidr {
  Cidr cidr;
  std::string error;
};

template <Dialect dialect>
ParsedCidr ParseCidr(std::string_view text) {
  ParsedCidr out;
  const auto fail = [&](std::string_view reason) {
    out.error = fmt::format(
        "network address parse error during conversion from string: netip.ParsePrefix({}): {}",
        QuoteGo(text), reason);
    return out;
  };
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return fail("no '/'");
  const std::string_view head = text.substr(0, slash);
  const std::string_view bits = text.substr(slash + 1);
  ParsedIp ip = ParseAddress(head);
  if (!ip.error.empty()) return fail(ip.error);
  if (!ip.zone.empty()) return fail("IPv6 zones cannot be present in a prefix");
  const bool is_number = !bits.empty() &&
                         std::ranges::all_of(bits, [](char c) { return c >= '0' && c <= '9'; }) &&
                         (bits.size() == 1 || bits[0] != '0') && bits.size() <= 9;
  if (!is_number) return fail(fmt::format("bad bits after slash: {}", QuoteGo(bits)));
  const int length = std::stoi(std::string(bits));
  if (length > (ip.ip.v4 ? 32 : 128)) return fail("prefix length out of range");
  if (IsRefused<dialect>(ip.ip, head)) {
    out.error = fmt::format("IPv4-mapped IPv6 address {} is not allowed", QuoteGo(text));
  }
  out.cidr = {ip.ip, length};
  return out;
}

Ip Masked(Ip ip, int length) {
  for (std::size_t i = 0; i < ip.size(); ++i) {
    const int bits = std::clamp(length - static_cast<int>(i) * 8, 0, 8);
    ip.bytes[i] &= static_cast<std::uint8_t>(0xff00 >> bits);
  }
  return ip;
}

bool InNetwork(const Cidr& cidr, const Ip& ip) {
  return cidr.address.v4 == ip.v4 && Masked(cidr.address, cidr.length) == Masked(ip, cidr.length);
}

template <Dialect dialect>
Value MakeIp(Arena& arena, Args args) {
  if (args[0].is(Kind::kCidr)) {
    return Value::Pointer(Kind::kIp, arena.New<Ip>(args[0].as<Cidr>().address));
  }
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  const ParsedIp parsed = ParseIp<dialect>(args[0].as_text());
  if (!parsed.error.empty()) return MakeError(arena, parsed.error);
  return Value::Pointer(Kind::kIp, arena.New<Ip>(parsed.ip));
}

template <Dialect dialect>
Value IsIp(Arena&, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  return Value::Bool(ParseIp<dialect>(args[0].as_text()).error.empty());
}

template <Dialect dialect>
Value IsCanonical(Arena& arena, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  const ParsedIp parsed = ParseIp<dialect>(args[0].as_text());
  if (!parsed.error.empty()) return MakeError(arena, parsed.error);
  return Value::Bool(IpToString(parsed.ip) == args[0].as_text());
}

template <typename Test>
Value TestIp(Args args, Test test) {
  return args[0].is(Kind::kIp) ? Value::Bool(test(args[0].as<Ip>())) : UnmatchedCall();
}

bool Unspecified(const Ip& ip) {
  return std::ranges::all_of(ip.bytes, [](auto b) { return b == 0; });
}
bool Loopback(const Ip& ip) {
  if (ip.v4) return ip.bytes[0] == 127;
  return std::all_of(ip.bytes.begin(), ip.bytes.end() - 1, [](auto b) { return b == 0; }) &&
         ip.bytes[15] == 1;
}
bool Multicast(const Ip& ip) { return ip.v4 ? (ip.bytes[0] & 0xf0) == 0xe0 : ip.bytes[0] == 0xff; }
bool LinkLocalMulticast(const Ip& ip) {
  if (ip.v4) return ip.bytes[0] == 224 && ip.bytes[1] == 0 && ip.bytes[2] == 0;
  return ip.bytes[0] == 0xff && (ip.bytes[1] & 0x0f) == 0x02;
}
bool LinkLocalUnicast(const Ip& ip) {
  if (ip.v4) return ip.bytes[0] == 169 && ip.bytes[1] == 254;
  return ip.bytes[0] == 0xfe && (ip.bytes[1] & 0xc0) == 0x80;
}
bool GlobalUnicast(const Ip& ip) {
  if (ip.v4 &&
      std::all_of(ip.bytes.begin(), ip.bytes.begin() + 4, [](auto b) { return b == 255; })) {
    return false;
  }
  return !Unspecified(ip) && !Loopback(ip) && !Multicast(ip) && !LinkLocalUnicast(ip);
}

Value Family(Arena&, Args args) {
  return args[0].is(Kind::kIp) ? Value::Int(args[0].as<Ip>().v4 ? 4 : 6) : UnmatchedCall();
}
Value IsUnspecified(Arena&, Args args) { return TestIp(args, Unspecified); }
Value IsLoopback(Arena&, Args args) { return TestIp(args, Loopback); }
Value IsLinkLocalMulticast(Arena&, Args args) { return TestIp(args, LinkLocalMulticast); }
Value IsLinkLocalUnicast(Arena&, Args args) { return TestIp(args, LinkLocalUnicast); }
Value IsGlobalUnicast(Arena&, Args args) { return TestIp(args, GlobalUnicast); }

template <Dialect dialect>
Value MakeCidr(Arena& arena, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  const ParsedCidr parsed = ParseCidr<dialect>(args[0].as_text());
  if (!parsed.error.empty()) {
    return MakeError(arena,
                     "network address parse error during conversion from string: " + parsed.error);
  }
  return Value::Pointer(Kind::kCidr, arena.New<Cidr>(parsed.cidr));
}

template <Dialect dialect>
Value IsCidr(Arena&, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  return Value::Bool(ParseCidr<dialect>(args[0].as_text()).error.empty());
}

template <Dialect dialect>
Value ContainsIp(Arena&, Args args) {
  if (!args[0].is(Kind::kCidr)) return UnmatchedCall();
  if (args[1].is(Kind::kIp)) return Value::Bool(InNetwork(args[0].as<Cidr>(), args[1].as<Ip>()));
  if (!args[1].is(Kind::kString)) return UnmatchedCall();
  const ParsedIp parsed = ParseIp<dialect>(args[1].as_text());
  if (!parsed.error.empty()) return NoSuchOverload();
  return Value::Bool(InNetwork(args[0].as<Cidr>(), parsed.ip));
}

template <Dialect dialect>
Value ContainsCidr(Arena& arena, Args args) {
  if (!args[0].is(Kind::kCidr)) return UnmatchedCall();
  Value other = args[1];
  if (other.is(Kind::kString)) {
    other = MakeCidr<dialect>(arena, args.subspan(1));
    if (other.is_error()) return other;
  }
  if (!other.is(Kind::kCidr)) return UnmatchedCall();
  const Cidr& outer = args[0].as<Cidr>();
  const Cidr& inner = other.as<Cidr>();
  return Value::Bool(outer.length <= inner.length && InNetwork(outer, inner.address));
}

Value PrefixLength(Arena&, Args args) {
  return args[0].is(Kind::kCidr) ? Value::Int(args[0].as<Cidr>().length) : UnmatchedCall();
}

Value MaskedFunction(Arena& arena, Args args) {
  if (!args[0].is(Kind::kCidr)) return UnmatchedCall();
  const Cidr& cidr = args[0].as<Cidr>();
  return Value::Pointer(Kind::kCidr,
                        arena.New<Cidr>(Cidr{Masked(cidr.address, cidr.length), cidr.length}));
}

}  // namespace

Library library::Network() {
  using enum CostRule;
  using enum Dialect;
  using enum OfConstants;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"ip", "string_to_ip (string) -> net.IP",
       Implementation(MakeIp<kKubernetes>, MakeIp<kLanguage>), kTenth, estimate::ReadArgument,
       kMakeOnce},
      {"ip", "cidr_ip net.CIDR.() -> net.IP",
       Implementation(MakeIp<kKubernetes>, MakeIp<kLanguage>), RunTimeCost(kOne, kTenth),
       estimate::Unit},
      {"ip.isCanonical", "ip_is_canonical (string) -> bool",
       Implementation(IsCanonical<kKubernetes>, IsCanonical<kLanguage>), kFifth,
       estimate::ReadArgumentTwice},
      {"isIP", "is_ip (string) -> bool", Implementation(IsIp<kKubernetes>, IsIp<kLanguage>), kTenth,
       estimate::ReadArgument},
      {"isCIDR", "is_cidr (string) -> bool", Implementation(IsCidr<kKubernetes>, IsCidr<kLanguage>),
       kTenth, estimate::ReadArgument},
      {"cidr", "string_to_cidr (string) -> net.CIDR",
       Implementation(MakeCidr<kKubernetes>, MakeCidr<kLanguage>), kTenth, estimate::ReadArgument,
       kMakeOnce},
      {"masked", "cidr_masked net.CIDR.() -> net.CIDR", MaskedFunction, kOne, estimate::Unit},
      {"prefixLength", "cidr_prefix_length net.CIDR.() -> int", PrefixLength, kOne, estimate::Unit},
      {"family", "ip_family net.IP.() -> int", Family, kOne, estimate::Unit},
      {"isUnspecified", "ip_is_unspecified net.IP.() -> bool", IsUnspecified, kOne, estimate::Unit},
      {"isLoopback", "ip_is_loopback net.IP.() -> bool", IsLoopback, kOne, estimate::Unit},
      {"isLinkLocalMulticast", "ip_is_link_local_multicast net.IP.() -> bool", IsLinkLocalMulticast,
       kOne, estimate::Unit},
      {"isLinkLocalUnicast", "ip_is_link_local_unicast net.IP.() -> bool", IsLinkLocalUnicast, kOne,
       estimate::Unit},
      {"isGlobalUnicast", "ip_is_global_unicast net.IP.() -> bool", IsGlobalUnicast, kOne,
       estimate::Unit},
      {"containsIP", "cidr_contains_ip_string net.CIDR.(string) -> bool",
       Implementation(ContainsIp<kKubernetes>, ContainsIp<kLanguage>),
       RunTimeCost(kContainsIpText, kContainsIp), estimate::ContainsIpText},
      {"containsIP", "cidr_contains_ip_ip net.CIDR.(net.IP) -> bool",
       Implementation(ContainsIp<kKubernetes>, ContainsIp<kLanguage>), kContainsIp,
       estimate::ContainsIp},
      {"containsCIDR", "cidr_contains_cidr_string net.CIDR.(string) -> bool",
       Implementation(ContainsCidr<kKubernetes>, ContainsCidr<kLanguage>),
       RunTimeCost(kContainsCidrText, kContainsCidr), estimate::ContainsCidrText},
      {"containsCIDR", "cidr_contains_cidr net.CIDR.(net.CIDR) -> bool",
       Implementation(ContainsCidr<kKubernetes>, ContainsCidr<kLanguage>), kContainsCidr,
       estimate::ContainsCidr},
      {"string", "ip_to_string (net.IP) -> string", ToString, kOne, estimate::Unit, kFold},
      {"string", "cidr_to_string (net.CIDR) -> string", ToString, kOne, estimate::Unit, kFold},
  });
  return kRows;
}

}  // namespace dray::cel
