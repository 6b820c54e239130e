// SPDX-License-Identifier: Apache-2.0
//
// Objects written as protobuf: byte by byte where that is small, and read back where it is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "api/json.h"
#include "api/lease.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "fmt/format.h"
#include "rest/protobuf.h"

namespace dray::rest {
namespace {

using ::testing::HasSubstr;

constexpr const char* kParameters = "spec.devices.config[0].opaque.parameters";

// The wire, by hand.
std::string Bytes(int field, const std::string& bytes) {
  EXPECT_LT(bytes.size(), 128u);
  return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string Number(int field, int value) {
  return {static_cast<char>(field << 3), static_cast<char>(value)};
}
std::string Envelope(const std::string& api_version, const std::string& kind,
                     const std::string& raw) {
  return std::string("k8s\0", 4) + Bytes(1, Bytes(1, api_version) + Bytes(2, kind)) + Bytes(2, raw);
}

api::ResourceClaim ClaimWith(std::string_view parameters) {
  api::ResourceClaim claim;
  claim.metadata.name = "c";
  auto& config = claim.spec.devices.config.emplace_back();
  config.opaque.emplace();
  config.opaque->driver = "d";
  config.opaque->parameters.text = parameters;
  return claim;
}

TEST(ProtobufWrite, BytesAreThoseOfKubernetesMessages) {
  api::ResourceClaim claim = ClaimWith("{ }");
  claim.metadata.finalizers = {"f"};
  claim.status.reserved_for.push_back({.resource = "pods", .name = "p", .uid = "u"});
  const auto written =
      WriteProtobuf(api::HubKind(api::TypeInfoOf<api::ResourceClaim>()), api::Object::Of(claim));
  ASSERT_TRUE(written.ok()) << written.status();
  const std::string opaque = Bytes(1, "d") + Bytes(2, Bytes(1, "{ }"));
  EXPECT_EQ(written->body,
            Envelope("resource.k8s.io/v1", "ResourceClaim",
                     Bytes(1, Bytes(1, "c") + Bytes(14, "f")) +
                         Bytes(2, Bytes(1, Bytes(3, Bytes(2, Bytes(1, opaque))))) +
                         Bytes(3, Bytes(2, Bytes(3, "pods") + Bytes(4, "p") + Bytes(5, "u")))));
}

TEST(ProtobufWrite, WhatIsSetIsWrittenThoughItIsZero) {
  api::Lease lease;
  lease.spec.holder_identity = "";
  lease.spec.lease_transitions = 0;
  lease.spec.renew_time = api::MicroTime{base::Time::FromUnix(5, 6)};
  const auto written =
      WriteProtobuf(api::HubKind(api::TypeInfoOf<api::Lease>()), api::Object::Of(lease));
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->body, Envelope("coordination.k8s.io/v1", "Lease",
                                    Bytes(2, Bytes(1, "") + Bytes(4, Number(1, 5) + Number(2, 6)) +
                                                 Number(5, 0))));
}

TEST(ProtobufWrite, WhatOnlyJsonCarriesIsNotLostButRefused) {
  api::JsonDecoder decoder;
  auto newer = decoder.Decode<api::ResourceClaim>(R"({"spec":{"devices":{"newer":1}}})");
  ASSERT_TRUE(newer.ok());
  const auto refused =
      WriteProtobuf(api::HubKind(api::TypeInfoOf<api::ResourceClaim>()), api::Object::Of(*newer));
  EXPECT_EQ(base::Message(refused.status()),
            "spec.devices: fields of a newer version can only be sent as JSON");
  api::Pod pod;
  pod.spec.security_context.emplace();
  pod.spec.security_context->text = R"({"runAsUser":5})";
  EXPECT_THAT(
      std::string(base::Message(
          WriteProtobuf(api::HubKind(api::TypeInfoOf<api::Pod>()), api::Object::Of(pod)).status())),
      HasSubstr("spec.securityContext: can only be sent as JSON"));
}

// What an API server shows of its bytes is written back as what it has.
TEST(ProtobufWrite, BytesThatAreStoredReplaceThoseThatSayTheSame) {
  struct Case {
    const char* stored;
    const char* shown;
    bool same;
  };
  for (const Case& c : {
           Case{R"({ "a" : "<&>" })", R"({"a":"\u003c\u0026\u003e"})", true},
           Case{"{\"a\":\t[ 1 , 2 ]\n}", R"({"a":[1,2]})", true},
           Case{"{\"a\":\"x\xe2\x80\xa8y\"}", R"({"a":"x\u2028y"})", true},
           Case{R"({"twice":1, "twice":"<"})", R"({"twice":1,"twice":"\u003c"})", true},
           Case{R"({"a":"\\\"<"})", R"({"a":"\\\"\u003c"})", true},
           Case{R"({"a":" b "})", R"({"a":"b"})", false},
           Case{R"({"a":1.0})", R"({"a":1})", false},
           Case{R"({"a":1})", R"({"a":2})", false},
       }) {
    const RawBytes stored = {{kParameters, c.stored}};
    const auto& kind = api::HubKind(api::TypeInfoOf<api::ResourceClaim>());
    const auto written = WriteProtobuf(kind, api::Object::Of(ClaimWith(c.shown)), &stored);
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_EQ(written->verbatim, c.same ? 1u : 0u) << c.stored;
    RawBytes sent;
    ASSERT_TRUE(ReadProtobuf(written->body, *kind.type, kind.group, kind.version, &sent).ok());
    EXPECT_EQ(sent[kParameters], c.same ? c.stored : c.shown);
  }
}

// Anything that an object can hold.
class Filler {
 public:
  explicit Filler(std::uint64_t seed) : random_(seed) {}

