// SPDX-License-Identifier: Apache-2.0
//
// A handler that does what the path says, and a server around it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "apiserver/client_for_test.h"
#include "apiserver/server.h"
#include "testing/status_matchers.h"

namespace dray::apiserver {

using HandleFn = std::function<void(Request, std::shared_ptr<Responder>)>;

class FunctionHandler final : public Handler {
 public:
  explicit FunctionHandler(HandleFn handle) : handle_(std::move(handle)) {}
  void Handle(Request request, std::shared_ptr<Responder> responder) override {
    handle_(std::move(request), std::move(responder));
  }

 private:
  const HandleFn handle_;
};

inline Bytes ToBytes(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

inline Response TextResponse(std::string text) {
  Response response;
  response.headers.Add("Content-Type", "text/plain");
  response.body = ToBytes(std::move(text));
  return response;
}

// "GET /a?b as system:anonymous: body"
inline void Echo(Request request, const std::shared_ptr<Responder>& responder) {
  responder->Send(TextResponse(request.method + " " + request.path + "?" + request.query + " as " +
                               request.user.name + ": " + request.body));
}

class ServerTest : public ::testing::Test {
 protected:
  void Start(HandleFn handle, ServerOptions options = {}) {
    server_ = nullptr;
    handler_ = std::make_unique<FunctionHandler>(std::move(handle));
    auto server = Server::Start(options, *handler_, authenticator_);
    ASSERT_THAT(server, testing::IsOk());
    server_ = *std::move(server);
  }
  std::uint16_t port() const { return server_->port(); }

  Authenticator authenticator_;
  std::unique_ptr<FunctionHandler> handler_;
  std::unique_ptr<Server> server_;
};

}  // namespace dray::apiserver
