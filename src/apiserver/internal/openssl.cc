// SPDX-License-Identifier: Apache-2.0
#include "apiserver/internal/openssl.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <ctime>

namespace dray::apiserver::internal {

std::string SslErrors() {
  std::string text;
  while (const unsigned long code = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(code);
    text.append(text.empty() ? "" : "; ").append(reason != nullptr ? reason : "unknown error");
  }
  return text.empty() ? "unknown error" : text;
}

Status SslError(std::string_view what) {
  return base::Internal(std::string(what) + ": " + SslErrors());
}

StatusOr<CertificatePtr> ParseCertificate(std::string_view pem) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  CertificatePtr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (!certificate) return base::InvalidArgument("not a PEM certificate: " + SslErrors());
  return certificate;
}

StatusOr<KeyPtr> ParseKey(std::string_view pem) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  if (!key) return base::InvalidArgument("not a PEM private key: " + SslErrors());
  return key;
}

namespace {

std::string Text(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string AddressText(const ASN1_STRING* address) {
  char text[INET6_ADDRSTRLEN] = {};
  const int family = ASN1_STRING_length(address) == 4 ? AF_INET : AF_INET6;
  inet_ntop(family, ASN1_STRING_get0_data(address), text, sizeof(text));
  return text;
}

std::vector<std::string> NamesOf(X509* certificate, int nid) {
  std::vector<std::string> names;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  for (int i = X509_NAME_get_index_by_NID(subject, nid, -1); i >= 0;
       i = X509_NAME_get_index_by_NID(subject, nid, i)) {
    names.push_back(Text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i))));
  }
  return names;
}

std::vector<std::string> HostsOf(X509* certificate) {
  std::vector<std::string> hosts;
  const std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) hosts.push_back(Text(name->d.dNSName));
    if (name->type == GEN_IPADD) hosts.push_back(AddressText(name->d.iPAddress));
  }
  std::ranges::sort(hosts);
  return hosts;
}

}  // namespace

CertificateInfo Describe(X509* certificate) {
  CertificateInfo info;
  if (auto names = NamesOf(certificate, NID_commonName); !names.empty()) {
    info.common_name = std::move(names.front());
  }
  info.organizations = NamesOf(certificate, NID_organizationName);
  info.hosts = HostsOf(certificate);
  std::tm end = {};
  ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end);
  info.not_after = base::Time::FromUnix(timegm(&end));
  return info;
}

}  // namespace dray::apiserver::internal
