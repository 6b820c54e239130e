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

using What = NameFault::What;
using Part = NameFault::Part;

NameFaults FaultsOfSubdomain(std::string_view s, bool caseless) {
  NameFaults faults;
  if (s.size() > kDnsSubdomainMaxLength) {
    faults.push_back({.what = What::kTooLong, .limit = kDnsSubdomainMaxLength});
  }
  if (!HasSubdomainForm(s, caseless)) {
    faults.push_back({.what = caseless ? What::kCaselessSubdomainForm : What::kSubdomainForm});
  }
  return faults;
}

Reasons InWords(const NameFaults& faults) {
  Reasons reasons;
  for (const NameFault& fault : faults) reasons.push_back(fault.ToString());
  return reasons;
}

std::string RuleOf(const NameFault& fault) {
  switch (fault.what) {
    case What::kTooLong:
      return TooLong(fault.limit);
    case What::kEmpty:
      return "must not be empty";
    case What::kDots:
      return "must not contain dots";
    case What::kLabelForm:
      return Form("must be lower case letters, digits or '-', with a letter or digit at both ends",
                  "my-name", kLabelRegexp);
    case What::kSubdomainForm:
      return Form(
          "must be lower case letters, digits, '-' or '.', with a letter or digit at both ends of "
          "each part",
          "example.com", kSubdomainRegexp);
    case What::kCaselessSubdomainForm:
      return Form(
          "must be letters, digits, '-' or '.', with a letter or digit at both ends of each part",
          "Example.com", std::string("(?i)") + kSubdomainRegexp);
    case What::k1035Form:
      return Form(
          "must be lower case letters, digits or '-', start with a letter and end with a letter or "
          "digit",
          "my-name", "[a-z]([-a-z0-9]*[a-z0-9])?");
    case What::kKeyForm:
      return KeyForm();
    case What::kLabelValueForm:
      return Form(
          "must be empty, or letters, digits, '-', '_' or '.' with a letter or digit at both ends",
          "my_value", std::string("(") + kKeyRegexp + ")?");
    case What::kSlashes:
      return KeyForm() +
             ", after an optional DNS subdomain and one '/' (for example 'example.com/MyName')";
  }
  return "";
}

}  // namespace

std::string NameFault::ToString() const {
  switch (part) {
    case Part::kWhole:
      break;
    case Part::kPrefix:
      return "prefix part " + RuleOf(*this);
    case Part::kName:
      return "name part " + RuleOf(*this);
  }
  return RuleOf(*this);
}

bool IsDnsLabel(std::string_view s) { return s.size() <= kDnsLabelMaxLength && HasLabelForm(s); }

NameFaults FaultsOfDnsLabel(std::string_view s) {
  NameFaults faults;
  if (s.size() > kDnsLabelMaxLength) {
    faults.push_back({.what = What::kTooLong, .limit = kDnsLabelMaxLength});
  }
  if (!HasLabelForm(s)) {
    faults.push_back({.what = HasSubdomainForm(s) ? What::kDots : What::kLabelForm});
  }
  return faults;
}
Reasons CheckDnsLabel(std::string_view s) { return InWords(FaultsOfDnsLabel(s)); }

bool IsDnsSubdomain(std::string_view s) {
  return s.size() <= kDnsSubdomainMaxLength && HasSubdomainForm(s);
}
NameFaults FaultsOfDnsSubdomain(std::string_view s) { return FaultsOfSubdomain(s, false); }
Reasons CheckDnsSubdomain(std::string_view s) { return InWords(FaultsOfDnsSubdomain(s)); }

bool IsDnsSubdomainCaseless(std::string_view s) {
  return s.size() <= kDnsSubdomainMaxLength && HasSubdomainForm(s, true);
}
Reasons CheckDnsSubdomainCaseless(std::string_view s) {
  return InWords(FaultsOfSubdomain(s, true));
}

bool IsDns1035Label(std::string_view s) { return s.size() <= kDnsLabelMaxLength && Has1035Form(s); }

NameFaults FaultsOfDns1035Label(std::string_view s) {
  NameFaults faults;
  if (s.size() > kDnsLabelMaxLength) {
    faults.push_back({.what = What::kTooLong, .limit = kDnsLabelMaxLength});
  }
  if (!Has1035Form(s)) faults.push_back({.what = What::k1035Form});
  return faults;
}
Reasons CheckDns1035Label(std::string_view s) { return InWords(FaultsOfDns1035Label(s)); }

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

NameFaults FaultsOfQualifiedName(std::string_view s) {
  NameFaults faults;
  const auto slashes = std::count(s.begin(), s.end(), '/');
  if (slashes > 1) return {{.what = What::kSlashes}};
  if (slashes == 1) {
    const std::string_view prefix = s.substr(0, s.find('/'));
    s.remove_prefix(prefix.size() + 1);
    if (prefix.empty()) {
      faults.push_back({.what = What::kEmpty});
    } else {
      faults = FaultsOfDnsSubdomain(prefix);
    }
    for (NameFault& fault : faults) fault.part = Part::kPrefix;
  }
  const auto add = [&](NameFault fault) {
    fault.part = Part::kName;
    faults.push_back(fault);
  };
  if (s.empty()) add({.what = What::kEmpty});
  if (s.size() > kQualifiedNameMaxLength) {
    add({.what = What::kTooLong, .limit = kQualifiedNameMaxLength});
  }
  if (!HasKeyForm(s)) add({.what = What::kKeyForm});
  return faults;
}
Reasons CheckQualifiedName(std::string_view s) { return InWords(FaultsOfQualifiedName(s)); }

bool IsLabelKey(std::string_view s) { return IsQualifiedName(s); }
Reasons CheckLabelKey(std::string_view s) { return CheckQualifiedName(s); }

bool IsLabelValue(std::string_view s) {
  return s.empty() || (s.size() <= kLabelValueMaxLength && HasKeyForm(s));
}

NameFaults FaultsOfLabelValue(std::string_view s) {
  NameFaults faults;
  if (s.size() > kLabelValueMaxLength) {
    faults.push_back({.what = What::kTooLong, .limit = kLabelValueMaxLength});
  }
  if (!s.empty() && !HasKeyForm(s)) faults.push_back({.what = What::kLabelValueForm});
  return faults;
}
Reasons CheckLabelValue(std::string_view s) { return InWords(FaultsOfLabelValue(s)); }

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
