// SPDX-License-Identifier: Apache-2.0
//
// CertificateSigningRequests: what one may ask for, and what may become of it. Whether the request
// is one, and signed with its key, is for the server to read (registry/certificates.h).
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "api/certificate_signing_request.h"
#include "api/internal/kind_validation.h"
#include "api/internal/name_validation.h"
#include "api/internal/strategies.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

using Request = CertificateSigningRequest;
using Condition = CertificateSigningRequestCondition;

constexpr std::int32_t kLeastSeconds = 600;
constexpr std::size_t kMaxSignerName = 571;  // a domain, a slash, and a name in it

// In the order of the alphabet, as they are listed to who has asked for another.
constexpr std::array<std::string_view, 23> kUsages = {"any",
                                                      "cert sign",
                                                      "client auth",
                                                      "code signing",
                                                      "content commitment",
                                                      "crl sign",
                                                      "data encipherment",
                                                      "decipher only",
                                                      "digital signature",
                                                      "email protection",
                                                      "encipher only",
                                                      "ipsec end system",
                                                      "ipsec tunnel",
                                                      "ipsec user",
                                                      "key agreement",
                                                      "key encipherment",
                                                      "microsoft sgc",
                                                      "netscape sgc",
                                                      "ocsp signing",
                                                      "s/mime",
                                                      "server auth",
                                                      "signing",
                                                      "timestamping"};
constexpr std::array<std::string_view, 3> kOnceTrue = {kCertificateApproved, kCertificateDenied,
                                                       kCertificateFailed};

void CheckSigner(Report& report, const Path& at, std::string_view name) {
  if (name.empty()) return report.Required(at, "");
  if (name == kSignerLegacy) {
    return report.Invalid(at, name, "the legacy signerName is not allowed via this API version");
  }
  const std::size_t slash = name.find('/');
  if (slash == name.npos || name.find('/', slash + 1) != name.npos) {
    return report.Invalid(
        at, name,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'");
  }
  const std::string_view domain = name.substr(0, slash);
  CheckForm(report, at, domain, kDnsSubdomain);
  if (domain.find('.') == domain.npos) {
    report.Invalid(at, domain, "should be a domain with at least two segments separated by dots");
  }
  CheckForm(report, at, name.substr(slash + 1), kDnsSubdomain);
  if (name.size() > kMaxSignerName) report.TooLong(at, kMaxSignerName);
}

void CheckConditions(Report& report, const Request& request) {
  const Path status("status");
  const Path at = status.Child("conditions");
  static constexpr std::array<std::string_view, 3> kAny = {"False", "True", "Unknown"};
  static constexpr std::array<std::string_view, 1> kTrue = {"True"};
  bool approved = false;
  bool denied = false;
  base::StringSet seen;
  for (std::size_t i = 0; i < request.status.conditions.size(); ++i) {
    const Condition& one = request.status.conditions[i];
    const Path place = at.Index(i);
    if (one.type.empty()) report.Required(place.Child("type"), "");
    const bool once = std::ranges::find(kOnceTrue, one.type) != kOnceTrue.end();
    if (one.status.empty()) {
      report.Required(place.Child("status"), "");
    } else if (once) {
      CheckOneOf(report, place.Child("status"), one.status, kTrue);
    } else {
      CheckOneOf(report, place.Child("status"), one.status, kAny);
    }
    approved |= one.type == kCertificateApproved;
    denied |= one.type == kCertificateDenied;
    if (!seen.emplace(one.type).second) report.Duplicate(place.Child("type"), one.type);
  }
  if (approved && denied) {
    report.Invalid(at, kCertificateDenied, "Approved and Denied conditions are mutually exclusive");
  }
}

}  // namespace

void ValidateCertificateRequest(Report& report, const Request& request) {
  const Path spec("spec");
  const Path usages = spec.Child("usages");
  const auto& wanted = request.spec.usages;
  if (wanted.empty()) report.Required(usages, "");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CheckOneOf(report, usages.Index(i), wanted[i], kUsages);
  }
  CheckUnique(report, usages, wanted);
  CheckSigner(report, spec.Child("signerName"), request.spec.signer_name);
  const auto seconds = request.spec.expiration_seconds;
  if (seconds && *seconds < kLeastSeconds) {
    report.InvalidNumber(spec.Child("expirationSeconds"), *seconds,
                         "may not specify a duration less than 600 seconds (10 minutes)");
  }
  CheckConditions(report, request);
}

void ValidateCertificateStatusUpdate(Report& report, const Request& request, const Request& old) {
  const Path status("status");
  CheckConditions(report, request);
  for (const std::string_view type : kOnceTrue) {
    if (FindCondition(old, type) == nullptr || FindCondition(request, type) != nullptr) continue;
    report.Forbidden(status.Child("conditions"),
                     fmt::format("updates may not remove a condition of type \"{}\"", type));
  }
  if (!old.status.certificate.data.empty() &&
      request.status.certificate != old.status.certificate) {
    report.Forbidden(status.Child("certificate"),
                     "updates may not modify existing certificate content");
  }
}

void PrepareForStatusUpdate(Request& request, const Request& old, const StrategyOptions& options) {
  const base::Time now = options.now.TruncateToSeconds();
  for (Condition& one : request.status.conditions) {
    if (!one.last_update_time) one.last_update_time = now;
    if (one.last_transition_time) continue;
    const Condition* before = FindCondition(old, one.type);
    const bool same = before != nullptr && before->status == one.status;
    one.last_transition_time = same ? before->last_transition_time : now;
    if (!one.last_transition_time) one.last_transition_time = now;
  }
}

}  // namespace dray::api::internal
