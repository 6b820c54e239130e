// SPDX-License-Identifier: Apache-2.0
#include "driver/internal/dropped_fields.h"

#include <algorithm>
#include <string_view>

#include "api/field_table.h"
#include "api/gates.h"
#include "base/field_path.h"

namespace dray::driver::internal {
namespace {

// Walks both values by their field tables; the gate is that of the innermost field which has one.
class Walk {
 public:
  void Compare(const api::TypeInfo& type, const void* wanted, const void* stored,
               const base::FieldPath& path, std::string_view gate) {
    if (api::SemanticEqual(type, wanted, stored)) return;
    switch (type.shape) {
      case api::Shape::kStruct:
        return Fields(type.fields(), wanted, stored, path, gate);
      case api::Shape::kOptional: {
        const void* a = type.get(wanted);
        const void* b = type.get(stored);
        if (a != nullptr && b != nullptr) return Compare(*type.element, a, b, path, gate);
        return Add(path, gate);
      }
      case api::Shape::kList:
        return Items(type, wanted, stored, path, gate);
      case api::Shape::kMap:
        return Entries(type, wanted, stored, path, gate);
      default:
        return Add(path, gate);
    }
  }
  std::vector<DroppedField> Take() && { return std::move(found_); }

 private:
  void Fields(const api::StructInfo& info, const void* wanted, const void* stored,
              const base::FieldPath& path, std::string_view gate) {
    bool found = false;
    for (const api::FieldInfo& field : info.fields) {
      const void* a = field.Get(wanted);
      const void* b = field.Get(stored);
      if (a == nullptr && b == nullptr) continue;
      const std::string_view own =
          field.options.gate ? api::InfoOf(*field.options.gate).name : gate;
      if (a != nullptr && b != nullptr) {
        if (api::SemanticEqual(*field.type, a, b)) continue;
        Compare(*field.type, a, b, path / field.name, own);
        found = true;
      } else if (!api::IsEmptyValue(*field.type, a != nullptr ? a : b)) {
        Add(path / field.name, own);
        found = true;
      }
    }
    if (!found) Add(path, gate);  // something that the table does not know
  }
  void Items(const api::TypeInfo& type, const void* wanted, const void* stored,
             const base::FieldPath& path, std::string_view gate) {
    const std::size_t n = type.size(wanted);
    if (n != type.size(stored)) return Add(path, gate);
    for (std::size_t i = 0; i < n; ++i) {
      Compare(*type.element, type.at(wanted, i), type.at(stored, i), path.Index(i), gate);
    }
  }
  void Entries(const api::TypeInfo& type, const void* wanted, const void* stored,
               const base::FieldPath& path, std::string_view gate) {
    const std::size_t n = type.size(wanted);
    bool same = n == type.size(stored);
    for (std::size_t i = 0; i < n && same; ++i) {
      same = type.key_at(wanted, i) == type.key_at(stored, i);
    }
    if (!same) return Add(path, gate);
    for (std::size_t i = 0; i < n; ++i) {
      Compare(*type.element, type.at(wanted, i), type.at(stored, i),
              path.Key(type.key_at(wanted, i)), gate);
    }
  }
  void Add(const base::FieldPath& path, std::string_view gate) {
    if (std::ranges::find(found_, gate, &DroppedField::gate) != found_.end()) return;
    found_.push_back({.path = path.ToString(), .gate = std::string(gate)});
  }

  std::vector<DroppedField> found_;
};

}  // namespace

std::vector<DroppedField> DroppedFields(const api::ResourceSliceSpec& wanted,
                                        const api::ResourceSliceSpec& stored) {
  Walk walk;
  walk.Compare(api::TypeInfoOf<api::ResourceSliceSpec>(), &wanted, &stored, base::FieldPath("spec"),
               "");
  return std::move(walk).Take();
}

}  // namespace dray::driver::internal
