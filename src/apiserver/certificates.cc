// SPDX-License-Identifier: Apache-2.0
#include "apiserver/certificates.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "apiserver/internal/openssl.h"

namespace dray::apiserver {
namespace {

using internal::BioPtr;
using internal::CertificatePtr;
using internal::KeyPtr;
using internal::SslError;

constexpr std::chrono::minutes kSlowClock{5};

std::string Contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

StatusOr<KeyPair> ToPem(X509* certificate, EVP_PKEY* key) {
  const BioPtr certificate_text(BIO_new(BIO_s_mem()));
  const BioPtr key_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_text.get(), certificate) != 1 ||
      PEM_write_bio_PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return SslError("cannot write a certificate");
  }
  return KeyPair{Contents(certificate_text.get()), Contents(key_text.get())};
}

Status AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, internal::Free<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return SslError("cannot add \"" + value + "\" to a certificate");
  }
  return {};
}

Status AddName(X509* certificate, int nid, const std::string& value) {
  // 64 bytes is what X.520 allows; OpenSSL refuses more.
  if (X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), nid, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(value.data()),
                                 static_cast<int>(value.size()), -1, 0) != 1) {
    return base::InvalidArgument("\"" + value + "\" cannot be a name in a certificate (" +
                                 internal::SslErrors() + "); 1 to 64 bytes of UTF-8 can");
  }
  return {};
}

Status SetRandomSerial(X509* certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof(bytes)) != 1) return SslError("no random numbers");
  bytes[0] &= 0x7f;  // positive
  const std::unique_ptr<BIGNUM, internal::Free<BN_free>> number(
      BN_bin2bn(bytes, sizeof(bytes), nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate));
  return {};
}

// A certificate for `key` that lacks its issuer, extensions and signature.
StatusOr<CertificatePtr> Begin(EVP_PKEY* key, std::string_view common_name,
                               const std::vector<std::string>& organizations, base::Time now,
                               std::chrono::seconds valid) {
  CertificatePtr certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  DRAY_RETURN_IF_ERROR(SetRandomSerial(certificate.get()));
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), (now - kSlowClock).seconds());
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), (now + valid).seconds());
  X509_set_pubkey(certificate.get(), key);
  for (const std::string& organization : organizations) {
    DRAY_RETURN_IF_ERROR(AddName(certificate.get(), NID_organizationName, organization));
  }
  DRAY_RETURN_IF_ERROR(AddName(certificate.get(), NID_commonName, std::string(common_name)));
  return certificate;
}

// Whoever asks for a certificate has chosen its names: commas, blanks and zeros, which divide or end
// a name for some readers and not for others, are in none.
bool IsHost(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._*:%").find(c) != std::string_view::npos;
  });
}

// Each host is one name of its own, never a part of a text that is taken apart again.
Status AddHosts(X509* certificate, const std::vector<std::string>& hosts) {
  const std::unique_ptr<GENERAL_NAMES, internal::Free<GENERAL_NAMES_free>> names(
      sk_GENERAL_NAME_new_null());
  for (const std::string& host : hosts) {
    if (!IsHost(host)) {
      return base::InvalidArgument(
          "\"" + host +
          "\" cannot be a host in a certificate: neither an IP address nor a DNS name");
    }
    unsigned char address[16];
    const int size = inet_pton(AF_INET, host.c_str(), address) == 1    ? 4
                     : inet_pton(AF_INET6, host.c_str(), address) == 1 ? 16
                                                                       : 0;
    ASN1_STRING* value = ASN1_STRING_type_new(size > 0 ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
    ASN1_STRING_set(value, size > 0 ? static_cast<const void*>(address) : host.data(),
                    size > 0 ? size : static_cast<int>(host.size()));
    GENERAL_NAME* name = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(name, size > 0 ? GEN_IPADD : GEN_DNS, value);
    sk_GENERAL_NAME_push(names.get(), name);
  }
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) !=
      1) {
    return SslError("cannot add hosts to a certificate");
  }
  return {};
}

}  // namespace

