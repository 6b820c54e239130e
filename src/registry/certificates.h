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
#include "api/errors.h"
#include "api/kinds.h"
#include "base/status.h"
#include "registry/registry.h"

namespace dray::registry {

// What is no request, not signed with its key, or no certificate. Other kinds have no faults.
api::ErrorList CheckPem(const api::Object& object);
// Of a new object; other kinds pass. Forbidden: nobody gets a certificate of system:masters this way.
Status AdmitCertificateRequest(const api::UserInfo& user, api::Object& object);
// An update changes metadata alone.
void KeepCertificateRequest(api::Object& object, const api::Object& stored);
// Of a status that was prepared. Through the part `approval` conditions change, and the certificate
// stays; through `status` a signer writes the certificate or that it has failed, and whether the
// request is approved stays. `authorizer` may be null: then everybody may.
Status AdmitCertificateStatus(Part part, const WriteContext& context,
                              const api::Authorizer* authorizer, api::Object& object,
                              const api::Object& stored);

// Whether the user may do something with requests for this signer: the verb on the resource
// `signers`, by the signer's name or by domain/*.
bool MayForSigner(const api::UserInfo& user, const api::Authorizer& authorizer,
                  std::string_view verb, std::string_view signer);

}  // namespace dray::registry
