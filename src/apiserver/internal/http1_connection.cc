// SPDX-License-Identifier: Apache-2.0
#include "apiserver/internal/http1_connection.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "apiserver/internal/http2_connection.h"
#include "fmt/format.h"

namespace dray::apiserver::internal {
namespace http = boost::beast::http;
namespace {

constexpr std::size_t kReadSize = 64u << 10;
constexpr std::size_t kMaxFrame = 16u << 10;
constexpr std::chrono::seconds kLinger{2};
// How long what a client sent before it ended is kept for a stream that takes none of it.
constexpr std::chrono::seconds kLastTaken{2};

std::string_view View(boost::beast::string_view s) { return {s.data(), s.size()}; }

// Characters of names, addresses and ports; nothing between which somebody else sees two hosts.
bool MayBeHost(std::string_view host) {
  constexpr std::string_view kOthers = "-._~%!$&'()*+;=:[]";
  return std::ranges::all_of(host, [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || kOthers.find(c) != kOthers.npos;
  });
}

// Whether a line of the head goes on in the next one.
bool IsFolded(std::string_view head) {
  return head.find("\n ") != head.npos || head.find("\n\t") != head.npos;
}

// Sends the response to its connection's thread.
class ConnectionResponder final : public Responder {
 public:
  ConnectionResponder(std::shared_ptr<IoThread> io, std::shared_ptr<Http1Connection> connection)
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
  std::shared_ptr<Http1Connection> connection_;
  std::atomic<bool> sent_ = false;
};

}  // namespace

Http1Connection::Http1Connection(std::shared_ptr<IoThread> io, boost::asio::ip::tcp::socket socket)
    : io_(std::move(io)), transport_(std::move(socket), io_->shared().Tls().get()) {}

Http1Connection::~Http1Connection() { Release(io_->shared(), charged_); }

void StartConnection(const std::shared_ptr<IoThread>& io, boost::asio::ip::tcp::socket socket) {
  std::make_shared<Http1Connection>(io, std::move(socket))->Start();
}

void Http1Connection::Start() {
  io_->connections().insert(shared_from_this());
  boost::system::error_code error;
  const auto peer = transport_.socket().remote_endpoint(error);
  if (error || io_->stopping()) return Close();
  request_.remote = fmt::format("{}:{}", peer.address().to_string(), peer.port());
  SetDeadline(io_->shared().options.handshake_timeout);
  Handshake();
}

void Http1Connection::SetDeadline(std::chrono::milliseconds timeout) {
  deadline_ = std::chrono::steady_clock::now() + timeout;
}

void Http1Connection::OnTick(TimePoint now) {
  if (now >= deadline_) {
    const bool idle = state_ == State::kReading && !parser_ && in_.empty();
    if (!idle && state_ != State::kLingering) ++io_->shared().timed_out;
    return Close();
  }
  // A stream that is full leaves the client's end unread behind what it has no room for.
  const bool full = upgraded_ && source_ && state_ == State::kWaiting && !in_.empty();
  if (!full || !transport_.ClientHasEnded()) {
    give_up_ = TimePoint::max();
  } else if (give_up_ == TimePoint::max()) {
    give_up_ = now + kLastTaken;
  } else if (now >= give_up_) {
    return Close();
  }
  if (now >= next_tick_ && state_ == State::kWaiting) Pull();
}

void Http1Connection::WaitReadable() {
  if (std::exchange(waiting_readable_, true)) return;
  transport_.socket().async_wait(boost::asio::ip::tcp::socket::wait_read,
                                 [self = shared_from_this()](const auto& error) {
                                   self->waiting_readable_ = false;
                                   if (!error) self->OnReadable();
                                 });
}

void Http1Connection::WaitWritable() {
  if (std::exchange(waiting_writable_, true)) return;
  transport_.socket().async_wait(boost::asio::ip::tcp::socket::wait_write,
                                 [self = shared_from_this()](const auto& error) {
                                   self->waiting_writable_ = false;
                                   if (!error) self->OnWritable();
                                 });
}

void Http1Connection::OnReadable() {
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

void Http1Connection::OnWritable() {
  if (state_ == State::kHandshake) return Handshake();
  if (state_ == State::kReading) return ReadRequest();
  if (state_ == State::kWriting) return Flush();
}

void Http1Connection::Handshake() {
  switch (transport_.Handshake()) {
    case Transport::Result::kDone:
      return transport_.http2() ? GiveUpForHttp2() : NextRequest();
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

void Http1Connection::GiveUpForHttp2() {
  const auto self = shared_from_this();
  state_ = State::kClosed;
  io_->connections().erase(self);
  StartHttp2(io_, std::move(transport_), request_.remote);
}

void Http1Connection::NextRequest() {
  state_ = State::kReading;
  parser_.reset();
  request_ = Request{.remote = std::move(request_.remote)};
  if (!keep_alive_ || io_->shared().draining) return Linger();
  if (in_.empty()) in_ = std::string();  // an idle connection keeps no buffers
  SetDeadline(io_->shared().options.idle_timeout);
  ReadRequest();
}

void Http1Connection::ReadRequest() {
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

bool Http1Connection::Parse() {
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
        Refuse(BodyTooLarge(options));
      } else if (error == http::error::header_limit) {
        Refuse(HeadTooLarge(options));
      } else {
        Refuse({.message = "malformed HTTP request: " + error.message()});
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
    Refuse({.message = "malformed HTTP request: a chunk's extensions are too long"});
    return true;
  }
  in_.erase(0, in_.size() - rest.size());
  if (!parser_->is_done()) return false;
  HandleRequest();
  return true;
}

bool Http1Connection::CheckHead() {
  Shared& shared = io_->shared();
  const auto& message = parser_->get();
  version_ = message.version();
  keep_alive_ = parser_->keep_alive();
  is_head_ = message.method() == http::verb::head;
  const std::string_view target = View(message.target());
  request_.audit_id = AuditIdFor(View(message["Audit-ID"]));
  const auto refuse = [this](const HeadFault& fault) {
    Refuse(fault);
    return false;
  };
  Request target_alone;
  if (const auto fault = ReadTarget(target, target_alone)) return refuse(*fault);
  if (version_ >= 11 && message.find(http::field::host) == message.end()) {
    return refuse({.message = "the Host header is missing"});
  }
  // Headers of which there is one, or else nobody knows which of them others have gone by.
  for (const http::field only :
       {http::field::host, http::field::authorization, http::field::content_length}) {
    if (message.count(only) > 1) {
      return refuse(
          {.message = fmt::format("there is more than one {} header", View(to_string(only)))});
    }
  }
  if (!MayBeHost(View(message[http::field::host]))) {
    return refuse({.message = "the Host header is not the name of a host"});
  }
  // The parser takes a list of equal lengths for one.
  const std::string_view digits = View(message[http::field::content_length]);
  if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) {
    return refuse({.message = "the Content-Length is not a number"});
  }
  const auto coding = message.equal_range(http::field::transfer_encoding);
  if (coding.first != coding.second) {
    if (version_ < 11) {
      return refuse({.message = "there is no Transfer-Encoding before HTTP/1.1"});
    }
    if (std::next(coding.first) != coding.second ||
        !absl::EqualsIgnoreCase(base::ToAbsl(View(coding.first->value())), "chunked")) {
      return refuse({.code = 501,
                     .reason = "NotImplemented",
                     .message = "the only Transfer-Encoding here is chunked"});
    }
  }
  for (const auto& field : message) {
    request_.headers.Add(std::string(View(field.name_string())), std::string(View(field.value())));
  }
  request_.method = View(message.method_string());
  request_.path = std::move(target_alone.path);
  request_.query = std::move(target_alone.query);
  const auto length = parser_->content_length();
  parser_->body_limit(shared.options.max_body_bytes);
  const std::uint64_t body =
      parser_->chunked() ? shared.options.max_body_bytes : length.value_or(0);
  if (const auto fault = Admit(shared, transport_.certificate(), body, request_, charged_)) {
    return refuse(*fault);
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

void Http1Connection::HandleRequest() {
  auto message = parser_->release();
  parser_.reset();
  Release(io_->shared(), charged_);
  request_.body = std::move(message.body());
  request_.receiving = std::chrono::steady_clock::now() - began_;
  state_ = State::kHandling;
  deadline_ = TimePoint::max();
  // The handler takes the request, and these two are asked for again.
  const std::string remote = request_.remote;
  const std::string audit_id = request_.audit_id;
  HandOver(io_->shared(), std::move(request_),
           std::make_shared<ConnectionResponder>(io_, shared_from_this()));
  request_.remote = remote;
  request_.audit_id = audit_id;
}

void Http1Connection::Refuse(const HeadFault& fault) {
  Release(io_->shared(), charged_);
  if (request_.audit_id.empty()) request_.audit_id = AuditIdFor("");
  request_.receiving = std::chrono::steady_clock::now() - began_;
  const bool read = parser_ && parser_->is_header_done();
  TellRefused(io_->shared(), fault,
              read ? View(parser_->get().method_string()) : std::string_view(),
              read ? View(parser_->get().target()) : std::string_view(), request_,
              transport_.certificate() != nullptr);
  parser_.reset();
  in_ = std::string();
  keep_alive_ = false;
  state_ = State::kHandling;
  OnResponse(StatusResponse(fault.code, fault.reason, fault.message));
}

void Http1Connection::Drain() {
  keep_alive_ = false;
  if (state_ == State::kHandshake) return Close();
  if (state_ == State::kReading && !parser_ && in_.empty()) return Close();
  if (source_ && !source_->Finite()) {
    source_state_ = StreamSource::State::kEnd;
    if (state_ == State::kWaiting) OnFlushed();
  }
}

void Http1Connection::Linger() {
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

void Http1Connection::Close() {
  if (std::exchange(state_, State::kClosed) == State::kClosed) return;
  const auto self = shared_from_this();
  io_->connections().erase(self);
  --io_->shared().connections;
  source_.reset();
  out_.clear();
  Release(io_->shared(), charged_);
  boost::system::error_code ignored;
  transport_.socket().close(ignored);
}

}  // namespace dray::apiserver::internal
