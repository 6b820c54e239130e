// SPDX-License-Identifier: Apache-2.0
#include "rest/protobuf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "api/kinds.h"
#include "api/pod.h"
#include "fmt/format.h"
#include "rest/internal/proto_numbers.h"
#include "rest/internal/raw_messages.h"
#include "rest/options.h"

namespace dray::rest {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The wire, by hand.
std::string Varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string Number(std::uint32_t field, std::uint64_t value) {
  return Varint(field << 3) + Varint(value);
}
std::string Bytes(std::uint32_t field, const std::string& bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + bytes;
}
std::string Envelope(const std::string& raw) {
  return std::string("k8s\0", 4) + Bytes(1, Bytes(1, "v1") + Bytes(2, "Pod")) + Bytes(2, raw);
}

StatusOr<DocumentNode> ReadPod(const std::string& raw) {
  return ReadProtobuf(Envelope(raw), api::TypeInfoOf<api::Pod>(), "", "v1");
}

TEST(Protobuf, IsReadAsJsonWouldBe) {
  const std::string metadata = Bytes(1, "p") + Bytes(8, "") /* creationTimestamp, unset */ +
                               Bytes(11, Bytes(1, "app") + Bytes(2, "web"));
  const std::string container =
      Bytes(1, "main") + Bytes(2, "image") + Bytes(3, "run") + Bytes(3, "fast") +
      Bytes(6, Number(3, 80) + Bytes(4, "TCP")) +
      Bytes(8, Bytes(2, Bytes(1, "cpu") + Bytes(2, Bytes(1, "500m"))) + Bytes(3, Bytes(1, "gpu")));
  const std::string volume = Bytes(1, "v") + Bytes(2, Bytes(2, Bytes(1, "Memory")));
  const std::string spec = Bytes(1, volume) + Bytes(2, container) + Number(4, 30) + Number(11, 1);
  const auto tree = ReadPod(Bytes(1, metadata) + Bytes(2, spec));
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(ToJson(*tree),
            R"({"metadata":{"name":"p","creationTimestamp":null,"labels":{"app":"web"}},)"
            R"("spec":{"volumes":[{"name":"v","emptyDir":{"medium":"Memory"}}],)"
            R"("containers":[{"name":"main","image":"image","command":["run","fast"],)"
            R"("ports":[{"containerPort":80,"protocol":"TCP"}],)"
            R"("resources":{"requests":{"cpu":"500m"},"claims":[{"name":"gpu"}]}}],)"
            R"("terminationGracePeriodSeconds":30,"hostNetwork":true},)"
            R"("apiVersion":"v1","kind":"Pod"})");
}

TEST(Protobuf, TimesAndNegativeNumbersAreWhatTheyWere) {
  const std::string metadata = Bytes(8, Number(1, 5)) + Number(7, static_cast<std::uint64_t>(-2));
  const auto tree = ReadPod(Bytes(1, metadata));
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_THAT(ToJson(*tree),
              HasSubstr(R"("creationTimestamp":"1970-01-01T00:00:05Z","generation":-2)"));
}

TEST(Protobuf, UnknownNumbersArePassedOver) {
  const auto tree = ReadPod(Bytes(1, Bytes(1, "p") + Bytes(500, "x") + Number(501, 3)));
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(TextIn(*FindIn(*tree, "metadata"), "name"), "p");
}

TEST(Protobuf, WhatIsNotWellFormedIsRefused) {
  const std::string whole = Envelope(Bytes(1, Bytes(1, "p")));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    // Cut anywhere it is an error or a shorter message, never a crash.
    (void)ReadProtobuf(whole.substr(0, i), api::TypeInfoOf<api::Pod>(), "", "v1");
  }
  EXPECT_FALSE(ReadProtobuf("{}", api::TypeInfoOf<api::Pod>(), "", "v1").ok());
  EXPECT_FALSE(ReadPod(std::string("\x0a\xff\xff\xff\xff\x0f", 6)).ok());
  EXPECT_FALSE(ReadPod(Varint(1 << 3 | 7)).ok());
}

