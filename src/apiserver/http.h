// SPDX-License-Identifier: Apache-2.0
//
// Requests and responses as whoever answers them sees them: no sockets, no TLS, no HTTP library. A
// test makes a Request, hands it to a Handler and looks at what arrives.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dray::apiserver {

inline constexpr std::string_view kAnonymous = "system:anonymous";
inline constexpr std::string_view kAuthenticated = "system:authenticated";
inline constexpr std::string_view kUnauthenticated = "system:unauthenticated";

// Who asks, after authentication.
struct User {
  std::string name = std::string(kAnonymous);
  std::vector<std::string> groups = {std::string(kUnauthenticated)};
  std::string uid = {};
  std::map<std::string, std::vector<std::string>> extra = {};

  bool anonymous() const { return name == kAnonymous; }
  friend bool operator==(const User&, const User&) = default;
};

// Names compare without regard to case; the first of equal names counts.
struct Headers {
  std::vector<std::pair<std::string, std::string>> list;

  // Empty if absent.
  std::string_view Find(std::string_view name) const;
  void Add(std::string name, std::string value);
};

// Whether everybody reads the path as the same one: it begins with '/', none of its parts is empty,
// "." or "..", and no escape is broken, hides a slash or a control character. Only the last part may
// be empty. Whoever stands before the server and looks at paths must not be led to believe that one
// is about something else.
bool IsNormalPath(std::string_view path);

struct Request {
  std::string method;  // upper case, as it came
  std::string path;    // as it came: percent-encoded, without the query; begins with '/'
  std::string query;   // what follows the '?', as it came
  Headers headers;
  std::string body;
  User user;
  // Who sent it, when it is made for somebody else, who is `user` then.
  std::optional<User> sender;
  std::string remote;  // "127.0.0.1:40312", for logs
  // What the request is called in logs and in the Audit-Id header of its answer.
  std::string audit_id;
  // From its first byte to its last.
  std::chrono::nanoseconds receiving{0};
};

// The Audit-ID that a client gives its request, if it is one that can be written anywhere: up to 64
// letters, digits, '-', '_', '.' and ':'. Empty: one has to be made.
std::string_view ValidAuditId(std::string_view text);

// A piece of a body. Shared, so that what a thousand watchers get is one string.
using Bytes = std::shared_ptr<const std::string>;

// A body that comes bit by bit, such as a watch. The connection pulls when it has sent what it had,
// so that a slow client makes its source wait instead of filling memory. All calls but those to
// `wake` come one at a time from I/O threads; none may block. Destroyed when the client is gone,
// the server ends, or kEnd was returned.
class StreamSource {
 public:
  virtual ~StreamSource() = default;
  // Once, before the first Pull. `wake` may be called from any thread, as often as one likes, even
  // after the source is gone, and leads to a Pull soon after.
  virtual void Start(std::function<void()> wake) = 0;

  enum class State : unsigned char {
    kMore,  // pull again once these are sent
    kWait,  // after `wake`, or at the next tick
    kEnd,   // that was all
  };
  // Appends what there is to `out`, a moderate amount (some 64 kB) at a time.
  virtual State Pull(std::vector<Bytes>& out) = 0;
  // An answer that is only long: a server that ends lets it come to its own end.
  virtual bool Finite() const { return false; }
  // What the client says on a connection that has become another protocol's (Response::status 101),
  // as it comes. How many of the bytes were taken: fewer than there are means that the source is
  // full, and that a `wake` follows when it no longer is.
  virtual std::size_t Receive(std::string_view bytes) { return bytes.size(); }
};

struct Response {
  int status = 200;
  Headers headers;  // Content-Length, Date and Connection are the server's business
  Bytes body;       // null: empty. Not used with a stream
  // If set, sent in chunks. After a status of 101, which needs one and the header Upgrade, its bytes
  // are sent as they are, and it is told what the client says.
  std::unique_ptr<StreamSource> stream;
  // Pull a waiting stream at least this often, for bookmarks and for ends of its own.
  std::optional<std::chrono::milliseconds> tick;
};

// Where the response to one request goes. Send exactly once, from any thread, now or later; if a
// Responder is dropped instead, the client is told 500. Thread-safe.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void Send(Response response) = 0;
};

// Answers requests. Called from I/O threads, several at a time: thread-safe, and it must not block;
// what takes long sends later from another thread.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual void Handle(Request request, std::shared_ptr<Responder> responder) = 0;
};

}  // namespace dray::apiserver
