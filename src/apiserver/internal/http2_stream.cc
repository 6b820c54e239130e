// SPDX-License-Identifier: Apache-2.0
#include "apiserver/internal/http2_stream.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/status.h"
#include "fmt/format.h"

namespace dray::apiserver::internal {

void Http2Stream::AddField(std::string_view name, std::string_view value) {
  // As the protocol counts them: what they take in a table.
  constexpr std::size_t kOverhead = 32;
  head_bytes_ += name.size() + value.size() + kOverhead;
  if (head_bytes_ > shared_.options.max_header_bytes) return;
  if (name == ":method") {
    request_.method = value;
  } else if (name == ":path") {
    target_ = value;
  } else if (name == ":authority") {
    request_.headers.Add("Host", std::string(value));
  } else if (name == "host") {
    if (request_.headers.Find("host").empty()) request_.headers.Add("Host", std::string(value));
  } else if (!name.starts_with(':')) {
    // Nobody would know which of them others have gone by.
    repeated_ = repeated_ || (name == "authorization" && !request_.headers.Find(name).empty());
    request_.headers.Add(std::string(name), std::string(value));
  }
}

std::optional<HeadFault> Http2Stream::EndHead(const ShownCertificate* certificate, bool ends) {
  request_.audit_id = AuditIdFor(request_.headers.Find("Audit-ID"));
  if (head_bytes_ > shared_.options.max_header_bytes) return HeadTooLarge(shared_.options);
  if (repeated_) return HeadFault{.message = "there is more than one Authorization header"};
  if (const auto fault = ReadTarget(target_, request_)) return fault;
  // Without a length any may come. The library has seen to it that a length is a number, and sees
  // to it that it is kept.
  std::uint64_t body = ends ? 0 : shared_.options.max_body_bytes;
  if (const std::string_view length = request_.headers.Find("content-length"); !length.empty()) {
    if (!absl::SimpleAtoi(base::ToAbsl(length), &body)) body = shared_.options.max_body_bytes + 1;
  }
  phase_ = Phase::kBody;
  return Admit(shared_, certificate, body, request_, charged_);
}

std::optional<HeadFault> Http2Stream::AddBody(std::string_view piece) {
  if (request_.body.size() + piece.size() > shared_.options.max_body_bytes) {
    return BodyTooLarge(shared_.options);
  }
  request_.body += piece;
  return std::nullopt;
}

Request Http2Stream::TakeRequest(TimePoint now) {
  Release(shared_, charged_);
  request_.receiving = now - began_;
  phase_ = Phase::kHandling;
  Request taken = std::move(request_);
  request_ = Request{.method = taken.method, .remote = taken.remote, .audit_id = taken.audit_id};
  return taken;
}

void Http2Stream::Refuse(const HeadFault& fault, bool certificate, TimePoint now) {
  Release(shared_, charged_);
  request_.body = {};
  request_.receiving = now - began_;
  if (request_.audit_id.empty()) request_.audit_id = AuditIdFor("");
  TellRefused(shared_, fault, request_.method, target_, request_, certificate);
  phase_ = Phase::kHandling;
}

void Http2Stream::SetAnswer(Response& response, std::function<void()> wake, TimePoint now) {
  phase_ = Phase::kAnswering;
  progress_ = now;
  if (response.stream) {
    source_ = std::move(response.stream);
    source_state_ = StreamSource::State::kMore;
    tick_ = response.tick.value_or(std::chrono::milliseconds(0));
    source_->Start(std::move(wake));
  } else if (response.body) {
    out_.push_back(std::move(response.body));
  }
}

Http2Stream::Taken Http2Stream::Take(char* to, std::size_t size, std::size_t& taken,
                                     TimePoint now) {
  taken = 0;
  waiting_ = false;
  bool pulled = false;
  while (taken < size) {
    while (!out_.empty() && offset_ >= out_.front()->size()) {
      out_.pop_front();
      offset_ = 0;
    }
    if (!out_.empty()) {
      const std::string_view rest = std::string_view(*out_.front()).substr(offset_, size - taken);
      std::memcpy(to + taken, rest.data(), rest.size());
      taken += rest.size();
      offset_ += rest.size();
      continue;
    }
    const bool more = source_state_ == StreamSource::State::kMore || woken_;
    // Once in a turn: a source with much to say does not keep the other streams waiting.
    if (!source_ || source_state_ == StreamSource::State::kEnd || !more || pulled) break;
    pulled = true;
    woken_ = false;
    std::vector<Bytes> pieces;
    source_state_ = source_->Pull(pieces);
    std::ranges::move(pieces, std::back_inserter(out_));
  }
  if (taken > 0) progress_ = now;
  const bool empty = out_.empty() || (out_.size() == 1 && offset_ >= out_.front()->size());
  if (empty && (!source_ || source_state_ == StreamSource::State::kEnd)) {
    source_.reset();
    return Taken::kEnd;
  }
  if (taken > 0) return Taken::kMore;
  if (source_state_ == StreamSource::State::kMore || woken_) return Taken::kAgain;
  waiting_ = true;
  next_tick_ = tick_.count() > 0 ? now + tick_ : TimePoint::max();
  return Taken::kWait;
}

void Http2Stream::EndSource() {
  if (source_ && !source_->Finite()) source_state_ = StreamSource::State::kEnd;
}

}  // namespace dray::apiserver::internal
