// SPDX-License-Identifier: Apache-2.0
//
// A server that compares values of others byte by byte, as Kubernetes's does, and shows them in JSON
// in other bytes than it has stored: in front of a real one stands somebody who does just that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/json.h"
#include "api/resource_claim.h"
#include "client/remote_cluster.h"
#include "client/server_for_test.h"
#include "rest/protobuf.h"
#include "testing/status_matchers.h"

namespace dray::client {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::HasSubstr;

constexpr const char* kParameters = "spec.devices.config[0].opaque.parameters";
constexpr const char* kData = "status.devices[0].data";

const api::KindInfo& ClaimKind() { return api::HubKind(api::TypeInfoOf<api::ResourceClaim>()); }

class VerbatimTest : public ::testing::Test {
 protected:
  VerbatimTest() {
    server_.set_intercept([this](const apiserver::Request& request) { return Look(request); });
  }

  static api::ResourceClaim ClaimWith(std::string_view parameters) {
    api::ResourceClaim claim;
    claim.metadata.namespace_ = "ns";
    claim.metadata.name = "c";
    api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
    request.name = "gpu";
    request.exactly.emplace().device_class_name = "gpu.example.com";
    auto& config = claim.spec.devices.config.emplace_back();
    config.opaque.emplace();
    config.opaque->driver = "gpu.example.com";
    config.opaque->parameters.text = parameters;
    return claim;
  }
  // Of what the server would say in JSON the bytes are `stored`.
  void Store(std::string_view shown, std::string stored) {
    stored_[kParameters] = std::move(stored);
    ASSERT_THAT(server_.local().Create(api::Object::Of(ClaimWith(shown))), IsOk());
  }
  api::ResourceClaim Claim() {
    const auto found = cluster_.Find(ClaimKind(), "ns", "c");
    EXPECT_THAT(found, IsOk());
    return *(*found)->As<api::ResourceClaim>();
  }

  std::optional<apiserver::Response> Look(const apiserver::Request& request) {
    if (request.path.find("/resourceclaims/c") == std::string::npos) return std::nullopt;
    const bool protobuf_wanted = request.headers.Find("Accept") == rest::kProtobufMediaType;
    if (request.method == "GET" && protobuf_wanted) return protobuf_ ? Show() : NotAcceptable();
    if (request.method != "PUT") return std::nullopt;
    rest::RawBytes sent;
    if (request.headers.Find("Content-Type") == rest::kProtobufMediaType) {
      ++in_protobuf_;
      EXPECT_TRUE(rest::ReadProtobuf(request.body, *ClaimKind().type, ClaimKind().group,
                                     ClaimKind().version, &sent)
                      .ok());
    } else {
      ++in_json_;
      api::JsonDecoder decoder;
      const auto claim = decoder.Decode<api::ResourceClaim>(request.body);
      EXPECT_THAT(claim, IsOk());
      if (!claim.ok()) return std::nullopt;
      sent[kParameters] = claim->spec.devices.config.at(0).opaque->parameters.text;
      if (!claim->status.devices.empty()) sent[kData] = claim->status.devices[0].data.text;
    }
    for (const auto& [path, bytes] : stored_) {
      if (sent[path] != bytes) return Immutable(path);
    }
    return std::nullopt;
  }
  apiserver::Response Show() {
    const auto found = server_.local().Find(ClaimKind(), "ns", "c");
    auto written = rest::WriteProtobuf(ClaimKind(), **found, &stored_);
    EXPECT_THAT(written, IsOk());
    apiserver::Response response;
    response.headers.Add("Content-Type", std::string(rest::kProtobufMediaType));
    response.body = std::make_shared<const std::string>(std::move(written->body));
    if (moves_) {
      // Somebody writes right after it was read.
      api::Object object = **found;
      object.MutableMetadata().labels["moved"] = std::to_string(in_json_);
      EXPECT_THAT(server_.local().Update(object), IsOk());
    }
    return response;
  }
  static apiserver::Response NotAcceptable() {
    apiserver::Response response;
    response.status = 406;
    return response;
  }
  static apiserver::Response Immutable(const std::string& path) {
    apiserver::Response response;
    response.status = 422;
    response.body = std::make_shared<const std::string>(
        R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"c is invalid: )" +
        path + R"(: field is immutable","reason":"Invalid","code":422})");
    return response;
  }

  TestServer server_;
  std::unique_ptr<HttpClient> http_ = server_.Connect();
  RemoteCluster cluster_{*http_, server_.clock()};
  rest::RawBytes stored_;
  bool protobuf_ = true;
  bool moves_ = false;
  std::atomic<int> in_json_ = 0;
  std::atomic<int> in_protobuf_ = 0;
};

