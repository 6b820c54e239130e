// SPDX-License-Identifier: Apache-2.0
//
// Properties: whatever the text, compiling ends and either says what is wrong or gives a tree in
// which every type is closed and every call has an overload; what Kubernetes' environment takes,
// ours takes with the same type and cost.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/visit.h"

namespace cel = dray::cel;

namespace {

void CheckTree(const cel::CheckedExpr& expr, const std::string& text) {
  cel::ForEachBelow(expr, expr.ast().root(), [&](cel::ExprId id) {
    DRAY_CHECK(!expr.type(id).HasTypeParams() && !expr.type(id).is(cel::TypeKind::kError), text);
    if (expr.ast().kind(id) == cel::ExprKind::kCall) DRAY_CHECK(!expr.overloads(id).empty(), text);
    if (expr.ast().kind(id) == cel::ExprKind::kIdent) {
      DRAY_CHECK(expr.FindReference(id) != nullptr, text);
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLongest = 10 * 1024;  // of an expression in the API
  if (size > kLongest) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto theirs = cel::Compile(text, cel::DeviceEnvironment({.kubernetes_only = true}));
  const auto ours = cel::Compile(text, cel::DeviceEnvironment({}));
  DRAY_CHECK(theirs.ok() != !theirs.error.empty(), text);
  if (ours.ok()) CheckTree(*ours.checked, text);
  if (theirs.ok()) {
    DRAY_CHECK(ours.ok(), text);
    DRAY_CHECK(ours.cost == theirs.cost, text);
    DRAY_CHECK(ours.checked->result_type() == theirs.checked->result_type(), text);
  }
  return 0;
}
