// SPDX-License-Identifier: Apache-2.0
#include "crd/definition_validation.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_set>
#include <utility>
#include <variant>

#include "base/names.h"
#include "crd/field_paths.h"
#include "crd/internal/shown.h"
#include "crd/schema_validation.h"
#include "crd/values.h"
#include "fmt/format.h"

namespace dray::crd {
namespace {

using api::ErrorList;

constexpr std::size_t kMaxSelectableFields = 8;

std::string Lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string Joined(const base::Reasons& reasons) {
  return fmt::format("{}", fmt::join(reasons, ","));
}

void CheckLabel(const std::string& name, const FieldPath& at, ErrorList& errors) {
  const auto reasons = base::CheckDns1035Label(name);
  if (!reasons.empty()) errors.push_back(api::Invalid(at, name, Joined(reasons)));
}

void CheckNames(const Names& names, const FieldPath& at, ErrorList& errors) {
  if (!names.plural.empty()) CheckLabel(names.plural, at / "plural", errors);
  if (!names.singular.empty()) CheckLabel(names.singular, at / "singular", errors);
  const auto mixed = [&](const std::string& name, std::string_view field) {
    const auto reasons = base::CheckDns1035Label(Lower(name));
    if (name.empty() || reasons.empty()) return;
    errors.push_back(api::Invalid(
        at / field, name,
        fmt::format("may have mixed case, but should otherwise match: {}", Joined(reasons))));
  };
  mixed(names.kind, "kind");
  mixed(names.list_kind, "listKind");
  for (std::size_t i = 0; i < names.short_names.size(); ++i) {
    CheckLabel(names.short_names[i], (at / "shortNames").Index(i), errors);
  }
  if (!names.kind.empty() && names.kind == names.list_kind) {
    errors.push_back(
        api::Invalid(at / "listKind", names.list_kind, "kind and listKind may not be the same"));
  }
  for (std::size_t i = 0; i < names.categories.size(); ++i) {
    CheckLabel(names.categories[i], (at / "categories").Index(i), errors);
  }
}

bool IsProtected(std::string_view group) {
  return group == "k8s.io" || group.ends_with(".k8s.io") || group == "kubernetes.io" ||
         group.ends_with(".kubernetes.io");
}

enum class Approval { kMissing, kInvalid, kFine };
Approval ApprovalOf(const Definition& definition) {
  if (!definition.approval || definition.approval->empty()) return Approval::kMissing;
  const std::string& text = *definition.approval;
  if (text.starts_with("unapproved")) return Approval::kFine;
  const std::size_t scheme = text.find("://");
  const bool url = scheme != text.npos && scheme > 0 && scheme + 3 < text.size();
  return url ? Approval::kFine : Approval::kInvalid;
}

void CheckApproval(const Definition& definition, const Definition* old, ErrorList& errors) {
  if (!IsProtected(definition.group)) return;
  const Approval now = ApprovalOf(definition);
  if (now == Approval::kFine || (old != nullptr && ApprovalOf(*old) == now)) return;
  const FieldPath at = (FieldPath("metadata") / "annotations").Key("api-approved.kubernetes.io");
  constexpr std::string_view kSee = "see https://github.com/kubernetes/enhancements/pull/1111";
  if (now == Approval::kMissing) {
    errors.push_back(api::Required(at, fmt::format("protected groups must have approval annotation "
                                                   "\"api-approved.kubernetes.io\", {}",
                                                   kSee)));
  } else {
    errors.push_back(
        api::Invalid(at, *definition.approval,
                     fmt::format("protected groups must have approval annotation "
                                 "\"api-approved.kubernetes.io\" with either a URL or a reason "
                                 "starting with \"unapproved\", {}",
                                 kSee)));
  }
}

void CheckColumn(const Column& column, const FieldPath& at, ErrorList& errors) {
  constexpr std::string_view kTypes = "boolean,date,integer,number,string";
  constexpr std::string_view kFormats = "byte,date,date-time,double,float,int32,int64,password";
  const auto known = [](std::string_view all, std::string_view one) {
    return fmt::format(",{},", all).find(fmt::format(",{},", one)) != std::string::npos;
  };
  if (column.name.empty()) errors.push_back(api::Required(at / "name"));
  if (column.type.empty()) {
    errors.push_back(api::Required(at / "type", fmt::format("must be one of {}", kTypes)));
  } else if (!known(kTypes, column.type)) {
    errors.push_back(
        api::Invalid(at / "type", column.type, fmt::format("must be one of {}", kTypes)));
  }
  if (!column.format.empty() && !known(kFormats, column.format)) {
    errors.push_back(
        api::Invalid(at / "format", column.format, fmt::format("must be one of {}", kFormats)));
  }
  if (column.json_path.empty()) {
    errors.push_back(api::Required(at / "JSONPath"));
  } else if (!column.json_path.starts_with('.')) {
    errors.push_back(api::Invalid(at / "JSONPath", column.json_path,
                                  "must be a simple json path starting with ."));
  }
}

void CheckScalePath(const std::string& path, std::initializer_list<std::string_view> below,
                    bool required, const FieldPath& at, std::string_view should,
                    ErrorList& errors) {
  if (path.empty()) {
    if (required) errors.push_back(api::Required(at));
    return;
  }
  if (!path.starts_with('.')) {
    errors.push_back(api::Invalid(at, path, "must be a simple json path starting with ."));
    return;
  }
  const bool fine =
      std::ranges::any_of(below, [&](std::string_view prefix) { return path.starts_with(prefix); });
  if (!fine) errors.push_back(api::Invalid(at, path, should));
}

void CheckScale(const Scale& scale, const FieldPath& at, ErrorList& errors) {
  CheckScalePath(scale.spec_replicas_path, {".spec."}, true, at / "scale.specReplicasPath",
                 "should be a json path under .spec", errors);
  CheckScalePath(scale.status_replicas_path, {".status."}, true, at / "scale.statusReplicasPath",
                 "should be a json path under .status", errors);
  CheckScalePath(scale.label_selector_path, {".spec.", ".status."}, false,
                 at / "scale.labelSelectorPath",
                 "should be a json path under either .spec or .status", errors);
}

void CheckSelectable(const std::vector<std::string>& fields, const Schema& schema,
                     const FieldPath& at, ErrorList& errors) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const FieldPath here = at.Index(i) / "jsonPath";
    if (fields[i].empty()) {
      errors.push_back(api::Required(here));
      continue;
    }
    const FoundField found = FindField(fields[i], schema, false);
    if (!found.error.empty()) {
      errors.push_back(
          api::Invalid(here, fields[i], fmt::format("is an invalid path: {}", found.error)));
      continue;
    }
    if (!found.names.empty() && found.names.front() == "metadata") {
      errors.push_back(api::Invalid(here, fields[i], "must not point to fields in metadata"));
    }
    const std::string& type = found.schema->type;
    if (type != "string" && type != "boolean" && type != "integer") {
      errors.push_back(api::Invalid(here, fields[i],
                                    "must point to a field of type string, boolean or integer. "
                                    "Enum string fields and strings with formats are allowed."));
    }
    if (!seen.insert(found.path.ToString()).second) {
      errors.push_back(api::Duplicate(here, fields[i]));
    }
  }
  if (seen.size() > kMaxSelectableFields) {
    errors.push_back(api::TooMany(at, seen.size(), kMaxSelectableFields));
  }
}

