// SPDX-License-Identifier: Apache-2.0
//
// Requests as a patient client makes them: one connection that is kept, JSON in and out.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "apiserver/client_for_test.h"

namespace dray::process {

struct Call {
  std::string method = "GET";
  std::string path;
  std::string body = {};
  std::string content_type = "application/json";
  std::string headers = {};  // more of them, each with its end of line
};
// As bytes on the wire.
std::string Text(const Call& call);

struct Listed {
  std::vector<api::Object> objects;
  std::int64_t revision = 0;
};

// One thread.
class Requests {
 public:
  Requests(std::uint16_t port, apiserver::ClientTls tls) : port_(port), tls_(std::move(tls)) {}

  // Status 0: no whole answer came. The next one tries another connection.
  apiserver::ClientResponse Do(const Call& call);
  // Sends it whole and hangs up a moment later without reading an answer: nobody can say whether it was
  // done. False: it could not be sent.
  bool DoAndHangUp(const Call& call, std::chrono::microseconds later);
  // Everything of a kind; nothing if there was no answer.
  std::optional<Listed> List(const api::KindInfo& kind);

 private:
  const std::uint16_t port_;
  const apiserver::ClientTls tls_;
  std::unique_ptr<apiserver::TestClient> client_;
};

// "/api/v1/pods", "/apis/apps/v1/namespaces/ns/deployments".
std::string PathOf(const api::KindInfo& kind, std::string_view space = "",
                   std::string_view name = "");
// An object that the server has sent; what it has sent must be one.
api::Object Decoded(std::string_view json);
// A resourceVersion as a number.
std::int64_t RevisionOf(const api::Object& object);

}  // namespace dray::process
