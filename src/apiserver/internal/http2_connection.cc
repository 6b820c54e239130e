// SPDX-License-Identifier: Apache-2.0
#include "apiserver/internal/http2_connection.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <map>
#include <utility>
#include <vector>

#include "apiserver/internal/connection.h"
#include "apiserver/internal/http2_stream.h"
#include "apiserver/internal/response_text.h"

namespace dray::apiserver::internal {
namespace {

constexpr std::size_t kReadSize = 64u << 10;
// As much is gathered before it is written.
constexpr std::size_t kGatherSize = 64u << 10;
// How much is written, and how often is read, in a row before the others of this thread have their
// turn.
constexpr std::size_t kTurnBytes = 256u << 10;
constexpr int kTurnReads = 16;
constexpr std::chrono::seconds kLinger{2};
// Frames that bring nothing forward (pings, settings, priorities, resets, empty data): so many at
// once, and so many a second. A client of Kubernetes sends a ping in half a minute.
constexpr double kIdleBurst = 2'000;
constexpr double kIdleRate = 100;
// What a client may send on the connection before it is read, of all streams together.
constexpr std::int32_t kWindow = 1 << 20;

template <auto free>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};
using SessionPtr = std::unique_ptr<nghttp2_session, Free<nghttp2_session_del>>;
using CallbacksPtr =
    std::unique_ptr<nghttp2_session_callbacks, Free<nghttp2_session_callbacks_del>>;
using OptionPtr = std::unique_ptr<nghttp2_option, Free<nghttp2_option_del>>;

class Http2Connection final : public Connection,
                              public std::enable_shared_from_this<Http2Connection> {
 public:
  Http2Connection(std::shared_ptr<IoThread> io, Transport transport, std::string remote)
      : io_(std::move(io)), transport_(std::move(transport)), remote_(std::move(remote)) {}

  void Start();
  void OnTick(TimePoint now) override;
  void Drain() override;
  void Close() override;
  void OnResponse(std::int32_t id, Response response);
  void OnWake(std::int32_t id);

 private:
  enum class State : unsigned char { kOpen, kLingering, kClosed };

  static Http2Connection& Of(void* user) { return *static_cast<Http2Connection*>(user); }
  static CallbacksPtr MakeCallbacks();
  Shared& shared() { return io_->shared(); }
  Http2Stream* Find(std::int32_t id) {
    const auto it = streams_.find(id);
    return it == streams_.end() ? nullptr : it->second.get();
  }

  void Read();
  void Flush();
  // Says goodbye and closes when that has been written.
  void End(std::uint32_t error);
  // The same when the library cannot go on.
  void Break(std::uint32_t error);
  // From now on the client has so long to take something.
  void Block();
  void Linger();
  void WaitReadable();
  void WaitWritable();

  int OnBeginHeaders(std::int32_t id);
  int OnFrame(const nghttp2_frame& frame);
  int OnData(std::int32_t id, std::string_view piece);
  void OnHeadEnd(Http2Stream& stream, bool ends);
  void OnRequestEnd(Http2Stream& stream);
  void Refuse(Http2Stream& stream, const HeadFault& fault);
  void Answer(Http2Stream& stream, Response response);
  ssize_t Take(Http2Stream& stream, char* to, std::size_t size, std::uint32_t* flags);
  // False: the client has worn out our patience.
  bool CountIdleFrame();

  const std::shared_ptr<IoThread> io_;
  Transport transport_;
  const std::string remote_;
  State state_ = State::kOpen;
  SessionPtr session_;
  std::map<std::int32_t, std::unique_ptr<Http2Stream>> streams_;
  std::size_t in_flight_ = 0;  // requests that the handler has, also those whose client has left
  bool ending_ = false;
  bool broken_ = false;  // the library is not asked for anything any more
  bool paused_ = false;  // nothing is read before what is written has been taken
  bool inside_ = false;  // of the library, which must not be asked for output then
  double idle_frames_ = 0;
  TimePoint idle_since_ = std::chrono::steady_clock::now();

  std::string out_;
  std::size_t offset_ = 0;
  TimePoint idle_deadline_ = TimePoint::max();   // there are no streams
  TimePoint write_deadline_ = TimePoint::max();  // the client takes nothing
  TimePoint linger_deadline_ = TimePoint::max();
  bool waiting_readable_ = false;
  bool waiting_writable_ = false;
};

class StreamResponder final : public Responder {
 public:
  StreamResponder(std::shared_ptr<IoThread> io, std::shared_ptr<Http2Connection> connection,
                  std::int32_t id)
      : io_(std::move(io)), connection_(std::move(connection)), id_(id) {}

