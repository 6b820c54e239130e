// SPDX-License-Identifier: Apache-2.0
#include "cel/functions.h"

#include <string>

#include "base/check.h"
#include "base/string_map.h"

namespace dray::cel {

namespace {

using ByName = base::StringMap<const Builtin*>;

template <Dialect dialect>
const ByName& AllFunctions() {
  static const auto* const kByName = [] {
    auto* map = new ByName;  // lives as long as the process
    for (const auto library :
         {ArithmeticFunctions(), ComparisonFunctions(), ConversionFunctions(),
          StringFunctions(dialect), FormatFunctions(dialect), ListFunctions(), SetFunctions(),
          TimeFunctions(), RegexFunctions(), OptionalFunctions(), QuantityFunctions(),
          SemverFunctions(), NetworkFunctions(dialect), UrlFunctions(), NamedFormatFunctions(),
          MathFunctions(), EncoderFunctions()}) {
      for (const Builtin& builtin : library) {
        DRAY_CHECK(map->emplace(std::string(builtin.name), &builtin).second);
      }
    }
    return map;
  }();
  return *kByName;
}

}  // namespace

const Builtin* FindBuiltin(std::string_view name, Dialect dialect) {
  const ByName& functions = dialect == Dialect::kKubernetes ? AllFunctions<Dialect::kKubernetes>()
                                                            : AllFunctions<Dialect::kLanguage>();
  const auto it = functions.find(name);
  return it == functions.end() ? nullptr : it->second;
}

}  // namespace dray::cel
