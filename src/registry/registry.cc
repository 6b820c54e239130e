// SPDX-License-Identifier: Apache-2.0
#include "registry/registry.h"

#include <optional>
#include <utility>

#include "api/authorization.h"
#include "api/custom_kind.h"
#include "api/namespace.h"
#include "api/pod.h"
#include "api/quota_scopes.h"
#include "api/resource_claim.h"
#include "fmt/format.h"
#include "registry/admission.h"
#include "registry/certificates.h"
#include "registry/custom_kinds.h"
#include "registry/internal/attempt.h"
#include "registry/internal/policy_requests.h"
#include "registry/internal/topics.h"
#include "registry/internal/write_lines.h"
#include "registry/own_objects.h"
#include "registry/policies.h"
#include "registry/roles.h"
#include "rest/api_error.h"
#include "rest/compare.h"
#include "rest/custom_object.h"
#include "rest/managed_fields.h"

namespace dray::registry {
namespace {

class StoredNamespaceLabels final : public api::NamespaceLabels {
 public:
  explicit StoredNamespaceLabels(const Objects& objects) : objects_(objects) {}
  StatusOr<api::Map<std::string>> LabelsOf(std::string_view namespace_) const override {
    const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::Namespace>());
    DRAY_ASSIGN_OR_RETURN(const auto found, objects_.Find(kind, "", namespace_));
    if (!found) return rest::NotFound(kind, namespace_);
    return found->object().metadata().labels;
  }

 private:
  const Objects& objects_;
};

std::string_view NameOf(Part part) {
  switch (part) {
    case Part::kStatus:
      return "status";
    case Part::kApproval:
      return "approval";
    case Part::kEphemeralContainers:
      return "ephemeralcontainers";
    case Part::kObject:
      break;
  }
  return "";
}

// `version`: of a kind that somebody has defined; outlives the owner.
rest::FieldOwner OwnerOf(const WriteContext& context, const api::KindInfo& kind, Part part,
                         base::Time now, const crd::ServedVersion* version) {
  return {.manager = context.manager,
          .api_version = context.api_version.empty() ? kind.ApiVersion() : context.api_version,
          .subresource = std::string(NameOf(part)),
          .now = now,
          .written_empty = context.written_empty,
          .fields = version == nullptr ? nullptr : &version->field_types().root(),
          .status_part = version != nullptr && version->has_status()};
}

// Who writes definitions takes turns: each decides by the names that the others have.
std::string LineOf(const api::KindInfo& kind, std::string_view namespace_, std::string_view name) {
  return &kind == &DefinitionKind() ? PrefixOf(kind) : KeyOf(kind, namespace_, name);
}

constexpr int kGenerateTries = 8;

bool IsDefinition(const api::Object& object) { return object.kind().hub == DefinitionKind().hub; }

// "0" is what Go's clients write of a number that they do not know.
bool NamesNoVersion(const api::ObjectMeta& metadata) {
  return metadata.resource_version.empty() || metadata.resource_version == "0";
}

// The request says which version of the object it means.
Status CheckMeant(const api::Object& object, const api::Object& stored) {
  const api::ObjectMeta& sent = object.metadata();
  const api::ObjectMeta& now = stored.metadata();
  if (!sent.uid.empty() && sent.uid != now.uid) {
    return rest::Conflict(stored.kind(), now.name,
                          fmt::format("Precondition failed: UID in precondition: {}, UID in object "
                                      "meta: {}",
                                      sent.uid, now.uid));
  }
  if (NamesNoVersion(sent)) {
    if (api::AllowsUnconditionalUpdate(object.kind())) return {};
    return rest::Invalid(stored.kind(), now.name,
                         {api::InvalidValue(base::FieldPath("metadata") / "resourceVersion", "0x0",
                                            "must be specified for an update")});
  }
  if (sent.resource_version != now.resource_version) {
    return rest::Modified(stored.kind(), now.name);
  }
  return {};
}

// Policies and roles tell namespaces by this label.
constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";

// A namespace says its own name, and who may write it may not leave behind what is in it.
void KeepNamespace(api::Object& object, const api::Object& stored, const WriteContext& context) {
  const auto* old = stored.As<api::Namespace>();
  if (old == nullptr) return;
  api::Namespace& space = *object.Mutable<api::Namespace>();
  space.metadata.labels[kNameLabel] = old->metadata.name;
  if (!context.finalizes && !context.decider) space.spec.finalizers = old->spec.finalizers;
}

bool IsGone(const api::Object& object) {
  const api::ObjectMeta& metadata = object.metadata();
  if (!metadata.deletion_timestamp || !metadata.finalizers.empty()) return false;
  if (metadata.deletion_grace_period_seconds.value_or(0) > 0) return false;
  const api::Namespace* space = object.As<api::Namespace>();
  return space == nullptr || space->spec.finalizers.empty();
}

}  // namespace

