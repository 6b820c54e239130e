// SPDX-License-Identifier: Apache-2.0
//
// Names of values' types, and values for people.
#include "base/quantity.h"
#include "base/semver.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {

std::string_view TypeName(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return "null_type";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kUint:
      return "uint";
    case Kind::kDouble:
      return "double";
    case Kind::kString:
      return "string";
    case Kind::kBytes:
      return "bytes";
    case Kind::kList:
      return "list";
    case Kind::kMap:
      return "map";
    case Kind::kType:
      return "type";
    case Kind::kDuration:
      return "google.protobuf.Duration";
    case Kind::kTimestamp:
      return "google.protobuf.Timestamp";
    case Kind::kOptional:
      return "optional_type";
    case Kind::kQuantity:
      return "kubernetes.Quantity";
    case Kind::kSemver:
      return "kubernetes.Semver";
    case Kind::kIp:
      return "net.IP";
    case Kind::kCidr:
      return "net.CIDR";
    case Kind::kUrl:
      return "kubernetes.URL";
    case Kind::kFormat:
      return "kubernetes.NamedFormat";
    case Kind::kError:
      return "error";
    case Kind::kHost:
      return value.as<Host>().type_name();
  }
  return "";
}

std::string_view GoTypeName(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return "types.Null";
    case Kind::kBool:
      return "types.Bool";
    case Kind::kInt:
      return "types.Int";
    case Kind::kUint:
      return "types.Uint";
    case Kind::kDouble:
      return "types.Double";
    case Kind::kString:
      return "types.String";
    case Kind::kBytes:
      return "types.Bytes";
    case Kind::kDuration:
      return "types.Duration";
    case Kind::kTimestamp:
      return "types.Timestamp";
    case Kind::kOptional:
      return "*types.Optional";
    case Kind::kType:
      return "*types.Type";
    case Kind::kQuantity:
      return "cel.Quantity";
    case Kind::kSemver:
      return "cel.Semver";
    case Kind::kIp:
      return "cel.IP";
    case Kind::kCidr:
      return "cel.CIDR";
    case Kind::kUrl:
      return "cel.URL";
    case Kind::kFormat:
      return "cel.Format";
    default:
      return TypeName(value);
  }
}

std::string Printed(const Value& value) {
  switch (value.kind()) {
    case Kind::kString:
    case Kind::kType:
      return std::string(value.as_text());
    case Kind::kBool:
      return value.as_bool() ? "true" : "false";
    case Kind::kInt:
      return fmt::format("{}", value.as_int());
    case Kind::kUint:
      return fmt::format("{}", value.as_uint());
    case Kind::kDouble:
      return DoubleToString(value.as_double());
    case Kind::kNull:
      return "null";
    default:
      return ToDebugString(value);
  }
}

namespace {

// Values may be shared: [a, a] of [b, b] of ... has no end. Nobody reads so far.
constexpr std::size_t kMaxPrinted = std::size_t{1} << 20;

std::string Scalar(const Value& value);

void Print(const Value& value, std::string& out) {
  if (out.size() > kMaxPrinted) return;
  if (value.is(Kind::kList)) {
    const List& list = value.as<List>();
    out += '[';
    for (std::size_t i = 0; i < list.size() && out.size() <= kMaxPrinted; ++i) {
      if (i != 0) out += ", ";
      Print(list.At(i), out);
    }
    out += ']';
  } else if (value.is(Kind::kMap)) {
    const Map& map = value.as<Map>();
    out += '{';
    for (std::size_t i = 0; i < map.size() && out.size() <= kMaxPrinted; ++i) {
      if (i != 0) out += ", ";
      Print(map.KeyAt(i), out);
      out += ": ";
      Print(map.ValueAt(i), out);
    }
    out += '}';
  } else if (value.is(Kind::kOptional) && value.as<Optional>().present) {
    out += "optional.of(";
    Print(value.as<Optional>().value, out);
    out += ')';
  } else {
    out += Scalar(value);
  }
}

std::string Scalar(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return value.as_bool() ? "true" : "false";
    case Kind::kInt:
      return fmt::format("{}", value.as_int());
    case Kind::kUint:
      return fmt::format("{}u", value.as_uint());
    case Kind::kDouble:
      return DoubleToString(value.as_double());
    case Kind::kString:
      return QuoteGo(value.as_text());
    case Kind::kBytes:
      return "b" + QuoteGo(value.as_text());
    case Kind::kType:
      return std::string(value.as_text());
    case Kind::kDuration:
      return fmt::format("duration(\"{}\")", DurationToString(value.as_int()));
    case Kind::kTimestamp:
      return fmt::format("timestamp(\"{}\")", InstantToString(value.as<Instant>()));
    case Kind::kOptional:
      return "optional.none()";
    case Kind::kQuantity:
      return fmt::format("quantity(\"{}\")", value.as<base::Quantity>().ToString());
    case Kind::kSemver:
      return fmt::format("semver(\"{}\")", value.as<base::SemVer>().ToString());
    case Kind::kIp:
      return fmt::format("ip(\"{}\")", IpToString(value.as<Ip>()));
    case Kind::kCidr:
      return fmt::format("cidr(\"{}\")", CidrToString(value.as<Cidr>()));
    case Kind::kUrl:
      return fmt::format("url({})", QuoteGo(value.as<Url>().printed));
    case Kind::kFormat:
      return fmt::format("format.{}()", value.as<Format>().name);
    case Kind::kError:
      return fmt::format("error({})", QuoteGo(ErrorMessage(value)));
    case Kind::kHost:
      return std::string(TypeName(value));
    case Kind::kList:
    case Kind::kMap:
      break;
  }
  return "";
}

}  // namespace

std::string ToDebugString(const Value& value) {
  std::string out;
  Print(value, out);
  if (out.size() > kMaxPrinted) out += " ...";
  return out;
}

}  // namespace dray::cel
