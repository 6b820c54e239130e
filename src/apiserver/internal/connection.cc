// SPDX-License-Identifier: Apache-2.0
#include "apiserver/internal/connection.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "base/uuid.h"
#include "fmt/format.h"

namespace dray::apiserver::internal {
namespace http = boost::beast::http;
namespace {

constexpr std::size_t kReadSize = 64u << 10;
constexpr std::size_t kMaxFrame = 16u << 10;
constexpr std::chrono::seconds kLinger{2};

std::string_view View(boost::beast::string_view s) { return {s.data(), s.size()}; }

// Whether a line of the head goes on in the next one.
bool IsFolded(std::string_view head) {
  return head.find("\n ") != head.npos || head.find("\n\t") != head.npos;
}

// What an unnamed request is called. Unique is enough; nobody has to find it hard to guess.
std::string NewAuditId() {
  thread_local base::SeededRandomSource random(base::SystemRandomSource().Next());
  return base::NewUuid(random);
}

// Sends the response to its connection's thread.
class ConnectionResponder final : public Responder {
 public:
  ConnectionResponder(std::shared_ptr<IoThread> io, std::shared_ptr<Connection> connection)
      : io_(std::move(io)), connection_(std::move(connection)) {}

  ~ConnectionResponder() override {
    if (!sent_) Deliver(StatusResponse(500, "InternalError", "the request was not answered"));
  }

  void Send(Response response) override {
    if (sent_.exchange(true)) return;
    Deliver(std::move(response));
  }

 private:
  void Deliver(Response response) {
    io_->Post([connection = std::move(connection_),
               response = std::make_shared<Response>(std::move(response))] {
      connection->OnResponse(std::move(*response));
    });
  }