StatusOr<KeyPair> MakeAuthority(std::string_view common_name, base::Time now,
                                std::chrono::seconds valid) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return SslError("cannot make a key");
  DRAY_ASSIGN_OR_RETURN(const CertificatePtr certificate,
                        Begin(key.get(), common_name, {}, now, valid));
  X509* x509 = certificate.get();
  X509_set_issuer_name(x509, X509_get_subject_name(x509));
  DRAY_RETURN_IF_ERROR(AddExtension(x509, x509, NID_basic_constraints, "critical,CA:TRUE"));
  DRAY_RETURN_IF_ERROR(
      AddExtension(x509, x509, NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign"));
  DRAY_RETURN_IF_ERROR(AddExtension(x509, x509, NID_subject_key_identifier, "hash"));
  if (X509_sign(x509, key.get(), EVP_sha256()) == 0) return SslError("cannot sign");
  return ToPem(x509, key.get());
}

namespace {

// A certificate for the public half of `key`.
StatusOr<CertificatePtr> Issue(const KeyPair& authority, const CertificateSpec& spec, EVP_PKEY* key,
                               base::Time now) {
  DRAY_ASSIGN_OR_RETURN(const CertificatePtr issuer,
                        internal::ParseCertificate(authority.certificate));
  DRAY_ASSIGN_OR_RETURN(const KeyPtr issuer_key, internal::ParseKey(authority.key));
  DRAY_ASSIGN_OR_RETURN(CertificatePtr certificate,
                        Begin(key, spec.common_name, spec.organizations, now, spec.valid));
  X509* x509 = certificate.get();
  if (X509_NAME_cmp(X509_get_subject_name(x509), X509_get_subject_name(issuer.get())) == 0) {
    // It would be taken for one that signed itself, and nobody would believe it.
    return base::InvalidArgument("\"" + spec.common_name +
                                 "\" is the name of the authority itself; choose another");
  }
  X509_set_issuer_name(x509, X509_get_subject_name(issuer.get()));
  const char* uses = "clientAuth";
  if (spec.use == CertificateSpec::Use::kServer) uses = "serverAuth";
  if (spec.use == CertificateSpec::Use::kClientAndServer) uses = "clientAuth,serverAuth";
  const auto add = [&](int nid, const std::string& value) {
    return AddExtension(x509, issuer.get(), nid, value);
  };
  if (spec.use == CertificateSpec::Use::kAuthority) {
    DRAY_RETURN_IF_ERROR(add(NID_basic_constraints, "critical,CA:TRUE"));
    DRAY_RETURN_IF_ERROR(add(NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign"));
    DRAY_RETURN_IF_ERROR(add(NID_subject_key_identifier, "hash"));
  } else {
    DRAY_RETURN_IF_ERROR(add(NID_basic_constraints, "critical,CA:FALSE"));
    DRAY_RETURN_IF_ERROR(add(NID_key_usage, "critical,digitalSignature"));
    DRAY_RETURN_IF_ERROR(add(NID_ext_key_usage, uses));
  }
  DRAY_RETURN_IF_ERROR(add(NID_authority_key_identifier, "keyid"));
  if (!spec.hosts.empty()) DRAY_RETURN_IF_ERROR(AddHosts(x509, spec.hosts));
  if (X509_sign(x509, issuer_key.get(), EVP_sha256()) == 0) return SslError("cannot sign");
  return certificate;
}

using RequestPtr = std::unique_ptr<X509_REQ, internal::Free<X509_REQ_free>>;

StatusOr<RequestPtr> ParseRequest(std::string_view pem) {
  const BioPtr bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  RequestPtr request(PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr));
  if (!request) {
    ERR_clear_error();
    return base::InvalidArgument("PEM block type must be CERTIFICATE REQUEST");
  }
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr || X509_REQ_verify(request.get(), key) != 1) {
    ERR_clear_error();
    return base::InvalidArgument("the request is not signed with its own key");
  }
  return request;
}

std::string TextOf(const ASN1_STRING* text) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, text);
  if (size < 0) return {};
  std::string copy(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  return copy;
}

void ReadSubject(X509_NAME* subject, CertificateRequest& info) {
  int names = 0;
  for (int i = 0; i < X509_NAME_entry_count(subject); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(subject, i);
    const int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    std::string text = TextOf(X509_NAME_ENTRY_get_data(entry));
    if (nid == NID_commonName) {
      ++names;
      info.common_name = std::move(text);
    } else if (nid == NID_organizationName) {
      info.organizations.push_back(std::move(text));
    } else {
      info.other_names = true;
    }
  }
  if (names > 1) info.other_names = true;
}

void ReadNames(X509_REQ* request, CertificateRequest& info) {
  STACK_OF(X509_EXTENSION)* extensions = X509_REQ_get_extensions(request);
  auto* names = static_cast<GENERAL_NAMES*>(
      X509V3_get_d2i(extensions, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_DNS) {
      info.dns_names.push_back(TextOf(name->d.dNSName));
      continue;
    }
    char text[INET6_ADDRSTRLEN] = {};
    const ASN1_OCTET_STRING* bytes = name->type == GEN_IPADD ? name->d.iPAddress : nullptr;
    const int size = bytes == nullptr ? 0 : ASN1_STRING_length(bytes);
    const int family = size == 4 ? AF_INET : AF_INET6;
    if ((size == 4 || size == 16) &&
        inet_ntop(family, ASN1_STRING_get0_data(bytes), text, sizeof(text)) != nullptr) {
      info.addresses.emplace_back(text);
    } else {
      info.other_names = true;
    }
  }
  GENERAL_NAMES_free(names);
  sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
}

}  // namespace

