// SPDX-License-Identifier: Apache-2.0
//
// Wire: requests on their way and answers that come bit by bit. For its sources alone.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "system/wire.h"

namespace dray::system {

// How long something that is late is on its way. Less than what lies between the moment from which
// a scheduler does not write any more and the one at which another may: nobody could tell an older
// request from a newer one without the server's help (README.md, "What is assumed").
inline constexpr Nanos kLatest = std::chrono::milliseconds(4000);

inline Status Cancelled() {
  return base::MakeStatus(StatusCode::kCancelled, "the client was closed");
}

// A request on its way, and who waits for it.
struct Wire::Call {
  explicit Call(Kernel& kernel) : wait(kernel) {}
  Sent sent;
  apiserver::User user;
  std::string content_type;
  Kernel::Wait wait;
  bool arrived = false;
  bool broken = false;
  bool answered = false;
  client::HttpResponse response;
  bool opens = false;              // the answer is read line by line, as it comes
  std::shared_ptr<Stream> stream;  // that answer
  Nanos longest{0};                // of a stream
  Nanos silence{0};                // likewise
};

class Wire::Stream final : public client::LineStream {
 public:
  Stream(Kernel& kernel, Nanos deadline, Nanos silence)
      : wait_(kernel),
        kernel_(kernel),
        deadline_(deadline),
        silence_(silence),
        heard_(kernel.now()) {}

  StatusOr<bool> Next(std::string& line) override {
    for (;;) {
      if (cancelled_) return Cancelled();
      if (!lines_.empty()) {
        line = std::move(lines_.front());
        lines_.pop_front();
        return true;
      }
      if (broken_) return base::Unavailable("the connection is broken");
      if (ended_) return false;
      const Nanos end = std::min(deadline_, heard_ + silence_);
      if (kernel_.now() >= end) return base::Unavailable("nothing came for too long");
      wait_.Until(end);
    }
  }
  void Cancel() override {
    cancelled_ = true;
    wait_.Wake();
  }

  void Put(std::string line) {
    lines_.push_back(std::move(line));
    heard_ = kernel_.now();
    wait_.Wake();
  }
  void Break() {
    broken_ = true;
    wait_.Wake();
  }
  void End() {
    ended_ = true;
    wait_.Wake();
  }

 private:
  Kernel::Wait wait_;
  Kernel& kernel_;
  const Nanos deadline_;
  const Nanos silence_;
  Nanos heard_;  // when something last came
  std::deque<std::string> lines_;
  bool cancelled_ = false;
  bool broken_ = false;
  bool ended_ = false;
};

// The server's end of a stream.
struct Wire::Feed {
  std::unique_ptr<apiserver::StreamSource> source;  // null: it is over
  std::weak_ptr<Stream> client;
  Sent sent;
  Nanos last{0};  // when the last line arrives
  std::optional<Nanos> pulls_at;
  std::optional<std::chrono::milliseconds> tick;
  std::string text;  // of a line that has begun
  // Who waits for all of it: an answer that is long, and no watch.
  std::shared_ptr<Call> whole;
  int status = 200;  // of that
  bool frozen = false;
};

}  // namespace dray::system
