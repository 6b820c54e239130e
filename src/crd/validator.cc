// SPDX-License-Identifier: Apache-2.0
#include "crd/validator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "crd/formats.h"
#include "crd/internal/shown.h"
#include "fmt/format.h"
#include "re2/re2.h"

namespace dray::crd {
namespace {

using api::ErrorType;
using api::FieldError;
using internal::Quoted;
using Kind = DocumentNode::Kind;

re2::RE2::Options PatternOptions() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  return options;
}

std::string_view TypeOf(const DocumentNode& node) {
  switch (node.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "boolean";
    case Kind::kNumber:
      // As Go's decoder sees it: what is written without a fraction is an integer.
      return node.text.find_first_of(".eE") == std::string::npos ? "integer" : "number";
    case Kind::kString:
      return "string";
    case Kind::kList:
      return "array";
    case Kind::kMap:
      return "object";
  }
  return "";
}

// What is wrong with a value, before it has a place in the object's own words.
struct Fault {
  ErrorType type = ErrorType::kInvalid;
  bool placed = true;  // one that is not is about the whole
  std::string name;    // the path as the validator has it
  std::string bad;
  std::string detail;
};

struct Result {
  std::vector<Fault> faults;
  std::size_t matches = 0;  // checks that passed: which of several alternatives was nearly met

  bool valid() const { return faults.empty(); }
  void Merge(Result&& other) {
    for (Fault& fault : other.faults) {
      if (faults.size() < kMaxFaults) faults.push_back(std::move(fault));
    }
    matches += other.matches;
  }
};

double Remainder(double value, double factor) {
  const double times = factor < 1 ? 1 / factor * value : value / factor;
  return std::abs(times - std::round(times));
}

}  // namespace

struct Validator::Patterns {
  std::map<std::string, std::unique_ptr<const re2::RE2>, std::less<>> by_text;

  void Collect(const Schema& schema) {
    if (!schema.pattern.empty() && by_text.size() < kMaxPatterns) {
      auto& made = by_text[schema.pattern];
      if (made == nullptr)
        made = std::make_unique<const re2::RE2>(schema.pattern, PatternOptions());
    }
    if (schema.items != nullptr) Collect(*schema.items);
    if (schema.additional != nullptr) Collect(*schema.additional);
    if (schema.not_ != nullptr) Collect(*schema.not_);
    for (const Property& property : schema.properties) Collect(*property.schema);
    for (const auto* many : {&schema.all_of, &schema.any_of, &schema.one_of}) {
      for (const Schema& each : *many) Collect(each);
    }
  }
};

class Validator::Run {
 public:
  explicit Run(const Patterns& patterns) : patterns_(patterns) {}

  bool exceeded() const { return left_ == 0; }

  // `old` null: nothing to compare with.
  Result Check(const Schema& schema, const DocumentNode& value, const DocumentNode* old,
               const std::string& path) {
    Result result;
    if (left_ == 0) return result;
    --left_;
    if (old != nullptr && rest::JsonEqual(*old, value)) return result;
    if (value.kind == Kind::kNull) {
      Type(schema, value, path, result);
      Enum(schema, value, path, result);
      return result;
    }
    if (!schema.type.empty() || schema.int_or_string || !schema.format.empty()) {
      Type(schema, value, path, result);
      ++result.matches;
    }
    Alternatives(schema, value, path, result);
    ++result.matches;
    switch (value.kind) {
      case Kind::kString:
        Text(schema, value, path, result);
        break;
      case Kind::kNumber:
        Number(schema, value, path, result);
        break;
      case Kind::kList:
        List(schema, value, old, path, result);
        break;
      default:
        break;
    }
    Enum(schema, value, path, result);
    ++result.matches;
    if (value.kind == Kind::kMap) Map(schema, value, old, path, result);
    ++result.matches;
    return result;
  }

 private:
  static void Add(Result& result, Fault fault) {
    if (result.faults.size() < kMaxFaults) result.faults.push_back(std::move(fault));
  }
  static void AddInvalid(Result& result, const std::string& path, std::string bad,
                         std::string detail) {
    Add(result, {.name = path, .bad = std::move(bad), .detail = std::move(detail)});
  }
  static void AddWhole(Result& result, std::string detail) {
    Add(result, {.placed = false, .name = {}, .bad = "\"\"", .detail = std::move(detail)});
  }

