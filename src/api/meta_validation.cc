// SPDX-License-Identifier: Apache-2.0
#include "api/internal/meta_validation.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "api/custom_kind.h"
#include "api/internal/name_validation.h"
#include "api/internal/printable.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::size_t kAnnotationsMaxSize = 256 * 1024;
constexpr std::size_t kManagerMaxLength = 128;
constexpr std::size_t kSubresourceMaxLength = 256;
constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kKubernetesFinalizer = "kubernetes";

// What Kubernetes wants of a kind's names.
struct NameRules {
  std::string_view kind;
  const NameForm& form;
  bool on_update = false;     // the form is asked for again when the object changes
  bool generate_name = true;  // generateName must have the form too
};
constexpr NameRules kDefaultRules = {"", kDnsSubdomain};
constexpr NameRules kNameRules[] = {
    {"CertificateSigningRequest", kPathSegment},
    {"ClusterRole", kPathSegment},
    {"ClusterRoleBinding", kPathSegment},
    {"DeviceClass", kDnsSubdomain, true, false},
    {"Namespace", kDnsLabel},
    {"ResourceClaim", kDnsSubdomain, true},
    {"ResourceClaimTemplate", kDnsSubdomain, true},
    {"Role", kPathSegment},
    {"RoleBinding", kPathSegment},
    {"Service", kDns1035Label},
};

const NameRules& NameRulesOf(const KindInfo& kind) {
  // One that somebody has defined may have the name of one that is built in.
  if (kind.hub != nullptr && IsCustom(kind)) return kDefaultRules;
  const auto it = std::ranges::find(kNameRules, kind.kind, &NameRules::kind);
  return it == std::end(kNameRules) ? kDefaultRules : *it;
}

// A name will follow, so that the last character may be a hyphen.
std::string AsPrefix(std::string_view generate_name) {
  std::string name(generate_name);
  if (name.size() > 1 && name.ends_with('-')) {
    name.resize(name.size() - 2);
    name += 'a';
  }
  return name;
}

void CheckGenerateName(Report& report, const Path& at, std::string_view name,
                       const NameForm& form) {
  if (name.empty()) return;
  const std::string prefix = &form == &kPathSegment ? std::string(name) + "a" : AsPrefix(name);
  for (const std::string& reason : form.check(prefix)) report.Invalid(at, name, reason);
}

void CheckName(Report& report, const Path& at, const ObjectMeta& meta, const NameForm& form) {
  if (!meta.name.empty()) return CheckForm(report, at, meta.name, form);
  // Whoever looks at a manifest alone has no generated name yet; a server has.
  if (report.OwnRules() && !meta.generate_name.empty()) return;
  report.Required(at, "name or generateName must be set");
}

void CheckNamespace(Report& report, const Path& at, const ObjectMeta& meta, bool namespaced) {
  if (!namespaced) {
    if (!meta.namespace_.empty()) report.Forbidden(at, "objects of this kind have no namespace");
    return;
  }
  CheckRequiredForm(report, at, meta.namespace_, kDnsLabel);
}

void CheckLabels(Report& report, const Path& at, const Map<std::string>& labels) {
  for (const auto& [key, value] : labels) {
    CheckForm(report, at, key, kLabelKey);
    CheckForm(report, at, value, kLabelValue);
  }
}

// Keys like label keys, in any case.
void CheckAnnotations(Report& report, const Path& at, const Map<std::string>& annotations) {
  std::size_t size = 0;
  for (const auto& [key, value] : annotations) {
    size += key.size() + value.size();
    const std::string lower = LowerCase(key);
    if (base::IsQualifiedName(lower)) continue;
    for (const std::string& reason : base::CheckQualifiedName(lower)) {
      report.Invalid(at, key, reason);
    }
  }
  if (size > kAnnotationsMaxSize) report.TooLong(at, kAnnotationsMaxSize);
}

// "v1" or "apps/v1".
bool IsApiVersion(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return true;
  const std::string_view version = text.substr(slash + 1);
  return !version.empty() && version.find('/') == std::string_view::npos;
}

