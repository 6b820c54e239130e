// SPDX-License-Identifier: Apache-2.0
//
// Definitions of kinds, and objects of such kinds, in a line each: what a server would have stored.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "api/custom_kind.h"
#include "api/json.h"
#include "api/kinds.h"
#include "controllers/scene_for_test.h"
#include "fmt/format.h"

namespace dray::controllers {

// Of the group defs.example.com.
inline const api::KindInfo& Named(std::string_view plural, std::string_view kind) {
  return **api::CustomKind({.group = "defs.example.com",
                            .version = "v1",
                            .kind = std::string(kind),
                            .plural = std::string(plural),
                            .namespaced = true});
}
inline std::string FullName(std::string_view plural) {
  return fmt::format("{}.defs.example.com", plural);
}

struct Defining {
  bool established = true;
  bool held = true;  // by the finalizer of those whose objects go first
};

inline void Define(Scene& scene, std::string_view plural, std::string_view kind,
                   Defining how = {}) {
  api::JsonDecoder decoder;
  auto definition = api::DecodeObject(
      decoder,
      fmt::format(R"({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{{"name":"{0}.defs.example.com","finalizers":[{3}]}},
"spec":{{"group":"defs.example.com","scope":"Namespaced","names":{{"plural":"{0}","kind":"{1}"}},
"versions":[{{"name":"v1","served":true,"storage":true}}]}},
"status":{{"acceptedNames":{{"plural":"{0}","kind":"{1}"}},"storedVersions":["v1"],
"conditions":[{{"type":"Established","status":"{2}"}}]}}}})",
                  plural, kind, how.established ? "True" : "False",
                  how.held ? R"("customresourcecleanup.apiextensions.k8s.io")" : ""));
  ASSERT_TRUE(definition.ok()) << definition.status();
  const auto made = scene.cluster().Create(*definition);
  ASSERT_TRUE(made.ok()) << made.status();
  definition->MutableMetadata() = made->metadata();
  const auto stored = scene.cluster().UpdateStatus(*definition);
  ASSERT_TRUE(stored.ok()) << stored.status();
}

inline void AddCustom(Scene& scene, const api::KindInfo& kind, std::string_view name,
                      std::string_view finalizer = {}) {
  api::Object object = api::Object::New(kind);
  object.MutableMetadata().namespace_ = "ns";
  object.MutableMetadata().name = name;
  if (!finalizer.empty()) object.MutableMetadata().finalizers = {std::string(finalizer)};
  const auto made = scene.cluster().Create(object);
  ASSERT_TRUE(made.ok()) << made.status();
}

}  // namespace dray::controllers
