// SPDX-License-Identifier: Apache-2.0
//
// Http2Connection: one connection that many requests and watches share. Whoever has something to send writes it
// himself, and takes along what others have; one thread reads, and wakes whom it is for. It also looks after the
// connection: a server that does not answer a ping in time is not there, whatever the connection looks like.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host.h"
#include "base/mutex.h"
#include "base/status.h"
#include "client/http_client.h"
#include "client/internal/http2_session.h"
#include "client/internal/socket.h"

namespace dray::client::internal {

struct Http2Options {
  // Nothing was heard for so long while somebody waits for something: it is asked whether it is there. When nothing
  // has come that long after that, it is not.
  std::chrono::milliseconds ping_after{30'000};
  std::chrono::milliseconds ping_timeout{15'000};
  std::chrono::milliseconds max_idle{60'000};  // without requests; then it ends
  std::size_t max_line_bytes = 64u << 20;
  Http2Limits limits = {};
};

// Thread-safe.
class Http2Connection : public std::enable_shared_from_this<Http2Connection> {
 public:
  // `version` is that of the credentials that the connection was made with.
  static std::shared_ptr<Http2Connection> Start(std::unique_ptr<Socket> socket,
                                                std::uint64_t version, const Http2Options& options);
  ~Http2Connection();
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  std::uint64_t version() const { return version_; }
  // Whether it can be used for new requests.
  bool Usable() const;
  // Takes the place of a request, for Exchange or Open; false: there is none, or it is not usable. `anyway`: it may
  // have to wait until another one has ended.
  bool Reserve(bool anyway);
  // Gives a place back that is not needed.
  void Release();

  struct Outcome {
    enum class Kind : unsigned char {
      kAnswered,
      kNotProcessed,  // the server has not looked at it, for sure
      kWantsHttp1,    // the same, and it would if it were asked otherwise
      kFailed,        // what became of it is not known
      kBroken,        // the same, and the connection leads nowhere, or seems to
    };
    Kind kind = Kind::kFailed;
    HttpResponse response;
    Status status;  // of what was not answered
  };
  // `may_send` is asked when it is sent, from any thread, quickly; null: it may be.
  Outcome Exchange(const HeadFields& head, const std::string& body, Deadline deadline,
                   std::size_t max_bytes, const std::function<bool()>& may_send);
  // A response that goes on when it is a 200; `response` of others. The head comes until `head_until`.
  struct Opened {
    Outcome outcome;
    std::shared_ptr<LineStream> stream;
  };
  Opened Open(const HeadFields& head, Deadline head_until, Deadline end,
              std::chrono::milliseconds silence, std::size_t max_bytes);

  // Everything that waits fails, now and from then on.
  void Fail(Status why);

 private:
  class Lines;
  // Somebody waits for news of a request.
  struct Waiter {
    base::CondVar news;
  };

  Http2Connection(std::unique_ptr<Socket> socket, std::uint64_t version,
                  const Http2Options& options);

  void Run();
  // How long the thread may sleep; looks after the connection on the way.
  int LookAfter() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What the server has sent so far.
  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(std::string_view wire) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sends what there is. Others have the lock meanwhile, and what they add is sent, too.
  void Flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FailLocked(Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The server has ended it, as it may: whoever watches begins again.
  void EndLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeThread();
  // False: the time has come.
  bool Wait(Waiter& waiter, Deadline until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::int32_t Begin(const HeadFields& head, const std::string& body, bool streaming,
                     std::size_t max_bytes, const std::function<bool()>& may_send, Waiter& waiter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(std::int32_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of a request that is over, or will not be waited for any longer.
  Outcome OutcomeOf(Http2Exchange* exchange, Deadline begun) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::unique_ptr<Socket> socket_;
  const std::uint64_t version_;
  const Http2Options options_;
  int wake_ = -1;  // an eventfd
  mutable base::Mutex mutex_;
  Http2Session session_ ABSL_GUARDED_BY(mutex_);
  std::map<std::int32_t, Waiter*> waiters_ ABSL_GUARDED_BY(mutex_);
  std::size_t reserved_ ABSL_GUARDED_BY(mutex_) = 0;  // places that requests have or will have
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  bool retired_ ABSL_GUARDED_BY(mutex_) = false;  // not for new requests
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;    // by the server
  Status failure_ ABSL_GUARDED_BY(mutex_);
  bool flushing_ ABSL_GUARDED_BY(mutex_) = false;
  bool want_write_ ABSL_GUARDED_BY(mutex_) = false;  // the thread goes on when there is room
  std::vector<char> buffer_ ABSL_GUARDED_BY(mutex_);
  std::string plain_ ABSL_GUARDED_BY(mutex_);
  std::string wire_ ABSL_GUARDED_BY(mutex_);  // to be sent
  std::string received_ ABSL_GUARDED_BY(mutex_);
  Deadline heard_ ABSL_GUARDED_BY(mutex_);
  Deadline idle_since_ ABSL_GUARDED_BY(mutex_);
  std::optional<Deadline> pinged_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<base::Running> running_;
};

}  // namespace dray::client::internal