Registry::Registry(store::Store& store, const base::Clock& clock, base::RandomSource& random,
                   RegistryOptions options)
    : objects_(store, options.rules.gates),
      clock_(clock),
      random_(random),
      options_(std::move(options)),
      namespaces_(std::make_unique<StoredNamespaceLabels>(objects_)),
      lines_(std::make_unique<internal::WriteLines>()) {
  objects_.OnUnreadable(options_.on_unreadable);
  internal::SetTopics(store);
}

Registry::~Registry() = default;

StatusOr<api::Object> Registry::Get(const api::KindInfo& kind, std::string_view namespace_,
                                    std::string_view name) const {
  DRAY_ASSIGN_OR_RETURN(const auto found, objects_.Find(kind, namespace_, name));
  if (!found) return rest::NotFound(kind, name);
  return found->object();
}

StatusOr<std::shared_ptr<const crd::ServedVersion>> Registry::VersionOf(const api::KindInfo& kind,
                                                                        bool creates) const {
  if (!api::IsCustom(kind)) return nullptr;
  const CustomResourcePtr resource = objects_.custom()->Find(kind);
  if (resource == nullptr) return rest::UnknownResource();
  if (creates && resource->definition.deleted) {
    return rest::ToStatus({.code = 405,
                           .reason = "MethodNotAllowed",
                           .message = fmt::format("create not allowed while custom resource "
                                                  "definition {} is terminating",
                                                  resource->definition.name)});
  }
  return resource->Of(kind);
}

Status Registry::CheckRights(const api::UserInfo& user, const api::Object& next,
                             const api::Object* old) const {
  if (options_.authorizer != nullptr) {
    DRAY_RETURN_IF_ERROR(CheckPolicyParams(user, *options_.authorizer, objects_, next, old));
  }
  return options_.roles == nullptr ? Status() : options_.roles->CheckEscalation(user, next, old);
}

// A name that somebody has is no answer to who asked for any: another one is drawn, as often as
// Kubernetes does.
Status Registry::CompleteName(api::Object& object) const {
  const api::KindInfo& hub = api::HubKind(*object.kind().hub);
  api::ObjectMeta& metadata = object.MutableMetadata();
  for (int tries = 0; tries < kGenerateTries; ++tries) {
    metadata.name = api::CompletedName(metadata.generate_name, random_);
    const std::string key = KeyOf(hub, metadata.namespace_, metadata.name);
    if (objects_.store().Find(key) == nullptr) return {};
  }
  return rest::NoUniqueName(object.kind(), metadata.name);
}

