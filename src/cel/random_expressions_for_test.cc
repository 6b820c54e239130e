// SPDX-License-Identifier: Apache-2.0
#include "cel/random_expressions_for_test.h"

#include "base/quantity.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

// The first letter of a name says what its attribute mostly is.
constexpr std::string_view kNames[] = {"b0", "b1", "i0", "i1", "s0", "s1", "v0", "ls", "ln"};
constexpr std::string_view kTexts[] = {"",
                                       "a",
                                       "H100",
                                       "NVIDIA H100 80GB HBM3",
                                       "numa0-pcie1-root2",
                                       "gpu.example.com",
                                       "10",
                                       "éàü ß",
                                       "a-b-c",
                                       "0123456789012345678901234567890123456789"};
constexpr std::string_view kInts[] = {"0", "1", "2", "3", "7", "-1", "100", "9223372036854775807"};

}  // namespace

std::string RandomExpressions::Next() { return Chance(60) ? Bool(4) : Any(4); }

std::string RandomExpressions::Any(int depth) {
  switch (Below(6)) {
    case 0:
      return Bool(depth);
    case 1:
      return Int(depth);
    case 2:
      return Text(depth);
    case 3:
      return Version(depth);
    case 4:
      return Quantity(depth);
    default:
      return List(depth);
  }
}

std::string RandomExpressions::Domain(std::string_view part) {
  if (Chance(5)) return fmt::format("device.{}[device.driver]", part);
  return fmt::format("device.{}[\"{}\"]", part,
                     OneOf({"d.com", "d.com", "d.com", "e.com", "x.com"}));
}

std::string RandomExpressions::Attribute(std::string_view name) {
  // Another name than asked for has another type, mostly.
  const std::string used = Chance(8) ? OneOf(kNames) : std::string(name);
  const std::string domain = Domain("attributes");
  return Chance(85) ? fmt::format("{}.{}", domain, used) : fmt::format("{}[\"{}\"]", domain, used);
}

std::string RandomExpressions::Bool(int depth) {
  if (depth == 0) {
    switch (Below(6)) {
      case 0:
        return OneOf({"true", "false"});
      case 1:
        return fmt::format("has({}.{})", Domain("attributes"), OneOf(kNames));
      case 2:
        return "device.allowMultipleAllocations";
      case 3:
        return fmt::format("\"{}\" in {}", OneOf(kNames), Domain("attributes"));
      default:
        return Attribute(OneOf({"b0", "b1"}));
    }
  }
  const int d = depth - 1;
  switch (Below(22)) {
    case 0:
    case 1:
      return fmt::format("({} && {})", Bool(d), Bool(d));
    case 2:
    case 3:
      return fmt::format("({} || {})", Bool(d), Bool(d));
    case 4:
      return fmt::format("!({})", Bool(d));
    case 5:
      return fmt::format("({} ? {} : {})", Bool(d), Bool(d), Bool(d));
    case 6:
    case 7:
      return fmt::format("{} {} {}", Int(d), OneOf({"<", "<=", ">", ">=", "==", "!="}), Int(d));
    case 8:
    case 9:
      return fmt::format("{} {} {}", Text(d), OneOf({"<", ">=", "==", "!=", "=="}), Text(d));
    case 10:
      return fmt::format("{}.matches(\"{}\")", Text(d),
                         OneOf({"^NVIDIA H[12]00", "a.*b", "^numa[0-9]-", "root2$", "^$", "[0-9]+",
                                "(pcie|numa)1", "100", "é", "H1.0"}));
    case 11:
      return fmt::format("{}.{}({})", Text(d), OneOf({"startsWith", "endsWith", "contains"}),
                         Text(d));
    case 12:
      return fmt::format("{} in {}", Chance(50) ? Int(d) : Text(d), List(d));
    case 13:
      return fmt::format("{} in {}", Chance(50) ? Int(d) : Text(d),
                         OneOf({R"(["a", "H100", "10"])", "[1, 2, 3, 5, 8, 13, 21, 34, 55, 89]",
                                R"(["a", "b", "c", "d", "e", "f", "g", "h", "i", "H100"])", "[]"}));
    case 14:
      return fmt::format("{}.{}({})", Quantity(d), OneOf({"isGreaterThan", "isLessThan"}),
                         Quantity(d));
    case 15:
      return fmt::format("{}.{}({})", Version(d), OneOf({"isGreaterThan", "isLessThan"}),
                         Version(d));
    case 16:
      return fmt::format("{} == {}", Any(d), Any(d));
    case 17:
      return fmt::format("{}.?{}.orValue({})", Domain("attributes"), OneOf({"b0", "b1", "i0"}),
                         Bool(d));
    case 18:
      return fmt::format("{}.{}(x, {})", List(d), OneOf({"exists", "all", "exists_one"}),
                         OneOf({"x == \"a\"", "x > 1", "size(x) > 3", "x != 2", "true",
                                "x == device.attributes[\"d.com\"].s0"}));
    case 19:
      return fmt::format("{}.includes({})", Attribute(OneOf({"ls", "ln", "i0"})), Any(0));
    case 20:
      return fmt::format("{}.exists(k, k == \"{}\")", Domain("attributes"), OneOf(kNames));
    default:
      return Bool(0);
  }
}

