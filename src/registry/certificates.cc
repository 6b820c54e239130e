// SPDX-License-Identifier: Apache-2.0
#include "registry/certificates.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/values.h"
#include "apiserver/certificates.h"
#include "fmt/format.h"
#include "registry/roles.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

using Request = api::CertificateSigningRequest;
using Condition = api::CertificateSigningRequestCondition;

constexpr std::string_view kGroup = "certificates.k8s.io";

Status Refuse(const api::Object& object, std::string why) {
  return rest::Forbidden(object.kind(), object.metadata().name, std::move(why));
}

// A signer's write has the decision as it is stored, whatever it sends of it; one that is not there
// cannot be added.
api::ErrorList KeepDecision(Request& request, const Request& old) {
  api::ErrorList errors;
  for (const std::string_view type : {api::kCertificateApproved, api::kCertificateDenied}) {
    const auto sent = std::ranges::find(request.status.conditions, type, &Condition::type);
    const Condition* before = api::FindCondition(old, type);
    if (sent == request.status.conditions.end()) continue;  // a removal is told by validation
    if (before != nullptr) {
      *sent = *before;
    } else {
      errors.push_back(
          api::Forbidden(base::FieldPath("status") / "conditions",
                         fmt::format("updates may not add a condition of type \"{}\"", type)));
    }
  }
  return errors;
}

}  // namespace

api::ErrorList CheckPem(const api::Object& object) {
  const auto* request = object.As<Request>();
  if (request == nullptr) return {};
  api::ErrorList errors;
  const auto read = apiserver::ReadRequest(request->spec.request.data);
  if (!read.ok()) {
    errors.push_back(api::Invalid(base::FieldPath("spec") / "request",
                                  api::Base64Of(request->spec.request),
                                  base::Message(read.status())));
  }
  const std::string& certificate = request->status.certificate.data;
  if (!certificate.empty() && !apiserver::ReadCertificate(certificate).ok()) {
    errors.push_back(api::Invalid(base::FieldPath("status") / "certificate", "<certificate data>",
                                  "must contain at least one CERTIFICATE PEM block"));
  }
  return errors;
}

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
  if (!read.ok()) return {};  // told by CheckPem
  const bool master = std::ranges::find(read->organizations, kMasters) != read->organizations.end();
  if (spec.signer_name == api::kSignerClient && master) {
    return Refuse(object, fmt::format("use of {} signer with {} group is not allowed",
                                      api::kSignerClient, kMasters));
  }
  return {};
}

void KeepCertificateRequest(api::Object& object, const api::Object& stored) {
  if (object.As<Request>() == nullptr) return;
  object.Mutable<Request>()->spec = stored.As<Request>()->spec;
}

Status AdmitCertificateStatus(Part part, const WriteContext& context,
                              const api::Authorizer* authorizer, api::Object& object,
                              const api::Object& stored) {
  if (object.As<Request>() == nullptr) return {};
  Request& next = *object.Mutable<Request>();
  const Request& old = *stored.As<Request>();
  const std::string& signer = old.spec.signer_name;
  const auto may = [&](std::string_view verb) {
    return authorizer == nullptr || MayForSigner(context.user, *authorizer, verb, signer);
  };
  if (part == Part::kApproval) {
    next.status.certificate = old.status.certificate;
    if (may("approve")) return {};
    return Refuse(object, fmt::format("user not permitted to approve requests with signerName "
                                      "\"{}\"",
                                      signer));
  }
  if (context.decider) return {};
  api::ErrorList errors = KeepDecision(next, old);
  api::Append(errors, CheckPem(object));
  if (!errors.empty()) return rest::Invalid(object.kind(), object.metadata().name, errors);
  if (next.status == old.status || may("sign")) return {};
  return Refuse(object,
                fmt::format("user not permitted to sign requests with signerName \"{}\"", signer));
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

}  // namespace dray::registry
