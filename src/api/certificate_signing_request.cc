// SPDX-License-Identifier: Apache-2.0
#include "api/certificate_signing_request.h"

#include <algorithm>

namespace dray::api {

const StructInfo& InfoOf(const CertificateSigningRequestSpec*) {
  using T = CertificateSigningRequestSpec;
  static const StructInfo info = Struct<T>(
      "CertificateSigningRequestSpec",
      {
          Field<&T::request>("request", {.presence = Presence::kAlways,
                                         .doc = "The request in PKCS#10, PEM in base64.",
                                         .proto = {1}}),
          Field<&T::signer_name>(
              "signerName",
              {.presence = Presence::kAlways, .doc = "The signer, with a domain.", .proto = {7}}),
          Field<&T::expiration_seconds>(
              "expirationSeconds",
              {.doc = "For how long the certificate should be good; signers may give less.",
               .proto = {8}}),
          Field<&T::usages>("usages", {.doc = "What the key is for: client auth, server auth, "
                                              "digital signature and so on.",
                                       .proto = {5}}),
          Field<&T::username>("username",
                              {.doc = "Who asks; written by the server.", .proto = {2}}),
          Field<&T::uid>("uid",
                         {.doc = "UID of the requesting user; set by the server.", .proto = {3}}),
          Field<&T::groups>(
              "groups", {.doc = "Groups of the requesting user; set by the server.", .proto = {4}}),
          Field<&T::extra>(
              "extra", {.doc = "Extra information about the requesting user; set by the server.",
                        .proto = {6}}),
      },
      {.doc = "The requested certificate, its signer, and the requesting user."});
  return info;
}

const StructInfo& InfoOf(const CertificateSigningRequestCondition*) {
  using T = CertificateSigningRequestCondition;
  static const StructInfo info = Struct<T>(
      "CertificateSigningRequestCondition",
      {
          Field<&T::type>("type", {.presence = Presence::kAlways,
                                   .doc = "Approved, Denied or Failed; signers may have others.",
                                   .proto = {1}}),
          Field<&T::status>("status", {.presence = Presence::kAlways,
                                       .doc = "True, False or Unknown; of those three always True.",
                                       .proto = {6}}),
          Field<&T::reason>("reason", {.doc = "Machine-readable reason.", .proto = {2}}),
          Field<&T::message>("message", {.doc = "Human-readable message.", .proto = {3}}),
          Field<&T::last_update_time>(
              "lastUpdateTime", {.doc = "When the condition was last written.", .proto = {4}}),
          Field<&T::last_transition_time>("lastTransitionTime",
                                          {.doc = "When the status last changed.", .proto = {5}}),
      },
      {.doc = "A condition of a request."});
  return info;
}

const StructInfo& InfoOf(const CertificateSigningRequestStatus*) {
  using T = CertificateSigningRequestStatus;
  static const StructInfo info =
      Struct<T>("CertificateSigningRequestStatus",
                {
                    Field<&T::conditions>("conditions",
                                          {.list = ListKind::kMap,
                                           .keys = "type",
                                           .doc = "Whether it was approved, denied, or has failed.",
                                           .proto = {1}}),
                    Field<&T::certificate>(
                        "certificate",
                        {.doc = "The certificate once it is signed, PEM in base64.", .proto = {2}}),
                },
                {.doc = "Observed state of a request for a certificate."});
  return info;
}

const StructInfo& InfoOf(const CertificateSigningRequest*) {
  using T = CertificateSigningRequest;
  static const StructInfo info = Struct<T>(
      "CertificateSigningRequest",
      {
          Field<&T::metadata>("metadata",
                              {.doc = "Name, labels and history of the request.", .proto = {1}}),
          Field<&T::spec>("spec", {.presence = Presence::kAlways,
                                   .doc = "What is wanted; it cannot be changed.",
                                   .proto = {2}}),
          Field<&T::status>(
              "status", {.presence = Presence::kAlways, .doc = "Observed state.", .proto = {3}}),
      },
      {.doc = "A request for a certificate: it is approved or denied, and signed by its signer."});
  return info;
}

const CertificateSigningRequestCondition* FindCondition(const CertificateSigningRequest& request,
                                                        std::string_view type) {
  const auto& all = request.status.conditions;
  const auto it = std::ranges::find(all, type, &CertificateSigningRequestCondition::type);
  return it == all.end() ? nullptr : &*it;
}

}  // namespace dray::api