void CheckOwner(Report& report, const Path& at, const OwnerReference& owner) {
  if (owner.api_version.empty()) {
    report.Required(at.Child("apiVersion"));
  } else if (!IsApiVersion(owner.api_version)) {
    report.Invalid(at.Child("apiVersion"), owner.api_version,
                   "must be <group>/<version> or <version>");
  }
  if (owner.kind.empty()) report.Required(at.Child("kind"));
  if (owner.name.empty()) report.Required(at.Child("name"));
  if (owner.uid.empty()) report.Required(at.Child("uid"));
  // Events come and go by themselves.
  if (owner.kind == "Event" && owner.api_version == "v1") {
    report.InvalidAsIs(at, "", "an Event must not own objects");
  }
}

void CheckOwners(Report& report, const Path& at, const std::vector<OwnerReference>& owners) {
  const OwnerReference* controller = nullptr;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    CheckOwner(report, at.Index(i), owners[i]);
    if (!owners[i].controller.value_or(false)) continue;
    if (controller == nullptr) {
      controller = &owners[i];
      continue;
    }
    report.InvalidAsIs(
        at, "",
        fmt::format("only one owner may be the controller; {} \"{}\" and {} \"{}\" "
                    "both have controller set to true",
                    controller->kind, controller->name, owners[i].kind, owners[i].name));
  }
}

// Names by themselves; the list's own faults are reported at the list, as Kubernetes does.
void CheckFinalizerForms(Report& report, const Path& at,
                         const std::vector<std::string>& finalizers) {
  for (const std::string& finalizer : finalizers) CheckForm(report, at, finalizer, kLabelKey);
  const auto has = [&](std::string_view name) {
    return std::ranges::find(finalizers, name) != finalizers.end();
  };
  if (has(kOrphan) && has(kForeground)) {
    report.InvalidAsIs(at, "", fmt::format("must not have both {} and {}", kOrphan, kForeground));
  }
}

void CheckFinalizersAreKnown(Report& report, const Path& at,
                             const std::vector<std::string>& finalizers) {
  for (std::size_t i = 0; i < finalizers.size(); ++i) {
    const std::string& name = finalizers[i];
    if (name.find('/') != std::string::npos) continue;
    if (name == kOrphan || name == kForeground || name == kKubernetesFinalizer) continue;
    report.Invalid(at.Index(i), name,
                   "must have a domain (for example 'example.com/protect'); only orphan, "
                   "foregroundDeletion and kubernetes have none");
  }
}

void CheckManagedFields(Report& report, const Path& at,
                        const std::vector<ManagedFieldsEntry>& entries) {
  constexpr std::array<std::string_view, 2> kOperations = {"Apply", "Update"};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const ManagedFieldsEntry& entry = entries[i];
    const Path here = at.Index(i);
    if (entry.operation.empty()) {
      report.Required(here.Child("operation"));
    } else {
      CheckOneOf(report, here.Child("operation"), entry.operation, kOperations);
    }
    if (!entry.fields_type.empty() && entry.fields_type != "FieldsV1") {
      report.Invalid(here.Child("fieldsType"), entry.fields_type, "must be FieldsV1");
    }
    CheckLength(report, here.Child("manager"), entry.manager, kManagerMaxLength);
    if (!IsPrintable(entry.manager)) {
      report.Invalid(here.Child("manager"), entry.manager, "must have printable characters only");
    }
    CheckLength(report, here.Child("subresource"), entry.subresource, kSubresourceMaxLength);
  }
}

// What is asked on creation and again on each update.
void CheckCommon(Report& report, const Path& at, const ObjectMeta& meta, const KindInfo& kind) {
  CheckNamespace(report, at.Child("namespace"), meta, kind.namespaced);
  if (meta.generation < 0) {
    report.InvalidNumber(at.Child("generation"), meta.generation, "must not be negative");
  }
  CheckLabels(report, at.Child("labels"), meta.labels);
  CheckAnnotations(report, at.Child("annotations"), meta.annotations);
  CheckOwners(report, at.Child("ownerReferences"), meta.owner_references);
  CheckFinalizerForms(report, at.Child("finalizers"), meta.finalizers);
  // Whoever defines a kind names its finalizers, and many do without a slash; so does Kubernetes of
  // definitions themselves.
  const bool others = kind.hub == nullptr || IsCustom(kind) || kind.group == "apiextensions.k8s.io";
  if (!others) CheckFinalizersAreKnown(report, at.Child("finalizers"), meta.finalizers);
  CheckManagedFields(report, at.Child("managedFields"), meta.managed_fields);
}

