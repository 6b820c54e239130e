// SPDX-License-Identifier: Apache-2.0
#include "spdy/internal/header_block.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "fmt/format.h"

namespace dray::spdy {
namespace {

// Words with their lengths before them, and a text without.
constexpr std::string_view kWords[] = {
    "options",
    "head",
    "post",
    "put",
    "delete",
    "trace",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "connection",
    "content-base",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "retry-after",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "method",
    "get",
    "status",
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
};
constexpr std::string_view kText =
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 "
    "Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 "
    "Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service "
    "UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, "
    "Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/"
    "xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-"
    "8charset=iso-8859-1,utf-,*,enq=0.";

void AppendSized(std::string_view text, std::string& to) {
  const auto size = static_cast<std::uint32_t>(text.size());
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(size >> shift & 0xff);
  to += text;
}

const Bytef* BytesOf(std::string_view text) { return reinterpret_cast<const Bytef*>(text.data()); }

// Reads numbers and texts off the front.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool Number(std::uint32_t& value) {
    if (text_.size() < 4) return false;
    value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(text_[i]);
    text_.remove_prefix(4);
    return true;
  }
  bool Text(std::string& text) {
    std::uint32_t size = 0;
    if (!Number(size) || text_.size() < size) return false;
    text = text_.substr(0, size);
    text_.remove_prefix(size);
    return true;
  }
  bool AtEnd() const { return text_.empty(); }

 private:
  std::string_view text_;
};

StatusOr<Headers> Parse(std::string_view text) {
  const auto broken = [] { return base::InvalidArgument("the headers of a stream are broken"); };
  Cursor cursor(text);
  std::uint32_t count = 0;
  if (!cursor.Number(count)) return broken();
  if (count > kMostHeaders) {
    return base::MakeStatus(StatusCode::kOutOfRange,
                            fmt::format("a stream has at most {} headers", kMostHeaders));
  }
  Headers headers(count);
  for (auto& [name, value] : headers) {
    if (!cursor.Text(name) || !cursor.Text(value) || name.empty()) return broken();
    if (std::ranges::any_of(name, [](char c) { return c >= 'A' && c <= 'Z'; })) return broken();
  }
  if (!cursor.AtEnd()) return broken();
  return headers;
}

}  // namespace

const std::string& HeaderDictionary() {
  static const std::string dictionary = [] {
    std::string text;
    for (const std::string_view word : kWords) AppendSized(word, text);
    return text += kText;
  }();
  return dictionary;
}

HeaderPacker::HeaderPacker() {
  // A small window is enough for few and short headers, and costs little for each connection.
  constexpr int kWindowBits = 11;
  constexpr int kMemory = 1;
  DRAY_CHECK(::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowBits, kMemory,
                            Z_DEFAULT_STRATEGY) == Z_OK);
  const std::string& words = HeaderDictionary();
  DRAY_CHECK(::deflateSetDictionary(&stream_, BytesOf(words), static_cast<uInt>(words.size())) ==
             Z_OK);
}

HeaderPacker::~HeaderPacker() { ::deflateEnd(&stream_); }

std::string HeaderPacker::Pack(const Headers& headers) {
  std::string plain;
  const auto count = static_cast<std::uint32_t>(headers.size());
  for (int shift = 24; shift >= 0; shift -= 8) plain += static_cast<char>(count >> shift & 0xff);
  for (const auto& [name, value] : headers) {
    AppendSized(name, plain);
    AppendSized(value, plain);
  }
  stream_.next_in = const_cast<Bytef*>(BytesOf(plain));  // NOLINT: zlib does not write there
  stream_.avail_in = static_cast<uInt>(plain.size());
  std::string packed;
  std::array<char, 1024> buffer;
  do {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = buffer.size();
    DRAY_CHECK(::deflate(&stream_, Z_SYNC_FLUSH) != Z_STREAM_ERROR);
    packed.append(buffer.data(), buffer.size() - stream_.avail_out);
  } while (stream_.avail_out == 0);
  return packed;
}

HeaderUnpacker::HeaderUnpacker() { DRAY_CHECK(::inflateInit(&stream_) == Z_OK); }

HeaderUnpacker::~HeaderUnpacker() { ::inflateEnd(&stream_); }

StatusOr<Headers> HeaderUnpacker::Unpack(std::string_view bytes) {
  stream_.next_in = const_cast<Bytef*>(BytesOf(bytes));  // NOLINT: zlib does not write there
  stream_.avail_in = static_cast<uInt>(bytes.size());
  std::string plain;
  std::array<char, 4096> buffer;
  while (true) {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = buffer.size();
    int result = ::inflate(&stream_, Z_SYNC_FLUSH);
    if (result == Z_NEED_DICT) {
      const std::string& words = HeaderDictionary();
      result = ::inflateSetDictionary(&stream_, BytesOf(words), static_cast<uInt>(words.size()));
      if (result == Z_OK) continue;
    }
    plain.append(buffer.data(), buffer.size() - stream_.avail_out);
    if (plain.size() > kLongestHeaders) {
      return base::MakeStatus(StatusCode::kOutOfRange,
                              fmt::format("headers have at most {} bytes", kLongestHeaders));
    }
    if (result == Z_BUF_ERROR && stream_.avail_in == 0) break;  // nothing is left to be done
    if (result != Z_OK) return base::InvalidArgument("the headers of a stream cannot be unpacked");
    if (stream_.avail_in == 0 && stream_.avail_out != 0) break;
  }
  return Parse(plain);
}

}  // namespace dray::spdy