  std::size_t Below(std::size_t n) { return random_() % n; }

  std::string Blanks() {
    static constexpr std::string_view kBlanks[] = {"", "", "", " ", "\n", "\t", "  ", "\r\n "};
    return std::string(kBlanks[Below(std::size(kBlanks))]);
  }
  std::string JsonString() {
    static constexpr std::string_view kPieces[] = {"a",         "<",
                                                   ">",         "&",
                                                   R"(\u003c)", R"(\u0026)",
                                                   R"(\u003E)", R"(\/)",
                                                   "/",         R"(\n)",
                                                   R"(\u0000)", "ä",
                                                   R"(\u00e4)", R"(\ud83d\ude00)",
                                                   "😀",         "\xe2\x80\xa8",
                                                   R"(\")",     R"(\\)",
                                                   "{",         "]",
                                                   ",",         ":",
                                                   " "};
    std::string text = "\"";
    for (std::size_t n = Below(5); n > 0; --n) text += kPieces[Below(std::size(kPieces))];
    return text + "\"";
  }
  std::string Json(int depth) {
    static constexpr std::string_view kValues[] = {
        "1.0",  "1e3",   "1E+3", "0.10", "-0", "-0.0", "12345678901234567890",
        "true", "false", "null"};
    const std::size_t choice = depth > 3 ? 2 + Below(3) : Below(5);
    std::string text = Blanks();
    if (choice == 0) {
      text += "[";
      for (std::size_t n = Below(4); n > 0; --n) text += Json(depth + 1) + (n > 1 ? "," : "");
      text += Blanks() + "]";
    } else if (choice == 1) {
      text += Object(depth);
    } else {
      text += choice == 2 ? JsonString() : std::string(kValues[Below(std::size(kValues))]);
    }
    return text + Blanks();
  }
  std::string Object(int depth) {
    std::string text = "{";
    const std::size_t n = Below(4);
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0) text += ",";
      // Keys differ: of equal ones a tree keeps the last.
      std::string key = JsonString();
      key.insert(1, fmt::format("k{}", i));
      text += Blanks() + key + Blanks() + ":" + Json(depth + 1);
    }
    return text + Blanks() + "}";
  }

  // `dense`: how many of ten members are set.
  void Fill(const api::TypeInfo& type, void* value, std::size_t dense, int depth = 0) {
    using api::Shape;
    switch (type.shape) {
      case Shape::kBool:
        *static_cast<bool*>(value) = Below(2) == 0;
        return;
      case Shape::kInt32:
        *static_cast<std::int32_t*>(value) = static_cast<std::int32_t>(random_());
        return;
      case Shape::kInt64:
        *static_cast<std::int64_t*>(value) = static_cast<std::int64_t>(random_());
        return;
      case Shape::kDouble:
        *static_cast<double*>(value) = static_cast<double>(Below(1000)) / 7;
        return;
      case Shape::kString:
        *static_cast<std::string*>(value) = Word();
        return;
      case Shape::kText:
        *static_cast<base::Text*>(value) = base::Text(Word());
        return;
      case Shape::kQuantity:
        *static_cast<base::Quantity*>(value) =
            *base::Quantity::Parse(fmt::format("{}Mi", Below(5)));
        return;
      case Shape::kTime:
        *static_cast<base::Time*>(value) =
            base::Time::FromUnix(static_cast<int>(Below(2'000'000'000)));
        return;
      case Shape::kMicroTime:
        static_cast<api::MicroTime*>(value)->time = base::Time::FromUnix(
            static_cast<int>(Below(2'000'000'000)), static_cast<int>(Below(1'000'000)) * 1'000);
        return;
      case Shape::kIntOrString:
        if (Below(2) == 0) {
          static_cast<api::IntOrString*>(value)->value = static_cast<std::int32_t>(Below(100));
        } else {
          static_cast<api::IntOrString*>(value)->value = Word();
        }
        return;
      case Shape::kBytes:
        *static_cast<api::Bytes*>(value) = {.data = Word() + '\xff'};
        return;
      case Shape::kRaw:
        static_cast<api::RawJson*>(value)->text = Object(1);
        return;
      case Shape::kOptional: {
        void* const content = type.emplace(value);
        // An empty list that is there is one that is not, in protobuf.
        do {
          Fill(*type.element, content, dense, depth);
        } while (type.element->size != nullptr && type.element->size(content) == 0);
        return;
      }
      case Shape::kList:
        for (std::size_t n = Below(3); n > 0; --n) {
          Fill(*type.element, type.append(value), dense, depth + 1);
        }
        return;
      case Shape::kMap:
        for (std::size_t n = Below(3); n > 0; --n) {
          Fill(*type.element, type.append_key(value, base::Text(fmt::format("k{}", n))), dense,
               depth + 1);
        }
        EXPECT_TRUE(type.seal(value));
        return;
      case Shape::kStruct:
        for (const api::FieldInfo& field : type.fields().fields) {
          static const std::set<std::string_view> kOwn = {"compatibilityGroups", "list"};
          if (depth > 8 || Below(10) >= dense || kOwn.contains(field.name)) continue;
          // The type of what is inside of another object is not told in protobuf.
          if (type.fields().name == "StatefulSetVolumeClaim" && field.options.proto.number == 0) {
            continue;
          }
          Fill(*field.type, field.At(value), dense, depth + 1);
        }
        return;
    }
  }

 private:
  std::string Word() {
    static constexpr std::string_view kWords[] = {"", "a", "x/y", "ä😀", "a \"quoted\" <word>"};
    return std::string(kWords[Below(std::size(kWords))]);
  }

  std::mt19937_64 random_;
};

api::Object FromJson(const api::KindInfo& version, const std::string& json) {
  api::JsonDecoder decoder;
  api::Object object = api::Object::New(version);
  const Status status = decoder.Decode(json, *version.type, object.MutableData());
  EXPECT_TRUE(status.ok()) << status << "\n" << json;
  return object;
}

// In every version, what is read from the protobuf of an object is what is read from its JSON.
TEST(ProtobufProperty, SaysWhatJsonSays) {
  int written_kinds = 0;
  for (const api::KindInfo& version : api::Kinds()) {
    int compared = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(fmt::format("{} {}, seed {}", version.ApiVersion(), version.kind, seed));
      Filler filler(seed);
      api::Object object = api::Object::New(version);
      filler.Fill(*version.type, object.MutableData(), 3 + seed % 7);
      const auto written = WriteProtobuf(version, object);
      if (!written.ok()) {
        EXPECT_THAT(std::string(base::Message(written.status())),
                    HasSubstr("only be sent as JSON"));
        continue;
      }
      ++compared;
      const auto tree = ReadProtobuf(written->body, *version.type, version.group, version.version);
      ASSERT_TRUE(tree.ok()) << tree.status();
      std::vector<api::Diagnostic> diagnostics;
      api::Object read = api::Object::New(version);
      api::DecodeNode(*tree, *version.type, read.MutableData(), api::Severity::kWarning,
                      diagnostics);
      const api::Object wanted = FromJson(version, object.ToJson(version));
      ASSERT_TRUE(SemanticEqual(read, wanted)) << read.ToJson(version) << "\n"
                                               << wanted.ToJson(version);
    }
    written_kinds += compared > 10 ? 1 : 0;
  }
  // All but those with parts that dray keeps as JSON.
  EXPECT_GT(written_kinds, 20);
}

// From a read in protobuf to a write in protobuf no byte of others' values changes, though they
// went through the JSON of an API server in between.
TEST(ProtobufProperty, BytesOfOthersStayAsTheyWere) {
  int replaced = 0;
  for (const std::string_view api_version :
       {"resource.k8s.io/v1", "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2"}) {
    const api::KindInfo& version = *api::FindKind(api_version, "ResourceClaim");
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", api_version, seed));
      Filler filler(seed);
      api::Object stored = api::Object::New(version);
      filler.Fill(*version.type, stored.MutableData(), 8);
      const auto first = WriteProtobuf(version, stored);
      ASSERT_TRUE(first.ok()) << first.status();
      RawBytes there;
      ASSERT_TRUE(
          ReadProtobuf(first->body, *version.type, version.group, version.version, &there).ok());
      const api::Object seen = FromJson(version, stored.ToJson(version));
      const auto second = WriteProtobuf(version, seen, &there);
      ASSERT_TRUE(second.ok()) << second.status();
      RawBytes sent;
      ASSERT_TRUE(
          ReadProtobuf(second->body, *version.type, version.group, version.version, &sent).ok());
      ASSERT_EQ(sent, there);
      replaced += static_cast<int>(second->verbatim);
    }
  }
  EXPECT_GT(replaced, 100);
}

}  // namespace
}  // namespace dray::rest