  const std::shared_ptr<IoThread> io_;
  std::shared_ptr<Connection> connection_;
  std::atomic<bool> sent_ = false;
};

}  // namespace

Connection::Connection(std::shared_ptr<IoThread> io, boost::asio::ip::tcp::socket socket)
    : io_(std::move(io)), transport_(std::move(socket), io_->shared().tls.get()) {}

Connection::~Connection() { ReleaseBody(); }

void Connection::Start() {
  io_->connections().insert(shared_from_this());
  boost::system::error_code error;
  const auto peer = transport_.socket().remote_endpoint(error);
  if (error || io_->stopping()) return Close();
  request_.remote = fmt::format("{}:{}", peer.address().to_string(), peer.port());
  SetDeadline(io_->shared().options.handshake_timeout);
  Handshake();
}

void Connection::SetDeadline(std::chrono::milliseconds timeout) {
  deadline_ = std::chrono::steady_clock::now() + timeout;
}

void Connection::OnTick(TimePoint now) {
  if (now >= deadline_) {
    const bool idle = state_ == State::kReading && !parser_ && in_.empty();
    if (!idle && state_ != State::kLingering) ++io_->shared().timed_out;
    return Close();
  }
  if (now >= next_tick_ && state_ == State::kWaiting) Pull();
}

void Connection::WaitReadable() {
  if (std::exchange(waiting_readable_, true)) return;
  transport_.socket().async_wait(boost::asio::ip::tcp::socket::wait_read,
                                 [self = shared_from_this()](const auto& error) {
                                   self->waiting_readable_ = false;
                                   if (!error) self->OnReadable();
                                 });
}

void Connection::WaitWritable() {
  if (std::exchange(waiting_writable_, true)) return;
  transport_.socket().async_wait(boost::asio::ip::tcp::socket::wait_write,
                                 [self = shared_from_this()](const auto& error) {
                                   self->waiting_writable_ = false;
                                   if (!error) self->OnWritable();
                                 });
}

void Connection::OnReadable() {
  switch (state_) {
    case State::kHandshake:
      return Handshake();
    case State::kReading:
      return ReadRequest();
    case State::kWriting:
      return Flush();  // TLS may have to read before it can write
    case State::kWaiting:
      return WatchForEnd();
    case State::kLingering:
      return Linger();
    case State::kHandling:
    case State::kClosed:
      return;
  }
}

void Connection::OnWritable() {
  if (state_ == State::kHandshake) return Handshake();
  if (state_ == State::kReading) return ReadRequest();
  if (state_ == State::kWriting) return Flush();
}

void Connection::Handshake() {
  switch (transport_.Handshake()) {
    case Transport::Result::kDone:
      return NextRequest();
    case Transport::Result::kWaitRead:
      return WaitReadable();
    case Transport::Result::kWaitWrite:
      return WaitWritable();
    case Transport::Result::kClosed:
      if (transport_.client_speaks_plain()) {
        ++io_->shared().malformed;
        transport_.WritePlain(
            "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n"
            "this port speaks HTTPS, the request was plain HTTP\n");
      }
      return Close();
  }
}

void Connection::NextRequest() {
  state_ = State::kReading;
  parser_.reset();
  audit_id_.clear();
  request_ = Request{.remote = std::move(request_.remote)};
  if (!keep_alive_ || io_->shared().draining) return Linger();
  if (in_.empty()) in_ = std::string();  // an idle connection keeps no buffers
  SetDeadline(io_->shared().options.idle_timeout);
  ReadRequest();
}

void Connection::ReadRequest() {
  std::string& buffer = io_->scratch();
  buffer.resize(kReadSize);
  while (!Parse()) {
    std::size_t read = 0;
    switch (transport_.Read(buffer.data(), buffer.size(), read)) {
      case Transport::Result::kDone:
        in_.append(buffer.data(), read);
        break;
      case Transport::Result::kWaitRead:
        return WaitReadable();
      case Transport::Result::kWaitWrite:
        return WaitWritable();
      case Transport::Result::kClosed:
        return Close();
    }
  }
}

bool Connection::Parse() {
  if (in_.empty()) return false;
  const ServerOptions& options = io_->shared().options;
  if (!parser_) {
    parser_.emplace();
    began_ = std::chrono::steady_clock::now();
    head_bytes_ = 0;
    parser_->header_limit(static_cast<std::uint32_t>(options.max_header_bytes));
    // Of a body that is too large it is first asked who sends it (CheckHead).
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
    SetDeadline(options.request_timeout);
  }
  std::string_view rest = in_;
  bool refused = false;
  while (!refused && !parser_->is_done()) {
    boost::beast::error_code error;
    const bool had_head = parser_->is_header_done();
    std::size_t used = 0;
    try {
      used = parser_->put(boost::asio::buffer(rest.data(), rest.size()), error);
    } catch (const std::exception&) {
      error = http::error::header_limit;  // a header that no field can hold
    }
    const std::string_view taken = rest.substr(0, used);
    rest.remove_prefix(used);
    if (!had_head) head_bytes_ += used;
    // A header that goes on in the next line is one to some and two to others (RFC 9112, 5.2).
    if (!had_head && !error && IsFolded(taken)) error = http::error::bad_field;
    // The parser limits each header, not their sum.
    if (head_bytes_ > options.max_header_bytes) error = http::error::header_limit;
    if (error && error != http::error::need_more) {
      if (error == http::error::body_limit) {
        RefuseBody();
      } else if (error == http::error::header_limit) {
        Refuse(431, "RequestHeaderFieldsTooLarge",
               fmt::format("the headers are larger than {} bytes", options.max_header_bytes));
      } else {
        Refuse(400, "BadRequest", "malformed HTTP request: " + error.message());
      }
      return true;
    }
    if (!had_head && parser_->is_header_done()) {
      parser_->eager(true);
      refused = !CheckHead();
    } else if (used == 0 || rest.empty()) {
      break;
    }
  }
  if (refused) return true;
  // Of a body only the frames of its chunks are left to wait for: what is long is no frame.
  if (!parser_->is_done() && parser_->is_header_done() && rest.size() > kMaxFrame) {
    Refuse(400, "BadRequest", "malformed HTTP request: a chunk's extensions are too long");
    return true;
  }
  in_.erase(0, in_.size() - rest.size());
  if (!parser_->is_done()) return false;
  HandleRequest();
  return true;
}

bool Connection::CheckHead() {
  Shared& shared = io_->shared();
  const auto& message = parser_->get();
  version_ = message.version();
  keep_alive_ = parser_->keep_alive();
  is_head_ = message.method() == http::verb::head;
  const std::string_view target = View(message.target());
  audit_id_ = ValidAuditId(View(message["Audit-ID"]));
  if (audit_id_.empty()) audit_id_ = NewAuditId();
  const auto refuse = [this](int code, std::string_view reason, std::string_view text) {
    Refuse(code, reason, text);
    return false;
  };
  if (!target.starts_with('/')) return refuse(400, "BadRequest", "the path must begin with /");
  if (!IsNormalPath(target.substr(0, target.find('?')))) {
    return refuse(400, "BadRequest",
                  "the path has an empty part, a part that is . or .., or an escape that is broken "
                  "or hides a slash or a control character");
  }
  if (version_ >= 11 && message.find(http::field::host) == message.end()) {
    return refuse(400, "BadRequest", "the Host header is missing");
  }
  // Headers of which there is one, or else nobody knows which of them others have gone by.
  for (const http::field only :
       {http::field::host, http::field::authorization, http::field::content_length}) {
    if (message.count(only) > 1) {
      return refuse(400, "BadRequest",
                    fmt::format("there is more than one {} header", View(to_string(only))));
    }
  }
  // The parser takes a list of equal lengths for one.
  const std::string_view digits = View(message[http::field::content_length]);
  if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
    return refuse(400, "BadRequest", "the Content-Length is no number");
  }
  const auto coding = message.equal_range(http::field::transfer_encoding);
  if (coding.first != coding.second) {
    if (version_ < 11) {
      return refuse(400, "BadRequest", "there is no Transfer-Encoding before HTTP/1.1");
    }
    if (std::next(coding.first) != coding.second ||
        !absl::EqualsIgnoreCase(base::ToAbsl(View(coding.first->value())), "chunked")) {
      return refuse(501, "NotImplemented", "the only Transfer-Encoding here is chunked");
    }
  }
  for (const auto& field : message) {
    request_.headers.Add(std::string(View(field.name_string())), std::string(View(field.value())));
  }
  const std::size_t question = target.find('?');
  request_.method = View(message.method_string());
  request_.path = target.substr(0, question);
  if (question != target.npos) request_.query = target.substr(question + 1);
  request_.audit_id = audit_id_;
  request_.user = User{.name = "", .groups = {}};
  std::optional<User> user =
      shared.authenticator->Authenticate(request_.headers, transport_.certificate());
  if (!user) return refuse(401, "Unauthorized", "Unauthorized");
  request_.user = *std::move(user);

