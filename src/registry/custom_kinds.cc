// SPDX-License-Identifier: Apache-2.0
#include "registry/custom_kinds.h"

#include <algorithm>
#include <utility>

#include "api/custom_kind.h"
#include "crd/definition_status.h"
#include "crd/definition_validation.h"
#include "crd/openapi.h"
#include "fmt/format.h"
#include "registry/objects.h"
#include "registry/watch_stream.h"
#include "rest/api_error.h"
#include "rest/custom_object.h"

namespace dray::registry {
namespace {

rest::ResourceInfo ResourceOf(const crd::Definition& definition,
                              const crd::ServedVersion& version) {
  rest::ResourceInfo info{.singular = definition.accepted_names.singular,
                          .verbs = rest::kAllVerbs,
                          .short_names = definition.accepted_names.short_names,
                          .categories = definition.accepted_names.categories};
  if (version.has_status()) {
    info.subresources.push_back({.name = "status", .kind = {}, .verbs = rest::kStatusVerbs});
  }
  if (version.scale()) {
    info.subresources.push_back({.name = "scale",
                                 .kind = "Scale",
                                 .verbs = rest::kStatusVerbs,
                                 .group = "autoscaling",
                                 .version = "v1"});
  }
  return info;
}

std::vector<const crd::Version*> Preferred(const crd::Definition& definition) {
  std::vector<const crd::Version*> versions;
  for (const crd::Version& version : definition.versions) versions.push_back(&version);
  std::ranges::sort(versions, crd::IsPreferred, &crd::Version::name);
  return versions;
}

api::CustomKindNames NamesOf(const crd::Definition& definition, const std::string& version) {
  return {.group = definition.group,
          .version = version,
          .kind = definition.accepted_names.kind,
          .plural = definition.accepted_names.plural,
          .namespaced = definition.scope == "Namespaced"};
}

}  // namespace

const std::shared_ptr<const crd::ServedVersion>& CustomResource::Of(
    const api::KindInfo& kind) const {
  const auto it = versions.find(&kind);
  return it == versions.end() ? storage : it->second;
}

CustomResourcePtr CustomSnapshot::Find(const api::KindInfo& kind) const {
  const auto it = by_hub.find(kind.hub);
  return it == by_hub.end() ? nullptr : it->second;
}

CustomKinds::CustomKinds(const Objects& objects, const api::FeatureGates& gates)
    : objects_(objects), gates_(gates) {}
CustomKinds::~CustomKinds() = default;

// From here on `changed_` is set at the next change. What has happened before is read afterwards.
void CustomKinds::Rearm() {
  for (int tries = 0; tries < 2; ++tries) {
    if (watch_ == nullptr) {
      store::Store& store = objects_.store();
      auto watch = store.WatchFrom(PrefixOf(DefinitionKind()), store.revision(),
                                   [this] { changed_ = true; });
      if (!watch.ok()) break;
      watch_ = *std::move(watch);
    }
    for (;;) {
      const auto events = watch_->Next(1'000);
      if (events.ok() && events->empty()) return;
      if (!events.ok()) break;
    }
    watch_ = nullptr;
  }
  // Cannot be told: look each time.
  changed_ = true;
}

CustomResourcePtr CustomKinds::Make(const crd::Definition& definition, bool& exhausted) {
  auto resource = std::make_shared<CustomResource>();
  resource->definition = definition;
  resource->serial = ++serial_;
  const crd::Version* storage = definition.StorageVersion();
  if (storage == nullptr) return nullptr;
  // The first that is named is the hub.
  const auto hub = api::CustomKind(NamesOf(definition, storage->name));
  exhausted = !hub.ok();
  if (exhausted) return nullptr;
  resource->hub = &api::HubKind(*(*hub)->hub);
  for (const crd::Version& version : definition.versions) {
    const auto kind = api::CustomKind(NamesOf(definition, version.name));
    exhausted = !kind.ok();
    if (exhausted) return nullptr;
    auto made = std::make_shared<const crd::ServedVersion>(definition, version);
    if (version.storage) resource->storage = made;
    resource->versions.emplace(*kind, std::move(made));
  }
  for (const crd::Version* version : Preferred(definition)) {
    if (!version->served || !version->schema) continue;
    const auto kind = api::CustomKind(NamesOf(definition, version->name));
    if (!kind.ok()) continue;
    resource->served.push_back({.kind = *kind,
                                .resource = ResourceOf(definition, *resource->versions.at(*kind)),
                                .schema_v3 = std::make_shared<const rest::DocumentNode>(
                                    crd::OpenApiSchema(*version->schema, false)),
                                .schema_v2 = std::make_shared<const rest::DocumentNode>(
                                    crd::OpenApiSchema(*version->schema, true))});
  }
  return resource;
}

std::shared_ptr<const CustomSnapshot> CustomKinds::Get() {
  const base::MutexLock lock(mutex_);
  if (!changed_.exchange(false) && current_ != nullptr) return current_;
  Rearm();
  auto snapshot = std::make_shared<CustomSnapshot>();
  std::map<std::string, std::pair<std::string, CustomResourcePtr>> made;
  std::vector<rest::ServedKind> added;
  for (const StoredObjectPtr& stored : objects_.Readable(DefinitionKind())) {
    const api::ObjectMeta& metadata = stored->object().metadata();
    CustomResourcePtr resource;
    const auto known = made_.find(metadata.name);
    if (known != made_.end() && known->second.first == metadata.resource_version) {
      resource = known->second.second;
    } else {
      const crd::Definition definition =
          crd::ReadDefinition(rest::TreeOfObject(stored->object(), DefinitionKind()));
      bool exhausted = false;
      if (definition.Is(crd::kEstablished)) resource = Make(definition, exhausted);
      // Whoever has used up all names is told when the next one is asked for.
      if (exhausted) continue;
    }
    made[metadata.name] = {metadata.resource_version, resource};
    if (resource == nullptr) continue;
    const crd::Definition& definition = resource->definition;
    snapshot->by_hub[resource->hub->hub] = resource;
    snapshot->by_place[fmt::format("{}/{}", definition.group, definition.accepted_names.plural)] =
        resource;
    added.insert(added.end(), resource->served.begin(), resource->served.end());
  }
  // Versions of one group may come from several definitions: preferred ones first.
  std::ranges::stable_sort(added, [](const rest::ServedKind& a, const rest::ServedKind& b) {
    if (a.kind->group != b.kind->group) return a.kind->group < b.kind->group;
    return crd::IsPreferred(a.kind->version, b.kind->version);
  });
  made_ = std::move(made);
  snapshot->kinds = std::make_shared<const rest::ServedKinds>(std::move(added), &gates_);
  current_ = std::move(snapshot);
  return current_;
}

StatusOr<rest::DecodedBody> DecodeCustom(rest::DocumentNode tree,
                                         const std::vector<std::string>& repeated,
                                         const api::KindInfo& kind,
                                         const crd::ServedVersion& version,
                                         rest::FieldValidation validation) {
  if (!rest::IsMap(tree)) return rest::BadRequest("the body is not an object");
  DRAY_RETURN_IF_ERROR(rest::CheckType(tree, kind));
  std::vector<std::string> strict;
  for (const std::string& path : repeated) strict.push_back(rest::DuplicateField(path));
  std::vector<std::string> unknown;
  for (std::string& path : version.Admit(tree)) unknown.push_back(std::move(path));
  DRAY_ASSIGN_OR_RETURN(api::Object object, rest::CustomFromTree(tree, kind, &unknown));
  for (const std::string& path : unknown) {
    strict.push_back(fmt::format("unknown field \"{}\"", path));
  }
  if (!strict.empty() && validation == rest::FieldValidation::kStrict) {
    return rest::BadRequest(
        fmt::format("{} in version \"{}\" cannot be handled as a {}: strict decoding error: {}",
                    kind.kind, kind.version, kind.kind, fmt::join(strict, ", ")));
  }
  rest::DecodedBody body{std::move(object)};
  if (validation == rest::FieldValidation::kWarn) body.warnings = std::move(strict);
  return body;
}

StatusOr<rest::DecodedBody> DecodeDefinition(rest::DocumentNode tree,
                                             const std::vector<std::string>& repeated,
                                             rest::FieldValidation validation) {
  const api::KindInfo& kind = DefinitionKind();
  if (!rest::IsMap(tree)) return rest::BadRequest("the body is not an object");
  DRAY_RETURN_IF_ERROR(rest::CheckType(tree, kind));
  std::vector<std::string> strict;
  for (const std::string& path : repeated) strict.push_back(rest::DuplicateField(path));
  for (const std::string& path : crd::DropUnknownSchemaFields(tree)) {
    strict.push_back(fmt::format("unknown field \"{}\"", path));
  }
  if (!strict.empty() && validation == rest::FieldValidation::kStrict) {
    return rest::BadRequest(
        fmt::format("{} in version \"{}\" cannot be handled as a {}: strict decoding error: {}",
                    kind.kind, kind.version, kind.kind, fmt::join(strict, ", ")));
  }
  DRAY_ASSIGN_OR_RETURN(rest::DecodedBody body, rest::DecodeTree(tree, kind, validation));
  if (validation == rest::FieldValidation::kWarn) {
    body.warnings.insert(body.warnings.end(), strict.begin(), strict.end());
  }
  return body;
}

void PrepareCustom(api::Object& object, const api::Object* old, bool status_part,
                   const crd::ServedVersion& version) {
  const api::KindInfo& hub = api::HubKind(*object.kind().hub);
  rest::DocumentNode tree = rest::TreeOfObject(object, hub);
  if (old == nullptr) {
    if (version.has_status() && rest::EraseIn(tree, "status")) rest::SetContent(object, tree);
    object.MutableMetadata().generation = 1;
    return;
  }
  rest::DocumentNode before = rest::TreeOfObject(*old, hub);
  const auto move_status = [](const rest::DocumentNode& from, rest::DocumentNode& to) {
    const rest::DocumentNode* status = rest::FindIn(from, "status");
    if (status == nullptr) {
      rest::EraseIn(to, "status");
    } else {
      rest::SetIn(to, "status", *status);
    }
  };
  if (status_part) {
    // Only the status is written by this door.
    rest::DocumentNode next = before;
    move_status(tree, next);
    rest::SetContent(object, next);
    api::ObjectMeta kept = old->metadata();
    kept.resource_version = object.metadata().resource_version;
    kept.managed_fields = object.metadata().managed_fields;
    object.MutableMetadata() = std::move(kept);
    return;
  }
  if (version.has_status()) {
    move_status(before, tree);
    rest::SetContent(object, tree);
  }
  for (rest::DocumentNode* each : {&tree, &before}) {
    rest::EraseIn(*each, "metadata");
    if (version.has_status()) rest::EraseIn(*each, "status");
  }
  const std::int64_t generation = old->metadata().generation;
  object.MutableMetadata().generation = rest::JsonEqual(tree, before) ? generation : generation + 1;
}

api::ErrorList CheckCustom(const api::Object& object, const api::Object* old,
                           const api::KindInfo& asked, const crd::ServedVersion& version) {
  const rest::DocumentNode tree = rest::TreeOfObject(object, asked);
  if (old == nullptr) return version.Check(tree, nullptr);
  const rest::DocumentNode before = rest::TreeOfObject(*old, asked);
  return version.Check(tree, &before);
}

namespace {

api::Object DefinitionFrom(const rest::DocumentNode& tree) {
  rest::DocumentNode bare = tree;
  rest::EraseIn(bare, "apiVersion");
  rest::EraseIn(bare, "kind");
  api::Object made = api::Object::New(DefinitionKind());
  std::vector<api::Diagnostic> diagnostics;
  api::DecodeNode(bare, *DefinitionKind().type, made.MutableData(), api::Severity::kWarning,
                  diagnostics);
  return made;
}

}  // namespace

void CompleteDefinition(api::Object& object) {
  rest::DocumentNode tree = rest::TreeOfObject(object, DefinitionKind());
  crd::SetDefinitionDefaults(tree);
  api::Object made = DefinitionFrom(tree);
  made.MutableMetadata() = object.metadata();
  object = std::move(made);
}

api::ErrorList PrepareDefinition(api::Object& object, const api::Object* old,
                                 const Objects& objects, base::Time now) {
  rest::DocumentNode tree = rest::TreeOfObject(object, DefinitionKind());
  crd::SetDefinitionDefaults(tree);
  std::vector<crd::Definition> others;
  std::size_t count = 0;
  // Their group is in their names. Reading all of a thousand for each write would take long.
  const rest::DocumentNode* spec = rest::FindIn(tree, "spec");
  const std::string group =
      fmt::format(".{}", spec == nullptr ? std::string_view() : rest::TextIn(*spec, "group"));
  for (const StoredObjectPtr& stored : objects.Readable(DefinitionKind())) {
    ++count;
    const std::string& name = stored->object().metadata().name;
    if (name == object.metadata().name || !name.ends_with(group)) continue;
    others.push_back(crd::ReadDefinition(rest::TreeOfObject(stored->object(), DefinitionKind())));
  }
  crd::SetDefinitionStatus(tree, others, now);
  api::Object made = DefinitionFrom(tree);
  made.MutableMetadata() = object.metadata();
  auto& finalizers = made.MutableMetadata().finalizers;
  const bool held = std::ranges::find(finalizers, crd::kCleanupFinalizer) != finalizers.end();
  if (old == nullptr && !held) finalizers.emplace_back(crd::kCleanupFinalizer);
  object = std::move(made);
  const crd::Definition definition = crd::ReadDefinition(tree);
  std::optional<crd::Definition> before;
  if (old != nullptr) {
    before = crd::ReadDefinition(rest::TreeOfObject(*old, DefinitionKind()));
  }
  api::ErrorList errors =
      crd::CheckDefinition(definition, before ? &*before : nullptr, [](std::string_view group) {
        return std::ranges::any_of(api::Kinds(),
                                   [&](const api::KindInfo& kind) { return kind.group == group; });
      });
  if (old == nullptr && count >= crd::kMaxDefinitions) {
    errors.push_back(
        api::Forbidden(base::FieldPath("spec"),
                       fmt::format("a server has {} definitions at most", crd::kMaxDefinitions)));
  }
  // A name that the process cannot make any more could never be served.
  if (errors.empty()) {
    for (const crd::Version& version : definition.versions) {
      const auto kind = api::CustomKind({.group = definition.group,
                                         .version = version.name,
                                         .kind = definition.names.kind,
                                         .plural = definition.names.plural,
                                         .namespaced = definition.scope == "Namespaced"});
      if (kind.ok()) continue;
      errors.push_back(
          api::Forbidden(base::FieldPath("spec") / "names", base::Message(kind.status())));
      break;
    }
  }
  return errors;
}

std::shared_ptr<const rest::CustomTable> TableOf(std::shared_ptr<const crd::ServedVersion> version,
                                                 const api::KindInfo& kind, base::Time now) {
  auto table = std::make_shared<rest::CustomTable>();
  table->columns.push_back({.name = "Name",
                            .type = "string",
                            .format = "name",
                            .description = "Name must be unique within a namespace."});
  for (const auto& shown : version->columns()) {
    table->columns.push_back({.name = shown.column.name,
                              .type = shown.column.type,
                              .format = shown.column.format,
                              .description = shown.column.description,
                              .priority = static_cast<int>(shown.column.priority)});
  }
  const bool ages = version->columns().empty();
  if (ages) {
    table->columns.push_back(
        {.name = "Age", .type = "date", .description = "How long ago the object was created."});
  }
  const auto age = [now](const std::string& text) -> rest::Cell {
    const auto time = base::Time::ParseRfc3339(text);
    if (!time.ok()) return std::string("<invalid>");
    return rest::HumanDuration((now - *time) / std::chrono::seconds(1));
  };
  table->cells = [version, &kind, age, ages](const api::Object& object) {
    const rest::DocumentNode tree = rest::TreeOfObject(object, kind);
    std::vector<rest::Cell> cells = {object.metadata().name};
    for (const auto& shown : version->columns()) {
      const rest::DocumentNode* value = shown.path ? shown.path->First(tree) : nullptr;
      const std::string& type = shown.column.type;
      if (value == nullptr || rest::IsNull(*value)) {
        cells.push_back(std::monostate());
      } else if (type == "string") {
        cells.push_back(rest::IsString(*value) ? value->text : ToJson(*value));
      } else if (type == "integer" && crd::NumberOf(*value)) {
        cells.push_back(
            crd::IntegerOf(*value).value_or(static_cast<std::int64_t>(*crd::NumberOf(*value))));
      } else if (type == "number" && crd::NumberOf(*value)) {
        cells.push_back(*crd::NumberOf(*value));
      } else if (type == "boolean" && value->kind == rest::DocumentNode::Kind::kBool) {
        cells.push_back(value->boolean);
      } else if (type == "date" && rest::IsString(*value)) {
        cells.push_back(age(value->text));
      } else {
        cells.push_back(std::monostate());
      }
    }
    if (ages) {
      const auto& created = object.metadata().creation_timestamp;
      cells.push_back(created ? age(created->ToRfc3339()) : rest::Cell(std::string("<unknown>")));
    }
    return cells;
  };
  return table;
}

bool Selection::MatchesFields(const api::Object& object) const {
  if (fields.empty()) return true;
  const rest::DocumentNode tree = rest::TreeOfObject(object, object.kind());
  return std::ranges::all_of(fields.terms(), [&](const api::FieldSelector::Term& term) {
    std::string value;
    if (term.field == "metadata.name") {
      value = object.metadata().name;
    } else if (term.field == "metadata.namespace") {
      value = object.metadata().namespace_;
    } else {
      for (const auto& field : custom->selectable_fields()) {
        if (field.name != term.field) continue;
        const rest::DocumentNode* found = field.path.First(tree);
        if (found == nullptr || rest::IsNull(*found)) break;
        value = rest::IsString(*found) ? found->text : ToJson(*found);
      }
    }
    return (value == term.value) == term.equal;
  });
}

}  // namespace dray::registry
