// SPDX-License-Identifier: Apache-2.0
//
// certificates.k8s.io/v1 CertificateSigningRequest: somebody asks for a certificate, somebody says
// yes or no, and a signer signs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_table.h"
#include "api/map.h"
#include "api/meta.h"
#include "api/values.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::string_view kSignerKubeletClient =
    "kubernetes.io/kube-apiserver-client-kubelet";
inline constexpr std::string_view kSignerClient = "kubernetes.io/kube-apiserver-client";
inline constexpr std::string_view kSignerKubeletServing = "kubernetes.io/kubelet-serving";
// Nobody signs for it, and v1 does not take it.
inline constexpr std::string_view kSignerLegacy = "kubernetes.io/legacy-unknown";
inline constexpr std::string_view kCertificateApproved = "Approved";
inline constexpr std::string_view kCertificateDenied = "Denied";
inline constexpr std::string_view kCertificateFailed = "Failed";

struct CertificateSigningRequestSpec {
  Bytes request;  // PEM
  std::string signer_name;
  std::optional<std::int32_t> expiration_seconds;
  std::vector<std::string> usages;
  // Who asks: written by the server.
  std::string username;
  std::string uid;
  std::vector<std::string> groups;
  Map<std::vector<std::string>> extra;
  UnknownFields unknown;
  friend bool operator==(const CertificateSigningRequestSpec&,
                         const CertificateSigningRequestSpec&) = default;
};
const StructInfo& InfoOf(const CertificateSigningRequestSpec*);

struct CertificateSigningRequestCondition {
  std::string type;
  std::string status = {};
  std::string reason = {};
  std::string message = {};
  std::optional<base::Time> last_update_time = {};
  std::optional<base::Time> last_transition_time = {};
  UnknownFields unknown = {};
  friend bool operator==(const CertificateSigningRequestCondition&,
                         const CertificateSigningRequestCondition&) = default;
};
const StructInfo& InfoOf(const CertificateSigningRequestCondition*);

struct CertificateSigningRequestStatus {
  std::vector<CertificateSigningRequestCondition> conditions;
  Bytes certificate;  // PEM
  UnknownFields unknown;
  friend bool operator==(const CertificateSigningRequestStatus&,
                         const CertificateSigningRequestStatus&) = default;
};
const StructInfo& InfoOf(const CertificateSigningRequestStatus*);

struct CertificateSigningRequest {
  ObjectMeta metadata;
  CertificateSigningRequestSpec spec;
  CertificateSigningRequestStatus status;
  UnknownFields unknown;
  friend bool operator==(const CertificateSigningRequest&,
                         const CertificateSigningRequest&) = default;
};
const StructInfo& InfoOf(const CertificateSigningRequest*);

const CertificateSigningRequestCondition* FindCondition(const CertificateSigningRequest& request,
                                                        std::string_view type);

}  // namespace dray::api