StatusOr<KeyPair> MakeCertificate(const KeyPair& authority, const CertificateSpec& spec,
                                  base::Time now) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return SslError("cannot make a key");
  DRAY_ASSIGN_OR_RETURN(const CertificatePtr certificate, Issue(authority, spec, key.get(), now));
  return ToPem(certificate.get(), key.get());
}

StatusOr<CertificateRequest> ReadRequest(std::string_view pem) {
  DRAY_ASSIGN_OR_RETURN(const RequestPtr request, ParseRequest(pem));
  CertificateRequest info;
  ReadSubject(X509_REQ_get_subject_name(request.get()), info);
  ReadNames(request.get(), info);
  return info;
}

StatusOr<std::string> SignRequest(const KeyPair& authority, std::string_view request,
                                  const CertificateSpec& spec, base::Time now) {
  DRAY_ASSIGN_OR_RETURN(const RequestPtr parsed, ParseRequest(request));
  DRAY_ASSIGN_OR_RETURN(const CertificatePtr certificate,
                        Issue(authority, spec, X509_REQ_get0_pubkey(parsed.get()), now));
  const BioPtr text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(text.get(), certificate.get()) != 1) {
    return SslError("cannot write a certificate");
  }
  return Contents(text.get());
}

StatusOr<CertificateInfo> ReadCertificate(std::string_view pem) {
  DRAY_ASSIGN_OR_RETURN(const CertificatePtr certificate, internal::ParseCertificate(pem));
  return internal::Describe(certificate.get());
}

Status CheckKeyPair(const KeyPair& pair, std::string_view authority_certificate) {
  DRAY_ASSIGN_OR_RETURN(const CertificatePtr certificate,
                        internal::ParseCertificate(pair.certificate));
  DRAY_ASSIGN_OR_RETURN(const KeyPtr key, internal::ParseKey(pair.key));
  DRAY_ASSIGN_OR_RETURN(const CertificatePtr issuer,
                        internal::ParseCertificate(authority_certificate));
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return base::InvalidArgument("the key does not fit the certificate: " + internal::SslErrors());
  }
  const KeyPtr issuer_key(X509_get_pubkey(issuer.get()));
  if (X509_verify(certificate.get(), issuer_key.get()) != 1) {
    return base::InvalidArgument("not signed by this authority: " + internal::SslErrors());
  }
  return {};
}

Status CheckAuthority(const KeyPair& authority) {
  const auto certificate = internal::ParseCertificate(authority.certificate);
  if (!certificate.ok()) return base::Annotate(certificate.status(), "the certificate");
  const auto key = internal::ParseKey(authority.key);
  if (!key.ok()) return base::Annotate(key.status(), "the key");
  if (X509_check_private_key(certificate->get(), key->get()) != 1) {
    return base::InvalidArgument("the key does not fit the certificate: " + internal::SslErrors());
  }
  if (X509_check_ca(certificate->get()) == 0) {
    return base::InvalidArgument("the certificate is not a CA certificate and cannot sign others");
  }
  return {};
}

}  // namespace dray::apiserver