void CheckDeprecation(const Version& version, const FieldPath& at, ErrorList& errors) {
  if (!version.deprecation_warning) return;
  const std::string& text = *version.deprecation_warning;
  const auto add = [&](std::string_view why) {
    errors.push_back(api::Invalid(at / "deprecationWarning", text, why));
  };
  if (!version.deprecated) return add("can only be set for deprecated versions");
  if (text.size() > 256) add("must be <= 256 characters long");
  if (text.empty()) add("must not be an empty string");
  const auto it = std::ranges::find_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (it != text.end()) {
    add(
        fmt::format("must only contain printable UTF-8 characters; non-printable character found "
                    "at index {}",
                    it - text.begin()));
  }
}

// What all versions have alike, Kubernetes has as of the whole.
struct Alike {
  bool schema = true;
  bool parts = true;
  bool columns = true;
  bool fields = true;
};
Alike AlikeOf(const Definition& definition) {
  Alike alike;
  if (definition.versions.empty()) return {false, false, false, false};
  const Version& first = definition.versions.front();
  for (const Version& version : definition.versions) {
    alike.schema = alike.schema && version.schema && first.schema &&
                   rest::JsonEqual(*version.schema, *first.schema);
    alike.parts = alike.parts && version.status == first.status && version.scale == first.scale;
    alike.columns = alike.columns && version.columns == first.columns;
    alike.fields = alike.fields && version.selectable_fields == first.selectable_fields;
  }
  return alike;
}

class Checker {
 public:
  Checker(const Definition& definition, const Definition* old, ErrorList& errors)
      : definition_(definition), old_(old), alike_(AlikeOf(definition)), errors_(errors) {}

  void Check() {
    bool first = true;
    for (std::size_t i = 0; i < definition_.versions.size(); ++i) {
      CheckVersion(definition_.versions[i], (spec_ / "versions").Index(i), first);
      first = false;
    }
  }

