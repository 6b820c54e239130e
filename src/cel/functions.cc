// SPDX-License-Identifier: Apache-2.0
#include "cel/functions.h"

#include <string>

#include "base/check.h"
#include "base/string_map.h"

namespace dray::cel {

const Builtin* FindBuiltin(std::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new base::StringMap<const Builtin*>;  // lives as long as the process
    for (const auto library :
         {ArithmeticFunctions(), ComparisonFunctions(), ConversionFunctions(), StringFunctions(),
          FormatFunctions(), ListFunctions(), SetFunctions(), TimeFunctions(), RegexFunctions(),
          OptionalFunctions(), QuantityFunctions(), SemverFunctions(), NetworkFunctions(),
          UrlFunctions(), NamedFormatFunctions(), MathFunctions(), EncoderFunctions()}) {
      for (const Builtin& builtin : library) {
        DRAY_CHECK(map->emplace(std::string(builtin.name), &builtin).second);
      }
    }
    return map;
  }();
  const auto it = kByName->find(name);
  return it == kByName->end() ? nullptr : it->second;
}

}  // namespace dray::cel
