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
  static const std::array kAll = {
      library::Arithmetic(),    library::Comparison(),      library::Logic(),
      library::Conversions(),   library::Times(),           library::Strings(),
      library::StringReverse(), library::StringFormat(),    library::Matches(),
      library::Lists(),         library::TwoVariables(),    library::Sets(),
      library::Optionals(),     library::Encoders(),        library::Math(),
      library::Network(),       library::KubernetesLists(), library::Includes(),
      library::Include(),       library::Regex(),           library::Quantity(),
      library::Semver(),        library::NamedFormats(),    library::Urls(),
      library::Authorizer(),
  };
  return kAll;
}

const NamedFunction* FindFunctionByName(std::string_view name) {
  static const auto* const kFunctions = new ByName(IndexByName());  // lives as long as the process
  const auto it = kFunctions->find(name);
  return it == kFunctions->end() ? nullptr : &it->second;
}

}  // namespace dray::cel
