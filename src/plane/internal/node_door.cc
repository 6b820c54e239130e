// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/node_door.h"

#include <fcntl.h>

#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "fmt/format.h"
#include "rest/api_error.h"

namespace dray::plane::internal {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Stream = asio::ssl::stream<asio::ip::tcp::socket>;

constexpr std::chrono::seconds kConnectTime{10};
constexpr std::chrono::seconds kAnswerTime{30};
// What is on its way in one direction when the other side does not take it.
constexpr std::size_t kMaxHeld = 256u << 10;
constexpr std::size_t kReadSize = 16u << 10;
constexpr std::string_view kNodeUserPrefix = "system:node:";

apiserver::Response Unreachable(const registry::NodeRequest& request, std::string_view why) {
  const rest::ApiError error{
      .code = 502,
      .reason = "BadGateway",
      .message = fmt::format("node {} at {}:{} cannot be asked: {}", request.node, request.address,
                             request.port, why)};
  apiserver::Response response{.status = 502};
  response.headers.Add("Content-Type", "application/json");
  response.body = std::make_shared<const std::string>(error.ToJson());
  return response;
}

std::string CommonNameOf(const SSL* ssl) {
  X509* certificate = SSL_get1_peer_certificate(ssl);
  if (certificate == nullptr) return {};
  char text[256] = {};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text, sizeof(text));
  X509_free(certificate);
  return text;
}

// Bytes both ways between the connection to the client, which lives on an I/O thread of the server,
// and the one to the node, which lives on the door's. Thread-safe.
struct Between {
  base::Mutex mutex;
  std::string to_client ABSL_GUARDED_BY(mutex);
  std::string to_node ABSL_GUARDED_BY(mutex);
  bool node_ended ABSL_GUARDED_BY(mutex) = false;
  bool client_ended ABSL_GUARDED_BY(mutex) = false;
  std::function<void()> wake_client ABSL_GUARDED_BY(mutex);
  std::function<void()> wake_node ABSL_GUARDED_BY(mutex);

  void WakeClient() ABSL_LOCKS_EXCLUDED(mutex) {
    std::function<void()> wake;
    {
      const base::MutexLock lock(mutex);
      wake = wake_client;
    }
    if (wake) wake();
  }
  void WakeNode() ABSL_LOCKS_EXCLUDED(mutex) {
    std::function<void()> wake;
    {
      const base::MutexLock lock(mutex);
      wake = wake_node;
    }
    if (wake) wake();
  }
};

// The client's end.
class NodeStream final : public apiserver::StreamSource {
 public:
  explicit NodeStream(std::shared_ptr<Between> between) : between_(std::move(between)) {}
  ~NodeStream() override {
    {
      const base::MutexLock lock(between_->mutex);
      between_->client_ended = true;
      between_->wake_client = nullptr;
    }
    between_->WakeNode();
  }
  void Start(std::function<void()> wake) override {
    const base::MutexLock lock(between_->mutex);
    between_->wake_client = std::move(wake);
  }
  State Pull(std::vector<apiserver::Bytes>& out) override {
    bool ended = false;
    {
      const base::MutexLock lock(between_->mutex);
      if (!between_->to_client.empty()) {
        out.push_back(std::make_shared<const std::string>(std::exchange(between_->to_client, {})));
      }
      ended = between_->node_ended;
    }
    if (ended) return State::kEnd;
    between_->WakeNode();  // there is room
    return State::kWait;
  }
  std::size_t Receive(std::string_view bytes) override {
    std::size_t taken = 0;
    {
      const base::MutexLock lock(between_->mutex);
      const std::size_t held = between_->to_node.size();
      taken = held >= kMaxHeld ? 0 : std::min(bytes.size(), kMaxHeld - held);
      between_->to_node += bytes.substr(0, taken);
    }
    if (taken > 0) between_->WakeNode();
    return taken;
  }

 private:
  const std::shared_ptr<Between> between_;
};

// One request. Lives on the door's thread until neither side has anything to say.
class Forward final : public std::enable_shared_from_this<Forward> {
 public:
  Forward(asio::io_context& io, asio::ssl::context& tls, registry::NodeRequest request,
          std::function<void(apiserver::Response)> answer)
      : io_(io),
        resolver_(io),
        stream_(io, tls),
        timer_(io),
        request_(std::move(request)),
        answer_(std::move(answer)) {}

