// SPDX-License-Identifier: Apache-2.0
//
// Names of CDI: vendor/class=name. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::cdi {

// Begin with a letter, end with a letter or digit, between them letters, digits, '_', '-', '.'. A
// driver's name is a vendor if it begins with a letter.
bool IsVendor(std::string_view s);
bool IsClass(std::string_view s);
// Begin and end with a letter or digit; between them also ':'.
bool IsDeviceName(std::string_view s);

struct Kind {
  std::string vendor;
  std::string device_class;
};
// The two parts of vendor/class; says what is wrong.
StatusOr<Kind> ParseKind(std::string_view kind);

struct QualifiedName {
  std::string kind;
  std::string name;
};
// The two parts of vendor/class=name; says what is wrong.
StatusOr<QualifiedName> ParseQualifiedName(std::string_view name);

}  // namespace dray::cdi
