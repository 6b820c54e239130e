// SPDX-License-Identifier: Apache-2.0
//
// One request of an HTTP/2 connection and its answer. Knows nothing of frames: what has come is put
// in, what is to be sent is taken out, as much as the client has room for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "apiserver/http.h"
#include "apiserver/internal/admission.h"

namespace dray::apiserver::internal {

// Lives on its connection's thread.
class Http2Stream {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  enum class Phase : unsigned char {
    kHead,       // header fields come
    kBody,       // then data
    kHandling,   // the handler has it
    kAnswering,  // an answer goes out
  };

  Http2Stream(Shared& shared, std::int32_t id, std::string remote, TimePoint now)
      : shared_(shared), id_(id), began_(now), progress_(now) {
    request_.remote = std::move(remote);
  }
  ~Http2Stream() { Release(shared_, charged_); }
  Http2Stream(const Http2Stream&) = delete;
  Http2Stream& operator=(const Http2Stream&) = delete;

  std::int32_t id() const { return id_; }
  Phase phase() const { return phase_; }
  const std::string& audit_id() const { return request_.audit_id; }
  bool is_head() const { return request_.method == "HEAD"; }
  TimePoint began() const { return began_; }

  // A header field. Those that are over the limit are counted and dropped.
  void AddField(std::string_view name, std::string_view value);
  // All fields are there. A fault: the answer is not the handler's. `ends`: there is no body.
  std::optional<HeadFault> EndHead(const ShownCertificate* certificate, bool ends);
  // A piece of the body.
  std::optional<HeadFault> AddBody(std::string_view piece);
  // All is there: the request, for the handler.
  Request TakeRequest(TimePoint now);
  void Refuse(const HeadFault& fault, bool certificate, TimePoint now);

  // What the body of the answer is; `wake` as in StreamSource::Start.
  void SetAnswer(Response& response, std::function<void()> wake, TimePoint now);

  enum class Taken : unsigned char {
    kMore,   // bytes, and there may be others
    kEnd,    // bytes or none, and that was all
    kWait,   // none before somebody wakes the stream
    kAgain,  // none yet, but there will be without waking
  };
  // Up to `size` bytes of the answer.
  Taken Take(char* to, std::size_t size, std::size_t& taken, TimePoint now);
  // The source may have more.
  void Wake() { woken_ = true; }
  // Nothing more is asked of a source that would go on for ever.
  void EndSource();

  bool waiting() const { return waiting_; }
  // Whether something has been ready to be sent since so long, and the client had no room.
  bool StalledSince(TimePoint then) const {
    return phase_ == Phase::kAnswering && !waiting_ && progress_ < then;
  }
  bool TickIsDue(TimePoint now) const { return waiting_ && now >= next_tick_; }

 private:
  Shared& shared_;
  const std::int32_t id_;
  const TimePoint began_;
  Phase phase_ = Phase::kHead;
  Request request_;
  std::string target_;
  std::size_t head_bytes_ = 0;
  bool repeated_ = false;  // a field that there may be one of
  std::size_t charged_ = 0;

  std::deque<Bytes> out_;
  std::size_t offset_ = 0;  // of out_.front()
  std::unique_ptr<StreamSource> source_;
  StreamSource::State source_state_ = StreamSource::State::kEnd;
  bool woken_ = false;
  bool waiting_ = false;
  TimePoint progress_;
  std::chrono::milliseconds tick_{0};
  TimePoint next_tick_ = TimePoint::max();
};

}  // namespace dray::apiserver::internal
