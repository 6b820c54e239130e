// SPDX-License-Identifier: Apache-2.0
#include "apiserver/internal/openssl.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace dray::apiserver::internal {
namespace {

// Without this OpenSSL asks at the terminal, or reads the answer from standard input.
int NoPassPhrase(char*, int, int, void*) { return -1; }

}  // namespace

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
  CertificatePtr certificate(PEM_read_bio_X509(bio.get(), nullptr, &NoPassPhrase, nullptr));
  if (!certificate) return base::InvalidArgument("not a PEM certificate: " + SslErrors());
  return certificate;
}

StatusOr<KeyPtr> ParseKey(std::string_view pem) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, &NoPassPhrase, nullptr));
  if (key) return key;
  const std::string errors = SslErrors();
  if (pem.find("ENCRYPTED") != pem.npos) {
    return base::InvalidArgument(
        "the private key is encrypted, and pass phrases are not supported: `openssl pkey -in "
        "KEY -out PLAIN` writes it without one");
  }
  return base::InvalidArgument("not a PEM private key: " + errors);
}

namespace {

std::string Text(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

// What kind of string it is stored as makes no difference to whom it names. Nothing: not one of its
// kind.
std::optional<std::string> Utf8(const ASN1_STRING* name) {
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, name);
  if (size < 0) return std::nullopt;
  std::string text(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return text;
}

// Nothing: it has as many bytes as its maker liked, and no address has so many.
std::optional<std::string> AddressText(const ASN1_STRING* address) {
  const int size = ASN1_STRING_length(address);
  if (size != 4 && size != 16) return std::nullopt;
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(address), text, sizeof(text));
  return text;
}

std::vector<std::string> NamesOf(X509* certificate, int nid) {
  std::vector<std::string> names;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  for (int i = X509_NAME_get_index_by_NID(subject, nid, -1); i >= 0;
       i = X509_NAME_get_index_by_NID(subject, nid, i)) {
    auto name = Utf8(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i)));
    if (name) names.push_back(*std::move(name));
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
    if (name->type != GEN_IPADD) continue;
    if (auto address = AddressText(name->d.iPAddress)) hosts.push_back(*std::move(address));
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
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) == 1) {
    for (unsigned int i = 0; i < size; ++i) info.fingerprint += fmt::format("{:02x}", digest[i]);
  }
  return info;
}

}  // namespace dray::apiserver::internal
