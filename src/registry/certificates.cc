// SPDX-License-Identifier: Apache-2.0
#include "registry/certificates.h"

#include <algorithm>
#include <string>
#include <utility>

#include "apiserver/certificates.h"
#include "fmt/format.h"
#include "registry/internal/exchange.h"
#include "registry/internal/request_options.h"
#include "rest/api_error.h"
#include "rest/decode.h"

namespace dray::registry {
namespace {

using Request = api::CertificateSigningRequest;
using Condition = api::CertificateSigningRequestCondition;

constexpr std::string_view kGroup = "certificates.k8s.io";

bool IsVerdict(const Condition& condition) {
  return condition.type == api::kCertificateApproved || condition.type == api::kCertificateDenied;
}

std::vector<Condition> Verdicts(const Request& request) {
  std::vector<Condition> verdicts;
  std::ranges::copy_if(request.status.conditions, std::back_inserter(verdicts), IsVerdict);
  return verdicts;
}

Status Refuse(const api::Object& object, std::string_view why) {
  return rest::Forbidden(object.kind(), object.metadata().name, std::string(why));
}

}  // namespace

Status AdmitCertificateRequest(const api::UserInfo& user, api::Object& object) {
  auto* request = object.Mutable<Request>();
  if (request == nullptr) return {};
  api::CertificateSigningRequestSpec& spec = request->spec;
  spec.username = user.name;
  spec.uid = user.uid;
  spec.groups = user.groups;
  spec.extra = {};
  for (const auto& [key, values] : user.extra) spec.extra[key] = values;
  request->status = {};
  const auto read = apiserver::ReadRequest(spec.request.data);
  if (read.ok()) return {};
  return rest::Invalid(object.kind(), object.metadata().name,
                       {api::InvalidValue(base::FieldPath("spec") / "request", "<request>",
                                          base::Message(read.status()))});
}

void KeepCertificateRequest(api::Object& object, const api::Object& stored) {
  auto* request = object.Mutable<Request>();
  if (request != nullptr) request->spec = stored.As<Request>()->spec;
}

Status CheckSigning(const api::UserInfo& user, const api::Authorizer* authorizer,
                    api::Object& object, const api::Object& stored) {
  const auto* next = object.As<Request>();
  if (next == nullptr) return {};
  const auto& old = *stored.As<Request>();
  if (next->status == old.status) return {};
  const base::FieldPath status("status");
  api::ErrorList errors;
  if (Verdicts(*next) != Verdicts(old)) {
    errors.push_back(api::Forbidden(status / "conditions",
                                    "updates may not change whether the request is approved"));
  }
  if (!old.status.certificate.data.empty() && next->status.certificate != old.status.certificate) {
    errors.push_back(api::Forbidden(status / "certificate",
                                    "updates may not modify existing certificate content"));
  }
  if (!errors.empty()) return rest::Invalid(object.kind(), object.metadata().name, errors);
  const bool signs = next->status.certificate != old.status.certificate;
  if (signs && authorizer != nullptr &&
      !MayForSigner(user, *authorizer, "sign", old.spec.signer_name)) {
    return Refuse(object, fmt::format("user not permitted to sign requests with signerName \"{}\"",
                                      old.spec.signer_name));
  }
  return {};
}

StatusOr<api::Object> WithApproval(const api::Object& stored, const api::Object& sent,
                                   base::Time now) {
  api::Object next = stored;
  next.MutableMetadata().resource_version = sent.metadata().resource_version;
  Request& request = *next.Mutable<Request>();
  for (Condition verdict : Verdicts(*sent.As<Request>())) {
    if (api::FindCondition(request, verdict.type) != nullptr) continue;
    if (verdict.status.empty()) verdict.status = "True";
    if (verdict.status != "True") {
      return rest::Invalid(stored.kind(), stored.metadata().name,
                           {api::Invalid(base::FieldPath("status") / "conditions", verdict.status,
                                         "Approved and Denied conditions are True")});
    }
    if (!verdict.last_update_time) verdict.last_update_time = now.TruncateToSeconds();
    if (!verdict.last_transition_time) verdict.last_transition_time = now.TruncateToSeconds();
    request.status.conditions.push_back(std::move(verdict));
  }
  if (Verdicts(request).size() > 1) {
    return rest::Invalid(stored.kind(), stored.metadata().name,
                         {api::Invalid(base::FieldPath("status") / "conditions",
                                       request.status.conditions.back().type,
                                       "Approved and Denied conditions are mutually exclusive")});
  }
  return next;
}

bool MayForSigner(const api::UserInfo& user, const api::Authorizer& authorizer,
                  std::string_view verb, std::string_view signer) {
  const auto may = [&](std::string name) {
    return authorizer
        .Authorize({.user = user,
                    .verb = std::string(verb),
                    .api_group = std::string(kGroup),
                    .resource = "signers",
                    .name = std::move(name)})
        .allowed;
  };
  return may(std::string(signer)) ||
         may(std::string(signer.substr(0, signer.find('/'))).append("/*"));
}

namespace internal {

void HandleApproval(const ExchangePtr& exchange, const RoleAuthorizer& authorizer) {
  if (exchange->verb == "get") return HandleGet(exchange);
  const auto writing = WritingOf(*exchange, rest::WriteVerb::kUpdate);
  if (!writing.ok()) return exchange->SendError(writing.status());
  auto body = ObjectIn(*exchange, writing->validation);
  if (!body.ok()) return exchange->SendError(body.status());
  const api::UserInfo user = exchange->user();
  const base::Time now = exchange->registry->clock().Now();
  exchange->registry->Modify(
      Part::kApproval, exchange->kind(), "", exchange->route.name,
      [user, &authorizer, now,
       sent = *std::move(body)](const api::Object& stored) -> StatusOr<api::Object> {
        const std::string& signer = stored.As<Request>()->spec.signer_name;
        if (!MayForSigner(user, authorizer, "approve", signer)) {
          return Refuse(
              stored,
              fmt::format("user not permitted to approve requests with signerName \"{}\"", signer));
        }
        return WithApproval(stored, sent, now);
      },
      writing->context,
      [exchange](StatusOr<api::Object> result) {
        exchange->Note("stored");
        if (!result.ok()) return exchange->SendError(result.status());
        exchange->SendObject(200, *result);
      });
}

}  // namespace internal
}  // namespace dray::registry