std::string RandomExpressions::Int(int depth) {
  if (depth == 0) {
    return Chance(40) ? OneOf(kInts) : Attribute(OneOf({"i0", "i1"}));
  }
  const int d = depth - 1;
  switch (Below(12)) {
    case 0:
    case 1:
      return fmt::format("({} {} {})", Int(d), OneOf({"+", "-", "*", "/", "%"}), Int(d));
    case 2:
      return fmt::format("size({})", Chance(50) ? Text(d) : List(d));
    case 3:
      return fmt::format("({} ? {} : {})", Bool(d), Int(d), Int(d));
    case 4:
      return fmt::format("{}.{}()", Version(d), OneOf({"major", "minor", "patch"}));
    case 5:
      return fmt::format("{}.asInteger()", Quantity(d));
    case 6:
      return fmt::format("{}.compareTo({})", Quantity(d), Quantity(d));
    case 7:
      return fmt::format("{}.?{}.orValue({})", Domain("attributes"), OneOf({"i0", "i1"}), Int(d));
    case 8:
      return fmt::format("{}[{}]", Attribute("ln"), Int(0));
    case 9:
      return fmt::format("int({})", Text(d));
    case 10:
      return fmt::format("cel.bind(y, {}, y + y)", Int(d));
    default:
      return Int(0);
  }
}

std::string RandomExpressions::Text(int depth) {
  if (depth == 0) {
    switch (Below(8)) {
      case 0:
      case 1:
      case 2:
        return fmt::format("\"{}\"", OneOf(kTexts));
      case 3:
        return "device.driver";
      case 4:
        return "device.name";
      default:
        return Attribute(OneOf({"s0", "s1"}));
    }
  }
  const int d = depth - 1;
  switch (Below(11)) {
    case 0:
      return fmt::format("({} + {})", Text(d), Text(d));
    case 1:
    case 2:
      return fmt::format("{}.split(\"{}\")[{}]", Text(d), OneOf({"-", " ", "", "."}),
                         OneOf({"0", "1", "5"}));
    case 3:
      return fmt::format("{}.substring({})", Text(d), OneOf({"0", "1", "4"}));
    case 4:
      return fmt::format("{}.{}()", Text(d), OneOf({"lowerAscii", "upperAscii", "trim"}));
    case 5:
      return fmt::format("({} ? {} : {})", Bool(d), Text(d), Text(d));
    case 6:
      return fmt::format("string({})", Int(d));
    case 7:
      return fmt::format("{}.find(\"{}\")", Text(d), OneOf({"[0-9]+", "H.00", "^a"}));
    case 8:
      return fmt::format("{}.?s0.orValue({})", Domain("attributes"), Text(d));
    case 9:
      return fmt::format("{}.replace(\"a\", {})", Text(d), Text(0));
    default:
      return Text(0);
  }
}

std::string RandomExpressions::Loop(int depth) {
  return fmt::format(
      "{}.{}", List(depth),
      OneOf({"map(x, x)", "filter(x, x != 1)", "map(x, size(x) > 1, x)", "map(x, [x])",
             "filter(x, x == device.name)", "map(x, 1)", "map(x, x + x)"}));
}

