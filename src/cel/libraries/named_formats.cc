// SPDX-License-Identifier: Apache-2.0
//
// format.dns1123Label() and the other named formats: what they accept and why not.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/names.h"
#include "base/time.h"
#include "cel/functions.h"
#include "cel/internal/url.h"
#include "cel/library.h"
#include "cel/values.h"
#include "fmt/format.h"
#include "re2/re2.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;
using Reasons = std::vector<std::string>;

// A prefix may end with the one '-' that a generated suffix would follow.
std::string WithoutTrailingDash(std::string_view text) {
  std::string out(text);
  if (out.size() > 1 && out.ends_with('-')) out.back() = 'a';
  return out;
}

Reasons Uri(std::string_view text) {
  const ParsedUrl url = ParseUrl(text, false);
  if (url.error.empty()) return {};
  return {url.error};
}

Reasons Uuid(std::string_view text) {
  static const re2::RE2* const kPattern =
      new re2::RE2("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$");
  if (re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *kPattern)) return {};
  return {"does not match the UUID format"};
}

Reasons Byte(std::string_view text) {
  // Standard base64 in whole groups of four.
  static const re2::RE2* const kPattern = new re2::RE2(
      "(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|[A-Za-z0-9+\\/]{4})");
  if (re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *kPattern)) return {};
  return {"invalid base64"};
}

Reasons Date(std::string_view text) {
  std::string whole(text);
  if (text.size() == 10 && base::Time::ParseRfc3339(whole + "T00:00:00Z").ok()) return {};
  return {"invalid date"};
}

Reasons DateTime(std::string_view text) {
  const Reasons wrong = {"invalid datetime"};
  if (text.size() < 4) return wrong;
  const std::size_t t = text.find_first_of("Tt");
  if (t == std::string_view::npos || text.find_first_of("Tt", t + 1) != std::string_view::npos) {
    return wrong;
  }
  if (!Date(text.substr(0, t)).empty()) return wrong;
  static const re2::RE2* const kTime =
      new re2::RE2("(?i)([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\\.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})");
  int hour = 0, minute = 0, second = 0;
  const std::string_view time = text.substr(t + 1);
  if (!re2::RE2::FullMatch(re2::StringPiece(time.data(), time.size()), *kTime, &hour, &minute,
                           &second)) {
    return wrong;
  }
  return hour < 24 && minute < 60 && second < 60 ? Reasons{} : wrong;
}

// What Kubernetes says of a form that a name does not have; null where base has the same words.
const char* KubernetesRule(base::NameFault::What what) {
  using enum base::NameFault::What;
  switch (what) {
    case kTooLong:
    case kEmpty:
    case kDots:
    case kCaselessSubdomainForm:
      return nullptr;
    case kLabelForm:
      return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
             "'-', "
             "and must start and end with an alphanumeric character (e.g. 'my-name',  or "
             "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    case kSubdomainForm:
      return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
             "'-' or '.', and must start and end with an alphanumeric character (e.g. "
             "'example.com', regex used for validation is "
             "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    case k1035Form:
      return "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start "
             "with an alphabetic character, and end with an alphanumeric character (e.g. "
             "'my-name',  or 'abc-123', regex used for validation is "
             "'[a-z]([-a-z0-9]*[a-z0-9])?')";
    case kLabelValueForm:
      return "a valid label must be an empty string or consist of alphanumeric characters, '-', "
             "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  "
             "or 'my_value',  or '12345', regex used for validation is "
             "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    case kKeyForm:
      return "must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
             "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
             "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    case kSlashes:
      return "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must "
             "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
             "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') "
             "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
  }
  return nullptr;
}

Reasons InKubernetesWords(const base::NameFaults& faults) {
  using Part = base::NameFault::Part;
  Reasons reasons;
  for (const base::NameFault& fault : faults) {
    const char* rule = KubernetesRule(fault.what);
    const std::string_view part = fault.part == Part::kPrefix ? "prefix part "
                                  : fault.part == Part::kName ? "name part "
                                                              : "";
    reasons.push_back(rule == nullptr ? fault.ToString() : fmt::format("{}{}", part, rule));
  }
  return reasons;
}

using NameCheck = base::NameFaults (*)(std::string_view);

template <NameCheck check>
Reasons Name(std::string_view text) {
  return InKubernetesWords(check(text));
}
template <NameCheck check>
Reasons Prefix(std::string_view text) {
  return InKubernetesWords(check(WithoutTrailingDash(text)));
}

