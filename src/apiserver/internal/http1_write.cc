// SPDX-License-Identifier: Apache-2.0
//
// The half of a connection that writes: responses, and streams pulled as fast as the client takes
// them.
#include <algorithm>
#include <ctime>
#include <utility>

#include "apiserver/internal/http1_connection.h"
#include "fmt/format.h"

namespace dray::apiserver::internal {
namespace {

// Pieces smaller than this are copied together into one write.
constexpr std::size_t kGatherSize = 16u << 10;
// How much is written in a row before the others of this thread have their turn: a client that takes a
// large answer as fast as it is made would keep them waiting until its end.
constexpr std::size_t kTurnBytes = 256u << 10;
// How much a client may send ahead while its stream runs.
constexpr std::size_t kMaxAhead = 64u << 10;

}  // namespace

void Http1Connection::OnResponse(Response response) {
  if (state_ != State::kHandling) return;  // closed meanwhile
  if (io_->shared().draining) keep_alive_ = false;
  Framing framing = Framing::kLength;
  if (response.stream) framing = version_ >= 11 ? Framing::kChunked : Framing::kClose;
  if (response.status == 204 || response.status == 304) framing = Framing::kNone;
  upgraded_ = response.status == 101 && response.stream != nullptr;
  if (upgraded_) framing = Framing::kUpgrade;
  if (framing == Framing::kClose || upgraded_) keep_alive_ = false;
  response.headers.Add("Audit-Id", request_.audit_id);
  Queue(HeadText(response, framing, keep_alive_, std::time(nullptr)));
  const bool has_body = framing != Framing::kNone && !is_head_;
  if (has_body && response.stream) {
    source_ = std::move(response.stream);
    source_state_ = StreamSource::State::kMore;
    chunked_ = framing == Framing::kChunked;
    tick_ = response.tick.value_or(std::chrono::milliseconds(0));
    woken_ = false;
    source_->Start([weak = weak_from_this(), io = io_] {
      if (auto self = weak.lock()) io->Post([self = std::move(self)] { self->OnWake(); });
    });
  } else if (has_body && response.body && !response.body->empty()) {
    out_.push_back(std::move(response.body));
  }
  state_ = State::kWriting;
  SetDeadline(io_->shared().options.write_timeout);
  Flush();
}

void Http1Connection::Queue(std::string text) {
  out_.push_back(std::make_shared<const std::string>(std::move(text)));
}

void Http1Connection::Flush() {
  std::size_t turn = 0;
  while (!out_.empty()) {
    if (turn >= kTurnBytes) {
      return io_->Post([self = shared_from_this()] {
        if (self->state_ == State::kWriting) self->Flush();
      });
    }
    // TLS wants a write that had to wait to be repeated with the same bytes or more: what is
    // gathered begins at the same place, and the queue only grows.
    std::string_view data = std::string_view(*out_.front()).substr(out_offset_);
    if (data.size() < kGatherSize && out_.size() > 1) {
      std::string& gathered = io_->scratch();
      gathered = data;
      for (auto it = out_.begin() + 1; it != out_.end() && gathered.size() < kGatherSize; ++it) {
        gathered.append(**it, 0, kGatherSize);
      }
      data = gathered;
    }
    // A write that had to wait is repeated from the same place, and so is cut at the same one.
    data = data.substr(0, kTurnBytes);
    std::size_t written = 0;
    switch (transport_.Write(data.data(), data.size(), written)) {
      case Transport::Result::kDone:
        break;
      case Transport::Result::kWaitWrite:
        return WaitWritable();
      case Transport::Result::kWaitRead:
        return WaitReadable();
      case Transport::Result::kClosed:
        return Close();
    }
    SetDeadline(io_->shared().options.write_timeout);
    turn += written;
    out_offset_ += written;
    while (!out_.empty() && out_offset_ >= out_.front()->size()) {
      out_offset_ -= out_.front()->size();
      out_.pop_front();
    }
  }
  OnFlushed();
}

void Http1Connection::OnFlushed() {
  if (!source_) return NextRequest();
  deadline_ = TimePoint::max();
  switch (source_state_) {
    case StreamSource::State::kMore:
      // Later, so that a stream with much to say does not keep others waiting.
      state_ = State::kWaiting;
      woken_ = true;
      return io_->Post([self = shared_from_this()] { self->Pull(); });
    case StreamSource::State::kWait:
      state_ = State::kWaiting;
      if (tick_.count() > 0) next_tick_ = std::chrono::steady_clock::now() + tick_;
      if (woken_) return Pull();
      return WatchForEnd();
    case StreamSource::State::kEnd:
      source_.reset();
      next_tick_ = TimePoint::max();
      if (!chunked_) return NextRequest();
      Queue("0\r\n\r\n");
      state_ = State::kWriting;
      SetDeadline(io_->shared().options.write_timeout);
      return Flush();
  }
}

void Http1Connection::OnWake() {
  if (state_ == State::kWaiting) {
    Pull();
  } else if (source_) {
    woken_ = true;
  }
}

void Http1Connection::Pull() {
  if (state_ != State::kWaiting || !source_) return;
  woken_ = false;
  if (upgraded_) GiveReceived();
  std::vector<Bytes> pieces;
  if (source_state_ != StreamSource::State::kEnd) source_state_ = source_->Pull(pieces);
  std::size_t size = 0;
  for (const Bytes& piece : pieces) size += piece->size();
  if (size > 0) {
    if (chunked_) Queue(fmt::format("{:x}\r\n", size));
    std::ranges::move(pieces, std::back_inserter(out_));
    if (chunked_) Queue("\r\n");
    SetDeadline(io_->shared().options.write_timeout);
  }
  state_ = State::kWriting;
  Flush();
}

bool Http1Connection::GiveReceived() {
  const std::size_t taken = in_.empty() ? 0 : source_->Receive(in_);
  in_.erase(0, taken);
  if (taken > 0) give_up_ = TimePoint::max();
  return in_.empty();
}

// Nothing is expected from a client that watches, but the end of it must be noticed. One that speaks
// another protocol now is listened to as long as somebody takes what it says.
void Http1Connection::WatchForEnd() {
  if (upgraded_ && !GiveReceived()) return;
  if (waiting_readable_ || in_.size() > kMaxAhead) return;
  std::string& buffer = io_->scratch();
  buffer.resize(kMaxAhead);
  while (true) {
    std::size_t read = 0;
    switch (transport_.Read(buffer.data(), buffer.size(), read)) {
      case Transport::Result::kDone:
        in_.append(buffer.data(), read);
        if (upgraded_ && !GiveReceived()) return;
        if (in_.size() > kMaxAhead) return;
        break;
      case Transport::Result::kWaitRead:
      case Transport::Result::kWaitWrite:
        return WaitReadable();
      case Transport::Result::kClosed:
        return Close();
    }
  }
}

}  // namespace dray::apiserver::internal
