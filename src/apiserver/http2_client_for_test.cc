// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http2_client_for_test.h"

#include <algorithm>
#include <cstring>

namespace dray::apiserver {
namespace {

nghttp2_nv Field(const std::pair<std::string, std::string>& field) {
  const auto bytes = [](const std::string& text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(field.first), bytes(field.second), field.first.size(), field.second.size(),
          NGHTTP2_NV_FLAG_NONE};
}

}  // namespace

std::string Frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload) {
  std::string text;
  for (int shift = 16; shift >= 0; shift -= 8) text += static_cast<char>(payload.size() >> shift);
  text += static_cast<char>(type);
  text += static_cast<char>(flags);
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(stream >> shift);
  return text.append(payload);
}

std::string Preface() {
  return std::string(NGHTTP2_CLIENT_MAGIC) + Frame(NGHTTP2_SETTINGS, 0, 0, "");
}

Http2Client::Http2Client(std::uint16_t port, const ClientTls& tls, std::int32_t window)
    : client_(port, tls, 0, TestClient::kHttp2), window_(window) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                    std::uint8_t, void* user) {
        Http2Answer& answer = Of(user).answers_[frame->hd.stream_id];
        const std::string key(reinterpret_cast<const char*>(name), name_size);
        answer.head[key] = std::string(reinterpret_cast<const char*>(value), value_size);
        if (key == ":status") answer.status = std::stoi(answer.head[key]);
        return 0;
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                    std::size_t size, void* user) {
        Of(user).answers_[id].body.append(reinterpret_cast<const char*>(data), size);
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, std::int32_t id, std::uint32_t error, void* user) {
        Http2Answer& answer = Of(user).answers_[id];
        answer.ended = true;
        answer.error = error;
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->hd.type == NGHTTP2_GOAWAY) Of(user).goodbye_ = frame->goaway.error_code;
        return 0;
      });
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  if (window > 0) nghttp2_option_set_no_auto_window_update(option, 1);
  // The test means what it sends.
  nghttp2_option_set_no_http_messaging(option, 1);
  nghttp2_option_set_max_send_header_block_length(option, 1 << 20);
  nghttp2_option_set_peer_max_concurrent_streams(option, 1'000'000);
  nghttp2_session_client_new2(&session_, callbacks, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
       static_cast<std::uint32_t>(window > 0 ? window : 65'535)}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, 1);
}

Http2Client::~Http2Client() { nghttp2_session_del(session_); }

std::int32_t Http2Client::Send(const std::string& method, const std::string& path,
                               const Fields& fields, std::string body, bool whole) {
  Fields all = {
      {":method", method}, {":scheme", "https"}, {":authority", "localhost"}, {":path", path}};
  all.insert(all.end(), fields.begin(), fields.end());
  std::vector<nghttp2_nv> head;
  for (const auto& field : all) head.push_back(Field(field));
  if (body.empty() && whole) {
    return nghttp2_submit_request(session_, nullptr, head.data(), head.size(), nullptr, nullptr);
  }
  nghttp2_data_provider provider = {};
  provider.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* to, std::size_t size,
                              std::uint32_t* flags, nghttp2_data_source*, void* user) -> ssize_t {
    auto& [rest, ends] = Of(user).bodies_[id];
    if (rest.empty() && !ends) return NGHTTP2_ERR_DEFERRED;
    const std::size_t n = std::min(size, rest.size());
    std::memcpy(to, rest.data(), n);
    rest.erase(0, n);
    if (rest.empty() && ends) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  };
  const std::int32_t id =
      nghttp2_submit_request(session_, nullptr, head.data(), head.size(), &provider, nullptr);
  bodies_[id] = {std::move(body), whole};
  return id;
}

std::int32_t Http2Client::SendFields(const Fields& fields) {
  std::vector<nghttp2_nv> head;
  for (const auto& field : fields) head.push_back(Field(field));
  return nghttp2_submit_request(session_, nullptr, head.data(), head.size(), nullptr, nullptr);
}

void Http2Client::Reset(std::int32_t stream) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
}

void Http2Client::GiveRoom(std::int32_t stream, std::int32_t bytes) {
  nghttp2_submit_window_update(session_, NGHTTP2_FLAG_NONE, stream, bytes);
  nghttp2_submit_window_update(session_, NGHTTP2_FLAG_NONE, 0, bytes);
}

bool Http2Client::Flush() {
  while (true) {
    const std::uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &data);
    if (size <= 0) return size == 0;
    if (!client_.Send({reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)})) {
      return false;
    }
  }
}

bool Http2Client::ReadSome() {
  const std::string bytes = client_.ReadSome();
  if (bytes.empty()) return false;
  return nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                  bytes.size()) >= 0;
}

bool Http2Client::Await(const std::function<bool()>& done) {
  while (!done()) {
    if (!Flush() && done()) return true;
    if (!ReadSome()) return done();
  }
  return true;
}

Http2Answer Http2Client::Finish(std::int32_t stream) {
  Await([&] { return answers_[stream].ended; });
  return answers_[stream];
}

Http2Answer Http2Client::Get(const std::string& path, const Fields& fields) {
  return Finish(Send("GET", path, fields));
}

bool Http2Client::Ended() {
  Flush();
  while (ReadSome()) {
  }
  return client_.Ended();
}

}  // namespace dray::apiserver