  ~StreamResponder() override {
    if (!sent_) Deliver(StatusResponse(500, "InternalError", "the request was not answered"));
  }

  void Send(Response response) override {
    if (sent_.exchange(true)) return;
    Deliver(std::move(response));
  }

 private:
  void Deliver(Response response) {
    io_->Post([connection = std::move(connection_), id = id_,
               response = std::make_shared<Response>(std::move(response))] {
      connection->OnResponse(id, std::move(*response));
    });
  }

  const std::shared_ptr<IoThread> io_;
  std::shared_ptr<Http2Connection> connection_;
  const std::int32_t id_;
  std::atomic<bool> sent_ = false;
};

CallbacksPtr Http2Connection::MakeCallbacks() {
  nghttp2_session_callbacks* made = nullptr;
  nghttp2_session_callbacks_new(&made);
  CallbacksPtr callbacks(made);
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      made, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
        return Of(user).OnBeginHeaders(frame->hd.stream_id);
      });
  nghttp2_session_callbacks_set_on_header_callback(
      made, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
               std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
               std::uint8_t, void* user) {
        Http2Stream* stream = Of(user).Find(frame->hd.stream_id);
        // What comes after the body, nobody here wants to know.
        if (stream == nullptr || stream->phase() != Http2Stream::Phase::kHead) return 0;
        stream->AddField({reinterpret_cast<const char*>(name), name_size},
                         {reinterpret_cast<const char*>(value), value_size});
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      made, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        return Of(user).OnFrame(*frame);
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      made, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
               std::size_t size, void* user) {
        return Of(user).OnData(id, {reinterpret_cast<const char*>(data), size});
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      made, [](nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
        Of(user).streams_.erase(id);
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_send_callback(made, [](nghttp2_session* session,
                                                                const nghttp2_frame* frame, void*) {
    // The answer is complete and the request is not: there is no use in sending the rest.
    const bool answers = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (answers && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
        nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    }
    return 0;
  });
  return callbacks;
}

void Http2Connection::Start() {
  io_->connections().insert(shared_from_this());
  nghttp2_option* made = nullptr;
  nghttp2_option_new(&made);
  const OptionPtr option(made);
  // Acknowledgements that a client provokes and does not take.
  nghttp2_option_set_max_outbound_ack(made, 1'000);
  nghttp2_option_set_max_settings(made, 32);
  nghttp2_option_set_max_continuations(made, 8);
  nghttp2_option_set_stream_reset_rate_limit(made, 1'000, 100);
  nghttp2_session* session = nullptr;
  const CallbacksPtr callbacks = MakeCallbacks();
  if (nghttp2_session_server_new2(&session, callbacks.get(), this, made) != 0) return Close();
  session_.reset(session);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
       static_cast<std::uint32_t>(shared().options.max_streams)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
       static_cast<std::uint32_t>(shared().options.max_header_bytes)},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow / 4},
  };
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kWindow);
  idle_deadline_ = std::chrono::steady_clock::now() + shared().options.idle_timeout;
  if (io_->stopping()) return Close();
  if (shared().draining) return Drain();
  Read();
}

void Http2Connection::OnTick(TimePoint now) {
  if (now >= linger_deadline_) return Close();
  if (now >= write_deadline_) {
    ++shared().timed_out;
    return Close();
  }
  if (state_ != State::kOpen) return;
  if (now >= idle_deadline_) return End(NGHTTP2_NO_ERROR);
  const ServerOptions& options = shared().options;
  std::vector<std::int32_t> late;
  for (const auto& [id, stream] : streams_) {
    const bool receiving = stream->phase() <= Http2Stream::Phase::kBody;
    if ((receiving && now - stream->began() > options.request_timeout) ||
        stream->StalledSince(now - options.write_timeout)) {
      late.push_back(id);
    } else if (stream->TickIsDue(now)) {
      stream->Wake();
      nghttp2_session_resume_data(session_.get(), id);
    }
  }
  for (const std::int32_t id : late) {
    ++shared().timed_out;
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }
  Flush();
}