 private:
  void CheckVersion(const Version& version, const FieldPath& at, bool first) {
    const auto reasons = base::CheckDns1035Label(version.name);
    if (!reasons.empty()) {
      errors_.push_back(api::Invalid(at / "name", version.name, Joined(reasons)));
    }
    CheckDeprecation(version, at, errors_);
    if (!version.schema) {
      errors_.push_back(api::Required(at / "schema" / "openAPIV3Schema"));
    } else if (first || !alike_.schema) {
      CheckSchemaOf(version, alike_.schema ? spec_ / "validation" : at / "schema");
    }
    if (version.scale && (first || !alike_.parts)) {
      CheckScale(*version.scale, alike_.parts ? spec_ / "subresources" : at / "subresources",
                 errors_);
    }
    if (first || !alike_.columns) {
      const FieldPath columns = (alike_.columns ? spec_ : at) / "additionalPrinterColumns";
      for (std::size_t i = 0; i < version.columns.size(); ++i) {
        CheckColumn(version.columns[i], columns.Index(i), errors_);
      }
    }
    if (!version.selectable_fields.empty() && version.schema && (first || !alike_.fields)) {
      const ReadSchema read = ReadSchemaFrom(*version.schema);
      CheckSelectable(version.selectable_fields, read.schema,
                      (alike_.fields ? spec_ : at) / "selectableFields", errors_);
    }
  }

  void CheckSchemaOf(const Version& version, const FieldPath& at) {
    const FieldPath here = at / "openAPIV3Schema";
    const ReadSchema read = ReadSchemaFrom(*version.schema, here);
    if (!read.exceeds.empty()) {
      errors_.push_back(api::InvalidValue(here, "", read.exceeds));
      return;
    }
    for (const auto& [path, why] : read.faults) {
      errors_.push_back(api::InvalidValue(path, "", why));
    }
    if (!read.faults.empty()) return;
    const Version* before = old_ == nullptr ? nullptr : old_->FindVersion(version.name);
    const bool unchanged =
        before != nullptr && before->schema && rest::JsonEqual(*before->schema, *version.schema);
    // What is stored was looked at when it came.
    if (unchanged && before->status == version.status) return;
    const bool status = alike_.schema ? std::ranges::any_of(definition_.versions, &Version::status)
                                      : version.status;
    api::Append(errors_, CheckSchema(read.schema, here,
                                     {.status_subresource = status, .unchanged = unchanged}));
  }

  const Definition& definition_;
  const Definition* const old_;
  const Alike alike_;
  const FieldPath spec_{"spec"};
  ErrorList& errors_;
};

void CheckVersions(const Definition& definition, ErrorList& errors) {
  const FieldPath at = FieldPath("spec") / "versions";
  if (definition.versions.size() > kMaxVersions) {
    errors.push_back(api::TooMany(at, definition.versions.size(), kMaxVersions));
  }
  std::set<std::string> names;
  std::size_t stored = 0;
  for (const Version& version : definition.versions) {
    names.insert(version.name);
    stored += version.storage ? 1 : 0;
  }
  if (names.size() != definition.versions.size()) {
    errors.push_back(api::InvalidValue(at, "", "must contain unique version names"));
  }
  if (stored != 1) {
    errors.push_back(
        api::InvalidValue(at, "", "must have exactly one version marked as storage version"));
  }
  const FieldPath kept = FieldPath("status") / "storedVersions";
  for (std::size_t i = 0; i < definition.stored_versions.size(); ++i) {
    const std::string& name = definition.stored_versions[i];
    if (names.contains(name)) continue;
    errors.push_back(api::Invalid(
        kept.Index(i), name,
        fmt::format("missing from spec.versions; {0} was previously a storage version, and must "
                    "remain in spec.versions until a storage migration ensures no data remains "
                    "persisted in {0} and removes {0} from status.storedVersions",
                    name)));
  }
}

void CheckConversion(const Definition& definition, ErrorList& errors) {
  const FieldPath at = FieldPath("spec") / "conversion";
  constexpr std::string_view kStrategies[] = {"None", "Webhook"};
  if (definition.conversion == "Webhook") {
    errors.push_back(api::Invalid(at / "strategy", definition.conversion,
                                  "webhooks are not called here, so that objects could not be "
                                  "converted; use None, with which all versions have the same "
                                  "fields"));
  } else if (definition.conversion != "None") {
    errors.push_back(api::NotSupported(at / "strategy", definition.conversion, kStrategies));
  } else if (definition.conversion_webhook) {
    errors.push_back(api::Forbidden(at / "webhookClientConfig",
                                    "should not be set when strategy is not set to Webhook"));
  }
}

// As strict decoding writes a path: names of properties are fields like any other.
std::string Dotted(const FieldPath& path) {
  std::string text;
  for (const FieldPath::Segment& segment : path.Segments()) {
    if (const auto* index = std::get_if<std::size_t>(&segment)) {
      text += fmt::format("[{}]", *index);
      continue;
    }
    const auto* field = std::get_if<FieldPath::Field>(&segment);
    text += '.';
    text += field != nullptr ? field->name : std::get<FieldPath::MapKey>(segment).key;
  }
  return text;
}