StatusOr<Registry::Attempt> Registry::TryCreate(api::Object object, const WriteContext& context,
                                                bool keep_managed_fields) const {
  const base::Time now = clock_.Now();
  const api::KindInfo& asked = object.kind();
  Attempt attempt{object};
  DRAY_RETURN_IF_ERROR(CheckOwn(context.user, &object, nullptr));
  DRAY_RETURN_IF_ERROR(CheckRights(context.user, object, nullptr));
  DRAY_RETURN_IF_ERROR(AdmitNamespace(objects_, object, attempt.transaction));
  DRAY_ASSIGN_OR_RETURN(const auto custom, VersionOf(asked, true));
  if (IsDefinition(object)) CompleteDefinition(object);
  api::PrepareNew(object, options_.rules, now, random_);
  if (custom != nullptr) PrepareCustom(object, nullptr, false, *custom);
  DRAY_RETURN_IF_ERROR(AdmitPriority(objects_, options_.rules.gates, object));
  AdmitGroup(object);
  AdmitTolerations(object);
  if (options_.service_accounts) {
    DRAY_RETURN_IF_ERROR(AdmitServiceAccount(objects_, object, random_));
  }
  DRAY_RETURN_IF_ERROR(AdmitLimits(objects_, object, nullptr));
  DRAY_RETURN_IF_ERROR(AdmitCertificateRequest(context.user, object));
  DRAY_RETURN_IF_ERROR(AdmitWebhooks(object, context.notes.get()));
  api::ObjectMeta& metadata = object.MutableMetadata();
  const bool generated = metadata.name.empty() && !metadata.generate_name.empty();
  if (generated) DRAY_RETURN_IF_ERROR(CompleteName(object));
  if (auto* space = object.Mutable<api::Namespace>()) {
    space->spec.finalizers = {"kubernetes"};
    space->status.phase = api::kNamespaceActive;
    space->metadata.labels[kNameLabel] = space->metadata.name;
  }
  if (!keep_managed_fields) {
    if (rest::AsksForReset(object)) metadata.managed_fields.clear();
    TrackUpdate(rest::EmptyObject(object.kind()),
                OwnerOf(context, object.kind(), Part::kObject, now, custom.get()), object);
  }
  api::ErrorList errors;
  if (IsDefinition(object)) errors = PrepareDefinition(object, nullptr, objects_, now);
  if (custom != nullptr) api::Append(errors, CheckCustom(object, nullptr, asked, *custom));
  if (object.metadata().name.empty()) {
    errors.push_back(
        api::Required(base::FieldPath("metadata") / "name", "name or generateName is required"));
  }
  api::Append(errors, api::CheckNew(object, options_.rules));
  api::Append(errors, api::CheckAdminAccess(object, *namespaces_));
  api::Append(errors, CheckPolicyExpressions(object));
  api::Append(errors, CheckPem(object));
  const std::string name = object.metadata().name;
  if (!errors.empty()) return rest::Invalid(object.kind(), name, errors);
  ObservePolicy(object, objects_);
  DRAY_RETURN_IF_ERROR(AdmitDefaultPriority(objects_, object));
  DRAY_RETURN_IF_ERROR(AskPolicies(context, Part::kObject, asked, object, nullptr));
  DRAY_ASSIGN_OR_RETURN(const auto there,
                        objects_.Find(object.kind(), object.metadata().namespace_, name));
  if (there) return rest::AlreadyExists(object.kind(), name);
  CountForLimits(objects_, object, nullptr, options_.rules, now);
  attempt.result = std::move(object);
  attempt.PutResult(store::Revision{});
  // After the object: whoever sees a quota with its charge has seen what was charged for.
  DRAY_RETURN_IF_ERROR(
      AdmitQuota(objects_, attempt.result, nullptr, options_.rules, now, attempt.transaction));
  return attempt;
}

void Registry::Create(api::Object object, std::string_view namespace_, const WriteContext& context,
                      Done done) {
  if (!NamesNoVersion(object.metadata()) && !context.dry_run) {
    return done(rest::BadRequest("resourceVersion should not be set on objects to be created"));
  }
  object.MutableMetadata().resource_version.clear();
  if (object.kind().namespaced) {
    std::string& own = object.MutableMetadata().namespace_;
    if (own.empty()) own = namespace_;
    if (own != namespace_) {
      return done(rest::BadRequest(
          "the namespace of the provided object does not match the namespace sent on the request"));
    }
  } else {
    object.MutableMetadata().namespace_.clear();
  }
  std::string line = IsDefinition(object) ? PrefixOf(object.kind()) : std::string();
  Run(
      std::move(line),
      [this, object = std::move(object), context] { return TryCreate(object, context, false); },
      context.dry_run, std::move(done));
}