constexpr std::array<Format, 13> kFormats = {{
    {"dns1123Label", "DNS1123Label", 30, Name<base::FaultsOfDnsLabel>},
    {"dns1123Subdomain", "DNS1123Subdomain", 60, Name<base::FaultsOfDnsSubdomain>},
    {"dns1035Label", "DNS1035Label", 30, Name<base::FaultsOfDns1035Label>},
    {"qualifiedName", "QualifiedName", 60, Name<base::FaultsOfQualifiedName>},
    {"dns1123LabelPrefix", "DNS1123LabelPrefix", 30, Prefix<base::FaultsOfDnsLabel>},
    {"dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", 60, Prefix<base::FaultsOfDnsSubdomain>},
    {"dns1035LabelPrefix", "DNS1035LabelPrefix", 30, Prefix<base::FaultsOfDns1035Label>},
    {"labelValue", "LabelValue", 40, Name<base::FaultsOfLabelValue>},
    {"uri", "URI", 1103, Uri},
    {"uuid", "uuid", 70, Uuid},
    {"byte", "byte", 84, Byte},
    {"date", "date", 71, Date},
    {"datetime", "datetime", 71, DateTime},
}};

template <std::size_t I>
Value Constant(Arena&, Args) {
  return Value::Pointer(Kind::kFormat, &kFormats[I]);
}

Value Named(Arena& arena, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  for (const Format& format : kFormats) {
    if (format.name == args[0].as_text()) {
      return MakeOptional(arena, Value::Pointer(Kind::kFormat, &format));
    }
  }
  return NoneValue();
}

Value Validate(Arena& arena, Args args) {
  if (!args[0].is(Kind::kFormat) || !args[1].is(Kind::kString)) return UnmatchedCall();
  const Reasons reasons = args[0].as<Format>().validate(args[1].as_text());
  if (reasons.empty()) return NoneValue();
  std::vector<Value> texts;
  for (const std::string& reason : reasons) texts.push_back(MakeString(arena, reason));
  return MakeOptional(arena, MakeList(arena, texts));
}

}  // namespace

Library library::NamedFormats() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"format.byte", "format.byte () -> kubernetes.NamedFormat", Constant<10>, kOne,
       estimate::Unit},
      {"format.date", "format.date () -> kubernetes.NamedFormat", Constant<11>, kOne,
       estimate::Unit},
      {"format.datetime", "format.datetime () -> kubernetes.NamedFormat", Constant<12>, kOne,
       estimate::Unit},
      {"format.dns1035Label", "format.dns1035Label () -> kubernetes.NamedFormat", Constant<2>, kOne,
       estimate::Unit},
      {"format.dns1035LabelPrefix", "format.dns1035LabelPrefix () -> kubernetes.NamedFormat",
       Constant<6>, kOne, estimate::Unit},
      {"format.dns1123Label", "format.dns1123Label () -> kubernetes.NamedFormat", Constant<0>, kOne,
       estimate::Unit},
      {"format.dns1123LabelPrefix", "format.dns1123LabelPrefix () -> kubernetes.NamedFormat",
       Constant<4>, kOne, estimate::Unit},
      {"format.dns1123Subdomain", "format.dns1123Subdomain () -> kubernetes.NamedFormat",
       Constant<1>, kOne, estimate::Unit},
      {"format.dns1123SubdomainPrefix",
       "format.dns1123SubdomainPrefix () -> kubernetes.NamedFormat", Constant<5>, kOne,
       estimate::Unit},
      {"format.labelValue", "format.labelValue () -> kubernetes.NamedFormat", Constant<7>, kOne,
       estimate::Unit},
      {"format.named", "format-named (string) -> optional_type(kubernetes.NamedFormat)", Named,
       kOne, estimate::Unit},
      {"format.qualifiedName", "format.qualifiedName () -> kubernetes.NamedFormat", Constant<3>,
       kOne, estimate::Unit},
      {"format.uri", "format.uri () -> kubernetes.NamedFormat", Constant<8>, kOne, estimate::Unit},
      {"format.uuid", "format.uuid () -> kubernetes.NamedFormat", Constant<9>, kOne,
       estimate::Unit},
      {"validate", "format-validate kubernetes.NamedFormat.(string) -> optional_type(list(string))",
       Validate, kValidate, estimate::ValidateFormat},
  });
  return kRows;
}

}  // namespace dray::cel
