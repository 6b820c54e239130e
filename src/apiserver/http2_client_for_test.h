// SPDX-License-Identifier: Apache-2.0
//
// A client of HTTP/2 for tests: many requests on one connection, and any bytes one likes. Blocking;
// gives up after ten seconds of silence.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/client_for_test.h"

namespace dray::apiserver {

struct Http2Answer {
  int status = 0;
  std::map<std::string, std::string> head;
  std::string body;
  bool ended = false;       // the stream is closed
  std::uint32_t error = 0;  // why, if it was reset
};

class Http2Client {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  // `window`: how much the server may send on each stream before the test gives room; 0: as much as
  // it likes.
  Http2Client(std::uint16_t port, const ClientTls& tls, std::int32_t window = 0);
  ~Http2Client();
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  bool connected() const { return client_.connected(); }
  // Returns the stream. `whole` false: the body goes on, and never comes.
  std::int32_t Send(const std::string& method, const std::string& path, const Fields& fields = {},
                    std::string body = "", bool whole = true);
  std::int32_t SendFields(const Fields& fields);
  void Reset(std::int32_t stream);
  void GiveRoom(std::int32_t stream, std::int32_t bytes);
  // Writes what there is to write.
  bool Flush();
  bool SendRaw(std::string_view bytes) { return Flush() && client_.Send(bytes); }

  // Reads until `done`. False: the connection ended, or nothing came.
  bool Await(const std::function<bool()>& done);
  Http2Answer& operator[](std::int32_t stream) { return answers_[stream]; }
  Http2Answer Get(const std::string& path, const Fields& fields = {});
  Http2Answer Finish(std::int32_t stream);
  // The reason of the server's goodbye; -1: it has not said it.
  std::int64_t goodbye() const { return goodbye_; }
  // Reads to the end of the connection.
  bool Ended();

 private:
  static Http2Client& Of(void* user) { return *static_cast<Http2Client*>(user); }
  bool ReadSome();

  TestClient client_;
  const std::int32_t window_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Http2Answer> answers_;
  std::map<std::int32_t, std::pair<std::string, bool>> bodies_;  // what is left, and whether whole
  std::int64_t goodbye_ = -1;
};

// A frame as it is on the wire.
std::string Frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload);
// What a client says first, with empty settings.
std::string Preface();

}  // namespace dray::apiserver