  static void Type(const Schema& schema, const DocumentNode& value, const std::string& path,
                   Result& result) {
    const std::string wanted = schema.int_or_string ? "integer,string" : schema.type;
    const std::string_view is = TypeOf(value);
    const auto mismatch = [&] {
      Add(result,
          {.type = ErrorType::kTypeInvalid,
           .name = path,
           .bad = Quoted(is),
           .detail = fmt::format("{} in body must be of type {}: {}", path, wanted, Quoted(is))});
    };
    if (value.kind == Kind::kNull) {
      if (!wanted.empty() && !schema.nullable) return mismatch();
      ++result.matches;
      return;
    }
    const bool text = value.kind == Kind::kString || value.kind == Kind::kList;
    const bool numeric =
        wanted.find("number") != wanted.npos || wanted.find("integer") != wanted.npos;
    const bool fits =
        schema.int_or_string
            ? is == "integer" || is == "string" || (is == "number" && IntegerOf(value).has_value())
        : is == "integer" ? wanted == "integer" || wanted == "number"
        : is == "number"  ? wanted == "number" || (wanted == "integer" && IntegerOf(value))
                          : wanted == is;
    const std::string format = CheckedFormatOf(schema);
    if (!format.empty() && text && !numeric) {
      ++result.matches;
      return;
    }
    if (wanted.empty() || fits) {
      ++result.matches;
      return;
    }
    mismatch();
  }

  // Only of types that have it.
  static std::string CheckedFormatOf(const Schema& schema) {
    if (schema.format.empty()) return {};
    if (schema.type.empty() || schema.type == "string") return CheckedFormat(schema.format);
    return {};
  }

  static void Enum(const Schema& schema, const DocumentNode& value, const std::string& path,
                   Result& result) {
    if (schema.one_of_values.empty()) return;
    const auto same = [&](const DocumentNode& each) { return rest::JsonEqual(each, value); };
    if (std::ranges::any_of(schema.one_of_values, same)) return;
    std::string detail = "supported values: ";
    for (const DocumentNode& each : schema.one_of_values) {
      if (detail.back() != ' ') detail += ", ";
      detail += Quoted(each.kind == Kind::kString ? each.text : ToJson(each));
    }
    Add(result, {.type = ErrorType::kNotSupported,
                 .name = path,
                 .bad = internal::Shown(value),
                 .detail = std::move(detail)});
  }

  void Alternatives(const Schema& schema, const DocumentNode& value, const std::string& path,
                    Result& result) {
    if (!schema.any_of.empty()) {
      std::optional<Result> best;
      bool met = false;
      for (const Schema& each : schema.any_of) {
        Result one = Check(each, value, nullptr, path);
        if (one.valid()) {
          met = true;
          best.reset();
          result.matches += one.matches;
          break;
        }
        if (!best || one.matches > best->matches) best = std::move(one);
      }
      if (!met) {
        AddWhole(result, fmt::format("{} must validate at least one schema (anyOf)", Quoted(path)));
      }
      if (best) result.Merge(*std::move(best));
    }
    if (!schema.one_of.empty()) OneOf(schema, value, path, result);
    if (!schema.all_of.empty()) {
      std::size_t met = 0;
      for (const Schema& each : schema.all_of) {
        Result one = Check(each, value, nullptr, path);
        met += one.valid() ? 1 : 0;
        result.Merge(std::move(one));
      }
      if (met != schema.all_of.size()) {
        AddWhole(result, fmt::format("{} must validate all the schemas (allOf){}", Quoted(path),
                                     met == 0 ? ". None validated" : ""));
      }
    }
    if (schema.not_ != nullptr && Check(*schema.not_, value, nullptr, path).valid()) {
      AddWhole(result, fmt::format("{} must not validate the schema (not)", Quoted(path)));
    }
    ++result.matches;
  }

  void OneOf(const Schema& schema, const DocumentNode& value, const std::string& path,
             Result& result) {
    std::optional<Result> best;
    std::size_t met = 0;
    std::size_t first = 0;
    for (const Schema& each : schema.one_of) {
      Result one = Check(each, value, nullptr, path);
      if (one.valid()) {
        if (met++ == 0) first = one.matches;
        best.reset();
      } else if (met == 0 && (!best || one.matches > best->matches)) {
        best = std::move(one);
      }
    }
    if (met == 1) {
      result.matches += first;
      return;
    }
    const std::string why =
        met == 0 ? "Found none valid" : fmt::format("Found {} valid alternatives", met);
    AddWhole(result, fmt::format("{} must validate one and only one schema (oneOf). {}",
                                 Quoted(path), why));
    if (best) result.Merge(*std::move(best));
  }

