// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/certificate_signing.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"

namespace dray::plane::internal {
namespace {

using Request = api::CertificateSigningRequest;
using controllers::ObjectKey;

constexpr std::string_view kNodes = "system:nodes";
constexpr std::string_view kNodeUser = "system:node:";
constexpr std::chrono::hours kValid{24 * 365};
// As Kubernetes: what nobody needs any more goes after an hour, what nobody decides after a day.
constexpr std::chrono::hours kDone{1};
constexpr std::chrono::hours kUndecided{24};

std::array<const api::KindInfo*, 1> Kinds() { return {&controllers::KindOf<Request>()}; }

bool UsesAre(const std::vector<std::string>& usages, std::string_view what) {
  const std::set<std::string_view> set(usages.begin(), usages.end());
  return set == std::set<std::string_view>{"digital signature", what} ||
         set == std::set<std::string_view>{"digital signature", "key encipherment", what};
}

bool IsOurs(const Request& request) {
  const std::string& signer = request.spec.signer_name;
  return signer == api::kSignerKubeletClient || signer == api::kSignerKubeletServing ||
         signer == api::kSignerClient;
}

// Of a client that is no node.
bool UsesAreAClients(const std::vector<std::string>& usages) {
  constexpr std::array<std::string_view, 3> kFit = {"client auth", "digital signature",
                                                    "key encipherment"};
  const auto fits = [&](const std::string& usage) {
    return std::ranges::find(kFit, usage) != kFit.end();
  };
  return std::ranges::all_of(usages, fits) &&
         std::ranges::find(usages, "client auth") != usages.end();
}

bool IsDecided(const Request& request) {
  return api::FindCondition(request, api::kCertificateApproved) != nullptr ||
         api::FindCondition(request, api::kCertificateDenied) != nullptr;
}

void Add(Request& request, std::string_view type, std::string_view reason, std::string_view message,
         base::Time now) {
  request.status.conditions.push_back({.type = std::string(type),
                                       .status = "True",
                                       .reason = std::string(reason),
                                       .message = std::string(message),
                                       .last_update_time = now.TruncateToSeconds(),
                                       .last_transition_time = now.TruncateToSeconds()});
}

// When a request goes; nothing: it waits for a signer of somebody else's.
std::optional<base::Time> GoesAt(const Request& request) {
  for (const std::string_view type :
       {api::kCertificateDenied, api::kCertificateFailed, api::kCertificateApproved}) {
    const auto* decided = api::FindCondition(request, type);
    if (decided == nullptr) continue;
    const bool waits = type == api::kCertificateApproved && request.status.certificate.data.empty();
    if (waits) return std::nullopt;
    return decided->last_update_time.value_or(base::Time()) + kDone;
  }
  return request.metadata.creation_timestamp.value_or(base::Time()) + kUndecided;
}

}  // namespace

std::string WhyNotSigned(const api::CertificateSigningRequestSpec& spec,
                         const apiserver::CertificateRequest& request) {
  if (spec.signer_name == api::kSignerClient) {
    return UsesAreAClients(spec.usages) ? std::string() : "usages did not match [client auth]";
  }
  if (request.organizations != std::vector<std::string>{std::string(kNodes)}) {
    return "subject organization is not system:nodes";
  }
  if (!request.common_name.starts_with(kNodeUser) ||
      request.common_name.size() == kNodeUser.size()) {
    return "subject common name does not begin with system:node:";
  }
  if (request.other_names) return "Email and URI subjectAltNames are not allowed";
  if (spec.signer_name == api::kSignerKubeletClient) {
    if (!request.dns_names.empty()) return "DNS subjectAltNames are not allowed";
    if (!request.addresses.empty()) return "IP subjectAltNames are not allowed";
    if (!UsesAre(spec.usages, "client auth")) {
      return "usages did not match [client auth digital signature key encipherment]";
    }
    return {};
  }
  if (request.dns_names.empty() && request.addresses.empty()) {
    return "DNS or IP subjectAltName is required";
  }
  if (!UsesAre(spec.usages, "server auth")) {
    return "usages did not match [digital signature key encipherment server auth]";
  }
  return {};
}

CertificateSigning::CertificateSigning(const controllers::Source& source, const base::Clock& clock,
                                       const api::Authorizer& authorizer,
                                       const apiserver::KeyPair& authority,
                                       WriteApproval write_approval)
    : Reconciler(source, clock, Kinds()),
      authorizer_(authorizer),
      authority_(authority),
      write_approval_(std::move(write_approval)) {}

void CertificateSigning::OnChange(const api::Object*, const api::Object* after) {
  if (after != nullptr) queue().Add(ObjectKey::Of(*after));
}

Status CertificateSigning::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr || found->metadata().deletion_timestamp) return {};
  const api::Object object = *found;
  const Request& request = *object.As<Request>();
  if (const auto end = GoesAt(request)) {
    const auto left = *end - clock().Now();
    if (left <= std::chrono::nanoseconds(0)) return view().Delete(object);
    queue().AddAfter(key, left);
  }
  if (!IsOurs(request) || !request.status.certificate.data.empty()) return {};
  if (!IsDecided(request)) return Approve(object).status();
  if (api::FindCondition(request, api::kCertificateApproved) == nullptr ||
      api::FindCondition(request, api::kCertificateFailed) != nullptr) {
    return {};
  }
  return Sign(object);
}

