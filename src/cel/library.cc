// SPDX-License-Identifier: Apache-2.0
#include "cel/library.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/string_map.h"
#include "cel/library_reader.h"
#include "cel/type.h"

namespace dray::cel {
namespace {

using ByName = base::StringMap<NamedFunction>;

ByName IndexByName() {
  ByName functions;
  TypePool pool;
  for (const Library& library : AllLibraries()) {
    for (const FunctionRow& row : library) {
      const std::size_t args = ReadOverload(row.declaration, pool).params.size();
      const auto [entry, added] =
          functions.try_emplace(std::string(row.function), NamedFunction{&row, args, args});
      NamedFunction& function = entry->second;
      function.min_args = std::min(function.min_args, args);
      function.max_args = std::max(function.max_args, args);
    }
  }
  return functions;
}

}  // namespace

std::span<const Library> AllLibraries() {
  using namespace library;
  static const std::array kAll = {
      Arithmetic(),    Comparison(),   Logic(),    Conversions(), Times(),           Strings(),
      StringReverse(), StringFormat(), Matches(),  Lists(),       TwoVariables(),    Sets(),
      Optionals(),     Encoders(),     Math(),     Network(),     KubernetesLists(), Includes(),
      Include(),       Regex(),        Quantity(), Semver(),      NamedFormats(),    Urls(),
      Authorizer(),
  };
  return kAll;
}

const NamedFunction* FindFunctionByName(std::string_view name) {
  static const auto* const kFunctions = new ByName(IndexByName());  // lives as long as the process
  const auto it = kFunctions->find(name);
  return it == kFunctions->end() ? nullptr : &it->second;
}

}  // namespace dray::cel
