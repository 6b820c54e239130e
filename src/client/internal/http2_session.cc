// SPDX-License-Identifier: Apache-2.0
#include "client/internal/http2_session.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/check.h"
#include "fmt/format.h"

namespace dray::client::internal {
namespace {

// Until a server says how many requests it takes at a time.
constexpr std::size_t kUsualLimit = 100;

std::uint8_t* BytesOf(const std::string& text) {
  // The library copies them, and only reads.
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}

std::optional<int> NumberIn(std::string_view text) {
  int number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

nghttp2_session_callbacks* Http2Session::MakeCallbacks() {
  nghttp2_session_callbacks* made = nullptr;
  DRAY_CHECK(nghttp2_session_callbacks_new(&made) == 0, "out of memory");
  nghttp2_session_callbacks_set_on_begin_headers_callback(
      made, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        Http2Exchange* exchange = Of(user).Find(frame->hd.stream_id);
        // What was said before was only that it goes on (1xx).
        if (exchange != nullptr && !exchange->head_done) exchange->status = 0;
        return 0;
      });
  nghttp2_session_callbacks_set_on_header_callback(
      made, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
               std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
               std::uint8_t, void* user) {
        return Of(user).OnHeader(*frame, {reinterpret_cast<const char*>(name), name_size},
                                 {reinterpret_cast<const char*>(value), value_size});
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      made, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        Of(user).OnFrame(*frame);
        return 0;
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      made, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
               std::size_t size, void* user) {
        Of(user).OnData(id, {reinterpret_cast<const char*>(data), size});
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      made, [](nghttp2_session*, std::int32_t id, std::uint32_t error, void* user) {
        Of(user).OnClose(id, error);
        return 0;
      });
  nghttp2_session_callbacks_set_before_frame_send_callback(
      made, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->hd.type != NGHTTP2_HEADERS) return 0;
        Http2Exchange* exchange = Of(user).Find(frame->hd.stream_id);
        if (exchange == nullptr) return 0;
        if (exchange->may_send && !exchange->may_send()) {
          // The library closes the stream as one that was never sent.
          return static_cast<int>(NGHTTP2_ERR_CANCEL);
        }
        exchange->written = true;
        return 0;
      });
  return made;
}

Http2Session::Http2Session(const Http2Limits& limits) : limits_(limits) {
  nghttp2_option* option = nullptr;
  DRAY_CHECK(nghttp2_option_new(&option) == 0, "out of memory");
  // Room is made here: one stream that nobody reads must not keep others waiting.
  nghttp2_option_set_no_auto_window_update(option, 1);
  // Acknowledgements that a server provokes and does not take.
  nghttp2_option_set_max_outbound_ack(option, 1'000);
  nghttp2_option_set_max_settings(option, 32);
  nghttp2_option_set_max_continuations(option, 8);
  nghttp2_session_callbacks* callbacks = MakeCallbacks();
  const int made = nghttp2_session_client_new2(&session_, callbacks, this, option);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(option);
  DRAY_CHECK(made == 0, "out of memory");
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(limits.stream_window)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits.max_header_bytes)},
  };
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, limits.connection_window);
}

Http2Session::~Http2Session() { nghttp2_session_del(session_); }

std::int32_t Http2Session::Submit(const HeadFields& head, std::string body, bool streaming,
                                  std::size_t max_body, std::function<bool()> may_send) {
  if (leaving_ || nghttp2_session_check_request_allowed(session_) == 0) return 0;
  std::vector<nghttp2_nv> fields;
  fields.reserve(head.size());
  for (const auto& [name, value] : head) {
    fields.push_back(
        {BytesOf(name), BytesOf(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  nghttp2_data_provider provider = {};
  provider.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* to, std::size_t size,
                              std::uint32_t* flags, nghttp2_data_source*, void* user) -> ssize_t {
    Http2Exchange* exchange = Of(user).Find(id);
    // Dropped meanwhile.
    if (exchange == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::size_t left = exchange->request.size() - exchange->request_sent;
    const std::size_t piece = std::min(size, left);
    if (piece > 0) std::memcpy(to, exchange->request.data() + exchange->request_sent, piece);
    exchange->request_sent += piece;
    if (piece == left) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(piece);
  };
  const std::int32_t id = nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(),
                                                 body.empty() ? nullptr : &provider, nullptr);
  if (id <= 0) {
    // All numbers are used up: the next request is for another connection.
    leaving_ = true;
    return 0;
  }
  auto exchange = std::make_unique<Http2Exchange>();
  exchange->request = std::move(body);
  exchange->may_send = std::move(may_send);
  exchange->streaming = streaming;
  exchange->max_body = max_body;
  exchanges_.emplace(id, std::move(exchange));
  ++open_;
  return id;
}

Http2Exchange* Http2Session::Find(std::int32_t id) {
  const auto found = exchanges_.find(id);
  return found == exchanges_.end() ? nullptr : found->second.get();
}

std::string Http2Session::Take(std::int32_t id) {
  Http2Exchange* exchange = Find(id);
  if (exchange == nullptr || exchange->body.empty()) return {};
  std::string taken = std::exchange(exchange->body, {});
  if (exchange->open) nghttp2_session_consume_stream(session_, id, taken.size());
  return taken;
}

void Http2Session::Drop(std::int32_t id) {
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  if (found->second->open) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  }
  exchanges_.erase(found);
}

void Http2Session::Ping() { nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr); }

bool Http2Session::Receive(std::string_view bytes) {
  const ssize_t used = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return used == static_cast<ssize_t>(bytes.size());
}

bool Http2Session::Produce(std::string& out, std::size_t enough) {
  while (out.size() < enough) {
    const std::uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &data);
    if (size < 0) return false;
    if (size == 0) return true;
    out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  }
  return true;
}

