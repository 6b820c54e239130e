// SPDX-License-Identifier: Apache-2.0
#include "cel/device_results.h"

#include <string>

#include "base/semver.h"
#include "cel/device_errors.h"
#include "cel/device_values.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {

StatusOr<bool> ToMatch(const Value& value) {
  if (value.is(Kind::kBool)) return value.as_bool();
  if (value.is_error()) return base::InvalidArgument(ErrorMessage(value));
  std::string reason;
  switch (value.kind()) {
    case Kind::kString:
      reason = "unsupported native conversion from string to 'bool'";
      break;
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
      reason = fmt::format("unsupported type conversion from '{}' to bool", TypeName(value));
      break;
    case Kind::kList:
    case Kind::kMap:
      reason = fmt::format("type conversion error from {} to 'bool'", TypeName(value));
      break;
    default: {
      std::string_view name = TypeName(value);
      name = name.substr(name.rfind('.') + 1);
      reason = fmt::format("type conversion error from '{}' to 'bool'", name);
    }
  }
  return base::InvalidArgument(fmt::format(
      "CEL result of type {} could not be converted to bool: {}", TypeName(value), reason));
}

MatchOutcome TryMatch(const Program& program, const DeviceView& view, Arena& arena,
                      const EvaluationLimits& limits) {
  const EvaluationResult result = Evaluate(program, view, arena, limits);
  if (!result.value.is(Kind::kBool)) return {Verdict::kError, result.cost, result.value};
  return {result.value.as_bool() ? Verdict::kYes : Verdict::kNo, result.cost, result.value};
}

StatusOr<MatchResult> Match(const Program& program, const DeviceView& view, Arena& arena,
                            const EvaluationLimits& limits) {
  const MatchOutcome outcome = TryMatch(program, view, arena, limits);
  if (outcome.verdict == Verdict::kError) return MatchError(program, view, outcome.value);
  return MatchResult{outcome.verdict == Verdict::kYes, outcome.cost};
}

StatusOr<MatchResult> Match(const Program& program, std::string_view driver,
                            const api::Device& device, const EvaluationLimits& limits) {
  Arena arena;
  return Match(program, ApiDeviceView(program.device_reads(), driver, device), arena, limits);
}

Status MatchError(const Program& program, const DeviceView& view, const Value& value) {
  if (value.is_error()) return base::InvalidArgument(ErrorText(program, view, value));
  return ToMatch(value).status();
}

namespace {

// As Go prints the types of what values hold.
std::string_view GoType(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return "structpb.NullValue";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int64";
    case Kind::kUint:
      return "uint64";
    case Kind::kDouble:
      return "float64";
    case Kind::kString:
      return "string";
    case Kind::kBytes:
      return "[]uint8";
    case Kind::kList:
      return "[]ref.Val";
    case Kind::kMap:
      return "map[ref.Val]ref.Val";
    case Kind::kDuration:
      return "time.Duration";
    case Kind::kTimestamp:
      return "time.Time";
    case Kind::kQuantity:
      return "*resource.Quantity";
    case Kind::kSemver:
      return "semver.Version";
    case Kind::kIp:
      return "netip.Addr";
    case Kind::kCidr:
      return "netip.Prefix";
    case Kind::kUrl:
      return "*url.URL";
    case Kind::kFormat:
      return "cel.Format";
    default:
      return TypeName(value);
  }
}

template <typename Take>
Status TakeAll(const List& list, Kind kind, std::string_view word, Take take) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value element = list.At(i);
    if (!element.is(kind)) {
      return base::InvalidArgument(fmt::format("expected list element at index {} to be {}, got {}",
                                               i, word, GoType(element)));
    }
    take(element);
  }
  return absl::OkStatus();
}

StatusOr<api::DeviceAttribute> ListToAttribute(const List& list) {
  api::DeviceAttribute out;
  api::AttributeLists& lists = out.MutableLists();
  const Kind kind = list.size() == 0 ? Kind::kString : list.At(0).kind();
  switch (kind) {
    case Kind::kBool:
      lists.bool_values.emplace();
      DRAY_RETURN_IF_ERROR(TakeAll(list, kind, "bool", [&](const Value& v) {
        lists.bool_values->push_back({v.as_bool()});
      }));
      break;
    case Kind::kInt:
      lists.int_values.emplace();
      DRAY_RETURN_IF_ERROR(TakeAll(
          list, kind, "int", [&](const Value& v) { lists.int_values->push_back(v.as_int()); }));
      break;
    case Kind::kString:
      lists.string_values.emplace();
      DRAY_RETURN_IF_ERROR(TakeAll(list, kind, "string", [&](const Value& v) {
        lists.string_values->emplace_back(v.as_text());
      }));
      break;
    case Kind::kSemver:
      lists.version_values.emplace();
      DRAY_RETURN_IF_ERROR(TakeAll(list, kind, "semver", [&](const Value& v) {
        lists.version_values->push_back(v.as<base::SemVer>().ToString());
      }));
      break;
    default:
      return base::InvalidArgument(
          fmt::format("unsupported list element type: {}", GoType(list.At(0))));
  }
  return out;
}

}  // namespace

StatusOr<api::DeviceAttribute> ToAttribute(const Value& value) {
  api::DeviceAttribute out;
  switch (value.kind()) {
    case Kind::kError:
      return base::InvalidArgument(ErrorMessage(value));
    case Kind::kBool:
      out.bool_value = value.as_bool();
      return out;
    case Kind::kInt:
      out.int_value = value.as_int();
      return out;
    case Kind::kString:
      out.string_value = base::OptionalText(value.as_text());
      return out;
    case Kind::kSemver:
      out.version_value = base::OptionalText(value.as<base::SemVer>().ToString());
      return out;
    case Kind::kList:
      return ListToAttribute(value.as<List>());
    default:
      return base::InvalidArgument(fmt::format("unsupported CEL return type: {}", GoType(value)));
  }
}

StatusOr<api::DeviceAttribute> Derive(const Program& program, const DeviceView& view, Arena& arena,
                                      const EvaluationLimits& limits, std::uint64_t* cost) {
  const EvaluationResult result = Evaluate(program, view, arena, limits);
  const Value& value = result.value;
  if (cost != nullptr) *cost = result.cost;
  if (value.is_error()) return base::InvalidArgument(ErrorText(program, view, value));
  return ToAttribute(value);
}

StatusOr<api::DeviceAttribute> Derive(const Program& program, std::string_view driver,
                                      const api::Device& device, const EvaluationLimits& limits) {
  Arena arena;
  return Derive(program, ApiDeviceView(program.device_reads(), driver, device), arena, limits);
}

}  // namespace dray::cel
