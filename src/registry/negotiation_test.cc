// SPDX-License-Identifier: Apache-2.0
#include "registry/negotiation.h"

#include <gtest/gtest.h>

#include "rest/api_error.h"

namespace dray::registry {
namespace {

TEST(ParseAccept, TakesTheFirstThatCanBeServed) {
  EXPECT_EQ(ParseAccept("")->shape, Shape::kObject);
  EXPECT_EQ(ParseAccept("*/*")->shape, Shape::kObject);
  EXPECT_EQ(ParseAccept("application/json;as=Table;v=v1;g=meta.k8s.io,application/json")->shape,
            Shape::kTable);
  // What kubectl sends: protobuf first, and an older table.
  EXPECT_EQ(ParseAccept("application/vnd.kubernetes.protobuf, application/json")->shape,
            Shape::kObject);
  EXPECT_EQ(
      ParseAccept("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json")->shape,
      Shape::kObject);
  EXPECT_EQ(ParseAccept("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")->shape,
            Shape::kPartialMetadata);
  EXPECT_TRUE(ParseAccept("application/yaml")->yaml);
  EXPECT_EQ(rest::FromStatus(ParseAccept("text/html").status()).code, 406);
}

TEST(BodyFormatOf, IsJsonUnlessSaidOtherwise) {
  EXPECT_EQ(*BodyFormatOf(""), rest::BodyFormat::kJson);
  EXPECT_EQ(*BodyFormatOf("application/json; charset=utf-8"), rest::BodyFormat::kJson);
  EXPECT_EQ(*BodyFormatOf("Application/YAML"), rest::BodyFormat::kYaml);
  EXPECT_EQ(*BodyFormatOf("application/vnd.kubernetes.protobuf"), rest::BodyFormat::kProtobuf);
  EXPECT_EQ(rest::FromStatus(BodyFormatOf("text/plain").status()).code, 415);
}

TEST(PatchKindOf, MustBeSaid) {
  EXPECT_EQ(*PatchKindOf("application/json-patch+json"), PatchKind::kJson);
  EXPECT_EQ(*PatchKindOf("application/apply-patch+yaml"), PatchKind::kApply);
  EXPECT_EQ(rest::FromStatus(PatchKindOf("application/json").status()).code, 415);
}

}  // namespace
}  // namespace dray::registry