  void Text(const Schema& schema, const DocumentNode& value, const std::string& path,
            Result& result) {
    const auto length = static_cast<std::int64_t>(base::CodePoints(value.text));
    if (schema.max_length && length > *schema.max_length) {
      Add(result, {.type = ErrorType::kTooLong,
                   .name = path,
                   .bad = {},
                   .detail = fmt::format("may not be more than {} bytes", *schema.max_length)});
    } else if (schema.min_length && length < *schema.min_length) {
      AddInvalid(
          result, path, internal::Shown(value),
          fmt::format("{} in body should be at least {} chars long", path, *schema.min_length));
    } else if (!schema.pattern.empty() && !Matches(schema.pattern, value.text)) {
      AddInvalid(result, path, internal::Shown(value),
                 fmt::format("{} in body should match '{}'", path, schema.pattern));
    }
    ++result.matches;
    const std::string format = CheckedFormatOf(schema);
    if (format.empty()) return;
    if (!HasFormat(format, value.text)) {
      Add(result, {.type = ErrorType::kTypeInvalid,
                   .name = path,
                   .bad = internal::Shown(value),
                   .detail = fmt::format("{} in body must be of type {}: {}", path, schema.format,
                                         internal::Shown(value))});
    }
    ++result.matches;
  }

  bool Matches(const std::string& pattern, const std::string& text) const {
    const auto it = patterns_.by_text.find(pattern);
    return it != patterns_.by_text.end() && it->second->ok() &&
           re2::RE2::PartialMatch(text, *it->second);
  }

  static void Range(const Schema& schema, const DocumentNode& value, double number,
                    const std::string& path, Result& result) {
    const auto whole = [&](std::string_view type, std::string_view format) {
      AddWhole(result, fmt::format("Checked value must be of type {} with format {} in {}", type,
                                   format, path));
    };
    if (schema.type == "integer") {
      const auto integer = IntegerOf(value);
      const bool small = integer && *integer >= std::numeric_limits<std::int32_t>::min() &&
                         *integer <= std::numeric_limits<std::int32_t>::max();
      if (schema.format == "int32" && !small) return whole("integer", "int32");
      if (integer) return;
      if (schema.format == "int64") return whole("integer", "int64");
      AddWhole(result,
               fmt::format("Checked value must be of type integer (default format) in {}", path));
    } else if (schema.type == "number" && schema.format == "float" &&
               std::abs(number) > static_cast<double>(std::numeric_limits<float>::max())) {
      whole("number", "float");
    }
  }

  static void Number(const Schema& schema, const DocumentNode& value, const std::string& path,
                     Result& result) {
    const auto read = NumberOf(value);
    if (!read) {
      AddWhole(result, fmt::format("invalid type conversion in {}: value out of range ", path));
      return;
    }
    const double number = *read;
    Range(schema, value, number, path, result);
    const std::optional<std::int64_t> integer =
        TypeOf(value) == "integer" ? IntegerOf(value) : std::nullopt;
    // Integers are compared with what bounds are as integers.
    const auto bound = [&](double limit) {
      return integer ? fmt::format("{}", static_cast<std::int64_t>(limit))
                     : internal::GoNumber(limit);
    };
    const auto order = [&](double limit) {
      if (!integer || std::abs(limit) > 9.2e18) return number < limit ? -1 : number > limit ? 1 : 0;
      const auto other = static_cast<std::int64_t>(limit);
      return *integer < other ? -1 : *integer > other ? 1 : 0;
    };
    if (schema.multiple_of) {
      const double factor = integer ? std::trunc(*schema.multiple_of) : *schema.multiple_of;
      if (factor <= 0) {
        AddInvalid(result, path, bound(factor),
                   fmt::format("factor MultipleOf declared for {} must be positive: {}", path,
                               bound(factor)));
      } else if (integer ? *integer % static_cast<std::int64_t>(factor) != 0
                         : Remainder(number, factor) > 1e-9) {
        AddInvalid(result, path, internal::Shown(value),
                   fmt::format("{} in body should be a multiple of {}", path, bound(factor)));
      }
    }
    if (schema.minimum) {
      const int is = order(*schema.minimum);
      if (is < 0 || (schema.exclusive_minimum && is == 0)) {
        AddInvalid(
            result, path, internal::Shown(value),
            fmt::format("{} in body should be greater than {}{}", path,
                        schema.exclusive_minimum ? "" : "or equal to ", bound(*schema.minimum)));
      }
    }
    if (schema.maximum) {
      const int is = order(*schema.maximum);
      if (is > 0 || (schema.exclusive_maximum && is == 0)) {
        AddInvalid(
            result, path, internal::Shown(value),
            fmt::format("{} in body should be less than {}{}", path,
                        schema.exclusive_maximum ? "" : "or equal to ", bound(*schema.maximum)));
      }
    }
    result.matches += 2;
  }

