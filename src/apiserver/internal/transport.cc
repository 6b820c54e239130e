// SPDX-License-Identifier: Apache-2.0
#include "apiserver/internal/transport.h"

#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace dray::apiserver::internal {
namespace {

// OpenSSL's own socket BIO writes with write(), which kills the process when the client is gone.
int BioWrite(BIO* bio, const char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto socket = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t n = ::send(socket, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

int BioRead(BIO* bio, char* data, int size) {
  BIO_clear_retry_flags(bio);
  const auto socket = static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
  const ssize_t n = ::recv(socket, data, static_cast<std::size_t>(size), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return static_cast<int>(n);
}

BIO_METHOD* SocketMethod() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_write(made, BioWrite);
    BIO_meth_set_read(made, BioRead);
    BIO_meth_set_ctrl(made, [](BIO*, int command, long, void*) -> long {
      return command == BIO_CTRL_FLUSH ? 1 : 0;
    });
    return made;
  }();
  return method;
}

// Ours first: who can speak HTTP/2 does. `http1_alone` is not null where it is not offered.
int ChooseProtocol(SSL*, const unsigned char** out, unsigned char* out_size,
                   const unsigned char* in, unsigned int in_size, void* http1_alone) {
  static constexpr std::string_view kBoth = "\x02h2\x08http/1.1";
  const std::string_view ours = kBoth.substr(http1_alone != nullptr ? 3 : 0);
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(ours.data()),
                            static_cast<unsigned>(ours.size()), in,
                            in_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// All certificates of a text, as bundles and chains have them.
StatusOr<std::vector<CertificatePtr>> ParseCertificates(std::string_view pem) {
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::vector<CertificatePtr> certificates;
  for (std::size_t end = pem.find(kEnd); end != pem.npos; end = pem.find(kEnd)) {
    end += kEnd.size();
    DRAY_ASSIGN_OR_RETURN(CertificatePtr certificate, ParseCertificate(pem.substr(0, end)));
    certificates.push_back(std::move(certificate));
    pem.remove_prefix(end);
  }
  if (certificates.empty()) return base::InvalidArgument("there is no PEM certificate");
  return certificates;
}

Status UseServer(SSL_CTX* context, const TlsOptions& options) {
  DRAY_ASSIGN_OR_RETURN(std::vector<CertificatePtr> certificates,
                        ParseCertificates(options.server.certificate));
  DRAY_ASSIGN_OR_RETURN(const KeyPtr key, ParseKey(options.server.key));
  if (X509_check_private_key(certificates[0].get(), key.get()) != 1) {
    return base::InvalidArgument("the key does not fit the certificate: " + SslErrors());
  }
  if (SSL_CTX_use_certificate(context, certificates[0].get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return SslError("cannot set up TLS");
  }
  for (std::size_t i = 1; i < certificates.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, certificates[i].get()) != 1) {
      return SslError("cannot set up TLS");
    }
  }
  return {};
}

Status UseAuthorities(SSL_CTX* context, const TlsOptions& options) {
  DRAY_ASSIGN_OR_RETURN(std::vector<CertificatePtr> authorities,
                        ParseCertificates(options.client_authority));
  if (!options.foreign) authorities.resize(1);
  for (const CertificatePtr& authority : authorities) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return SslError("cannot set up TLS");
    }
  }
  return {};
}

}  // namespace

StatusOr<SslContextPtr> MakeSslContext(const TlsOptions& options, bool http2) {
  SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  if (!context) return SslError("cannot set up TLS");
  if (!options.foreign) {
    DRAY_RETURN_IF_ERROR(CheckKeyPair(options.server, options.client_authority));
  }
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // Without resumption a client's certificate is looked at on every connection.
  SSL_CTX_set_options(context.get(),
                      SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  DRAY_RETURN_IF_ERROR(UseServer(context.get(), options));
  static int http1_alone = 0;
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseProtocol, http2 ? nullptr : &http1_alone);
  if (options.foreign && options.client_authority.empty()) return context;
  DRAY_RETURN_IF_ERROR(UseAuthorities(context.get(), options));
  // Whom we trust need not have signed itself: an authority may be below another one that is none
  // of ours.
  X509_STORE_set_flags(SSL_CTX_get_cert_store(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  // A certificate that is not trusted is no reason to hang up: the request is answered with a 401,
  // which says more than a failed handshake.
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, [](int good, X509_STORE_CTX* chain) {
    auto* ssl =
        static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
    if (good == 0) SSL_set_app_data(ssl, chain);  // any mark will do
    return 1;
  });
  return context;
}

Transport::Transport(boost::asio::ip::tcp::socket socket, SSL_CTX* context)
    : socket_(std::move(socket)) {
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
  // What is written is written as a whole: waiting for more would only delay it.
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  if (context == nullptr) return;
  ssl_.reset(SSL_new(context));
  BIO* bio = BIO_new(SocketMethod());
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket_.native_handle())));
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_accept_state(ssl_.get());
}

Transport::Result Transport::FromSsl(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Result::kWaitRead;
    case SSL_ERROR_WANT_WRITE:
      return Result::kWaitWrite;
    case SSL_ERROR_SSL:
      client_speaks_plain_ = ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
      break;
    default:
      break;
  }
  ERR_clear_error();
  return Result::kClosed;
}

Transport::Result Transport::Handshake() {
  if (!ssl_) return Result::kDone;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result != 1) return FromSsl(result);
  if (const CertificatePtr shown(SSL_get1_peer_certificate(ssl_.get())); shown) {
    certificate_ = ShownCertificate{.info = Describe(shown.get()),
                                    .trusted = SSL_get_verify_result(ssl_.get()) == X509_V_OK &&
                                               SSL_get_app_data(ssl_.get()) == nullptr};
  }
  return Result::kDone;
}

bool Transport::http2() const {
  if (!ssl_) return false;
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
}

Transport::Result Transport::Read(char* data, std::size_t size, std::size_t& read) {
  if (ssl_) {
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_.get(), data, size, &read);
    return result == 1 ? Result::kDone : FromSsl(result);
  }
  const ssize_t n = ::recv(socket_.native_handle(), data, size, 0);
  if (n > 0) {
    read = static_cast<std::size_t>(n);
    return Result::kDone;
  }
  return n < 0 && (errno == EAGAIN || errno == EINTR) ? Result::kWaitRead : Result::kClosed;
}

Transport::Result Transport::Write(const char* data, std::size_t size, std::size_t& written) {
  if (ssl_) {
    ERR_clear_error();
    const int result = SSL_write_ex(ssl_.get(), data, size, &written);
    return result == 1 ? Result::kDone : FromSsl(result);
  }
  const ssize_t n = ::send(socket_.native_handle(), data, size, MSG_NOSIGNAL);
  if (n >= 0) {
    written = static_cast<std::size_t>(n);
    return Result::kDone;
  }
  return errno == EAGAIN || errno == EINTR ? Result::kWaitWrite : Result::kClosed;
}

void Transport::Shutdown() {
  if (ssl_) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }
  boost::system::error_code ignored;
  socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
}

bool Transport::ClientHasEnded() {
  pollfd polled{socket_.native_handle(), POLLRDHUP, 0};
  return ::poll(&polled, 1, 0) > 0;
}

void Transport::WritePlain(std::string_view text) {
  // Best effort: the client made a mistake and the connection ends.
  [[maybe_unused]] const ssize_t n =
      ::send(socket_.native_handle(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace dray::apiserver::internal