void Http2Connection::WaitReadable() {
  if (std::exchange(waiting_readable_, true)) return;
  transport_.socket().async_wait(boost::asio::ip::tcp::socket::wait_read,
                                 [self = shared_from_this()](const auto& error) {
                                   self->waiting_readable_ = false;
                                   if (error) return;
                                   // TLS may have had to read before it could write.
                                   if (!self->out_.empty()) self->Flush();
                                   self->Read();
                                 });
}

void Http2Connection::WaitWritable() {
  if (std::exchange(waiting_writable_, true)) return;
  transport_.socket().async_wait(boost::asio::ip::tcp::socket::wait_write,
                                 [self = shared_from_this()](const auto& error) {
                                   self->waiting_writable_ = false;
                                   if (!error) self->Flush();
                                 });
}

void Http2Connection::Read() {
  if (state_ == State::kLingering) return Linger();
  for (int i = 0; i < kTurnReads && state_ == State::kOpen; ++i) {
    // A client that does not take answers is not asked for more: what it provokes would pile up.
    paused_ = out_.size() - offset_ > kGatherSize;
    if (paused_) return;
    std::string& buffer = io_->scratch();
    if (buffer.size() < kReadSize) buffer.resize(kReadSize);
    std::size_t read = 0;
    switch (transport_.Read(buffer.data(), kReadSize, read)) {
      case Transport::Result::kDone:
        break;
      case Transport::Result::kWaitRead:
        return WaitReadable();
      case Transport::Result::kWaitWrite:
        WaitReadable();
        return WaitWritable();
      case Transport::Result::kClosed:
        return Close();
    }
    inside_ = true;
    const ssize_t used = nghttp2_session_mem_recv(
        session_.get(), reinterpret_cast<const std::uint8_t*>(buffer.data()), read);
    inside_ = false;
    if (used < 0) {
      ++shared().malformed;
      // No preface, or a flood: there is nobody to talk to about details.
      const bool flood = used == NGHTTP2_ERR_FLOODED || idle_frames_ > kIdleBurst;
      return Break(flood ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR);
    }
    Flush();
  }
  if (state_ == State::kOpen) {
    io_->Post([self = shared_from_this()] {
      if (self->state_ == State::kOpen) self->Read();
    });
  }
}

