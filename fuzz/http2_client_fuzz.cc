// SPDX-License-Identifier: Apache-2.0
//
// Frames of a bad server to the client's side of an HTTP/2 connection with three requests under way: a plain one, one
// that sends a body, and a watch. Properties: what is kept and what is answered is bounded whatever comes; a request
// that is over stays over, and one that the server has begun to answer is not said to be untouched; after the first
// fault nothing is told. Input: the number of bytes that come at a time, as two hexadecimal digits (0: all), then
// frames as text (http2_text.h).
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "client/internal/http2_session.h"
#include "http2_text.h"

namespace {

using namespace dray::client::internal;  // NOLINT: a fuzz target is about one room

constexpr std::size_t kMaxBody = 4'096;
constexpr std::size_t kMaxHead = 4'096;
constexpr std::int32_t kWindow = 70'000;

void Check(const Http2Exchange& exchange, bool was_over) {
  DRAY_CHECK(exchange.over || !was_over, "a request that was over is not any more");
  DRAY_CHECK(!exchange.whole || (exchange.over && exchange.status >= 200), "whole without an end");
  DRAY_CHECK(!(exchange.refused || exchange.wants_http1) || (exchange.over && exchange.status == 0),
             "refused and begun");
  DRAY_CHECK(exchange.body.size() <=
             (exchange.streaming ? static_cast<std::size_t>(kWindow) : kMaxBody));
  // One field more than the limit is counted, and that one is bounded by the frames that bring it.
  DRAY_CHECK(exchange.head_bytes <= kMaxHead + (70u << 10));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t piece = dray::fuzz::Hex(input);
  Http2Session session(
      {.max_header_bytes = kMaxHead, .stream_window = kWindow, .connection_window = 1 << 20});
  const HeadFields get = {
      {":method", "GET"}, {":scheme", "https"}, {":authority", "x"}, {":path", "/"}};
  HeadFields post = get;
  post[0].second = "POST";
  const std::array<std::int32_t, 3> ids = {session.Submit(get, "", false, kMaxBody),
                                           session.Submit(post, "body", false, kMaxBody),
                                           session.Submit(get, "", true, 0)};
  std::array<bool, 3> over{};
  std::string out;
  DRAY_CHECK(session.Produce(out, 1u << 20));
  const std::string bytes = dray::fuzz::BytesOf(input);
  std::size_t answered = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = piece == 0 ? bytes.size() : std::min(piece, bytes.size() - at);
    const bool goes_on = session.Receive(std::string_view(bytes).substr(at, length));
    at += length;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Http2Exchange* exchange = session.Find(ids[i]);
      Check(*exchange, over[i]);
      over[i] = exchange->over;
    }
    out.clear();
    if (!goes_on || !session.Produce(out, 1u << 20)) break;
    answered += out.size();
    // Nobody can be made to say more than a few bytes for each that he is sent.
    DRAY_CHECK(answered <= 64 * (at + 64), "the answer is larger than what provokes it");
    static_cast<void>(session.TakeNews());
    if (at % 2 == 1) session.Take(ids[2]);
  }
  session.Drop(ids[2]);
  out.clear();
  static_cast<void>(session.Produce(out, 1u << 20));
  return 0;
}