// In one pass, which is why members are told by their place: looking for them by name would be slow
// in a map of ten thousand.
void Drop(const std::unordered_set<const api::Member*>& gone, DocumentNode& node) {
  std::erase_if(node.members, [&](api::Member& member) {
    if (gone.contains(&member)) return true;
    Drop(gone, member.value);
    return false;
  });
  for (DocumentNode& item : node.items) Drop(gone, item);
}

void CheckUnchanged(const std::string& now, const std::string& before, const FieldPath& at,
                    ErrorList& errors) {
  if (now != before) errors.push_back(api::Invalid(at, now, "field is immutable"));
}

}  // namespace

ErrorList CheckDefinition(const Definition& definition, const Definition* old,
                          const std::function<bool(std::string_view)>& is_built_in) {
  ErrorList errors;
  const FieldPath spec("spec");
  if (definition.name != fmt::format("{}.{}", definition.names.plural, definition.group)) {
    errors.push_back(api::Invalid(FieldPath("metadata") / "name", definition.name,
                                  "must be spec.names.plural+\".\"+spec.group"));
  }
  if (definition.group.empty()) {
    errors.push_back(api::Required(spec / "group"));
  } else if (const auto reasons = base::CheckDnsSubdomain(definition.group); !reasons.empty()) {
    errors.push_back(api::Invalid(spec / "group", definition.group, Joined(reasons)));
  } else if (definition.group.find('.') == std::string::npos) {
    errors.push_back(
        api::Invalid(spec / "group", definition.group, "should be a domain with at least one dot"));
  } else if (is_built_in(definition.group)) {
    errors.push_back(api::Invalid(spec / "group", definition.group,
                                  "the server has kinds of its own in this group, to which none "
                                  "can be added"));
  }
  constexpr std::string_view kScopes[] = {"Cluster", "Namespaced"};
  if (definition.scope.empty()) {
    errors.push_back(api::Required(spec / "scope"));
  } else if (std::ranges::find(kScopes, definition.scope) == std::end(kScopes)) {
    errors.push_back(api::NotSupported(spec / "scope", definition.scope, kScopes));
  }
  Checker(definition, old, errors).Check();
  CheckVersions(definition, errors);
  const FieldPath names = spec / "names";
  if (definition.names.plural.empty()) errors.push_back(api::Required(names / "plural"));
  if (definition.names.singular.empty()) errors.push_back(api::Required(names / "singular"));
  if (definition.names.kind.empty()) errors.push_back(api::Required(names / "kind"));
  if (definition.names.list_kind.empty()) errors.push_back(api::Required(names / "listKind"));
  CheckNames(definition.names, names, errors);
  CheckConversion(definition, errors);
  CheckApproval(definition, old, errors);
  if (definition.preserve_unknown_fields.value_or(false)) {
    errors.push_back(
        api::InvalidValue(spec / "preserveUnknownFields", "true",
                          "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
                          "spec.versions[*].schema instead"));
  }
  if (old == nullptr) return errors;
  if (old->Is("Established")) {
    CheckUnchanged(definition.scope, old->scope, spec / "scope", errors);
    CheckUnchanged(definition.names.kind, old->names.kind, names / "kind", errors);
  }
  CheckUnchanged(definition.group, old->group, spec / "group", errors);
  CheckUnchanged(definition.names.plural, old->names.plural, names / "plural", errors);
  return errors;
}

std::vector<std::string> DropUnknownSchemaFields(DocumentNode& object) {
  std::vector<std::string> unknown;
  DocumentNode* spec = rest::FindIn(object, "spec");
  DocumentNode* versions = spec == nullptr ? nullptr : rest::FindIn(*spec, "versions");
  if (versions == nullptr) return unknown;
  for (std::size_t i = 0; i < versions->items.size(); ++i) {
    DocumentNode* schema = rest::FindIn(versions->items[i], "schema");
    DocumentNode* tree = schema == nullptr ? nullptr : rest::FindIn(*schema, "openAPIV3Schema");
    if (tree == nullptr) continue;
    const ReadSchema read = ReadSchemaFrom(*tree);
    if (read.unknown.empty()) continue;
    for (const FieldPath& path : read.unknown) {
      if (unknown.size() >= kMaxPrunedPaths) break;
      unknown.push_back(fmt::format("spec.versions[{}].schema.openAPIV3Schema{}", i, Dotted(path)));
    }
    const std::unordered_set<const api::Member*> gone(read.unknown_members.begin(),
                                                      read.unknown_members.end());
    Drop(gone, *tree);
  }
  return unknown;
}

}  // namespace dray::crd