StatusOr<api::Object> Registry::Prepared(Part part, api::Object object, const api::Object& stored,
                                         const WriteContext& context,
                                         bool keep_managed_fields) const {
  DRAY_RETURN_IF_ERROR(CheckMeant(object, stored));
  KeepNamespace(object, stored, context);
  const api::KindInfo& asked = object.kind();
  const base::Time now = clock_.Now();
  const bool reset = part == Part::kObject && rest::AsksForReset(object);
  if (reset) object.MutableMetadata().managed_fields.clear();
  // Those that are stored count, whatever was sent.
  if (part != Part::kObject && !keep_managed_fields) {
    object.MutableMetadata().managed_fields.clear();
  }
  DRAY_ASSIGN_OR_RETURN(const auto custom, VersionOf(asked, false));
  if (IsDefinition(object)) CompleteDefinition(object);
  api::ErrorList errors;
  if (part == Part::kEphemeralContainers) {
    errors = api::PrepareEphemeralContainers(object, stored, options_.rules, now);
  } else if (part != Part::kObject) {
    errors = api::PrepareStatus(object, stored, options_.rules, now);
    const auto* claim = object.As<api::ResourceClaim>();
    if (claim != nullptr && options_.authorizer != nullptr) {
      api::Append(errors, api::AuthorizeStatusUpdate(
                              *claim, *stored.As<api::ResourceClaim>(),
                              {context.user, context.verb, object.metadata().namespace_},
                              options_.rules.gates, *options_.authorizer, *namespaces_));
    }
  } else {
    AdmitTolerations(object);
    KeepCertificateRequest(object, stored);
    errors = api::PrepareUpdate(object, stored, options_.rules, now);
    if (object.metadata().generation != stored.metadata().generation) {
      api::Append(errors, CheckPolicyExpressions(object));
      if (errors.empty()) ObservePolicy(object, objects_);
    }
    DRAY_RETURN_IF_ERROR(AdmitLimits(objects_, object, &stored));
    DRAY_RETURN_IF_ERROR(AdmitWebhooks(object, context.notes.get()));
  }
  if (IsDefinition(object)) api::Append(errors, PrepareDefinition(object, &stored, objects_, now));
  if (custom != nullptr) {
    PrepareCustom(object, &stored, part == Part::kStatus, *custom);
    api::Append(errors, CheckCustom(object, &stored, asked, *custom));
  }
  DRAY_RETURN_IF_ERROR(CheckOwn(context.user, &object, &stored));
  DRAY_RETURN_IF_ERROR(CheckRights(context.user, object, &stored));
  if (!errors.empty()) return rest::Invalid(stored.kind(), stored.metadata().name, errors);
  if (part != Part::kObject) {
    DRAY_RETURN_IF_ERROR(
        AdmitCertificateStatus(part, context, options_.authorizer, object, stored));
    // Deciders of this process see all kinds in one order.
    if (!context.decider) {
      DRAY_RETURN_IF_ERROR(CheckRecount(objects_, object, stored, options_.rules, now));
    }
  }
  if (!keep_managed_fields && !reset) {
    TrackUpdate(stored, OwnerOf(context, object.kind(), part, now, custom.get()), object);
  }
  DRAY_RETURN_IF_ERROR(AdmitDefaultPriority(objects_, object));
  DRAY_RETURN_IF_ERROR(AskPolicies(context, part, asked, object, &stored));
  if (part == Part::kObject) CountForLimits(objects_, object, &stored, options_.rules, now);
  return object;
}

StatusOr<Registry::Attempt> Registry::TryReplace(const Found& found, api::Object next) const {
  Attempt attempt{std::move(next)};
  const api::Object& result = attempt.result;
  if (IsGone(result)) {
    // As in Kubernetes: this version is never stored, so that watchers see the one before it go.
    attempt.Delete(found.object(), found.entry->modified);
    attempt.index.reset();
    return attempt;
  }
  // A write that changes nothing is none: nobody is told, and the resourceVersion stays.
  if (result.kind().equal(result.data(), found.object().data())) return attempt;
  attempt.PutResult(found.entry->modified);
  if (api::QuotaHandlesUpdate(result, found.object())) {
    DRAY_RETURN_IF_ERROR(AdmitQuota(objects_, result, &found.object(), options_.rules, clock_.Now(),
                                    attempt.transaction));
  }
  return attempt;
}

void Registry::Modify(Part part, const api::KindInfo& kind, std::string_view namespace_,
                      std::string_view name, Change change, const WriteContext& context,
                      Done done) {
  Run(
      LineOf(kind, namespace_, name),
      [this, part, &kind, space = std::string(namespace_), name = std::string(name),
       change = std::move(change), context]() -> StatusOr<Attempt> {
        DRAY_ASSIGN_OR_RETURN(const auto found, objects_.Find(kind, space, name));
        if (!found) return rest::NotFound(kind, name);
        DRAY_ASSIGN_OR_RETURN(api::Object next, change(found->object()));
        DRAY_ASSIGN_OR_RETURN(next,
                              Prepared(part, std::move(next), found->object(), context, false));
        return TryReplace(*found, std::move(next));
      },
      context.dry_run, std::move(done));
}