  const auto length = parser_->content_length();
  if (length && *length > shared.options.max_body_bytes) {
    RefuseBody();
    return false;
  }
  parser_->body_limit(shared.options.max_body_bytes);
  const std::size_t body = parser_->chunked() ? shared.options.max_body_bytes
                           : length           ? static_cast<std::size_t>(*length)
                                              : 0;
  if (request_.user.anonymous() && body > shared.options.max_anonymous_body_bytes) {
    return refuse(401, "Unauthorized", "Unauthorized");
  }
  charged_ = body;
  if ((shared.receiving_bytes += body) > shared.options.max_receiving_bytes) {
    return refuse(429, "TooManyRequests", "the server is receiving too much, please try again");
  }
  if (body > 0 && View(message[http::field::expect]) == "100-continue") {
    // So short that it fits, unless the client is up to something.
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    std::size_t written = 0;
    transport_.Write(kContinue.data(), kContinue.size(), written);
    if (written != kContinue.size()) {
      Close();
      return false;
    }
  }
  return true;
}

void Connection::ReleaseBody() { io_->shared().receiving_bytes -= std::exchange(charged_, 0); }

void Connection::HandleRequest() {
  auto message = parser_->release();
  parser_.reset();
  ReleaseBody();
  request_.body = std::move(message.body());
  request_.receiving = std::chrono::steady_clock::now() - began_;
  state_ = State::kHandling;
  deadline_ = TimePoint::max();
  ++io_->shared().requests;
  const std::string remote = request_.remote;
  auto responder = std::make_shared<ConnectionResponder>(io_, shared_from_this());
  // The rooms below do not throw; what does must not take the other connections with it.
  try {
    io_->shared().handler->Handle(std::move(request_), responder);
  } catch (const std::exception&) {
    responder->Send(
        StatusResponse(500, "InternalError", "the server failed to handle the request"));
  }
  request_.remote = remote;
}

void Connection::RefuseBody() {
  Refuse(
      413, "RequestEntityTooLarge",
      fmt::format("Request entity too large: limit is {}", io_->shared().options.max_body_bytes));
}

void Connection::Refuse(int code, std::string_view reason, std::string_view message) {
  ++io_->shared().malformed;
  ReleaseBody();
  if (audit_id_.empty()) audit_id_ = NewAuditId();
  if (const auto& told = io_->shared().options.on_refused) {
    const bool read = parser_ && parser_->is_header_done();
    request_.receiving = std::chrono::steady_clock::now() - began_;
    told({.remote = request_.remote,
          .audit_id = audit_id_,
          .method = read ? View(parser_->get().method_string()) : std::string_view(),
          .target = read ? View(parser_->get().target()) : std::string_view(),
          .code = code,
          .message = message,
          .request = request_.path.empty() ? nullptr : &request_,
          .certificate = transport_.certificate() != nullptr});
  }
  parser_.reset();
  in_ = std::string();
  keep_alive_ = false;
  state_ = State::kHandling;
  OnResponse(StatusResponse(code, reason, message));
}

void Connection::Drain() {
  keep_alive_ = false;
  if (state_ == State::kHandshake) return Close();
  if (state_ == State::kReading && !parser_ && in_.empty()) return Close();
  if (source_ && !source_->Finite()) {
    source_state_ = StreamSource::State::kEnd;
    if (state_ == State::kWaiting) OnFlushed();
  }
}

void Connection::Linger() {
  // Closing while the client still sends would make it lose the response.
  if (std::exchange(state_, State::kLingering) != State::kLingering) {
    transport_.Shutdown();
    SetDeadline(kLinger);
  }
  std::string& buffer = io_->scratch();
  buffer.resize(kReadSize);
  std::size_t read = 0;
  for (int i = 0; i < 16; ++i) {
    switch (transport_.Read(buffer.data(), buffer.size(), read)) {
      case Transport::Result::kDone:
        break;
      case Transport::Result::kWaitRead:
      case Transport::Result::kWaitWrite:
        return io_->shared().draining ? Close() : WaitReadable();
      case Transport::Result::kClosed:
        return Close();
    }
  }
  WaitReadable();
}

void Connection::Close() {
  if (std::exchange(state_, State::kClosed) == State::kClosed) return;
  const auto self = shared_from_this();
  io_->connections().erase(self);
  --io_->shared().connections;
  source_.reset();
  out_.clear();
  ReleaseBody();
  boost::system::error_code ignored;
  transport_.socket().close(ignored);
}

}  // namespace dray::apiserver::internal
