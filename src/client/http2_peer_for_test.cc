// SPDX-License-Identifier: Apache-2.0
#include "client/http2_peer_for_test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

namespace dray::client {
namespace {

nghttp2_nv Field(std::string_view name, std::string_view value) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
          value.size(), NGHTTP2_NV_FLAG_NONE};
}

int Choose(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in,
           unsigned in_size, void*) {
  static constexpr unsigned char kOurs[] = "\x02h2";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, size, kOurs, sizeof(kOurs) - 1, in, in_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

SSL_CTX* MakeContext(const apiserver::KeyPair& keys) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  BIO* certificate = BIO_new_mem_buf(keys.certificate.data(), -1);
  X509* x509 = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
  BIO* key_text = BIO_new_mem_buf(keys.key.data(), -1);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(key_text, nullptr, nullptr, nullptr);
  EXPECT_EQ(SSL_CTX_use_certificate(context, x509), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey(context, key), 1);
  SSL_CTX_set_alpn_select_cb(context, Choose, nullptr);
  EVP_PKEY_free(key);
  BIO_free(key_text);
  X509_free(x509);
  BIO_free(certificate);
  return context;
}

}  // namespace

class ScriptedServer::Connection {
 public:
  Connection(ScriptedServer& server, int fd, int number)
      : server_(server), fd_(fd), number_(number) {}

  void Run() {
    SSL* ssl = SSL_new(static_cast<SSL_CTX*>(server_.context_));
    SSL_set_fd(ssl, fd_);
    if (SSL_accept(ssl) == 1) Serve(ssl);
    SSL_free(ssl);
    ::close(fd_);
    nghttp2_session_del(session_);
  }

 private:
  static Connection& Of(void* user) { return *static_cast<Connection*>(user); }

  void Serve(SSL* ssl) {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl, &name, &size);
    if (size == 0) return ServeHttp1(ssl);
    MakeSession();
    while (!over_) {
      if (frozen_) {
        pollfd stop{.fd = server_.stop_[0], .events = POLLIN};
        ::poll(&stop, 1, -1);
        return;
      }
      if (!Send(ssl)) return;
      if (SSL_pending(ssl) == 0) {
        pollfd polled[] = {{.fd = fd_, .events = POLLIN},
                           {.fd = server_.stop_[0], .events = POLLIN}};
        ::poll(polled, 2, -1);
        if (polled[1].revents != 0) return;
      }
      char buffer[16 << 10];
      const int read = SSL_read(ssl, buffer, sizeof(buffer));
      if (read <= 0) return;
      if (nghttp2_session_mem_recv(session_, reinterpret_cast<std::uint8_t*>(buffer),
                                   static_cast<std::size_t>(read)) < 0) {
        return;
      }
    }
    Send(ssl);
  }

  bool Send(SSL* ssl) {
    for (;;) {
      const std::uint8_t* data = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &data);
      if (size < 0) return false;
      if (size > 0) {
        if (SSL_write(ssl, data, static_cast<int>(size)) <= 0) return false;
        continue;
      }
      if (raw_.empty()) return true;
      const std::string raw = std::exchange(raw_, {});
      if (SSL_write(ssl, raw.data(), static_cast<int>(raw.size())) <= 0) return false;
    }
  }

  // One request, for those who were told to come back so.
  void ServeHttp1(SSL* ssl) {
    std::string text;
    while (text.find("\r\n\r\n") == text.npos) {
      char buffer[4096];
      const int read = SSL_read(ssl, buffer, sizeof(buffer));
      if (read <= 0) return;
      text.append(buffer, static_cast<std::size_t>(read));
    }
    Note({.connection = number_, .stream = 0, .method = text.substr(0, text.find(' '))});
    constexpr std::string_view kAnswer =
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nyes";
    SSL_write(ssl, kAnswer.data(), static_cast<int>(kAnswer.size()));
    SSL_shutdown(ssl);
  }

  void MakeSession() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                      std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                      std::uint8_t, void* user) {
          Seen& seen = Of(user).requests_[frame->hd.stream_id];
          const std::string_view key(reinterpret_cast<const char*>(name), name_size);
          const std::string_view text(reinterpret_cast<const char*>(value), value_size);
          if (key == ":method") seen.method = text;
          if (key == ":path") seen.path = text;
          if (key == "authorization") seen.token = text;
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                      std::size_t size, void* user) {
          Of(user).requests_[id].body.append(reinterpret_cast<const char*>(data), size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
          const bool request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
          if (request && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
            Of(user).Do(frame->hd.stream_id);
          }
          return 0;
        });
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_max_send_header_block_length(option, 1u << 20);
    nghttp2_session_server_new2(&session_, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, server_.max_streams_}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 1);
  }

  int Note(Seen seen) {
    const base::MutexLock lock(server_.mutex_);
    server_.seen_.push_back(std::move(seen));
    return static_cast<int>(server_.seen_.size());
  }

  void Do(std::int32_t id) {
    Seen& seen = requests_[id];
    seen.connection = number_;
    seen.stream = id;
    const int number = Note(seen);
    switch (server_.script_(seen, number)) {
      case Act::kAnswer:
        return Answer(id);
      case Act::kRefuse:
        return Reset(id, NGHTTP2_REFUSED_STREAM);
      case Act::kReset:
        return Reset(id, NGHTTP2_INTERNAL_ERROR);
      case Act::kWantsHttp1:
        return Reset(id, NGHTTP2_HTTP_1_1_REQUIRED);
      case Act::kLeaveBefore:
        nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, std::max(id - 2, 0), NGHTTP2_NO_ERROR,
                              nullptr, 0);
        return;
      case Act::kLeaveAfter:
        nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR, nullptr, 0);
        return Answer(id);
      case Act::kCut:
        over_ = true;
        return;
      case Act::kIgnore:
        return;
      case Act::kFreeze:
        frozen_ = true;
        return;
      case Act::kHalf: {
        const nghttp2_nv head[] = {Field(":status", "200"), Field("content-type", "text/plain")};
        nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, id, nullptr, head, 2, nullptr);
        return Reset(id, NGHTTP2_NO_ERROR);
      }
      case Act::kHugeHead:
        return HugeHead(id);
      case Act::kManyHeads:
        for (int i = 0; i < 5'000; ++i) Continue(id);
        return Answer(id);
      case Act::kTrailers:
        return Answer(id, /*trailers=*/true);
      case Act::kContinue:
        Continue(id);
        return Answer(id);
      case Act::kGarbage:
        raw_ = std::string(64, '\xff');
        return;
      case Act::kFloodPings:
        // A ping is a frame of type 6 with eight bytes.
        for (int i = 0; i < 10'000; ++i) {
          raw_ += std::string("\0\0\x08\x06\0\0\0\0\0", 9) + "12345678";
        }
        return Answer(id);
      case Act::kPush: {
        // A promise is a frame of type 5: here on the stream, of stream 2, with an empty head.
        raw_ = std::string("\0\0\x04\x05\x04", 5) + std::string(3, '\0') + static_cast<char>(id) +
               std::string("\0\0\0\x02", 4);
        return;
      }
      case Act::kHeadAlone: {
        const nghttp2_nv head[] = {Field(":status", "200"), Field("content-type", "text/plain")};
        nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, id, nullptr, head, 2, nullptr);
        return;
      }
      case Act::kStream:
        return Stream(id);
    }
  }

  void Reset(std::int32_t id, std::uint32_t code) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, code);
  }

  void Continue(std::int32_t id) {
    static const std::string kLink(64, 'x');
    const nghttp2_nv head[] = {Field(":status", "103"), Field("link", kLink)};
    nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, id, nullptr, head, 2, nullptr);
  }

  void HugeHead(std::int32_t id) {
    // The same again is one byte on the wire.
    const std::string value(2'000, 'y');
    std::vector<nghttp2_nv> head = {Field(":status", "200")};
    for (int i = 0; i < 50; ++i) head.push_back(Field("x", value));
    nghttp2_submit_response(session_, id, head.data(), head.size(), nullptr);
  }

  void Answer(std::int32_t id, bool trailers = false) {
    const nghttp2_nv head[] = {Field(":status", "200"), Field("content-type", "text/plain")};
    nghttp2_data_provider body = {};
    body.source.fd = trailers ? 1 : 0;
    body.read_callback = [](nghttp2_session* session, std::int32_t stream, std::uint8_t* to,
                            std::size_t, std::uint32_t* flags, nghttp2_data_source* source,
                            void*) -> ssize_t {
      std::memcpy(to, "yes", 3);
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (source->fd == 1) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const nghttp2_nv after[] = {Field("retry-after", "7")};
        nghttp2_submit_trailer(session, stream, after, 1);
      }
      return 3;
    };
    nghttp2_submit_response(session_, id, head, 2, &body);
  }

  void Stream(std::int32_t id) {
    const nghttp2_nv head[] = {Field(":status", "200"), Field("content-type", "text/plain")};
    nghttp2_data_provider body = {};
    body.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t size,
                            std::uint32_t*, nghttp2_data_source*, void*) -> ssize_t {
      std::memset(to, 'l', size);
      to[size - 1] = '\n';
      return static_cast<ssize_t>(size);
    };
    nghttp2_submit_response(session_, id, head, 2, &body);
  }

  ScriptedServer& server_;
  const int fd_;
  const int number_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Seen> requests_;
  std::string raw_;
  bool over_ = false;
  bool frozen_ = false;
};

