// SPDX-License-Identifier: Apache-2.0
#include "client/internal/http1_exchange.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "fmt/format.h"

namespace dray::client::internal {
namespace {

namespace http = boost::beast::http;
using std::chrono::steady_clock;

constexpr std::size_t kMaxHeaderBytes = 64u << 10;

using Parser = http::response_parser<http::string_body>;

std::optional<std::chrono::seconds> RetryAfter(const Parser& parser) {
  const auto text = parser.get()["Retry-After"];
  int seconds = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || seconds < 0) return std::nullopt;
  return std::chrono::seconds(seconds);
}

Status Broken(const boost::system::error_code& error) {
  return base::Unavailable(fmt::format("the connection failed: {}", error.message()));
}

// Reads a response, or the rest of one. Beast looks at its own limit for requests only.
StatusOr<HttpResponse> ReadWhole(Http1Connection& connection, Parser& parser,
                                 std::size_t max_bytes) {
  const auto too_large = [&] {
    return base::Unavailable(fmt::format("an answer must have at most {} bytes", max_bytes));
  };
  boost::system::error_code error;
  if (!parser.is_header_done()) {
    http::read_header(*connection.socket, connection.buffer, parser, error);
  }
  if (!error && parser.content_length().value_or(0) > max_bytes) return too_large();
  parser.eager(true);
  while (!error && !parser.is_done()) {
    http::read_some(*connection.socket, connection.buffer, parser, error);
    if (parser.get().body().size() > max_bytes) return too_large();
  }
  if (error) return Broken(error);
  return HttpResponse{static_cast<int>(parser.get().result_int()), std::move(parser.get().body()),
                      RetryAfter(parser)};
}

class Stream final : public LineStream {
 public:
  Stream(Http1Connection connection, std::unique_ptr<Parser> parser, std::size_t max_line,
         Deadline end, std::chrono::milliseconds silence)
      : connection_(std::move(connection)),
        parser_(std::move(parser)),
        max_line_(max_line),
        end_(end),
        silence_(silence) {
    // Piece by piece: an eager parser hands nothing out before the next piece has begun.
    parser_->eager(false);
  }

  StatusOr<bool> Next(std::string& line) override {
    for (;;) {
      std::string& text = parser_->get().body();
      const std::size_t end = text.find('\n', searched_);
      if (end != std::string::npos) {
        line.assign(text, taken_, end - taken_);
        taken_ = end + 1;
        searched_ = taken_;
        return true;
      }
      // What was handed out makes room for what comes.
      text.erase(0, taken_);
      taken_ = 0;
      searched_ = text.size();
      if (text.size() > max_line_) {
        return base::InvalidArgument(
            fmt::format("a line of a watch must have at most {} bytes", max_line_));
      }
      if (parser_->is_done()) return false;
      boost::system::error_code error;
      connection_.socket->set_deadline(std::min(end_, steady_clock::now() + silence_));
      http::read_some(*connection_.socket, connection_.buffer, *parser_, error);
      if (error == http::error::end_of_stream || error == http::error::partial_message) {
        return false;
      }
      if (error == boost::asio::error::timed_out && steady_clock::now() < end_) {
        return base::MakeStatus(StatusCode::kDeadlineExceeded,
                                fmt::format("the server has said nothing for {} s",
                                            static_cast<double>(silence_.count()) / 1e3));
      }
      if (error) return Broken(error);
    }
  }

  void Cancel() override { connection_.socket->Interrupt(); }

 private:
  Http1Connection connection_;
  std::unique_ptr<Parser> parser_;
  const std::size_t max_line_;
  const Deadline end_;
  const std::chrono::milliseconds silence_;
  std::size_t taken_ = 0;     // of the parser's body
  std::size_t searched_ = 0;  // no line ends before this
};

}  // namespace

StatusOr<HttpResponse> ExchangeHttp1(Http1Connection& connection, const std::string& text,
                                     const Http1Limits& limits, bool& keep) {
  keep = false;
  connection.socket->set_deadline(steady_clock::now() + limits.head_within);
  DRAY_RETURN_IF_ERROR(connection.socket->WriteAll(text));
  Parser parser;
  parser.header_limit(kMaxHeaderBytes);
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  auto response = ReadWhole(connection, parser, limits.max_bytes);
  keep = response.ok() && parser.keep_alive();
  return response;
}

StatusOr<Http1Opened> OpenHttp1(Http1Connection connection, const std::string& text,
                                const Http1Limits& limits, std::chrono::milliseconds longest,
                                std::chrono::milliseconds silence) {
  connection.socket->set_deadline(steady_clock::now() + std::min(limits.head_within, silence));
  DRAY_RETURN_IF_ERROR(connection.socket->WriteAll(text));
  auto parser = std::make_unique<Parser>();
  parser->header_limit(kMaxHeaderBytes);
  parser->body_limit(std::numeric_limits<std::uint64_t>::max());
  boost::system::error_code error;
  http::read_header(*connection.socket, connection.buffer, *parser, error);
  if (error) return Broken(error);
  Http1Opened opened;
  if (parser->get().result_int() != 200) {
    DRAY_ASSIGN_OR_RETURN(opened.refusal, ReadWhole(connection, *parser, limits.max_bytes));
    return opened;
  }
  opened.stream =
      std::make_shared<Stream>(std::move(connection), std::move(parser), limits.max_line_bytes,
                               steady_clock::now() + longest, silence);
  return opened;
}

}  // namespace dray::client::internal
