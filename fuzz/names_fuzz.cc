// SPDX-License-Identifier: Apache-2.0
//
// Properties: for every form, yes means no reasons; narrower forms are inside wider ones; a
// canonical address stays what it is when read and written.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/ip_address.h"
#include "base/names.h"

namespace {

using namespace dray::base;  // all of its names, in a file of their own

struct Form {
  bool (*is)(std::string_view);
  Reasons (*check)(std::string_view);
};

constexpr std::array kForms = {
    Form{IsDnsLabel, CheckDnsLabel},
    Form{IsDnsSubdomain, CheckDnsSubdomain},
    Form{IsDnsSubdomainCaseless, CheckDnsSubdomainCaseless},
    Form{IsDns1035Label, CheckDns1035Label},
    Form{IsCIdentifier, CheckCIdentifier},
    Form{IsQualifiedName, CheckQualifiedName},
    Form{IsLabelKey, CheckLabelKey},
    Form{IsLabelValue, CheckLabelValue},
    Form{IsPathSegmentName, CheckPathSegmentName},
    Form{IsInterfaceAddress, CheckInterfaceAddress},
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view s(reinterpret_cast<const char*>(data), size);
  for (const Form& form : kForms) DRAY_CHECK(form.is(s) == form.check(s).empty());

  if (IsDns1035Label(s)) DRAY_CHECK(IsDnsLabel(s));
  if (IsDnsLabel(s)) DRAY_CHECK(IsDnsSubdomain(s) && IsLabelValue(s));
  if (IsDnsSubdomain(s)) DRAY_CHECK(IsDnsSubdomainCaseless(s) && IsPathSegmentName(s));
  if (IsLabelKey(s) && s.find('/') == s.npos) DRAY_CHECK(IsLabelValue(s));

  // What is read strictly is read leniently too, to the same address.
  if (const IpReading strict = ReadIp(s, {}); strict.fault == IpFault::kNone) {
    const auto lenient = ParseIp(s);
    DRAY_CHECK(lenient && *lenient == strict.address);
  }
  if (const auto ip = ParseIp(s)) {
    const auto again = ParseIp(ip->ToString());
    DRAY_CHECK(again && *again == *ip && again->ToString() == ip->ToString());
  }
  if (const auto prefix = ParseIpPrefix(s); prefix && !prefix->address.IsV4In6()) {
    DRAY_CHECK(IsInterfaceAddress(prefix->ToString()));
  }
  return 0;
}
