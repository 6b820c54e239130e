// SPDX-License-Identifier: Apache-2.0
//
// CertificateSigningRequests of nodes: approved if whoever asks may have such a certificate, and
// signed once somebody has approved them. Requests for other signers are for others; old ones go.
//
// Spec: Kubernetes, "Certificates and Certificate Signing Requests", "TLS bootstrapping".
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "api/authorization.h"
#include "api/certificate_signing_request.h"
#include "apiserver/certificates.h"
#include "controllers/reconciler.h"

namespace dray::plane::internal {

// One thread.
class CertificateSigning final : public controllers::Reconciler {
 public:
  // Writes what was decided: clients have a part of the object for that. Null: within a process it
  // is written as the status.
  using WriteApproval = std::function<Status(const api::Object&)>;

  // All outlive it. `authority` signs.
  CertificateSigning(const controllers::Source& source, const base::Clock& clock,
                     const api::Authorizer& authorizer, const apiserver::KeyPair& authority,
                     WriteApproval write_approval = nullptr);

  std::string_view name() const override { return "certificate-signing"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  Status Reconcile(const controllers::ObjectKey& key) override;
  // Whether it was approved now.
  StatusOr<bool> Approve(const api::Object& object);
  Status Sign(const api::Object& object);

  const api::Authorizer& authorizer_;
  const apiserver::KeyPair& authority_;
  const WriteApproval write_approval_;
};

// Why a request is none that the signer signs; empty: it is. As Kubernetes says it.
std::string WhyNotSigned(const api::CertificateSigningRequestSpec& spec,
                         const apiserver::CertificateRequest& request);

}  // namespace dray::plane::internal
