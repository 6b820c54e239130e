// SPDX-License-Identifier: Apache-2.0
#include "api/certificate_signing_request.h"

#include <algorithm>

namespace dray::api {

const StructInfo& InfoOf(const CertificateSigningRequestSpec*) {
  using T = CertificateSigningRequestSpec;
  static const StructInfo info =
      Struct<T>("CertificateSigningRequestSpec",
                {
                    Field<&T::request>("request", {.presence = Presence::kAlways}),
                    Field<&T::signer_name>("signerName", {.presence = Presence::kAlways}),
                    Field<&T::expiration_seconds>("expirationSeconds"),
                    Field<&T::usages>("usages"),
                    Field<&T::username>("username"),
                    Field<&T::uid>("uid"),
                    Field<&T::groups>("groups"),
                    Field<&T::extra>("extra"),
                });
  return info;
}

const StructInfo& InfoOf(const CertificateSigningRequestCondition*) {
  using T = CertificateSigningRequestCondition;
  static const StructInfo info =
      Struct<T>("CertificateSigningRequestCondition",
                {
                    Field<&T::type>("type", {.presence = Presence::kAlways}),
                    Field<&T::status>("status", {.presence = Presence::kAlways}),
                    Field<&T::reason>("reason"),
                    Field<&T::message>("message"),
                    Field<&T::last_update_time>("lastUpdateTime"),
                    Field<&T::last_transition_time>("lastTransitionTime"),
                });
  return info;
}

const StructInfo& InfoOf(const CertificateSigningRequestStatus*) {
  using T = CertificateSigningRequestStatus;
  static const StructInfo info =
      Struct<T>("CertificateSigningRequestStatus",
                {
                    Field<&T::conditions>("conditions", {.list = ListKind::kMap, .keys = "type"}),
                    Field<&T::certificate>("certificate"),
                });
  return info;
}

const StructInfo& InfoOf(const CertificateSigningRequest*) {
  using T = CertificateSigningRequest;
  static const StructInfo info =
      Struct<T>("CertificateSigningRequest", {
                                                 Field<&T::metadata>("metadata"),
                                                 Field<&T::spec>("spec"),
                                                 Field<&T::status>("status"),
                                             });
  return info;
}

const CertificateSigningRequestCondition* FindCondition(const CertificateSigningRequest& request,
                                                        std::string_view type) {
  const auto& all = request.status.conditions;
  const auto it = std::ranges::find(all, type, &CertificateSigningRequestCondition::type);
  return it == all.end() ? nullptr : &*it;
}

}  // namespace dray::api
