// SPDX-License-Identifier: Apache-2.0
//
// Whether a value is what a schema says, in the words of Kubernetes's validator:
//
//   spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string"
//
// What an update leaves as it was is not held against it, as Kubernetes ratchets.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "api/errors.h"
#include "crd/schema.h"

namespace dray::crd {

// Patterns of one schema that differ.
inline constexpr std::size_t kMaxPatterns = 4'000;
// Values that are held against schemas in one check, those of `anyOf` and its like for each. More is
// an error: nobody's objects come near.
inline constexpr std::size_t kMaxChecks = 5'000'000;
// Faults that are told of one object.
inline constexpr std::size_t kMaxFaults = 500;

// Thread-safe: immutable.
class Validator {
 public:
  // The schema outlives it. A pattern that is none matches nothing.
  explicit Validator(const Schema& schema);
  ~Validator();
  Validator(const Validator&) = delete;
  Validator& operator=(const Validator&) = delete;

  // `old`: the value before, if this is an update. Paths begin with `at`.
  api::ErrorList Check(const DocumentNode& value, const FieldPath& at = {},
                       const DocumentNode* old = nullptr) const;

 private:
  class Run;
  struct Patterns;
  const Schema& schema_;
  const std::unique_ptr<const Patterns> patterns_;
};

// Why a pattern is none; empty when it is one.
std::string PatternFault(const std::string& pattern);

// Items of lists that are sets come once, and of lists that are maps each key; likewise what every
// object inside of another has: apiVersion, kind, and metadata in order.
api::ErrorList CheckLists(const Schema& schema, const DocumentNode& value,
                          const FieldPath& at = {});
// `root`: the value itself is an object whose apiVersion and kind others have looked at.
api::ErrorList CheckEmbedded(const Schema& schema, const DocumentNode& value, bool root,
                             const FieldPath& at = {});

// The items that a list had before, by their keys. One thread.
class OldItems {
 public:
  // Both outlive it. `old`: the list before; null, and anything but a list: there was none.
  OldItems(const Schema& list, const DocumentNode* old);
  // The one with the keys that `item` has; null when there is none, or the list's type is not map:
  // then nobody can tell which was which.
  const DocumentNode* Find(const DocumentNode& item) const;

 private:
  const Schema& list_;
  std::unordered_map<std::string, const DocumentNode*> items_;
};

}  // namespace dray::crd
