// SPDX-License-Identifier: Apache-2.0
//
// What a description says of its fields: what must be there, words, numbers, forms, keys, and what
// must not change.
#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "api/field_view.h"
#include "api/internal/described_kinds.h"
#include "api/internal/name_validation.h"
#include "api/internal/node_selector_validation.h"
#include "api/internal/pod_validation.h"
#include "api/node_selector.h"
#include "base/check.h"
#include "base/ip_address.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

void CheckPort(Report& report, const Path& at, const FieldView& value) {
  if (const auto number = value.number()) {
    if (*number < 1 || *number > 65535) {
      report.InvalidNumber(at, *number, "must be between 1 and 65535, inclusive");
    }
    return;
  }
  // The name of a port, as IANA's services have them.
  const std::string_view name = value.text();
  const bool letters = std::ranges::any_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
  if (name.size() > 15) report.Invalid(at, name, "must be no more than 15 characters");
  if (!letters || !base::IsDnsLabel(name) || name.find("--") != std::string_view::npos) {
    report.Invalid(at, name,
                   "the name of a port has lower case letters, digits and single hyphens, at least "
                   "one letter, and neither begins nor ends with a hyphen");
  }
}

void CheckAddress(Report& report, const Path& at, std::string_view text) {
  if (!base::ParseIp(text)) {
    report.Invalid(at, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
  }
}

void CheckRange(Report& report, const Path& at, std::string_view text) {
  if (!base::ParseIpPrefix(text)) {
    report.Invalid(at, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
  }
}

// "example.com/controller"
void CheckPathName(Report& report, const Path& at, std::string_view name) {
  const std::size_t slash = name.find('/');
  const std::string_view last = slash == std::string_view::npos ? name : name.substr(slash + 1);
  if (slash != std::string_view::npos) CheckForm(report, at, name.substr(0, slash), kDnsSubdomain);
  if (last.empty() || last.find('/') != std::string_view::npos || last == "." || last == "..") {
    report.Invalid(at, name, "must be a name, or a domain and a name separated by a slash");
  }
}

// Like gpu.webhooks.example.com: three parts at least.
void CheckWebhookName(Report& report, const Path& at, std::string_view name) {
  CheckForm(report, at, name, kDnsSubdomain);
  if (std::ranges::count(name, '.') < 2) {
    report.Invalid(at, name, "should be a domain with at least three segments separated by dots");
  }
}

void CheckTextForm(Report& report, const Path& at, const FieldView& value, std::string_view form) {
  if (form == "port") return CheckPort(report, at, value);
  const std::string_view text = value.text();
  if (form == "ip") return CheckAddress(report, at, text);
  if (form == "cidr") return CheckRange(report, at, text);
  if (form == "path-name") return CheckPathName(report, at, text);
  if (form == "webhook-name") return CheckWebhookName(report, at, text);
  if (form == "driver-name") return CheckDriverName(report, at, text);
  if (form == "label") return CheckForm(report, at, text, kDnsLabel);
  if (form == "subdomain") return CheckForm(report, at, text, kDnsSubdomain);
  if (form == "label-key") return CheckForm(report, at, text, kLabelKey);
  DRAY_CHECK(false, "a description asks for a form that is not known");
}

// One value: a scalar of its own or an item of a list.
void CheckScalar(Report& report, const Path& at, const FieldView& value, const FieldRules& rules) {
  if (!rules.one_of.empty()) CheckOneOf(report, at, value.text(), rules.one_of);
  if (!rules.form.empty()) CheckTextForm(report, at, value, rules.form);
  const auto number = value.number();
  if (!number || value.shape() == Shape::kIntOrString) return;
  if (rules.min && rules.max && (*number < *rules.min || *number > *rules.max)) {
    report.InvalidNumber(
        at, *number, fmt::format("must be between {} and {}, inclusive", *rules.min, *rules.max));
  } else if (rules.min && !rules.max && *number < *rules.min) {
    report.InvalidNumber(at, *number,
                         fmt::format("must be greater than or equal to {}", *rules.min));
  }
}

// The items' keys, or the items of a set, once each.
void CheckKeys(Report& report, const Path& at, const FieldView& list, const FieldOptions& options) {
  absl::flat_hash_set<std::string> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const FieldView item = list.item(i);
    std::string key;
    if (options.list == ListKind::kSet) {
      key = item.Shown();
    } else {
      std::string_view names = options.keys;
      while (!names.empty()) {
        const std::size_t end = std::min(names.find(','), names.size());
        key += item[names.substr(0, end)].Shown();
        names.remove_prefix(std::min(end + 1, names.size()));
        if (!names.empty()) key += '/';
      }
    }
    if (!seen.insert(key).second) report.Duplicate(at.Index(i), key);
  }
}

class Checker {
 public:
  explicit Checker(Report& report) : report_(report) {}

  // `old`: the stored struct in the same place, if there is one.
  void Struct(const Path& at, const StructInfo& info, const void* object, const void* old) {
    for (const FieldInfo& field : info.fields) {
      if (field.options.rules != nullptr) Field(at.Child(field.name), field, object, old);
    }
  }
  void TopField(const FieldInfo& field, const void* object, const void* old) {
    Field(Path(field.name), field, object, old);
  }

 private:
  void Field(const Path& at, const FieldInfo& field, const void* object, const void* old) {
    const FieldRules& rules = *field.options.rules;
    const void* value = field.Get(object);
    const void* old_value = old == nullptr ? nullptr : field.Get(old);
    const bool empty = IsEmptyValue(*field.type, value);
    if (rules.immutable && old_value != nullptr && !SemanticEqual(*field.type, value, old_value)) {
      const FieldView next(*field.type, value);
      if (next.shape() == Shape::kString) {
        report_.Invalid(at, next.text(), "field is immutable");
      } else {
        report_.InvalidAsIs(at, next.Shown(), "field is immutable");
      }
    }
    const FieldView view(*field.type, value);
    if (empty && !AlwaysNumber(field)) {
      if (rules.required) report_.Required(at, "");
      return;
    }
    if (rules.most && !CheckSize(report_, at, view.size(), *rules.most)) return;
    Value(at, view, field.options,
          old_value == nullptr ? FieldView() : FieldView(*field.type, old_value));
  }

  // A number that is always there is looked at when it is zero, too.
  static bool AlwaysNumber(const FieldInfo& field) {
    return field.options.presence == Presence::kAlways && field.type->shape == Shape::kInt32;
  }

  void Value(const Path& at, const FieldView& view, const FieldOptions& options,
             const FieldView& old) {
    switch (view.shape()) {
      case Shape::kList:
        if (options.list != ListKind::kAtomic) CheckKeys(report_, at, view, options);
        for (std::size_t i = 0; i < view.size(); ++i)
          Item(at.Index(i), view.item(i), *options.rules);
        return;
      case Shape::kMap:
        for (std::size_t i = 0; i < view.size(); ++i) {
          if (view.item(i).shape() == Shape::kStruct) {
            Item(at.Key(view.key(i)), view.item(i), *options.rules);
          }
        }
        return;
      case Shape::kStruct:
        return Nested(at, view, old);
      default:
        return CheckScalar(report_, at, view, *options.rules);
    }
  }

  void Item(const Path& at, const FieldView& item, const FieldRules& rules) {
    if (item.shape() == Shape::kStruct) return Nested(at, item, {});
    CheckScalar(report_, at, item, rules);
  }

  void Nested(const Path& at, const FieldView& view, const FieldView& old) {
    if (view.type()->described != nullptr) {
      return Struct(at, view.type()->fields(), view.value(), old.value());
    }
    if (const auto* selector = view.As<LabelSelector>()) CheckLabelSelector(report_, at, *selector);
    if (const auto* selector = view.As<NodeSelector>()) {
      ValidateNodeSelector(report_, at, *selector);
    }
  }

  Report& report_;
};

}  // namespace

void ValidateDescribed(Report& report, const Object& object, const Object* old) {
  Checker checker(report);
  const bool status = object.kind().traits->status;
  for (const FieldInfo& field : object.kind().hub->fields().fields) {
    if (field.options.rules == nullptr || (status && field.name == "status")) continue;
    checker.TopField(field, object.data(), old == nullptr ? nullptr : old->data());
  }
  CheckDescribedRules(report, object, old);
}

void ValidateDescribedStatus(Report& report, const Object& object) {
  const StructInfo& info = object.kind().hub->fields();
  const FieldInfo& status = info.fields.at(static_cast<std::size_t>(info.Find("status")));
  Checker(report).TopField(status, object.data(), nullptr);
}

}  // namespace dray::api::internal