// dray keeps these as JSON, and clients send them in protobuf: kubectl debug does.
TEST(Protobuf, WhatIsKeptAsJsonIsReadToo) {
  const std::string projected =
      Bytes(1, Bytes(4, Bytes(1, "") + Number(2, 3607) + Bytes(3, "token"))) +
      Bytes(1, Bytes(3, Bytes(1, Bytes(1, "kube-root-ca.crt")) +
                            Bytes(2, Bytes(1, "ca.crt") + Bytes(2, "ca.crt")))) +
      Bytes(1, Bytes(2, Bytes(1, Bytes(1, "namespace") +
                                     Bytes(2, Bytes(1, "v1") + Bytes(2, "metadata.namespace"))))) +
      Number(2, 420);
  const std::string volume = Bytes(1, "kube-api-access") + Bytes(2, Bytes(26, projected));
  const std::string probe =
      Bytes(1, Bytes(2, Bytes(1, "/ready") + Bytes(2, Number(1, 0) + Number(2, 80)))) +
      Number(2, 0) + Number(4, 5);
  const std::string security =
      Bytes(1, Bytes(1, "SYS_PTRACE")) + Number(2, 0) + Number(4, 0);  // privileged, runAsUser
  const std::string container = Bytes(1, "c") + Bytes(11, probe) + Bytes(15, security);
  const auto tree = ReadPod(
      Bytes(2, Bytes(1, volume) + Bytes(2, container) + Bytes(14, Number(2, 5) + Number(4, 7))));
  ASSERT_TRUE(tree.ok()) << tree.status();
  const std::string text = ToJson(*FindIn(*tree, "spec"));
  EXPECT_THAT(text, HasSubstr(R"("sources":[{"serviceAccountToken":{"expirationSeconds":3607,)"
                              R"("path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":)"
                              R"([{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":)"
                              R"([{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":)"
                              R"("metadata.namespace"}}]}}],"defaultMode":420)"));
  EXPECT_THAT(text, HasSubstr(R"("readinessProbe":{"httpGet":{"path":"/ready","port":80},)"
                              R"("periodSeconds":5})"));
  // What is a pointer in Go is there although it is zero.
  EXPECT_THAT(text, HasSubstr(R"("securityContext":{"capabilities":{"add":["SYS_PTRACE"]},)"
                              R"("privileged":false,"runAsUser":0})"));
  EXPECT_THAT(text, HasSubstr(R"("securityContext":{"runAsUser":5,"supplementalGroups":[7]})"));
  // A message where there is none is not well formed.
  EXPECT_FALSE(ReadPod(Bytes(2, Number(14, 5))).ok());
}

// Every field that is kept as JSON has its message, but for those that are JSON in protobuf, too,
// and a few that nobody sends.
TEST(Protobuf, FieldsThatAreKeptAsJsonAreDescribed) {
  std::set<std::string> missing;
  std::set<const api::StructInfo*> seen;
  const std::function<void(const api::TypeInfo&)> look = [&](const api::TypeInfo& type) {
    if (type.element != nullptr) look(*type.element);
    if (type.shape != api::Shape::kStruct || !seen.insert(&type.fields()).second) return;
    for (const api::FieldInfo& field : type.fields().fields) {
      const api::TypeInfo* element = field.type->element;
      const bool raw = field.type->shape == api::Shape::kRaw ||
                       (element != nullptr && element->shape == api::Shape::kRaw);
      const std::string name = fmt::format("{}.{}", type.fields().name, field.name);
      if (raw && internal::FindRawMessage(type.fields().name, field.name) == nullptr) {
        missing.insert(name);
      }
      look(*field.type);
    }
  };
  for (const std::string_view kind : {"Pod", "Node", "ReplicationController"}) {
    if (const api::KindInfo* known = api::FindKind("v1", kind)) look(*known->type);
  }
  for (const std::string_view kind : {"Deployment", "DaemonSet", "ReplicaSet"}) {
    look(*api::FindKind("apps/v1", kind)->type);
  }
  EXPECT_THAT(missing,
              ::testing::UnorderedElementsAre("ManagedFieldsEntry.fieldsV1",
                                              "NodeSpec.configSource", "NodeStatus.config"));
}

// It would be stored as JSON that nobody can read again.
TEST(Protobuf, TextIsUtf8) {
  const auto label = [](const std::string& key, const std::string& value) {
    return Bytes(1, Bytes(12, Bytes(1, key) + Bytes(2, value)));
  };
  EXPECT_TRUE(ReadPod(label("k", "\xc3\xa9")).ok());
  for (const std::string& pod :
       {label("k", "\xff"), label("\xff", "v"), Bytes(1, Bytes(1, "p\xc3")),
        Bytes(2, Bytes(2, Bytes(3, "\xed\xa0\x80"))),
        Bytes(2, Bytes(2, Bytes(8, Bytes(2, Bytes(1, "cpu") + Bytes(2, Bytes(1, "\xff"))))))}) {
    const auto tree = ReadPod(pod);
    ASSERT_FALSE(tree.ok());
    EXPECT_THAT(std::string(base::Message(tree.status())), HasSubstr("not UTF-8"));
  }
}

// What the envelope says of its type becomes text of the object, too.
TEST(Protobuf, TheTypeIsUtf8) {
  const auto read = [](const std::string& version, const std::string& kind) {
    const std::string body = std::string("k8s\0", 4) + Bytes(1, Bytes(1, version) + Bytes(2, kind));
    return ReadProtobuf(body, api::TypeInfoOf<api::Pod>(), "", "v1");
  };
  EXPECT_TRUE(read("v1", "Pod\xc3\xb6").ok());
  for (const auto& tree : {read("v\xd1\x01", "Pod"), read("v1", "P\xff")}) {
    ASSERT_FALSE(tree.ok());
    EXPECT_THAT(std::string(base::Message(tree.status())), HasSubstr("not UTF-8"));
  }
}

