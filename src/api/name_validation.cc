// SPDX-License-Identifier: Apache-2.0
#include "api/internal/name_validation.h"

#include <algorithm>
#include <string>

#include "api/resource_slice.h"
#include "base/uuid.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

void CheckIdentifier(Report& report, const Path& at, std::string_view id) {
  CheckLength(report, at, id, kDeviceMaxIDLength);
  CheckForm(report, at, id, {base::IsCIdentifier, base::CheckCIdentifier});
}

using DomainCheck = void (*)(Report&, const Path&, std::string_view);

void CheckLowerCaseDomain(Report& report, const Path& at, std::string_view domain) {
  CheckLength(report, at, domain, kDeviceMaxDomainLength);
  CheckForm(report, at, domain, kDnsSubdomain);
}

// Kubernetes looks into neither part of a name with more than one slash.
void CheckParts(Report& report, const Path& at, std::string_view name, DomainCheck check_domain) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return CheckIdentifier(report, at, name);
  const std::string_view domain = name.substr(0, slash);
  const std::string_view id = name.substr(slash + 1);
  if (id.find('/') != std::string_view::npos) return;
  if (domain.empty()) {
    report.Invalid(at, name, "the domain before the slash must not be empty");
  } else {
    check_domain(report, at, domain);
  }
  if (id.empty()) {
    report.Invalid(at, name, "the identifier after the slash must not be empty");
  } else {
    CheckIdentifier(report, at, id);
  }
}

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

void CheckForm(Report& report, const Path& at, std::string_view name, const NameForm& form) {
  if (form.is(name)) return;
  for (const std::string& reason : form.check(name)) report.Invalid(at, name, reason);
}

void CheckRequiredForm(Report& report, const Path& at, std::string_view name,
                       const NameForm& form) {
  if (name.empty()) return report.Required(at);
  CheckForm(report, at, name, form);
}

void CheckDriverName(Report& report, const Path& at, std::string_view name) {
  if (name.empty()) return report.Required(at);
  CheckLength(report, at, name, kDriverNameMaxLength);
  CheckForm(report, at, name, {base::IsDnsSubdomainCaseless, base::CheckDnsSubdomainCaseless});
}

void CheckPoolName(Report& report, const Path& at, std::string_view name) {
  if (name.empty()) return report.Required(at);
  CheckLength(report, at, name, kPoolNameMaxLength);
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty()) {
      report.Invalid(at, name, "the parts between slashes must not be empty");
    } else {
      CheckForm(report, at, part, kDnsSubdomain);
    }
    begin = end + 1;
  }
}

void CheckQualifiedName(Report& report, const Path& at, std::string_view name) {
  CheckParts(report, at, name, CheckDriverName);
}

void CheckFullyQualifiedName(Report& report, const Path& at, std::string_view name) {
  CheckParts(report, at, name, CheckLowerCaseDomain);
  if (name.find('/') == std::string_view::npos) {
    report.Invalid(at, name,
                   "must be a domain and an identifier separated by a slash (for example "
                   "'gpu.example.com/model')");
  }
}

bool IsFullyQualifiedName(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view domain = name.substr(0, slash);
  const std::string_view id = name.substr(slash + 1);
  if (id.find('/') != std::string_view::npos) return true;
  return domain.size() <= kDeviceMaxDomainLength && base::IsDnsSubdomainCaseless(domain) &&
         id.size() <= kDeviceMaxIDLength && base::IsCIdentifier(id);
}

void CheckShareId(Report& report, const Path& at, std::string_view id) {
  if (base::IsCanonicalUuid(id)) return;
  report.Invalid(at, id,
                 "must be a UUID in lower case (for example "
                 "'0e4c8d3a-6a55-4f2c-9b7c-2f1d7c1f3a10')");
}

void CheckExtendedResourceName(Report& report, const Path& at, std::string_view name) {
  if (name.find('/') == std::string_view::npos) {
    report.Invalid(at, name,
                   "must be a domain and a name separated by a slash (for example "
                   "'example.com/gpu')");
  } else if (name.find("kubernetes.io/") != std::string_view::npos) {
    report.Invalid(at, name, "must not be in the domain kubernetes.io, which is Kubernetes's own");
  }
  if (name.starts_with("requests.")) {
    report.Invalid(at, name, "must not start with 'requests.', which quotas put before names");
  }
  // A quota calls it so, and a quota's names are label keys.
  CheckForm(report, at, fmt::format("requests.{}", name), kLabelKey);
}

}  // namespace dray::api::internal
