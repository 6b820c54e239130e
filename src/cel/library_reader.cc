// SPDX-License-Identifier: Apache-2.0
#include "cel/library_reader.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"

namespace dray::cel {
namespace {

struct NamedType {
  std::string_view name;
  Type (*type)();
};
constexpr std::array<NamedType, 11> kSimpleTypes = {{
    {"dyn", Type::Dyn},
    {"any", Type::Any},
    {"null", Type::Null},
    {"bool", Type::Bool},
    {"int", Type::Int},
    {"uint", Type::Uint},
    {"double", Type::Double},
    {"string", Type::String},
    {"bytes", Type::Bytes},
    {"duration", Type::Duration},
    {"timestamp", Type::Timestamp},
}};

// Reads a declaration from the left.
class DeclarationReader {
 public:
  DeclarationReader(std::string_view text, TypePool& pool) : rest_(text), pool_(pool) {}

  Overload ReadOverload() {
    Overload overload;
    overload.id = TakeUntil(" ");
    Expect(" ");
    if (rest_.front() != '(') {
      overload.member = true;
      overload.params.push_back(ReadType());
      Expect(".");
    }
    Expect("(");
    while (!Take(")")) {
      overload.params.push_back(ReadType());
      Take(", ");
    }
    Expect(" -> ");
    overload.result = ReadType();
    overload.type_params = static_cast<std::uint32_t>(letters_.size());
    DRAY_CHECK(rest_.empty());
    return overload;
  }

  Type ReadType() {
    std::string_view name = TakeUntil("(), ");
    // The dot of a member's receiver.
    if (name.ends_with('.')) {
      name.remove_suffix(1);
      rest_ = std::string_view(rest_.data() - 1, rest_.size() + 1);
    }
    if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') return TypeParam(name[0]);
    for (const NamedType& simple : kSimpleTypes) {
      if (simple.name == name) return simple.type();
    }
    // `(` begins the parameters of these, but after a receiver's dot those of the function.
    if (name == "list" || name == "map" || name == "type" || name == kOptionalTypeName) {
      return ReadParams(name);
    }
    return name.starts_with("net.") ? pool_.Opaque(name) : pool_.Object(name);
  }

 private:
  Type ReadParams(std::string_view name) {
    Expect("(");
    const Type first = ReadType();
    if (name == "map") {
      Expect(", ");
      const Type value = ReadType();
      Expect(")");
      return pool_.Map(first, value);
    }
    Expect(")");
    if (name == "list") return pool_.List(first);
    return name == "type" ? pool_.TypeOf(first) : pool_.Optional(first);
  }

  Type TypeParam(char letter) {
    std::size_t index = letters_.find(letter);
    if (index == std::string::npos) {
      index = letters_.size();
      letters_ += letter;
    }
    return pool_.TypeParam(static_cast<std::uint32_t>(index));
  }

  std::string_view TakeUntil(std::string_view stops) {
    const std::size_t end = std::min(rest_.find_first_of(stops), rest_.size());
    const std::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return taken;
  }
  bool Take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void Expect(std::string_view text) { DRAY_CHECK(Take(text)); }

  std::string_view rest_;
  TypePool& pool_;
  std::string letters_;  // type parameters by index
};

}  // namespace

Overload ReadOverload(std::string_view declaration, TypePool& pool) {
  return DeclarationReader(declaration, pool).ReadOverload();
}

Type ReadType(std::string_view text, TypePool& pool) {
  return DeclarationReader(text, pool).ReadType();
}

}  // namespace dray::cel