  void Start() {
    Limit(kConnectTime);
    resolver_.async_resolve(request_.address, std::to_string(request_.port),
                            [self = shared_from_this()](const auto& error, const auto& found) {
                              if (error) return self->Fail(error.message());
                              self->Connect(found);
                            });
  }
  void Cancel() { Fail("the server ends"); }

 private:
  void Limit(std::chrono::seconds time) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this()](const auto& error) {
      if (!error) self->Fail("it does not answer in time");
    });
  }

  template <typename Found>
  void Connect(const Found& found) {
    asio::async_connect(
        stream_.next_layer(), found, [self = shared_from_this()](const auto& error, const auto&) {
          if (error) return self->Fail(error.message());
          // Not for the programs that this process starts.
          (void)::fcntl(self->stream_.next_layer().native_handle(), F_SETFD, FD_CLOEXEC);
          self->Handshake();
        });
  }

  void Handshake() {
    stream_.async_handshake(Stream::client, [self = shared_from_this()](const auto& error) {
      if (error) return self->Fail("its certificate is not trusted: " + error.message());
      const std::string shown = CommonNameOf(self->stream_.native_handle());
      const std::string wanted = std::string(kNodeUserPrefix) + self->request_.node;
      if (shown != wanted) {
        return self->Fail(
            fmt::format("it shows the certificate of \"{}\", not of \"{}\"", shown, wanted));
      }
      self->Send();
    });
  }

  void Send() {
    Limit(kAnswerTime);
    out_.method_string({request_.method.data(), request_.method.size()});
    out_.target({request_.target.data(), request_.target.size()});
    out_.version(11);
    out_.set(http::field::host, fmt::format("{}:{}", request_.address, request_.port));
    for (const auto& [name, value] : request_.headers.list) {
      out_.insert(boost::beast::string_view(name.data(), name.size()), value);
    }
    const bool upgrade = !request_.headers.Find("Upgrade").empty();
    out_.set(http::field::connection, upgrade ? "Upgrade" : "close");
    http::async_write(stream_, out_, [self = shared_from_this()](const auto& error, std::size_t) {
      if (error) return self->Fail(error.message());
      self->ReadHead();
    });
  }

  void ReadHead() {
    parser_.body_limit(std::numeric_limits<std::uint64_t>::max());
    http::async_read_header(stream_, buffer_, parser_,
                            [self = shared_from_this()](const auto& error, std::size_t) {
                              if (error) return self->Fail(error.message());
                              self->OnHead();
                            });
  }

  void OnHead() {
    timer_.cancel();
    const auto& head = parser_.get();
    upgraded_ = head.result_int() == 101;
    apiserver::Response response{.status = static_cast<int>(head.result_int())};
    for (const auto& field : head) {
      const auto name = field.name_string();
      const auto value = field.value();
      response.headers.Add(std::string(name.data(), name.size()),
                           std::string(value.data(), value.size()));
    }
    between_ = std::make_shared<Between>();
    {
      const base::MutexLock lock(between_->mutex);
      between_->wake_node = [weak = weak_from_this(), &io = io_] {
        if (auto self = weak.lock()) asio::post(io, [self] { self->OnWake(); });
      };
    }
    response.stream = std::make_unique<NodeStream>(between_);
    alive_ = shared_from_this();
    std::exchange(answer_, nullptr)(std::move(response));
    Read();
  }

  void OnWake() {
    bool gone = false;
    {
      const base::MutexLock lock(between_->mutex);
      gone = between_->client_ended;
    }
    if (gone) return Close();
    Read();
    if (upgraded_) Write();
  }

  // Reads on as long as there is room for it.
  void Read() {
    if (reading_ || closed_) return;
    {
      const base::MutexLock lock(between_->mutex);
      if (between_->to_client.size() >= kMaxHeld) return;
    }
    reading_ = true;
    if (upgraded_) return ReadRaw();
    in_.resize(kReadSize);
    parser_.get().body().data = in_.data();
    parser_.get().body().size = in_.size();
    // Whatever has come: somebody may be following a log, of which the next line is hours away.
    http::async_read_some(stream_, buffer_, parser_,
                          [self = shared_from_this()](auto error, std::size_t) {
                            self->reading_ = false;
                            const std::size_t left = self->parser_.get().body().size;
                            self->Take({self->in_.data(), kReadSize - left});
                            if (error == http::error::need_buffer) error = {};
                            if (error || self->parser_.is_done()) return self->End();
                            self->Read();
                          });
  }

  void ReadRaw() {
    // What came right behind the head.
    if (buffer_.size() > 0) {
      const auto data = buffer_.data();
      const std::string early(static_cast<const char*>(data.data()), data.size());
      buffer_.consume(buffer_.size());
      reading_ = false;
      Take(early);
      return Read();
    }
    in_.resize(kReadSize);
    stream_.async_read_some(asio::buffer(in_),
                            [self = shared_from_this()](const auto& error, std::size_t size) {
                              self->reading_ = false;
                              self->Take({self->in_.data(), size});
                              if (error) return self->End();
                              self->Read();
                            });
  }

  void Take(std::string_view bytes) {
    if (bytes.empty()) return;
    {
      const base::MutexLock lock(between_->mutex);
      between_->to_client += bytes;
    }
    between_->WakeClient();
  }

  void Write() {
    if (writing_ || closed_) return;
    {
      const base::MutexLock lock(between_->mutex);
      if (between_->to_node.empty()) return;
      writing_text_ = std::exchange(between_->to_node, {});
    }
    writing_ = true;
    asio::async_write(stream_, asio::buffer(writing_text_),
                      [self = shared_from_this()](const auto& error, std::size_t) {
                        self->writing_ = false;
                        if (error) return self->End();
                        self->between_->WakeClient();  // there is room
                        self->Write();
                      });
  }

  // The node has nothing more to say.
  void End() {
    {
      const base::MutexLock lock(between_->mutex);
      between_->node_ended = true;
    }
    between_->WakeClient();
    Close();
  }

  void Fail(std::string_view why) {
    if (answer_) std::exchange(answer_, nullptr)(Unreachable(request_, why));
    if (between_) return End();
    Close();
  }

  void Close() {
    if (std::exchange(closed_, true)) return;
    timer_.cancel();
    boost::system::error_code ignored;
    stream_.next_layer().close(ignored);
    alive_ = nullptr;
  }

  asio::io_context& io_;
  asio::ip::tcp::resolver resolver_;
  Stream stream_;
  asio::steady_timer timer_;
  const registry::NodeRequest request_;
  std::function<void(apiserver::Response)> answer_;
  http::request<http::empty_body> out_;
  boost::beast::flat_buffer buffer_;
  http::response_parser<http::buffer_body> parser_;
  std::shared_ptr<Between> between_;
  std::shared_ptr<Forward> alive_;  // itself, while somebody may wake it
  std::string in_;
  std::string writing_text_;
  bool upgraded_ = false;
  bool reading_ = false;
  bool writing_ = false;
  bool closed_ = false;
};

