// SPDX-License-Identifier: Apache-2.0
//
// Socket: whom to trust and what to show.
#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <cstddef>

#include "client/internal/socket.h"
#include "fmt/format.h"

namespace dray::client::internal {
namespace {

template <auto free>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, Free<BIO_free>>;
using CertificatePtr = std::unique_ptr<X509, Free<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;

std::string TlsErrors() {
  std::string text;
  while (const unsigned long code = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(code);
    text.append(text.empty() ? "" : "; ").append(reason != nullptr ? reason : "unknown error");
  }
  return text.empty() ? "unknown error" : text;
}

Status Unusable(std::string_view what) {
  return base::InvalidArgument(fmt::format("{}: {}", what, TlsErrors()));
}

// Without this OpenSSL asks at the terminal, or reads the answer from standard input.
int NoPassPhrase(char*, int, int, void*) { return -1; }

BioPtr BioOf(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// All certificates of a PEM text, as bundles have them. How many there were.
int AddAuthorities(SSL_CTX* context, std::string_view pem) {
  const BioPtr bio = BioOf(pem);
  int count = 0;
  while (const CertificatePtr certificate{
      PEM_read_bio_X509(bio.get(), nullptr, &NoPassPhrase, nullptr)}) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get());
    ++count;
  }
  if (count > 0) ERR_clear_error();  // the end of the text is one
  return count;
}

bool AddClient(SSL_CTX* context, const ServerAccess& access) {
  const BioPtr certificates = BioOf(access.certificate);
  const CertificatePtr certificate(
      PEM_read_bio_X509(certificates.get(), nullptr, &NoPassPhrase, nullptr));
  if (!certificate || SSL_CTX_use_certificate(context, certificate.get()) != 1) return false;
  while (CertificatePtr above{
      PEM_read_bio_X509(certificates.get(), nullptr, &NoPassPhrase, nullptr)}) {
    if (SSL_CTX_add0_chain_cert(context, above.get()) == 1) static_cast<void>(above.release());
  }
  ERR_clear_error();
  const BioPtr text = BioOf(access.key);
  const KeyPtr key(PEM_read_bio_PrivateKey(text.get(), nullptr, &NoPassPhrase, nullptr));
  return key && SSL_CTX_use_PrivateKey(context, key.get()) == 1 &&
         SSL_CTX_check_private_key(context) == 1;
}

bool IsAddress(const std::string& host) {
  in6_addr address = {};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace

StatusOr<SslContextPtr> MakeSslContext(const ServerAccess& access) {
  SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  if (!context) return base::Internal(fmt::format("cannot set up TLS: {}", TlsErrors()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  if (!access.insecure) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    if (access.authority.empty()) {
      SSL_CTX_set_default_verify_paths(context.get());
    } else if (AddAuthorities(context.get(), access.authority) == 0) {
      return Unusable("certificate-authority must be PEM certificates");
    }
    // As Go's clients: whoever is named is trusted, also if somebody else has signed it.
    X509_STORE_set_flags(SSL_CTX_get_cert_store(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  }
  if (!access.certificate.empty() && !AddClient(context.get(), access)) {
    if (access.key.find("ENCRYPTED") != access.key.npos) {
      ERR_clear_error();
      return base::InvalidArgument(
          "client-key is encrypted, and pass phrases are not supported: `openssl pkey -in KEY "
          "-out PLAIN` writes it without one");
    }
    return Unusable("client-certificate and client-key must be PEM and match each other");
  }
  return context;
}

Status Socket::Handshake(const Endpoint& endpoint) {
  ssl_.reset(SSL_new(endpoint.tls));
  in_ = BIO_new(BIO_s_mem());
  out_ = BIO_new(BIO_s_mem());
  // An empty buffer means "later", not the end.
  BIO_set_mem_eof_return(in_, -1);
  BIO_set_mem_eof_return(out_, -1);
  SSL_set_bio(ssl_.get(), in_, out_);
  SSL_set_connect_state(ssl_.get());
  if (endpoint.http2) {
    static constexpr unsigned char kProtocols[] = "\x02h2\x08http/1.1";
    SSL_set_alpn_protos(ssl_.get(), kProtocols, sizeof(kProtocols) - 1);
  }
  const bool address = IsAddress(endpoint.tls_name);
  if (!endpoint.tls_name.empty() && !address) {
    SSL_set_tlsext_host_name(ssl_.get(), endpoint.tls_name.c_str());
    SSL_set1_host(ssl_.get(), endpoint.tls_name.c_str());
  } else if (address) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), endpoint.tls_name.c_str());
  }
  const auto where = [&] { return fmt::format("{} port {}", endpoint.host, endpoint.port); };
  for (;;) {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    const int why = SSL_get_error(ssl_.get(), result);
    boost::system::error_code error = Flush();
    if (result == 1 && !error) return {};
    if (result != 1 && why != SSL_ERROR_WANT_READ) {
      const long verified = SSL_get_verify_result(ssl_.get());
      if (verified != X509_V_OK) {
        return base::MakeStatus(StatusCode::kUnauthenticated,
                                fmt::format("{}: the server's certificate is not trusted: {}",
                                            where(), X509_verify_cert_error_string(verified)));
      }
      return base::Unavailable(fmt::format("{}: TLS failed: {}", where(), TlsErrors()));
    }
    if (!error) error = Fill();
    if (error) {
      return base::Unavailable(fmt::format("{}: TLS failed: {}", where(), error.message()));
    }
  }
}

bool Socket::http2() const {
  if (ssl_ == nullptr) return false;
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
}

void Socket::TakeOut(std::string& wire) {
  const int pending = BIO_pending(out_);
  if (pending <= 0) return;
  const std::size_t size = wire.size();
  wire.resize(size + static_cast<std::size_t>(pending));
  const int read = BIO_read(out_, wire.data() + size, pending);
  wire.resize(size + static_cast<std::size_t>(std::max(read, 0)));
}

bool Socket::Seal(std::string_view plain, std::string& wire) {
  ERR_clear_error();
  std::size_t written = 0;
  if (!plain.empty() && SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &written) != 1) {
    return false;
  }
  TakeOut(wire);
  return true;
}

bool Socket::Unseal(std::string_view wire, std::string& plain, std::string& answer) {
  constexpr std::size_t kPiece = 16u << 10;  // as much as a record of TLS has
  if (!wire.empty()) BIO_write(in_, wire.data(), static_cast<int>(wire.size()));
  for (;;) {
    const std::size_t size = plain.size();
    plain.resize(size + kPiece);
    std::size_t read = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), plain.data() + size, kPiece, &read);
    plain.resize(size + (result == 1 ? read : 0));
    if (result == 1) continue;
    const int why = SSL_get_error(ssl_.get(), result);
    TakeOut(answer);
    return why == SSL_ERROR_WANT_READ;
  }
}

}  // namespace dray::client::internal
