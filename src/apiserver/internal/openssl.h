// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL's objects with owners, and its errors as text.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "apiserver/certificates.h"
#include "base/status.h"

namespace dray::apiserver::internal {

template <auto free>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, Free<BIO_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, Free<X509_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Free<SSL_free>>;

// What the last call of this thread complained about.
std::string SslErrors();
// kInternal with `what` and the errors.
Status SslError(std::string_view what);

StatusOr<CertificatePtr> ParseCertificate(std::string_view pem);
StatusOr<KeyPtr> ParseKey(std::string_view pem);
CertificateInfo Describe(X509* certificate);

}  // namespace dray::apiserver::internal