class AsioNodeDoor final : public registry::NodeDoor {
 public:
  explicit AsioNodeDoor(asio::ssl::context tls)
      : tls_(std::move(tls)), work_(asio::make_work_guard(io_)), thread_([this] { io_.run(); }) {}
  ~AsioNodeDoor() override {
    asio::post(io_, [this] {
      for (const auto& weak : std::exchange(under_way_, {})) {
        if (const auto forward = weak.lock()) forward->Cancel();
      }
      work_.reset();
    });
    thread_.join();
  }

  void Ask(registry::NodeRequest request,
           std::function<void(apiserver::Response)> answer) override {
    auto forward = std::make_shared<Forward>(io_, tls_, std::move(request), std::move(answer));
    asio::post(io_, [this, forward] {
      std::erase_if(under_way_, [](const auto& weak) { return weak.expired(); });
      under_way_.push_back(forward);
      forward->Start();
    });
  }

 private:
  asio::io_context io_;
  asio::ssl::context tls_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::weak_ptr<Forward>> under_way_;  // of the thread
  std::thread thread_;
};

}  // namespace

StatusOr<std::unique_ptr<registry::NodeDoor>> MakeNodeDoor(const NodeDoorOptions& options) {
  asio::ssl::context tls(asio::ssl::context::tls_client);
  boost::system::error_code error;
  tls.set_verify_mode(asio::ssl::verify_peer, error);
  tls.add_certificate_authority(asio::buffer(options.authority), error);
  if (!error) tls.use_certificate_chain(asio::buffer(options.client.certificate), error);
  if (!error) tls.use_private_key(asio::buffer(options.client.key), asio::ssl::context::pem, error);
  if (error) {
    return base::MakeStatus(
        StatusCode::kInvalidArgument,
        "the certificate that nodes are shown cannot be used: " + error.message());
  }
  SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
  return std::make_unique<AsioNodeDoor>(std::move(tls));
}

}  // namespace dray::plane::internal
