// SPDX-License-Identifier: Apache-2.0
//
// CustomKinds: what the stored CustomResourceDefinitions define, as a snapshot that is never older
// than an answered write.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/custom_kind.h"
#include "api/kinds.h"
#include "base/mutex.h"
#include "base/status.h"
#include "crd/served_version.h"
#include "rest/decode.h"
#include "rest/managed_fields.h"
#include "rest/served_kinds.h"
#include "rest/table.h"
#include "store/store.h"

namespace dray::registry {

class Objects;

using api::DefinitionKind;

// A definition that is served. Immutable.
struct CustomResource {
  crd::Definition definition;
  const api::KindInfo* hub = nullptr;
  std::uint64_t serial = 0;  // of this form of it, never used again
  std::map<const api::KindInfo*, std::shared_ptr<const crd::ServedVersion>> versions;
  std::shared_ptr<const crd::ServedVersion> storage;  // never null
  std::vector<rest::ServedKind> served;               // the versions that are, preferred ones first

  // That of the version; of one that is not served the stored one.
  const std::shared_ptr<const crd::ServedVersion>& Of(const api::KindInfo& kind) const;
};
using CustomResourcePtr = std::shared_ptr<const CustomResource>;

// Immutable.
struct CustomSnapshot {
  std::shared_ptr<const rest::ServedKinds> kinds;
  std::map<const api::TypeInfo*, CustomResourcePtr> by_hub;
  std::map<std::string, CustomResourcePtr, std::less<>> by_place;  // "group/plural"

  // Null for a kind that is built in or not served.
  CustomResourcePtr Find(const api::KindInfo& kind) const;
};

// Thread-safe.
class CustomKinds {
 public:
  // The objects outlive it. Kinds that are built in are served by their gates.
  CustomKinds(const Objects& objects, const api::FeatureGates& gates);
  ~CustomKinds();

  std::shared_ptr<const CustomSnapshot> Get();

 private:
  void Rearm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  CustomResourcePtr Make(const crd::Definition& definition, bool& exhausted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Objects& objects_;
  const api::FeatureGates gates_;
  // Set by the store's thread before the write is answered.
  std::atomic<bool> changed_ = true;
  base::Mutex mutex_;
  std::unique_ptr<store::Watch> watch_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const CustomSnapshot> current_ ABSL_GUARDED_BY(mutex_);
  // By name and resourceVersion: what has not changed is not made again.
  std::map<std::string, std::pair<std::string, CustomResourcePtr>> made_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t serial_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The body of a write, pruned and with its defaults. Every failure is a BadRequest.
StatusOr<rest::DecodedBody> DecodeCustom(rest::DocumentNode tree,
                                         const std::vector<std::string>& repeated,
                                         const api::KindInfo& kind,
                                         const crd::ServedVersion& version,
                                         rest::FieldValidation validation);

// The same of a definition: fields of schemas that nobody knows are as unknown as any.
StatusOr<rest::DecodedBody> DecodeDefinition(rest::DocumentNode tree,
                                             const std::vector<std::string>& repeated,
                                             rest::FieldValidation validation);

// Server's part of a new object, or of one that replaces `old`: the status, the generation.
void PrepareCustom(api::Object& object, const api::Object* old, bool status_part,
                   const crd::ServedVersion& version);
// What its schema says of it.
api::ErrorList CheckCustom(const api::Object& object, const api::Object* old,
                           const api::KindInfo& asked, const crd::ServedVersion& version);

// What the server fills in of a definition before anybody compares it with the stored one.
void CompleteDefinition(api::Object& object);

// Fills in what follows from a definition and from the others, and says what is wrong with it. False
// in `object` when it could not be read back, which never happens.
api::ErrorList PrepareDefinition(api::Object& object, const api::Object* old,
                                 const Objects& objects, base::Time now);

// The table of a version.
std::shared_ptr<const rest::CustomTable> TableOf(std::shared_ptr<const crd::ServedVersion> version,
                                                 const api::KindInfo& kind, base::Time now);

}  // namespace dray::registry
