// SPDX-License-Identifier: Apache-2.0
#include "rest/api_error.h"

#include <gtest/gtest.h>

#include "api/device_class.h"

namespace dray::rest {
namespace {

const api::KindInfo& Classes() { return api::HubKind(api::TypeInfoOf<api::DeviceClass>()); }

TEST(ApiError, TravelsInsideOfAStatus) {
  const Status status = AlreadyExists(Classes(), "gpu");
  EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
  const ApiError error = FromStatus(status);
  EXPECT_EQ(error.code, 409);
  EXPECT_EQ(error.ToJson(),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"deviceclasses.resource.k8s.io \"gpu\" already exists",)"
            R"("reason":"AlreadyExists","details":{"name":"gpu","group":"resource.k8s.io",)"
            R"("kind":"deviceclasses"},"code":409})");
}

TEST(ApiError, OfAnyOtherStatusFollowsFromItsCode) {
  EXPECT_EQ(FromStatus(base::NotFound("x")).code, 404);
  EXPECT_EQ(FromStatus(base::Aborted("x")).reason, "Conflict");
  EXPECT_EQ(FromStatus(base::Unavailable("x")).code, 503);
  EXPECT_EQ(FromStatus(base::Internal("broken")).ToJson(),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"broken","reason":"InternalError","code":500})");
}

TEST(ApiError, OneFaultStandsAloneAndSeveralInBrackets) {
  const api::FieldError first = api::Required(base::FieldPath("spec") / "a");
  const api::FieldError second = api::Invalid(base::FieldPath("spec") / "b", "x", "must be y");
  EXPECT_EQ(base::Message(Invalid(Classes(), "n", {first})),
            "DeviceClass.resource.k8s.io \"n\" is invalid: spec.a: Required value");
  const ApiError error = FromStatus(Invalid(Classes(), "n", {first, second}));
  EXPECT_EQ(error.code, 422);
  EXPECT_EQ(error.message,
            "DeviceClass.resource.k8s.io \"n\" is invalid: [spec.a: Required value, spec.b: "
            "Invalid value: \"x\": must be y]");
  ASSERT_EQ(error.details->causes.size(), 2u);
  EXPECT_EQ(error.details->causes[1],
            (StatusCause{"FieldValueInvalid", "Invalid value: \"x\": must be y", "spec.b"}));
}

TEST(ApiError, OfMoreFaultsThanAnybodyReadsTheFirstAreTold) {
  const api::ErrorList errors(5000, api::Required(base::FieldPath("spec") / "a"));
  const ApiError error = FromStatus(Invalid(Classes(), "n", errors));
  EXPECT_EQ(error.details->causes.size(), 1000u);
  EXPECT_TRUE(error.message.ends_with(", spec.a: Required value, and 4000 more]"));
}

TEST(ApiError, WhatBecameOfAWriteIsSaidOnce) {
  EXPECT_EQ(FromStatus(WriteNotDone("nothing was written: etcd does not answer")).message,
            "nothing was written: etcd does not answer; the request can be sent again");
  EXPECT_EQ(FromStatus(WriteNotDone("it is full")).message,
            "nothing was written: it is full; the request can be sent again");
  EXPECT_EQ(
      FromStatus(WriteUnknown("it is not known whether it was written: Socket closed")).message,
      "it is not known whether this was written: Socket closed; look before you send it again");
}

// Whatever was quoted, clients can read the answer.
TEST(ApiError, WhatIsNoTextIsQuotedAsText) {
  const ApiError error = FromStatus(BadRequest("not \xE1 \xED\xA0\x80 but \xC3\xA9 \xE2\x82"));
  EXPECT_EQ(error.code, 400);
  EXPECT_EQ(error.message, "not \uFFFD \uFFFD\uFFFD\uFFFD but \u00E9 \uFFFD\uFFFD");
  EXPECT_NE(ApiError({.code = 400, .message = "\xFF"}).ToJson().find("\uFFFD"), std::string::npos);
}

}  // namespace
}  // namespace dray::rest
