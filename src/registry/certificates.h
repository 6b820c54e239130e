// SPDX-License-Identifier: Apache-2.0
//
// What the server does to a CertificateSigningRequest besides storing it: who asks is written down
// by the server, what was asked for stays, and each part of the status is for who may write it.
//
// Spec: Kubernetes, "Certificates and Certificate Signing Requests".
#pragma once

#include <string_view>

#include "api/authorization.h"
#include "api/certificate_signing_request.h"
#include "api/kinds.h"
#include "base/status.h"
#include "base/time.h"

namespace dray::registry {

// Of a new object; other kinds pass. Invalid: it is no request, or not signed with its key.
Status AdmitCertificateRequest(const api::UserInfo& user, api::Object& object);
// An update changes metadata alone.
void KeepCertificateRequest(api::Object& object, const api::Object& stored);
// A signer writes the certificate once, or says that it has failed; approval is not its to write.
// `authorizer` may be null: then everybody may sign.
Status CheckSigning(const api::UserInfo& user, const api::Authorizer* authorizer,
                    api::Object& object, const api::Object& stored);

// The stored request with the approval or denial that `sent` has.
StatusOr<api::Object> WithApproval(const api::Object& stored, const api::Object& sent,
                                   base::Time now);
// Whether the user may do something with requests for this signer: the verb on the resource
// `signers`, by the signer's name or by domain/*.
bool MayForSigner(const api::UserInfo& user, const api::Authorizer& authorizer,
                  std::string_view verb, std::string_view signer);

}  // namespace dray::registry
