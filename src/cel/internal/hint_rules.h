// SPDX-License-Identifier: Apache-2.0
//
// The rules behind device_hints.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cel/ast.h"
#include "cel/environment.h"
#include "cel/source.h"

namespace dray::cel::internal {

// One issue and what is known around it.
struct Slip {
  std::string_view text;  // the expression
  const Ast* ast;         // null after a syntax error
  const Environment& environment;
  const Issue& issue;
};

// Each has a hint or nothing to say.
std::string HintForSyntax(const Slip& slip);
std::string HintForName(const Slip& slip);
std::string HintForField(const Slip& slip);
std::string HintForOverload(const Slip& slip);

// `device.attributes["d"]` or `device.attributes.d`, likewise of capacity: a domain's entries.
struct DomainAccess {
  std::string_view map;  // attributes, capacity
  std::string_view domain;
};
std::optional<DomainAccess> AsDomainAccess(const Ast& ast, ExprId id);
// `device.attributes["d"].x`: an attribute or capacity.
struct EntryAccess {
  DomainAccess domain;
  std::string_view name;
};
std::optional<EntryAccess> AsEntryAccess(const Ast& ast, ExprId id);

// How an entry is written: device.attributes["gpu.example.com"].model.
std::string Written(std::string_view map, std::string_view domain, std::string_view name);
// For a domain's entries where one of them was meant.
std::string HintForDomain(const DomainAccess& access);

// The text between quotes after `prefix`, if the message begins with it: "found 'x', ...".
std::optional<std::string_view> QuotedAfter(std::string_view message, std::string_view prefix);

}  // namespace dray::cel::internal