StatusOr<bool> CertificateSigning::Approve(const api::Object& object) {
  const Request& request = *object.As<Request>();
  const auto& spec = request.spec;
  // A serving certificate says which addresses are the node's: that is for people to look at.
  if (spec.signer_name != api::kSignerKubeletClient) return false;
  const auto asked = apiserver::ReadRequest(spec.request.data);
  if (!asked.ok() || !WhyNotSigned(spec, *asked).empty()) return false;
  api::UserInfo user{.name = spec.username, .groups = spec.groups, .extra = {}, .uid = spec.uid};
  for (const auto& [name, values] : spec.extra) user.extra[std::string(name.view())] = values;
  // Not OK: it could not be found out, and is asked again.
  const auto may = [&](std::string_view part) -> StatusOr<bool> {
    const api::AuthorizationDecision decision =
        authorizer_.Authorize({.user = user,
                               .verb = "create",
                               .api_group = "certificates.k8s.io",
                               .resource = "certificatesigningrequests",
                               .subresource = std::string(part)});
    if (!decision.allowed && !decision.error.ok()) return decision.error;
    return decision.allowed;
  };
  std::string_view message;
  bool self = false;
  if (spec.username == asked->common_name) {
    DRAY_ASSIGN_OR_RETURN(self, may("selfnodeclient"));
  }
  if (self) {
    message = "Auto approving self kubelet client certificate after SubjectAccessReview.";
  } else {
    DRAY_ASSIGN_OR_RETURN(const bool node, may("nodeclient"));
    if (!node) return false;
    message = "Auto approving kubelet client certificate after SubjectAccessReview.";
  }
  api::Object next = object;
  Add(*next.Mutable<Request>(), api::kCertificateApproved, "AutoApproved", message, clock().Now());
  if (write_approval_ != nullptr) {
    DRAY_RETURN_IF_ERROR(write_approval_(next));
  } else {
    DRAY_RETURN_IF_ERROR(view().UpdateStatus(std::move(next)).status());
  }
  return true;
}

Status CertificateSigning::Sign(const api::Object& object) {
  const auto& spec = object.As<Request>()->spec;
  api::Object next = object;
  Request& request = *next.Mutable<Request>();
  const auto asked = apiserver::ReadRequest(spec.request.data);
  const std::string why =
      asked.ok() ? WhyNotSigned(spec, *asked) : std::string(base::Message(asked.status()));
  if (!why.empty()) {
    Add(request, api::kCertificateFailed, "SignerValidationFailure", why, clock().Now());
    return view().UpdateStatus(std::move(next)).status();
  }
  apiserver::CertificateSpec wanted{.use = spec.signer_name == api::kSignerKubeletServing
                                               ? apiserver::CertificateSpec::Use::kServer
                                               : apiserver::CertificateSpec::Use::kClient,
                                    .common_name = asked->common_name,
                                    .organizations = asked->organizations,
                                    .hosts = asked->dns_names,
                                    .valid = kValid};
  wanted.hosts.insert(wanted.hosts.end(), asked->addresses.begin(), asked->addresses.end());
  if (spec.expiration_seconds) {
    wanted.valid = std::min<std::chrono::seconds>(
        wanted.valid,
        std::max(std::chrono::seconds(600), std::chrono::seconds(*spec.expiration_seconds)));
  }
  auto made = apiserver::SignRequest(authority_, spec.request.data, wanted, clock().Now());
  if (!made.ok()) {
    Add(request, api::kCertificateFailed, "SigningError", base::Message(made.status()),
        clock().Now());
  } else {
    request.status.certificate.data = *std::move(made);
  }
  return view().UpdateStatus(std::move(next)).status();
}

}  // namespace dray::plane::internal
