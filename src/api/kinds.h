// SPDX-License-Identifier: Apache-2.0
//
// Which kinds dray knows, in which API versions, and objects of any of them.
//
// A kind has one C++ struct, that of its hub version. Every version is another field table over the
// same struct, so that conversion is decoding with one table and encoding with another: nothing can
// get lost between the two.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/document.h"
#include "api/field_table.h"
#include "api/gates.h"
#include "api/json.h"
#include "api/meta.h"
#include "base/shared_value.h"
#include "base/status.h"

namespace dray::api {

struct KindTraits;

struct KindInfo {
  std::string_view group;  // empty for core
  std::string_view version;
  std::string_view kind;
  std::string_view plural;
  bool namespaced;
  const TypeInfo* type;  // this version's field table
  const TypeInfo* hub;   // the hub's, which also identifies the C++ struct
  base::SharedValue (*make)();
  base::SharedValue (*copy)(const void*);
  bool (*equal)(const void*, const void*);  // exactly, as the struct's ==
  ObjectMeta* (*metadata)(void*);
  const KindTraits* traits = nullptr;  // of a described kind (described_kinds.h)
  std::optional<Gate> gate = {};       // without it the kind is known, and not served

  // "v1", "resource.k8s.io/v1beta1"
  std::string ApiVersion() const;
};

// Every kind that is built in, in every version, hub versions first within a kind.
std::span<const KindInfo> Kinds();
// Also of those that were defined while the process runs (custom_kind.h). Null when there is none.
const KindInfo* FindKind(std::string_view api_version, std::string_view kind);
// The hub version's row of a C++ struct.
const KindInfo& HubKind(const TypeInfo& hub);

// An object of some kind: a value on the heap that copies share until one asks to change it
// (Mutable copies a shared value first). Never empty but when moved from. Thread-compatible; copies
// may live on different threads, and a copy may be changed as soon as those of others are gone.
class Object {
 public:
  template <typename V>
  static Object Of(V&& value) {
    using T = std::remove_cvref_t<V>;
    return Object(&HubKind(TypeInfoOf<T>()), base::SharedValue::Make<T>(std::forward<V>(value)));
  }
  static Object New(const KindInfo& kind) { return Object(&kind, kind.make()); }

  // The version that it was read in; the struct is the hub's in any case.
  const KindInfo& kind() const { return *kind_; }
  const ObjectMeta& metadata() const { return *kind_->metadata(value_.get()); }

  // Null when it is of another kind.
  template <typename T>
  const T* As() const {
    return kind_->hub == &TypeInfoOf<T>() ? static_cast<const T*>(value_.get()) : nullptr;
  }
  template <typename T>
  T* Mutable() {
    return kind_->hub == &TypeInfoOf<T>() ? static_cast<T*>(MutableData()) : nullptr;
  }
  const void* data() const { return value_.get(); }
  void* MutableData() {
    if (!value_.Alone()) value_ = kind_->copy(value_.get());
    return value_.get();
  }

  ObjectMeta& MutableMetadata() { return *kind_->metadata(MutableData()); }

  // The same value as an object of the hub's version: what a store keeps.
  Object InHub() && { return Object(&HubKind(*kind_->hub), std::move(value_)); }

  // JSON in the version it was read in, or in another of the same kind.
  std::string ToJson() const { return ToJson(*kind_); }
  std::string ToJson(const KindInfo& version) const;

  friend bool SemanticEqual(const Object& a, const Object& b) {
    return a.kind_->hub == b.kind_->hub && SemanticEqual(*a.kind_->hub, a.data(), b.data());
  }

 private:
  Object(const KindInfo* kind, base::SharedValue value) : kind_(kind), value_(std::move(value)) {}

  const KindInfo* kind_;
  base::SharedValue value_;
};

// One object of a known kind. An unknown apiVersion or kind is an error that names what is known.
StatusOr<Object> DecodeObject(JsonDecoder& decoder, std::string_view json,
                              DecodeOptions options = {});

// The objects of a document: itself, or the items of a List (also of a typed list such as
// ResourceSliceList, whose items need not repeat apiVersion and kind).
struct ObjectNode {
  std::string api_version;
  std::string kind;
  const DocumentNode* node;
};
std::vector<ObjectNode> ObjectsIn(const DocumentNode& document,
                                  std::vector<Diagnostic>& diagnostics);

// Reads one of them. Nothing when the kind is not known: a diagnostic with reason UnknownKind then
// says so.
std::optional<Object> DecodeObject(const ObjectNode& source, Severity unknown_severity,
                                   std::vector<Diagnostic>& diagnostics);

}  // namespace dray::api