  void List(const Schema& schema, const DocumentNode& value, const DocumentNode* old,
            const std::string& path, Result& result) {
    const auto size = static_cast<std::int64_t>(value.items.size());
    if (schema.items != nullptr) {
      const OldItems before(schema, old);
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        const DocumentNode& item = value.items[i];
        result.Merge(Check(*schema.items, item, before.Find(item), fmt::format("{}[{}]", path, i)));
      }
    }
    if (schema.min_items && size < *schema.min_items) {
      AddInvalid(result, path, fmt::format("{}", size),
                 fmt::format("{} in body should have at least {} items", path, *schema.min_items));
    }
    if (schema.max_items && size > *schema.max_items) {
      TooMany(result, path, size, *schema.max_items);
    }
    result.matches += 2;
  }
  static void TooMany(Result& result, const std::string& path, std::int64_t size,
                      std::int64_t most) {
    Add(result, {.type = ErrorType::kTooMany,
                 .name = path,
                 .bad = fmt::format("{}", size),
                 .detail = fmt::format("must have at most {} items", most)});
  }

  void Map(const Schema& schema, const DocumentNode& value, const DocumentNode* old,
           const std::string& path, Result& result) {
    const auto size = static_cast<std::int64_t>(value.members.size());
    if (schema.min_properties && size < *schema.min_properties) {
      AddInvalid(result, path, fmt::format("{}", size),
                 fmt::format("{} in body should have at least {} properties", path,
                             *schema.min_properties));
    }
    if (schema.max_properties && size > *schema.max_properties) {
      TooMany(result, path, size, *schema.max_properties);
    }
    const auto before = [&](std::string_view key) -> const DocumentNode* {
      return old == nullptr || old->kind != Kind::kMap ? nullptr : rest::FindIn(*old, key);
    };
    for (const api::Member& member : value.members) {
      const Schema* property = schema.FindProperty(member.key);
      const std::string dotted = fmt::format("{}.{}", path, member.key);
      if (property != nullptr) {
        result.Merge(
            Check(*property, member.value, before(member.key), path.empty() ? member.key : dotted));
      } else if (schema.additional != nullptr) {
        result.Merge(Check(*schema.additional, member.value, before(member.key), dotted));
      } else if (schema.has_additional && !schema.allows_additional) {
        AddInvalid(result, path, Quoted(member.key),
                   fmt::format("{} in body is a forbidden property", dotted));
      }
    }
    for (const std::string& key : schema.required) {
      if (rest::FindIn(value, key) != nullptr) continue;
      Add(result, {.type = ErrorType::kRequired,
                   .name = fmt::format("{}.{}", path, key),
                   .bad = {},
                   .detail = {}});
    }
  }

  const Patterns& patterns_;
  std::size_t left_ = kMaxChecks;
};

Validator::Validator(const Schema& schema)
    : schema_(schema), patterns_([&] {
        auto patterns = std::make_unique<Patterns>();
        patterns->Collect(schema);
        return patterns;
      }()) {}
Validator::~Validator() = default;

api::ErrorList Validator::Check(const DocumentNode& value, const FieldPath& at,
                                const DocumentNode* old) const {
  Run run(*patterns_);
  Result result = run.Check(schema_, value, old, "");
  api::ErrorList errors;
  if (run.exceeded()) {
    errors.push_back(api::Invalid(at.empty() ? FieldPath("<nil>") : at, "",
                                  fmt::format("holding the object against its schema takes more "
                                              "than {} steps",
                                              kMaxChecks)));
  }
  std::set<std::string> told;
  for (Fault& fault : result.faults) {
    const std::string_view name =
        fault.name.starts_with('.') ? std::string_view(fault.name).substr(1) : fault.name;
    FieldPath path = !fault.placed || name.empty() ? at : at / name;
    // As Kubernetes shows a place that has no name.
    if (path.empty()) path = FieldPath("<nil>");
    FieldError error{fault.type, std::move(path), std::move(fault.bad), std::move(fault.detail)};
    if (told.insert(error.Message()).second) errors.push_back(std::move(error));
  }
  return errors;
}

std::string PatternFault(const std::string& pattern) {
  const re2::RE2 made(pattern, PatternOptions());
  if (made.ok()) return {};
  return fmt::format("error parsing regexp: {}", made.error());
}

}  // namespace dray::crd