void Http2Connection::Flush() {
  if (state_ != State::kOpen || inside_) return;
  std::size_t turn = 0;
  while (true) {
    while (!broken_ && out_.size() - offset_ < kGatherSize) {
      const std::uint8_t* data = nullptr;
      inside_ = true;
      const ssize_t size = nghttp2_session_mem_send(session_.get(), &data);
      inside_ = false;
      if (size < 0) return Close();
      if (size == 0) break;
      out_.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
    if (offset_ == out_.size()) break;
    if (turn >= kTurnBytes) {
      return io_->Post([self = shared_from_this()] { self->Flush(); });
    }
    std::size_t written = 0;
    switch (transport_.Write(out_.data() + offset_, out_.size() - offset_, written)) {
      case Transport::Result::kDone:
        break;
      case Transport::Result::kWaitWrite:
        Block();
        return WaitWritable();
      case Transport::Result::kWaitRead:
        Block();
        return WaitReadable();
      case Transport::Result::kClosed:
        return Close();
    }
    turn += written;
    offset_ += written;
    write_deadline_ = TimePoint::max();
    if (offset_ < out_.size()) continue;
    // What an answer has swollen is given back: idle connections are many.
    if (out_.capacity() > 2 * kGatherSize || streams_.empty()) {
      out_ = std::string();
    } else {
      out_.clear();
    }
    offset_ = 0;
  }
  out_.clear();
  offset_ = 0;
  if (ending_ || broken_ ||
      (nghttp2_session_want_read(session_.get()) == 0 &&
       nghttp2_session_want_write(session_.get()) == 0)) {
    return Linger();
  }
  if (!streams_.empty()) {
    idle_deadline_ = TimePoint::max();
  } else if (idle_deadline_ == TimePoint::max()) {
    idle_deadline_ = std::chrono::steady_clock::now() + shared().options.idle_timeout;
  }
  if (std::exchange(paused_, false)) {
    io_->Post([self = shared_from_this()] { self->Read(); });
  }
}

void Http2Connection::Block() {
  if (write_deadline_ != TimePoint::max()) return;
  write_deadline_ = std::chrono::steady_clock::now() + shared().options.write_timeout;
}

void Http2Connection::End(std::uint32_t error) {
  ending_ = true;
  nghttp2_session_terminate_session(session_.get(), error);
  streams_.clear();
  Flush();
}

void Http2Connection::Break(std::uint32_t error) {
  broken_ = true;
  streams_.clear();
  // A GOAWAY frame: nine bytes of head, the last stream that was looked at, the reason.
  const auto last =
      static_cast<std::uint32_t>(nghttp2_session_get_last_proc_stream_id(session_.get()));
  out_.append({'\0', '\0', '\x08', '\x07', '\0', '\0', '\0', '\0', '\0'});
  for (const std::uint32_t number : {last, error}) {
    for (int shift = 24; shift >= 0; shift -= 8) out_ += static_cast<char>(number >> shift);
  }
  Flush();
}

void Http2Connection::Linger() {
  // Closing while the client still sends would make it lose the last word.
  if (std::exchange(state_, State::kLingering) == State::kOpen) {
    streams_.clear();
    transport_.Shutdown();
    linger_deadline_ = std::chrono::steady_clock::now() + kLinger;
  }
  std::string& buffer = io_->scratch();
  if (buffer.size() < kReadSize) buffer.resize(kReadSize);
  std::size_t read = 0;
  for (int i = 0; i < kTurnReads; ++i) {
    switch (transport_.Read(buffer.data(), kReadSize, read)) {
      case Transport::Result::kDone:
        break;
      case Transport::Result::kWaitRead:
      case Transport::Result::kWaitWrite:
        return shared().draining ? Close() : WaitReadable();
      case Transport::Result::kClosed:
        return Close();
    }
  }
  WaitReadable();
}

void Http2Connection::Drain() {
  if (state_ != State::kOpen) return;
  for (const auto& [id, stream] : streams_) {
    stream->EndSource();
    stream->Wake();
    nghttp2_session_resume_data(session_.get(), id);
  }
  // New streams are refused from here on; those that are there get their answers. Then nobody wants
  // to read or write any more, and Flush ends it.
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_.get()), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  Flush();
}

void Http2Connection::Close() {
  if (std::exchange(state_, State::kClosed) == State::kClosed) return;
  const auto self = shared_from_this();
  io_->connections().erase(self);
  --shared().connections;
  streams_.clear();
  out_ = std::string();
  boost::system::error_code ignored;
  transport_.socket().close(ignored);
}

bool Http2Connection::CountIdleFrame() {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> passed = now - std::exchange(idle_since_, now);
  idle_frames_ = std::max(0.0, idle_frames_ - passed.count() * kIdleRate) + 1;
  return idle_frames_ <= kIdleBurst;
}

int Http2Connection::OnBeginHeaders(std::int32_t id) {
  // The library counts open streams. A client that opens and resets them keeps handlers busy all the
  // same.
  if (in_flight_ + streams_.size() >= 2 * shared().options.max_streams || ending_) {
    return nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
  }
  streams_[id] =
      std::make_unique<Http2Stream>(shared(), id, remote_, std::chrono::steady_clock::now());
  return 0;
}

int Http2Connection::OnFrame(const nghttp2_frame& frame) {
  const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
      break;
    case NGHTTP2_WINDOW_UPDATE:
      return 0;  // as often as there is data
    default:
      return CountIdleFrame() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  if (frame.hd.type == NGHTTP2_DATA && frame.hd.length == 0 && !ends && !CountIdleFrame()) {
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }
  Http2Stream* stream = Find(frame.hd.stream_id);
  if (stream == nullptr) return 0;
  if (frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
    OnHeadEnd(*stream, ends);
  } else if (ends && stream->phase() == Http2Stream::Phase::kBody) {
    OnRequestEnd(*stream);
  }
  return 0;
}