ScriptedServer::ScriptedServer(const apiserver::KeyPair& keys, Script script,
                               std::uint32_t max_streams)
    : script_(std::move(script)), max_streams_(max_streams), context_(MakeContext(keys)) {
  // A client that has left is no reason to end: OpenSSL writes as anybody does.
  ::signal(SIGPIPE, SIG_IGN);
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listener_, 128), 0);
  EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  EXPECT_EQ(::pipe2(stop_, O_CLOEXEC), 0);
  accepting_ = std::thread([this] { Accept(); });
}

ScriptedServer::~ScriptedServer() {
  // Never read: everybody who looks sees it.
  EXPECT_EQ(::write(stop_[1], "x", 1), 1);
  accepting_.join();
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
  ::close(stop_[0]);
  ::close(stop_[1]);
  SSL_CTX_free(static_cast<SSL_CTX*>(context_));
}

void ScriptedServer::Accept() {
  for (;;) {
    pollfd polled[] = {{.fd = listener_, .events = POLLIN}, {.fd = stop_[0], .events = POLLIN}};
    ::poll(polled, 2, -1);
    if (polled[1].revents != 0) return;
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    // Whoever writes to somebody that does not read must come to an end, too.
    const timeval patience{.tv_sec = 5};
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    int number = 0;
    {
      const base::MutexLock lock(mutex_);
      number = ++connections_;
    }
    threads_.emplace_back([this, fd, number] { Connection(*this, fd, number).Run(); });
  }
}

std::vector<ScriptedServer::Seen> ScriptedServer::seen() const {
  const base::MutexLock lock(mutex_);
  return seen_;
}

int ScriptedServer::connections() const {
  const base::MutexLock lock(mutex_);
  return connections_;
}

}  // namespace dray::client