void Registry::Update(Part part, api::Object object, const WriteContext& context, Done done) {
  const api::KindInfo& kind = object.kind();
  const std::string space = object.metadata().namespace_;
  const std::string name = object.metadata().name;
  std::string version = object.metadata().resource_version;
  // The version that it means is gone once somebody came in between, so there is one try: the object
  // is handed over, and not copied for a second one, which only charges to a quota would need.
  const bool once =
      !NamesNoVersion(object.metadata()) && !OthersWrite() && !HasQuotas(objects_, space);
  Modify(
      part, kind, space, name,
      [object = std::optional<api::Object>(std::move(object)), version = std::move(version),
       once](const api::Object& stored) mutable -> StatusOr<api::Object> {
        if (!once) return *object;
        if (object) return *std::exchange(object, std::nullopt);
        const api::ObjectMeta& now = stored.metadata();
        if (now.resource_version != version) return rest::Modified(stored.kind(), now.name);
        return rest::TooManyRequests("too many writers at once, try again", 1);
      },
      context, std::move(done));
}

void Registry::Apply(Part part, const api::KindInfo& version, std::string_view namespace_,
                     std::string_view name, rest::DocumentNode config, bool force,
                     const WriteContext& context,
                     std::function<void(StatusOr<api::Object>, bool created)> done) {
  auto created = std::make_shared<bool>(false);
  Run(
      LineOf(version, namespace_, name),
      [this, part, &version, space = std::string(namespace_), name = std::string(name),
       config = std::move(config), force, context, created]() -> StatusOr<Attempt> {
        DRAY_ASSIGN_OR_RETURN(const auto found, objects_.Find(version, space, name));
        *created = !found;
        if (!found && part != Part::kObject) return rest::NotFound(version, name);
        DRAY_ASSIGN_OR_RETURN(const auto custom, VersionOf(version, !found));
        const rest::ApplyOptions options{
            OwnerOf(context, version, part, clock_.Now(), custom.get()), force};
        DRAY_ASSIGN_OR_RETURN(api::Object next, rest::Apply(found ? &found->object() : nullptr,
                                                            config, version, options));
        if (custom != nullptr) {
          rest::DocumentNode tree = rest::TreeOfObject(next, version);
          custom->Complete(tree);
          rest::SetContent(next, tree);
        }
        if (!found) {
          if (const std::string& uid = next.metadata().uid; !uid.empty()) {
            return rest::Conflict(version, name,
                                  fmt::format("uid mismatch: the provided object specified uid {}, "
                                              "and no existing object was found",
                                              uid));
          }
          if (version.namespaced) next.MutableMetadata().namespace_ = space;
          next.MutableMetadata().name = name;
          return TryCreate(std::move(next), context, true);
        }
        DRAY_ASSIGN_OR_RETURN(next,
                              Prepared(part, std::move(next), found->object(), context, true));
        return TryReplace(*found, std::move(next));
      },
      context.dry_run,
      [created, done = std::move(done)](StatusOr<api::Object> result) {
        done(std::move(result), *created);
      });
}

void Registry::Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                      const DeleteOptions& options, const WriteContext& context, DeleteDone done) {
  auto gone = std::make_shared<bool>(false);
  Run(
      LineOf(kind, namespace_, name),
      [this, &kind, space = std::string(namespace_), name = std::string(name), options, context,
       gone]() -> StatusOr<Attempt> {
        const auto read = objects_.Find(kind, space, name);
        if (options.unread && read.status().code() == StatusCode::kDataLoss) {
          *gone = true;
          auto attempt = TryDeleteUnread(kind, space, name);
          // Whoever may delete only their own cannot show that it is.
          if (attempt.ok()) {
            DRAY_RETURN_IF_ERROR(CheckOwn(context.user, nullptr, &attempt->result));
          }
          return attempt;
        }
        DRAY_ASSIGN_OR_RETURN(const auto found, read);
        if (!found) return rest::NotFound(kind, name);
        DRAY_RETURN_IF_ERROR(CheckOwn(context.user, nullptr, &found->object()));
        if (HasPolicies()) {
          const api::Object& old = found->object();
          const internal::PolicyRequest asked =
              options.eviction
                  ? internal::EvictionRequest(context, old, options)
                  : internal::DeleteRequest(context, kind, old, options, *objects_.served());
          DRAY_RETURN_IF_ERROR(
              options_.policies->Admit(asked.request, objects_, context.notes.get()));
        }
        auto attempt = TryDelete(*found, options);
        *gone = attempt.ok() && attempt->deletes;
        return attempt;
      },
      context.dry_run,
      [gone, done = std::move(done)](StatusOr<api::Object> result) {
        if (!result.ok()) return done(result.status());
        done(Deleted{*std::move(result), *gone});
      });
}

}  // namespace dray::registry
