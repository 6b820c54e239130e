// SPDX-License-Identifier: Apache-2.0
#include "rest/request_options.h"

#include <algorithm>
#include <span>
#include <utility>

#include "api/custom_kind.h"
#include "base/valid_utf8.h"
#include "fmt/format.h"
#include "rest/api_error.h"
#include "rest/discovery.h"
#include "rest/tree.h"

namespace dray::rest {
namespace {

using api::Field;
using api::Struct;
using api::StructInfo;
using base::FieldPath;

constexpr std::string_view kGroup = "meta.k8s.io";
constexpr std::string_view kExact = "Exact";
constexpr std::string_view kNotOlderThan = "NotOlderThan";

Status Verdict(std::string_view kind, const api::ErrorList& errors) {
  return errors.empty() ? Status() : Invalid(kGroup, kind, "", errors);
}

void CheckDryRun(const std::vector<std::string>& values, api::ErrorList& errors) {
  constexpr std::string_view kKnown[] = {"All"};
  const auto other = std::ranges::find_if(values, [](const auto& v) { return v != "All"; });
  if (other != values.end()) {
    errors.push_back(api::NotSupported(FieldPath("dryRun"), *other, kKnown));
  }
}

void CheckManager(std::string_view manager, api::ErrorList& errors) {
  if (manager.size() > kMaxManagerLength) {
    errors.push_back(api::TooLong(FieldPath("fieldManager"), kMaxManagerLength));
  }
  const auto control = std::ranges::find_if(
      manager, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
  if (control != manager.end()) {
    errors.push_back(api::Invalid(
        FieldPath("fieldManager"), manager,
        fmt::format("has a character that cannot be printed at {}", control - manager.begin())));
  }
  // It becomes a part of the object, which is JSON.
  if (!base::IsUtf8(manager)) {
    errors.push_back(api::Invalid(FieldPath("fieldManager"), manager, "must be UTF-8"));
  }
}

void CheckWatch(const ListOptions& options, api::ErrorList& errors) {
  const FieldPath match("resourceVersionMatch");
  const std::string& asked = options.resource_version_match;
  if (options.send_initial_events && asked != kNotOlderThan) {
    errors.push_back(api::Forbidden(
        match, fmt::format("sendInitialEvents requires resourceVersionMatch={}", kNotOlderThan)));
  }
  if (asked.empty()) return;
  if (!options.send_initial_events) {
    errors.push_back(
        api::Forbidden(match, "is forbidden for a watch unless sendInitialEvents is provided"));
  }
  constexpr std::string_view kKnown[] = {kNotOlderThan};
  if (asked != kNotOlderThan) errors.push_back(api::NotSupported(match, asked, kKnown));
  if (!options.continue_.empty()) {
    errors.push_back(api::Forbidden(match, "is forbidden when continue is provided"));
  }
}

void CheckList(const ListOptions& options, api::ErrorList& errors) {
  const FieldPath match("resourceVersionMatch");
  const std::string& asked = options.resource_version_match;
  if (!asked.empty()) {
    if (options.resource_version.empty()) {
      errors.push_back(api::Forbidden(match, "is forbidden unless resourceVersion is provided"));
    }
    if (!options.continue_.empty()) {
      errors.push_back(api::Forbidden(match, "is forbidden when continue is provided"));
    }
    constexpr std::string_view kKnown[] = {kExact, kNotOlderThan};
    if (std::ranges::find(kKnown, asked) == std::end(kKnown)) {
      errors.push_back(api::NotSupported(match, asked, kKnown));
    }
    if (asked == kExact && options.resource_version == "0") {
      errors.push_back(api::Forbidden(match, "Exact is forbidden for resourceVersion \"0\""));
    }
  }
  if (options.send_initial_events) {
    errors.push_back(api::Forbidden(FieldPath("sendInitialEvents"), "is forbidden for list"));
  }
}

std::string_view KindName(WriteVerb verb) {
  constexpr std::string_view kNames[] = {"CreateOptions", "UpdateOptions", "PatchOptions",
                                         "PatchOptions"};
  return kNames[static_cast<std::size_t>(verb)];
}

// Typed clients say the version of the group that they speak to.
bool HasDeleteOptions(std::string_view api_version) {
  if (api_version.empty() || api_version == "v1" || api_version == "meta.k8s.io/v1") return true;
  const std::size_t slash = api_version.find('/');
  if (slash == api_version.npos) return false;
  if (api::IsCustomVersion(api_version)) return true;
  const auto versions = ServedVersions(api_version.substr(0, slash));
  return std::ranges::find(versions, api_version.substr(slash + 1)) != versions.end();
}

}  // namespace

const StructInfo& InfoOf(const GetOptions*) {
  using T = GetOptions;
  static const StructInfo info =
      Struct<T>("GetOptions", {Field<&T::resource_version>("resourceVersion")});
  return info;
}

const StructInfo& InfoOf(const ListOptions*) {
  using T = ListOptions;
  static const StructInfo info = Struct<T>(
      "ListOptions",
      {Field<&T::label_selector>("labelSelector"), Field<&T::field_selector>("fieldSelector"),
       Field<&T::watch>("watch"), Field<&T::allow_watch_bookmarks>("allowWatchBookmarks"),
       Field<&T::resource_version>("resourceVersion"),
       Field<&T::resource_version_match>("resourceVersionMatch"),
       Field<&T::timeout_seconds>("timeoutSeconds"), Field<&T::limit>("limit"),
       Field<&T::continue_>("continue"), Field<&T::send_initial_events>("sendInitialEvents")});
  return info;
}

const StructInfo& InfoOf(const WriteOptions*) {
  using T = WriteOptions;
  static const StructInfo info =
      Struct<T>("WriteOptions", {Field<&T::dry_run>("dryRun"), Field<&T::force>("force"),
                                 Field<&T::field_manager>("fieldManager"),
                                 Field<&T::field_validation>("fieldValidation")});
  return info;
}

const StructInfo& InfoOf(const Preconditions*) {
  using T = Preconditions;
  static const StructInfo info = Struct<T>(
      "Preconditions", {Field<&T::uid>("uid"), Field<&T::resource_version>("resourceVersion")});
  return info;
}

const StructInfo& InfoOf(const DeleteOptions*) {
  using T = DeleteOptions;
  static const StructInfo info = Struct<T>(
      "DeleteOptions",
      {Field<&T::grace_period_seconds>("gracePeriodSeconds"),
       Field<&T::preconditions>("preconditions"), Field<&T::orphan_dependents>("orphanDependents"),
       Field<&T::propagation_policy>("propagationPolicy"), Field<&T::dry_run>("dryRun"),
       Field<&T::ignore_store_read_error>(kIgnoreStoreReadError)});
  return info;
}

void SetDefaults(ListOptions& options) {
  const bool beginning = options.resource_version.empty() || options.resource_version == "0";
  if (!options.watch || !beginning) return;
  if (options.send_initial_events || !options.resource_version_match.empty()) return;
  options.send_initial_events = true;
  options.resource_version_match = kNotOlderThan;
}

Status Check(const ListOptions& options) {
  api::ErrorList errors;
  options.watch ? CheckWatch(options, errors) : CheckList(options, errors);
  return Verdict("ListOptions", errors);
}

Status Check(const WriteOptions& options, WriteVerb verb) {
  api::ErrorList errors;
  if (verb == WriteVerb::kApply && options.field_manager.empty()) {
    errors.push_back(api::Required(FieldPath("fieldManager"), "is required for apply patch"));
  }
  if (verb == WriteVerb::kPatch && options.force) {
    errors.push_back(
        api::Forbidden(FieldPath("force"), "may not be specified for non-apply patch"));
  }
  CheckManager(options.field_manager, errors);
  CheckDryRun(options.dry_run, errors);
  constexpr std::string_view kKnown[] = {"", "Ignore", "Strict", "Warn"};
  if (std::ranges::find(kKnown, options.field_validation) == std::end(kKnown)) {
    errors.push_back(
        api::NotSupported(FieldPath("fieldValidation"), options.field_validation, kKnown));
  }
  return Verdict(KindName(verb), errors);
}

FieldValidation ValidationOf(const WriteOptions& options) {
  if (options.field_validation == "Strict") return FieldValidation::kStrict;
  if (options.field_validation == "Ignore") return FieldValidation::kIgnore;
  return FieldValidation::kWarn;
}

Status Check(const DeleteOptions& options) {
  api::ErrorList errors;
  const FieldPath policy("propagationPolicy");
  if (options.orphan_dependents && options.propagation_policy) {
    errors.push_back(
        api::Invalid(policy, *options.propagation_policy,
                     "orphanDependents and propagationPolicy cannot be set at the same time"));
  }
  constexpr std::string_view kKnown[] = {"Background", "Foreground", "Orphan"};
  if (options.propagation_policy &&
      std::ranges::find(kKnown, *options.propagation_policy) == std::end(kKnown)) {
    errors.push_back(api::NotSupported(policy, *options.propagation_policy, kKnown));
  }
  CheckDryRun(options.dry_run, errors);
  // Of an object that cannot be read nothing else can be asked.
  const bool more = options.preconditions || options.grace_period_seconds ||
                    options.orphan_dependents || options.propagation_policy ||
                    !options.dry_run.empty();
  if (options.ignore_store_read_error == true && more) {
    errors.push_back(api::InvalidValue(FieldPath(kIgnoreStoreReadError), "true",
                                       "cannot be set together with other options"));
  }
  return Verdict("DeleteOptions", errors);
}

StatusOr<DeleteOptions> ReadDeleteOptions(const DocumentNode& tree) {
  if (!IsMap(tree)) {
    return BadRequest(fmt::format("DeleteOptions are an object, not a {}", JsonKindName(tree)));
  }
  for (const std::string_view name : {"kind", "apiVersion"}) {
    const DocumentNode* value = FindIn(tree, name);
    if (value != nullptr && !IsString(*value)) {
      return BadRequest(
          fmt::format("{} of DeleteOptions is a string, not a {}", name, JsonKindName(*value)));
    }
  }
  const std::string_view kind = TextIn(tree, "kind");
  const std::string_view version = TextIn(tree, "apiVersion");
  if ((!kind.empty() && kind != "DeleteOptions") || !HasDeleteOptions(version)) {
    return BadRequest(
        fmt::format("the body of a deletion is DeleteOptions, not {} of version \"{}\"",
                    kind.empty() ? "an object" : kind, version));
  }
  DocumentNode bare = tree;
  EraseIn(bare, "kind");
  EraseIn(bare, "apiVersion");
  DeleteOptions options;
  std::vector<api::Diagnostic> diagnostics;
  api::DecodeNode(bare, api::TypeInfoOf<DeleteOptions>(), &options, api::Severity::kError,
                  diagnostics);
  if (diagnostics.empty()) return options;
  return BadRequest(fmt::format("DeleteOptions cannot be read: {}", ToString(diagnostics.front())));
}

}  // namespace dray::rest