template <typename T>
void CheckUnchanged(Report& report, const Path& at, const T& value, const T& old,
                    std::string_view shown = "") {
  if (value != old) report.InvalidAsIs(at, shown, "must not change");
}

void CheckNoNewFinalizers(Report& report, const Path& at, const ObjectMeta& meta,
                          const ObjectMeta& old) {
  if (!old.deletion_timestamp) return;
  const base::StringSet present(old.finalizers.begin(), old.finalizers.end());
  for (const std::string& finalizer : meta.finalizers) {
    if (present.contains(finalizer)) continue;
    report.Forbidden(at, fmt::format("no finalizer may be added while the object is being "
                                     "deleted; \"{}\" is new",
                                     finalizer));
  }
}

void CheckTransition(Report& report, const Path& at, const ObjectMeta& meta,
                     const ObjectMeta& old) {
  CheckNoNewFinalizers(report, at.Child("finalizers"), meta, old);
  if (meta.resource_version.empty()) {
    report.Invalid(at.Child("resourceVersion"), "",
                   "an update must say which version of the object it changes");
  }
  if (meta.generation < old.generation) {
    report.InvalidNumber(at.Child("generation"), meta.generation,
                         fmt::format("must not go back from {}", old.generation));
  }
  CheckUnchanged(report, at.Child("name"), meta.name, old.name, meta.name);
  CheckUnchanged(report, at.Child("namespace"), meta.namespace_, old.namespace_, meta.namespace_);
  CheckUnchanged(report, at.Child("uid"), meta.uid, old.uid, meta.uid);
  CheckUnchanged(report, at.Child("creationTimestamp"), meta.creation_timestamp,
                 old.creation_timestamp);
  CheckUnchanged(report, at.Child("deletionTimestamp"), meta.deletion_timestamp,
                 old.deletion_timestamp);
  CheckUnchanged(report, at.Child("deletionGracePeriodSeconds"), meta.deletion_grace_period_seconds,
                 old.deletion_grace_period_seconds);
}

}  // namespace

void ValidateMetaCreate(Report& report, const KindInfo& kind, const ObjectMeta& meta) {
  const Path at("metadata");
  const NameRules& rules = NameRulesOf(kind);
  CheckGenerateName(report, at.Child("generateName"), meta.generate_name,
                    rules.generate_name ? rules.form : kPathSegment);
  CheckName(report, at.Child("name"), meta, rules.form);
  CheckCommon(report, at, meta, kind);
}

void ValidateMetaUpdate(Report& report, const KindInfo& kind, const ObjectMeta& meta,
                        const ObjectMeta& old) {
  const Path at("metadata");
  const NameRules& rules = NameRulesOf(kind);
  CheckGenerateName(report, at.Child("generateName"), meta.generate_name,
                    rules.on_update && rules.generate_name ? rules.form : kPathSegment);
  CheckName(report, at.Child("name"), meta, rules.on_update ? rules.form : kPathSegment);
  CheckCommon(report, at, meta, kind);
  CheckTransition(report, at, meta, old);
}

void ValidateMetaStatusUpdate(Report& report, const KindInfo& kind, const ObjectMeta& meta,
                              const ObjectMeta& old) {
  const Path at("metadata");
  CheckGenerateName(report, at.Child("generateName"), meta.generate_name, kPathSegment);
  CheckName(report, at.Child("name"), meta, kPathSegment);
  CheckCommon(report, at, meta, kind);
  CheckTransition(report, at, meta, old);
}

void ValidateTemplateMeta(Report& report, const Path& at, const ObjectMeta& meta) {
  CheckAnnotations(report, at.Child("annotations"), meta.annotations);
  CheckLabels(report, at.Child("labels"), meta.labels);
  for (const FieldInfo& field : InfoOf(&meta).fields) {
    if (field.name == "labels" || field.name == "annotations") continue;
    if (IsEmptyValue(*field.type, field.Get(&meta))) continue;
    report.Forbidden(at.Child(field.name), "a template may only set labels and annotations");
  }
}

}  // namespace dray::api::internal