// Of as many entries as a body has room for each was compared with all before it.
TEST(Protobuf, AMapOfAnySizeIsReadAtOnce) {
  std::string metadata;
  constexpr int kEntries = 200'000;
  for (int i = 0; i < kEntries; ++i) {
    metadata += Bytes(
        12, Bytes(1, fmt::format("{:06}", i % (kEntries / 2))) + Bytes(2, fmt::format("{}", i)));
  }
  const auto tree = ReadPod(Bytes(1, metadata));
  ASSERT_TRUE(tree.ok()) << tree.status();
  const DocumentNode& map = *FindIn(*FindIn(*tree, "metadata"), "annotations");
  EXPECT_EQ(map.members.size(), kEntries / 2u);
  // The last of equal keys counts, as in Go.
  EXPECT_EQ(TextIn(map, "000000"), fmt::format("{}", kEntries / 2));
}

// A finalizer of two bytes would become a hundred.
TEST(Protobuf, HasAsManyValuesAsJsonMayHave) {
  std::string metadata;
  for (int i = 0; i < 500'000; ++i) metadata += Bytes(14, "");
  const auto tree = ReadPod(Bytes(1, metadata));
  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(base::Message(tree.status())), HasSubstr("more than 500000 values"));
}

// v1beta1 numbers some structs otherwise; read by v1's, a toleration was another field.
TEST(Protobuf, AlternativesOfV1beta1HaveTheirOwnNumbers) {
  const api::KindInfo& kind = *api::FindKind("resource.k8s.io/v1beta1", "ResourceClaim");
  const std::string alternative = Bytes(1, "s") + Bytes(2, "gpu") + Bytes(7, Bytes(1, "k")) +
                                  Bytes(8, Bytes(1, Bytes(1, "m") + Bytes(2, Bytes(1, "1")))) +
                                  Bytes(9, Bytes(1, "e.com/x"));
  const std::string spec = Bytes(1, Bytes(1, Bytes(1, "r") + Bytes(7, alternative)));
  const auto tree = ReadProtobuf(Envelope(Bytes(2, spec)), *kind.type, kind.group, kind.version);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_THAT(ToJson(*tree),
              HasSubstr(R"("firstAvailable":[{"name":"s","deviceClassName":"gpu",)"
                        R"("tolerations":[{"key":"k"}],"capacity":{"requests":{"m":"1"}},)"
                        R"("derivedAttributes":[{"name":"e.com/x"}]}])"));
}

// Every field of the tables has a number, but those that only dray has.
void Unnumbered(const api::TypeInfo& type, std::set<const api::StructInfo*>& seen,
                std::vector<std::string>& names) {
  if (type.element != nullptr) Unnumbered(*type.element, seen, names);
  if (type.shape != api::Shape::kStruct) return;
  const api::StructInfo& info = type.fields();
  if (!seen.insert(&info).second) return;
  std::string all;
  for (const internal::ProtoNumbers& row : internal::AllProtoNumbers()) {
    if (row.name == info.name || row.name.ends_with(fmt::format("/{}", info.name))) {
      all += fmt::format(" {}", row.fields);
    }
  }
  for (const api::FieldInfo& field : info.fields) {
    const bool own = field.options.proto.number != 0;
    if (!own && all.find(fmt::format(" {}=", field.name)) == std::string::npos) {
      names.push_back(fmt::format("{}.{}", info.name, field.name));
    }
    Unnumbered(*field.type, seen, names);
  }
}

TEST(Protobuf, EveryFieldHasANumber) {
  std::set<const api::StructInfo*> seen;
  std::vector<std::string> names;
  for (const api::KindInfo& kind : api::Kinds()) Unnumbered(*kind.type, seen, names);
  Unnumbered(api::TypeInfoOf<DeleteOptions>(), seen, names);
  Unnumbered(api::TypeInfoOf<EvictionBody>(), seen, names);
  Unnumbered(api::TypeInfoOf<BindingBody>(), seen, names);
  Unnumbered(api::TypeInfoOf<ScaleBody>(), seen, names);
  Unnumbered(api::TypeInfoOf<SelfReviewBody>(), seen, names);
  Unnumbered(api::TypeInfoOf<AccessReviewBody>(), seen, names);
  Unnumbered(api::TypeInfoOf<RulesReviewBody>(), seen, names);
  const std::set<std::string> own = {
      "DeviceAttribute.list", "ListAttribute.int", "ListAttribute.bool", "ListAttribute.string",
      "ListAttribute.version", "DeviceRequestAllocationResult.compatibilityGroups",
      // Kubernetes's protobuf does not name types of what is inside of others.
      "StatefulSetVolumeClaim.apiVersion", "StatefulSetVolumeClaim.kind"};
  std::erase_if(names, [&](const std::string& name) { return own.contains(name); });
  EXPECT_THAT(names, IsEmpty());
}

}  // namespace
}  // namespace dray::rest
