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

}  // namespace
}  // namespace dray::rest