// Blanks, and characters that JSON shows escaped.
TEST_F(VerbatimTest, AClaimWhoseBytesJsonDoesNotShowIsWrittenAsProtobuf) {
  Store(R"({"url":"http://h/a?b=1\u0026c=\u003c2\u003e"})",
        "{ \"url\": \"http://h/a?b=1&c=<2>\" }");
  api::ResourceClaim claim = Claim();
  claim.metadata.finalizers = {"resource.kubernetes.io/delete-protection"};
  const auto updated = cluster_.Update(api::Object::Of(claim));
  ASSERT_THAT(updated, IsOk());
  claim = *updated->As<api::ResourceClaim>();
  claim.status.reserved_for.push_back({.resource = "pods", .name = "p", .uid = "u"});
  api::AllocationResult& allocation = claim.status.allocation.emplace();
  auto& result = allocation.devices.results.emplace_back();
  result.request = "gpu";
  result.driver = "gpu.example.com";
  result.pool = "pool";
  result.device = "gpu-0";
  ASSERT_THAT(cluster_.UpdateStatus(api::Object::Of(claim)), IsOk());
  EXPECT_EQ(in_json_, 2);
  EXPECT_EQ(in_protobuf_, 2);
  // The real server behind has understood all of it.
  const api::ResourceClaim now = Claim();
  EXPECT_THAT(now.metadata.finalizers,
              ::testing::ElementsAre("resource.kubernetes.io/delete-protection"));
  ASSERT_TRUE(now.status.allocation.has_value());
  EXPECT_EQ(now.status.allocation->devices.results.at(0).device, "gpu-0");
  EXPECT_EQ(now.status.reserved_for.at(0).uid, "u");
  // And what a driver has written there stays its own.
  api::ResourceClaim with_data = now;
  auto& device = with_data.status.devices.emplace_back();
  device.driver = "gpu.example.com";
  device.pool = "pool";
  device.device = "gpu-0";
  device.data.text = R"({"a":"x\u0026y"})";
  ASSERT_THAT(server_.local().UpdateStatus(api::Object::Of(with_data)), IsOk());
  stored_[kData] = "{\"a\" :\"x&y\"}";
  api::ResourceClaim shared = Claim();
  shared.status.reserved_for.push_back({.resource = "pods", .name = "q", .uid = "v"});
  EXPECT_THAT(cluster_.UpdateStatus(api::Object::Of(shared)), IsOk());
  EXPECT_EQ(Claim().status.reserved_for.size(), 2u);
}

TEST_F(VerbatimTest, WhatJsonShowsAsItIsNeedsNoProtobuf) {
  Store(R"({"url":"\u003c2\u003e","n":1.0})", R"({"url":"\u003c2\u003e","n":1.0})");
  api::ResourceClaim claim = Claim();
  claim.metadata.finalizers = {"f.example.com/x"};
  EXPECT_THAT(cluster_.Update(api::Object::Of(claim)), IsOk());
  EXPECT_EQ(in_protobuf_, 0);
}

// Another value is another value: the refusal is told, and nothing is sent again.
TEST_F(VerbatimTest, WhoChangesAValueIsRefused) {
  Store(R"({"a":1})", R"({"a": 1})");
  api::ResourceClaim claim = Claim();
  claim.spec.devices.config[0].opaque->parameters.text = R"({"a":2})";
  EXPECT_THAT(cluster_.Update(api::Object::Of(claim)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("field is immutable")));
  EXPECT_EQ(in_protobuf_, 0);
}

TEST_F(VerbatimTest, AServerWithoutProtobufHasTheLastWord) {
  Store(R"({"a":1})", R"({"a": 1})");
  protobuf_ = false;
  EXPECT_THAT(cluster_.Update(api::Object::Of(Claim())),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("field is immutable")));
  EXPECT_EQ(in_protobuf_, 0);
}

TEST_F(VerbatimTest, AClaimThatMovesMeanwhileIsAConflict) {
  Store(R"({"a":1})", R"({"a": 1})");
  const api::ResourceClaim claim = Claim();
  moves_ = true;
  EXPECT_THAT(cluster_.Update(api::Object::Of(claim)),
              StatusIs(StatusCode::kAborted, ::testing::_));
  EXPECT_THAT(cluster_.Update(api::Object::Of(claim)),
              StatusIs(StatusCode::kAborted, ::testing::_));
}

}  // namespace
}  // namespace dray::client