std::string RandomExpressions::List(int depth) {
  if (depth == 0) {
    return Chance(50) ? Attribute(OneOf({"ls", "ln"}))
                      : OneOf({"[1, 2, 3]", R"(["a", "H100"])", "[]", "[1]"});
  }
  const int d = depth - 1;
  switch (Below(6)) {
    case 0:
      return fmt::format("[{}, {}]", Int(d), Int(d));
    case 1:
      return fmt::format("[{}]", Text(d));
    case 2:
      return fmt::format("{}.split(\"{}\")", Text(d), OneOf({"-", " ", ""}));
    case 3:
    case 4:
      return Loop(d);
    default:
      return List(0);
  }
}

std::string RandomExpressions::Version(int depth) {
  if (depth == 0 || Chance(60)) {
    return Chance(60) ? Attribute("v0")
                      : OneOf({"semver(\"1.2.3\")", "semver(\"535.104.12-rc.1\")"});
  }
  return Chance(50) ? fmt::format("semver({})", Text(depth - 1))
                    : fmt::format("({} ? {} : {})", Bool(depth - 1), Version(0), Version(0));
}

std::string RandomExpressions::Quantity(int depth) {
  if (depth == 0 || Chance(50)) {
    return Chance(60) ? fmt::format("{}.{}", Domain("capacity"), OneOf({"c0", "c1"}))
                      : OneOf({"quantity(\"1Mi\")", "quantity(\"40Gi\")", "quantity(\"100m\")"});
  }
  return Chance(50) ? fmt::format("{}.add({})", Quantity(0), Chance(50) ? Quantity(0) : Int(0))
                    : fmt::format("quantity({})", Text(depth - 1));
}

api::DeviceAttribute RandomExpressions::AttributeOf(char kind) {
  api::DeviceAttribute out;
  switch (kind) {
    case 'b':
      out.bool_value = Chance(50);
      break;
    case 'i':
      out.int_value = static_cast<std::int64_t>(Below(6)) - 1;
      break;
    case 's':
      out.string_value = base::OptionalText(OneOf(kTexts));
      break;
    case 'v':
      // Now and then one that validation would not have let in.
      out.version_value = base::OptionalText(
          Chance(4) ? "not a version" : OneOf({"1.2.3", "535.104.12", "9.0.0", "1.2.3-a+b"}));
      break;
    case 'l':
      for (std::size_t n = Below(5); n > 0; --n) {
        if (!out.MutableLists().string_values) out.MutableLists().string_values.emplace();
        out.MutableLists().string_values->emplace_back(OneOf(kTexts));
      }
      if (!out.lists.has_value()) out.MutableLists().string_values.emplace();
      break;
    default:
      out.MutableLists().int_values.emplace();
      for (std::size_t n = Below(5); n > 0; --n) {
        out.MutableLists().int_values->push_back(static_cast<std::int64_t>(Below(4)));
      }
  }
  return out;
}

api::Device RandomExpressions::NextDevice(std::string_view driver) {
  api::Device device;
  device.name = OneOf({"gpu-0", "gpu-1", "a"});
  if (Chance(50)) device.allow_multiple_allocations = Chance(50);
  for (const std::string_view domain : {"", "d.com/", "e.com/"}) {
    if (domain.starts_with(driver)) continue;
    for (const std::string_view name : kNames) {
      if (!Chance(domain.empty() ? 85 : 20)) continue;
      const char usual = name == "ln" ? 'n' : name[0];
      const char kind = Chance(92) ? usual : "bisvln"[Below(6)];
      device.attributes[fmt::format("{}{}", domain, name)] = AttributeOf(kind);
    }
    for (const std::string_view name : {"c0", "c1"}) {
      if (!Chance(domain.empty() ? 85 : 20)) continue;
      device.capacity[fmt::format("{}{}", domain, name)].value =
          *base::Quantity::Parse(OneOf({"80Gi", "1Mi", "250m", "0", "1.5"}));
    }
  }
  return device;
}

}  // namespace dray::cel