int Http2Connection::OnData(std::int32_t id, std::string_view piece) {
  Http2Stream* stream = Find(id);
  // Of a request that has its answer already.
  if (stream == nullptr || stream->phase() != Http2Stream::Phase::kBody) return 0;
  if (const auto fault = stream->AddBody(piece)) Refuse(*stream, *fault);
  return 0;
}

void Http2Connection::OnHeadEnd(Http2Stream& stream, bool ends) {
  if (const auto fault = stream.EndHead(transport_.certificate(), ends)) {
    return Refuse(stream, *fault);
  }
  if (ends) OnRequestEnd(stream);
}

void Http2Connection::OnRequestEnd(Http2Stream& stream) {
  ++in_flight_;
  auto responder = std::make_shared<StreamResponder>(io_, shared_from_this(), stream.id());
  HandOver(shared(), stream.TakeRequest(std::chrono::steady_clock::now()), responder);
}

void Http2Connection::Refuse(Http2Stream& stream, const HeadFault& fault) {
  stream.Refuse(fault, transport_.certificate() != nullptr, std::chrono::steady_clock::now());
  Answer(stream, StatusResponse(fault.code, fault.reason, fault.message));
}

void Http2Connection::OnResponse(std::int32_t id, Response response) {
  --in_flight_;
  Http2Stream* stream = Find(id);
  if (stream == nullptr || state_ != State::kOpen) return;  // the client has left
  Answer(*stream, std::move(response));
  Flush();
}

void Http2Connection::Answer(Http2Stream& stream, Response response) {
  // What is to become another protocol can be that on a connection of its own.
  if (response.status == 101) {
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream.id(),
                              NGHTTP2_HTTP_1_1_REQUIRED);
    return;
  }
  response.headers.Add("Audit-Id", stream.audit_id());
  const std::vector<std::pair<std::string, std::string>> fields =
      HeadFields(response, std::time(nullptr));
  std::vector<nghttp2_nv> head;
  for (const auto& [name, value] : fields) {
    // The library copies them, and only reads.
    head.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                    reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
                    value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  const bool empty = !response.stream && (!response.body || response.body->empty());
  const bool no_body =
      empty || stream.is_head() || response.status == 204 || response.status == 304;
  nghttp2_data_provider body = {};
  body.source.ptr = &stream;
  body.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t size,
                          std::uint32_t* flags, nghttp2_data_source* source, void* user) {
    return Of(user).Take(*static_cast<Http2Stream*>(source->ptr), reinterpret_cast<char*>(to), size,
                         flags);
  };
  if (no_body) {
    response.stream.reset();
    response.body.reset();
  }
  stream.SetAnswer(
      response,
      [weak = weak_from_this(), io = io_, id = stream.id()] {
        if (auto self = weak.lock()) io->Post([self = std::move(self), id] { self->OnWake(id); });
      },
      std::chrono::steady_clock::now());
  if (shared().draining) stream.EndSource();
  nghttp2_submit_response(session_.get(), stream.id(), head.data(), head.size(),
                          no_body ? nullptr : &body);
}

ssize_t Http2Connection::Take(Http2Stream& stream, char* to, std::size_t size,
                              std::uint32_t* flags) {
  std::size_t taken = 0;
  switch (stream.Take(to, size, taken, std::chrono::steady_clock::now())) {
    case Http2Stream::Taken::kMore:
      break;
    case Http2Stream::Taken::kEnd:
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      break;
    case Http2Stream::Taken::kAgain:
      // Later, after the others.
      io_->Post([self = shared_from_this(), id = stream.id()] { self->OnWake(id); });
      [[fallthrough]];
    case Http2Stream::Taken::kWait:
      return NGHTTP2_ERR_DEFERRED;
  }
  return static_cast<ssize_t>(taken);
}

void Http2Connection::OnWake(std::int32_t id) {
  Http2Stream* stream = Find(id);
  if (stream == nullptr || state_ != State::kOpen) return;
  stream->Wake();
  nghttp2_session_resume_data(session_.get(), id);
  Flush();
}

}  // namespace

void StartHttp2(const std::shared_ptr<IoThread>& io, Transport transport, std::string remote) {
  std::make_shared<Http2Connection>(io, std::move(transport), std::move(remote))->Start();
}

}  // namespace dray::apiserver::internal