bool Http2Session::over() const {
  return nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
}

std::size_t Http2Session::limit() const {
  if (!settled_) return kUsualLimit;
  return nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

int Http2Session::OnHeader(const nghttp2_frame& frame, std::string_view name,
                           std::string_view value) {
  const std::int32_t id = frame.hd.stream_id;
  Http2Exchange* exchange = Find(id);
  if (exchange == nullptr || exchange->over) return 0;
  // As SETTINGS_MAX_HEADER_LIST_SIZE counts them.
  exchange->head_bytes += name.size() + value.size() + 32;
  if (exchange->head_bytes > limits_.max_header_bytes) {
    exchange->fault =
        fmt::format("the head of an answer must have at most {} bytes", limits_.max_header_bytes);
    End(id, *exchange);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  // What comes after the body, nobody here wants to know.
  if (exchange->head_done) return 0;
  if (name == ":status") {
    exchange->status = NumberIn(value).value_or(0);
  } else if (name == "retry-after") {
    if (const auto seconds = NumberIn(value))
      exchange->retry_after = std::chrono::seconds(*seconds);
  }
  return 0;
}

void Http2Session::OnFrame(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_GOAWAY) leaving_ = true;
  if (frame.hd.type == NGHTTP2_SETTINGS) settled_ = true;
  if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return;
  const std::int32_t id = frame.hd.stream_id;
  Http2Exchange* exchange = Find(id);
  if (exchange == nullptr || exchange->over) return;
  if (frame.hd.type == NGHTTP2_HEADERS && exchange->status >= 200 && !exchange->head_done) {
    exchange->head_done = true;
    if (exchange->streaming) news_.push_back(id);
  }
  if ((frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
  exchange->whole = exchange->head_done;
  if (!exchange->whole) exchange->fault = "the server's answer has no status";
  End(id, *exchange);
}

void Http2Session::OnData(std::int32_t id, std::string_view piece) {
  // The connection has room again at once, whatever becomes of the stream.
  nghttp2_session_consume_connection(session_, piece.size());
  Http2Exchange* exchange = Find(id);
  if (exchange == nullptr || exchange->over) return;
  if (!exchange->streaming) nghttp2_session_consume_stream(session_, id, piece.size());
  // The library takes back a stream whose server overruns its window, but goes on telling what comes until then.
  const std::size_t most =
      exchange->streaming ? static_cast<std::size_t>(limits_.stream_window) : exchange->max_body;
  if (exchange->body.size() + piece.size() > most) {
    exchange->fault = exchange->streaming
                          ? "the server has sent more than there was room for"
                          : fmt::format("an answer must have at most {} bytes", most);
    exchange->body = {};
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    return End(id, *exchange);
  }
  exchange->body.append(piece);
  // A server may send a byte at a time.
  if (exchange->streaming && (news_.empty() || news_.back() != id)) news_.push_back(id);
}

void Http2Session::OnClose(std::int32_t id, std::uint32_t error) {
  if (open_ > 0) --open_;
  Http2Exchange* exchange = Find(id);
  if (exchange == nullptr) return;
  exchange->open = false;
  if (exchange->over) return;
  // Also what the library has not sent since the server is leaving. An answer that has begun is no refusal.
  exchange->refused = exchange->status == 0 && error == NGHTTP2_REFUSED_STREAM;
  exchange->wants_http1 = exchange->status == 0 && error == NGHTTP2_HTTP_1_1_REQUIRED;
  exchange->fault =
      fmt::format("the server has reset the request: {}", nghttp2_http2_strerror(error));
  End(id, *exchange);
}

void Http2Session::End(std::int32_t id, Http2Exchange& exchange) {
  exchange.over = true;
  news_.push_back(id);
}

}  // namespace dray::client::internal
