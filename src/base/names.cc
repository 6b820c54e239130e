// SPDX-License-Identifier: Apache-2.0
#include "base/names.h"

#include <algorithm>
#include <optional>

#include "base/ip_address.h"
#include "fmt/format.h"

namespace dray::base {
namespace {

constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsLowerAlnum(char c) { return IsLower(c) || IsDigit(c); }
constexpr bool IsAlnum(char c) { return IsLowerAlnum(c) || IsUpper(c); }
constexpr bool IsKeyChar(char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; }

template <typename Predicate>
bool All(std::string_view s, Predicate predicate) {
  return std::all_of(s.begin(), s.end(), predicate);
}

// One label of any length: [a-z0-9]([-a-z0-9]*[a-z0-9])?
bool HasLabelForm(std::string_view s, bool caseless = false) {
  const auto alnum = caseless ? IsAlnum : IsLowerAlnum;
  return !s.empty() && alnum(s.front()) && alnum(s.back()) &&
         All(s, [alnum](char c) { return alnum(c) || c == '-'; });
}

// Calls `visit` on each piece between dots until it says false; says whether it never did.
template <typename Visit>
bool EveryLabel(std::string_view s, Visit visit) {
  for (;;) {
    const std::size_t dot = s.find('.');
    if (!visit(s.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    s.remove_prefix(dot + 1);
  }
}

bool HasSubdomainForm(std::string_view s, bool caseless = false) {
  return EveryLabel(s,
                    [caseless](std::string_view label) { return HasLabelForm(label, caseless); });
}

bool Has1035Form(std::string_view s) { return HasLabelForm(s) && IsLower(s.front()); }

bool HasKeyForm(std::string_view s) {
  return !s.empty() && IsAlnum(s.front()) && IsAlnum(s.back()) && All(s, IsKeyChar);
}

std::string TooLong(std::size_t limit) {
  return fmt::format("must be no more than {} bytes", limit);
}

// What the form is, an example, and the expression for those who want it exact.
std::string Form(std::string_view rule, std::string_view example, std::string_view regexp) {
  return fmt::format("{} (for example '{}'; must match '{}')", rule, example, regexp);
}

constexpr char kLabelRegexp[] = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr char kSubdomainRegexp[] =
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr char kKeyRegexp[] = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

std::string KeyForm() {
  return Form("must be letters, digits, '-', '_' or '.', with a letter or digit at both ends",
              "MyName", kKeyRegexp);
}

std::string SubdomainForm(bool caseless) {
  return caseless ? Form(
                        "must be letters, digits, '-' or '.', with a letter or digit at both ends "
                        "of each part",
                        "Example.com", std::string("(?i)") + kSubdomainRegexp)
                  : Form(
                        "must be lower case letters, digits, '-' or '.', with a letter or digit at "
                        "both ends "
                        "of each part",
                        "example.com", kSubdomainRegexp);
}

Reasons CheckSubdomain(std::string_view s, bool caseless) {
  Reasons reasons;
  if (s.size() > kDnsSubdomainMaxLength) reasons.push_back(TooLong(kDnsSubdomainMaxLength));
  if (!HasSubdomainForm(s, caseless)) reasons.push_back(SubdomainForm(caseless));
  return reasons;
}

// A file of that name would be, or could lead to, a folder.
void AddFolderReasons(std::string_view s, Reasons* reasons) {
  if (s == "." || s == "..") {
    reasons->push_back(fmt::format("must not be '{}'", s));
  } else if (s.starts_with("..")) {
    reasons->push_back("must not start with '..'");
  }
}
bool LooksLikeFolder(std::string_view s) { return s == "." || s.starts_with(".."); }

}  // namespace

bool IsDnsLabel(std::string_view s) { return s.size() <= kDnsLabelMaxLength && HasLabelForm(s); }

Reasons CheckDnsLabel(std::string_view s) {
  Reasons reasons;
  if (s.size() > kDnsLabelMaxLength) reasons.push_back(TooLong(kDnsLabelMaxLength));
  if (!HasLabelForm(s)) {
    reasons.push_back(
        HasSubdomainForm(s)
            ? "must not contain dots"
            : Form("must be lower case letters, digits or '-', with a letter or digit at both ends",
                   "my-name", kLabelRegexp));
  }
  return reasons;
}

bool IsDnsSubdomain(std::string_view s) {
  return s.size() <= kDnsSubdomainMaxLength && HasSubdomainForm(s);
}
Reasons CheckDnsSubdomain(std::string_view s) { return CheckSubdomain(s, false); }

bool IsDnsSubdomainCaseless(std::string_view s) {
  return s.size() <= kDnsSubdomainMaxLength && HasSubdomainForm(s, true);
}
Reasons CheckDnsSubdomainCaseless(std::string_view s) { return CheckSubdomain(s, true); }

bool IsDns1035Label(std::string_view s) { return s.size() <= kDnsLabelMaxLength && Has1035Form(s); }

Reasons CheckDns1035Label(std::string_view s) {
  Reasons reasons;
  if (s.size() > kDnsLabelMaxLength) reasons.push_back(TooLong(kDnsLabelMaxLength));
  if (!Has1035Form(s)) {
    reasons.push_back(
        Form("must be lower case letters, digits or '-', start with a letter and end with a letter "
             "or digit",
             "my-name", "[a-z]([-a-z0-9]*[a-z0-9])?"));
  }
  return reasons;
}

bool IsFullyQualifiedDomainName(std::string_view s) {
  if (s.ends_with('.')) s.remove_suffix(1);
  return IsDnsSubdomain(s) && s.find('.') != std::string_view::npos && EveryLabel(s, IsDnsLabel);
}

Reasons CheckFullyQualifiedDomainName(std::string_view s) {
  if (s.empty()) return {"must not be empty"};
  if (s.ends_with('.')) s.remove_suffix(1);
  if (Reasons reasons = CheckDnsSubdomain(s); !reasons.empty()) return reasons;
  if (s.find('.') == std::string_view::npos) {
    return {"must be a domain of at least two parts separated by dots"};
  }
  Reasons reasons;
  EveryLabel(s, [&reasons](std::string_view label) {
    for (const std::string& reason : CheckDnsLabel(label)) {
      reasons.push_back(fmt::format("part '{}' {}", label, reason));
    }
    return reasons.empty();
  });
  return reasons;
}

bool IsFullyQualifiedName(std::string_view s) {
  return IsDnsSubdomain(s) && std::count(s.begin(), s.end(), '.') >= 2;
}

Reasons CheckFullyQualifiedName(std::string_view s) {
  if (s.empty()) return {"must not be empty"};
  if (Reasons reasons = CheckDnsSubdomain(s); !reasons.empty()) return reasons;
  if (std::count(s.begin(), s.end(), '.') >= 2) return {};
  return {"must be a domain of at least three parts separated by dots"};
}

bool IsCIdentifier(std::string_view s) {
  return !s.empty() && !IsDigit(s.front()) && All(s, [](char c) { return IsAlnum(c) || c == '_'; });
}

Reasons CheckCIdentifier(std::string_view s) {
  if (IsCIdentifier(s)) return {};
  return {Form("must be letters, digits or '_' and not start with a digit, as an identifier in C",
               "my_name", "[A-Za-z_][A-Za-z0-9_]*")};
}

bool IsQualifiedName(std::string_view s) {
  if (const std::size_t slash = s.find('/'); slash != std::string_view::npos) {
    if (!IsDnsSubdomain(s.substr(0, slash))) return false;
    s.remove_prefix(slash + 1);  // a second slash is no key character
  }
  return s.size() <= kQualifiedNameMaxLength && HasKeyForm(s);
}

Reasons CheckQualifiedName(std::string_view s) {
  Reasons reasons;
  const auto slashes = std::count(s.begin(), s.end(), '/');
  if (slashes > 1) {
    return {KeyForm() +
            ", after an optional DNS subdomain and one '/' (for example 'example.com/MyName')"};
  }
  if (slashes == 1) {
    const std::string_view prefix = s.substr(0, s.find('/'));
    s.remove_prefix(prefix.size() + 1);
    if (prefix.empty()) {
      reasons.push_back("prefix part must not be empty");
    } else {
      for (const std::string& reason : CheckDnsSubdomain(prefix))
        reasons.push_back("prefix part " + reason);
    }
  }
  if (s.empty()) reasons.push_back("name part must not be empty");
  if (s.size() > kQualifiedNameMaxLength) {
    reasons.push_back("name part " + TooLong(kQualifiedNameMaxLength));
  }
  if (!HasKeyForm(s)) reasons.push_back("name part " + KeyForm());
  return reasons;
}

bool IsLabelKey(std::string_view s) { return IsQualifiedName(s); }
Reasons CheckLabelKey(std::string_view s) { return CheckQualifiedName(s); }

bool IsPrefixedLabelKey(std::string_view s) {
  return s.find('/') != std::string_view::npos && IsQualifiedName(s);
}

Reasons CheckPrefixedLabelKey(std::string_view s) {
  if (Reasons reasons = CheckQualifiedName(s); !reasons.empty()) return reasons;
  if (IsPrefixedLabelKey(s)) return {};
  return {"must have a prefix (for example 'example.com/key')"};
}

bool IsLabelValue(std::string_view s) {
  return s.empty() || (s.size() <= kLabelValueMaxLength && HasKeyForm(s));
}

Reasons CheckLabelValue(std::string_view s) {
  Reasons reasons;
  if (s.size() > kLabelValueMaxLength) reasons.push_back(TooLong(kLabelValueMaxLength));
  if (!s.empty() && !HasKeyForm(s)) {
    reasons.push_back(Form(
        "must be empty, or letters, digits, '-', '_' or '.' with a letter or digit at both ends",
        "my_value", std::string("(") + kKeyRegexp + ")?"));
  }
  return reasons;
}

bool IsPathSegmentName(std::string_view s) {
  return s != "." && s != ".." && s.find_first_of("/%") == std::string_view::npos;
}

Reasons CheckPathSegmentName(std::string_view s) {
  if (s == "." || s == "..") return {fmt::format("must not be '{}'", s)};
  Reasons reasons;
  for (const char c : {'/', '%'}) {
    if (s.find(c) != std::string_view::npos)
      reasons.push_back(fmt::format("must not contain '{}'", c));
  }
  return reasons;
}

bool IsPortName(std::string_view s) {
  return s.size() <= kPortNameMaxLength && HasLabelForm(s) &&
         s.find("--") == std::string_view::npos && std::any_of(s.begin(), s.end(), IsLower);
}

Reasons CheckPortName(std::string_view s) {
  Reasons reasons;
  if (s.size() > kPortNameMaxLength) reasons.push_back(TooLong(kPortNameMaxLength));
  if (s.empty() || !All(s, [](char c) { return IsLowerAlnum(c) || c == '-'; })) {
    reasons.push_back("must be lower case letters, digits or '-'");
  }
  if (std::none_of(s.begin(), s.end(), IsLower)) reasons.push_back("must contain a letter (a-z)");
  if (s.find("--") != std::string_view::npos) reasons.push_back("must not contain '--'");
  if (s.starts_with('-') || s.ends_with('-')) reasons.push_back("must not start or end with '-'");
  return reasons;
}

bool IsEnvVarName(std::string_view s) {
  return !s.empty() && !IsDigit(s.front()) && All(s, IsKeyChar) && !LooksLikeFolder(s);
}

Reasons CheckEnvVarName(std::string_view s) {
  Reasons reasons;
  if (s.empty() || IsDigit(s.front()) || !All(s, IsKeyChar)) {
    reasons.push_back(Form("must be letters, digits, '_', '-' or '.' and not start with a digit",
                           "MY_ENV.NAME", "[-._a-zA-Z][-._a-zA-Z0-9]*"));
  }
  AddFolderReasons(s, &reasons);
  return reasons;
}

bool IsRelaxedEnvVarName(std::string_view s) {
  return !s.empty() && All(s, [](char c) { return c >= ' ' && c <= '~' && c != '='; });
}

Reasons CheckRelaxedEnvVarName(std::string_view s) {
  if (s.empty()) return {"must not be empty"};
  if (IsRelaxedEnvVarName(s)) return {};
  return {"must be printable ASCII characters other than '='"};
}

bool IsConfigMapKey(std::string_view s) {
  return !s.empty() && s.size() <= kDnsSubdomainMaxLength && All(s, IsKeyChar) &&
         !LooksLikeFolder(s);
}

Reasons CheckConfigMapKey(std::string_view s) {
  Reasons reasons;
  if (s.size() > kDnsSubdomainMaxLength) reasons.push_back(TooLong(kDnsSubdomainMaxLength));
  if (s.empty() || !All(s, IsKeyChar)) {
    reasons.push_back(
        Form("must be letters, digits, '-', '_' or '.'", "key.name", "[-._a-zA-Z0-9]+"));
  }
  AddFolderReasons(s, &reasons);
  return reasons;
}

bool IsIp(std::string_view s) {
  const std::optional<IpAddress> ip = ParseIp(s);
  return ip && !ip->has_extra_zeros && !ip->IsV4In6() && ip->ToString() == s;
}

Reasons CheckIp(std::string_view s) {
  const std::optional<IpAddress> ip = ParseIp(s);
  if (!ip) return {"must be an IP address (for example 10.9.8.7 or 2001:db8::ffff)"};
  if (ip->has_extra_zeros) return {"must not have leading zeros"};
  if (ip->IsV4In6()) return {"must not be an IPv4 address mapped into IPv6"};
  if (const std::string canonical = ip->ToString(); canonical != s) {
    return {fmt::format("must be in canonical form (\"{}\")", canonical)};
  }
  return {};
}

bool IsCidr(std::string_view s) {
  const std::optional<IpPrefix> prefix = ParseIpPrefix(s);
  return prefix && !prefix->address.has_extra_zeros && !prefix->length_has_extra_zeros &&
         !prefix->address.IsV4In6() && prefix->IsMasked() && prefix->ToString() == s;
}

Reasons CheckCidr(std::string_view s) {
  const std::optional<IpPrefix> prefix = ParseIpPrefix(s);
  if (!prefix) return {"must be a network in CIDR form (for example 10.9.8.0/24 or 2001:db8::/64)"};
  if (prefix->address.has_extra_zeros || prefix->length_has_extra_zeros) {
    return {"must not have leading zeros in address or prefix length"};
  }
  if (prefix->address.IsV4In6()) return {"must not have an IPv4 address mapped into IPv6"};
  if (!prefix->IsMasked()) return {"must not have bits set beyond the prefix length"};
  if (const std::string canonical = prefix->ToString(); canonical != s) {
    return {fmt::format("must be in canonical form (\"{}\")", canonical)};
  }
  return {};
}

bool IsInterfaceAddress(std::string_view s) {
  const std::optional<IpPrefix> prefix = ParseIpPrefix(s);
  return prefix && prefix->ToString() == s;
}

Reasons CheckInterfaceAddress(std::string_view s) {
  const std::optional<IpPrefix> prefix = ParseIpPrefix(s);
  if (!prefix) {
    return {
        "must be an address with the length of its network (for example 10.9.8.7/24 or "
        "2001:db8::1/64)"};
  }
  if (const std::string canonical = prefix->ToString(); canonical != s) {
    return {fmt::format("must be in canonical form (\"{}\")", canonical)};
  }
  return {};
}

}  // namespace dray::base
