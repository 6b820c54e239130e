// SPDX-License-Identifier: Apache-2.0
#include "api/custom_kind.h"

#include <deque>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "api/document.h"
#include "base/mutex.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

// What all versions of a kind have in common.
struct Resource {
  CustomKindNames names;
  TypeInfo type;
};

struct Row {
  std::string version;
  KindInfo info;
};

// Only ever grows, in deques: what was given out stays where it is.
class Atoms {
 public:
  StatusOr<const KindInfo*> Get(const CustomKindNames& names) {
    const base::MutexLock lock(mutex_);
    const auto key =
        std::make_tuple(names.group, names.kind, names.plural, names.namespaced, names.version);
    if (const auto it = rows_.find(key); it != rows_.end()) {
      Name(*it->second);
      return it->second;
    }
    if (kinds_.size() >= kMaxCustomKinds) {
      return base::MakeStatus(
          StatusCode::kResourceExhausted,
          fmt::format("more than {} kinds were defined since the server was started; it has to be "
                      "started again before there can be another",
                      kMaxCustomKinds));
    }
    Resource& resource = ResourceOf(names);
    Row& row = kinds_.emplace_back();
    row.version = names.version;
    row.info = {
        .group = resource.names.group,
        .version = row.version,
        .kind = resource.names.kind,
        .plural = resource.names.plural,
        .namespaced = names.namespaced,
        .type = &resource.type,
        .hub = &resource.type,
        .make = [] { return base::SharedValue::Make<CustomObject>(); },
        .copy =
            [](const void* v) {
              return base::SharedValue::Make<CustomObject>(*static_cast<const CustomObject*>(v));
            },
        .equal =
            [](const void* a, const void* b) {
              return *static_cast<const CustomObject*>(a) == *static_cast<const CustomObject*>(b);
            },
        .metadata = [](void* v) { return &static_cast<CustomObject*>(v)->metadata; },
    };
    if (resource.type.hub_kind == nullptr) resource.type.hub_kind = &row.info;
    rows_.emplace(key, &row.info);
    Name(row.info);
    return &row.info;
  }

  const KindInfo* Find(std::string_view api_version, std::string_view kind) {
    const base::MutexLock lock(mutex_);
    const auto it = named_.find(fmt::format("{} {}", api_version, kind));
    return it == named_.end() ? nullptr : it->second;
  }
  bool Knows(std::string_view api_version) {
    const base::MutexLock lock(mutex_);
    const std::string head = fmt::format("{} ", api_version);
    const auto it = named_.lower_bound(head);
    return it != named_.end() && it->first.starts_with(head);
  }

 private:
  Resource& ResourceOf(const CustomKindNames& names) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto& found =
        resources_[std::make_tuple(names.group, names.kind, names.plural, names.namespaced)];
    if (found == nullptr) {
      found = &all_.emplace_back();
      found->names = names;
      found->type = TypeInfoOf<CustomObject>();
    }
    return *found;
  }
  void Name(const KindInfo& row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    named_[fmt::format("{} {}", row.ApiVersion(), row.kind)] = &row;
  }

  base::Mutex mutex_;
  std::deque<Resource> all_ ABSL_GUARDED_BY(mutex_);
  std::deque<Row> kinds_ ABSL_GUARDED_BY(mutex_);
  std::map<std::tuple<std::string, std::string, std::string, bool>, Resource*> resources_
      ABSL_GUARDED_BY(mutex_);
  std::map<std::tuple<std::string, std::string, std::string, bool, std::string>, const KindInfo*>
      rows_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, const KindInfo*> named_ ABSL_GUARDED_BY(mutex_);
};

Atoms& TheAtoms() {
  // Never destroyed: objects of these kinds may be.
  static Atoms& atoms = *new Atoms;
  return atoms;
}

}  // namespace

const StructInfo& InfoOf(const CustomObject*) {
  static const StructInfo info =
      Struct<CustomObject>("CustomObject", {Field<&CustomObject::metadata>("metadata")});
  return info;
}

StatusOr<const KindInfo*> CustomKind(const CustomKindNames& names) { return TheAtoms().Get(names); }

bool IsCustomVersion(std::string_view api_version) { return TheAtoms().Knows(api_version); }

const KindInfo* FindCustomKind(std::string_view api_version, std::string_view kind) {
  return TheAtoms().Find(api_version, kind);
}

const KindInfo& DefinitionKind() {
  static const KindInfo& kind = *FindKind("apiextensions.k8s.io/v1", "CustomResourceDefinition");
  return kind;
}

std::optional<CustomKindNames> DefinedKind(const Object& definition) {
  if (definition.kind().hub != DefinitionKind().hub) return std::nullopt;
  std::vector<Diagnostic> diagnostics;
  const DocumentNode tree = ParseJson(definition.ToJson(), diagnostics);
  const auto part = [](const DocumentNode& of, std::string_view key) -> const DocumentNode& {
    static const DocumentNode none;
    const Member* member = of.Find(key);
    return member == nullptr ? none : member->value;
  };
  const DocumentNode& spec = part(tree, "spec");
  const DocumentNode& status = part(tree, "status");
  bool served = false;
  for (const DocumentNode& condition : part(status, "conditions").items) {
    served = served || (part(condition, "type").text == "Established" &&
                        part(condition, "status").text == "True");
  }
  if (!served) return std::nullopt;
  CustomKindNames names{.group = part(spec, "group").text,
                        .version = {},
                        .kind = part(part(status, "acceptedNames"), "kind").text,
                        .plural = part(part(status, "acceptedNames"), "plural").text,
                        .namespaced = part(spec, "scope").text == "Namespaced"};
  for (const DocumentNode& version : part(spec, "versions").items) {
    if (part(version, "storage").boolean) names.version = part(version, "name").text;
  }
  if (names.version.empty() || names.kind.empty() || names.plural.empty()) return std::nullopt;
  return names;
}

}  // namespace dray::api
