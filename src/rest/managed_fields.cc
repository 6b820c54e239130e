// SPDX-License-Identifier: Apache-2.0
#include "rest/managed_fields.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "api/custom_kind.h"
#include "api/write_rules.h"
#include "fmt/format.h"
#include "rest/api_error.h"
#include "rest/apply_tree.h"
#include "rest/compare.h"
#include "rest/compare_trees.h"
#include "rest/custom_object.h"
#include "rest/field_set.h"
#include "rest/internal/field_changes.h"
#include "rest/internal/field_tree.h"

namespace dray::rest {
namespace {

using api::ManagedFieldsEntry;

constexpr std::string_view kApply = "Apply";
constexpr std::string_view kUpdate = "Update";
constexpr std::string_view kOldUpdaters = "ancient-changes";
constexpr std::string_view kBeforeApply = "before-first-apply";

using internal::FieldTree;
using FieldSetPtr = std::shared_ptr<const FieldSet>;  // never null

struct Manager {
  ManagedFieldsEntry entry;  // fieldsV1 as it was read
  FieldSetPtr set;
  bool changed = false;  // fieldsV1 is to be written anew

  const FieldSet& fields() const { return *set; }
  bool applies() const { return entry.operation == kApply; }
  void Become(FieldSet fields) {
    set = std::make_shared<const FieldSet>(std::move(fields));
    changed = true;
  }
};
using Managers = std::vector<Manager>;

// What no one manages: the server's own.
const FieldSet& ServerFields() {
  static const FieldSet fields = *FieldSet::Parse(
      R"({"f:apiVersion":{},"f:kind":{},"f:metadata":{".":{},"f:name":{},"f:namespace":{},)"
      R"("f:creationTimestamp":{},"f:selfLink":{},"f:uid":{},"f:clusterName":{},"f:generation":{},)"
      R"("f:managedFields":{},"f:resourceVersion":{}}})");
  return fields;
}

// The fields that a text names; none where it cannot be read. Objects of a kind have the same few
// texts by the thousand, so those read lately are remembered.
FieldSetPtr Parsed(const std::string& text) {
  constexpr std::size_t kRemembered = 512;
  constexpr std::size_t kLongest = 4096;
  thread_local absl::flat_hash_map<std::string, FieldSetPtr> remembered;
  if (const auto it = remembered.find(text); it != remembered.end()) return it->second;
  auto fields = FieldSet::Parse(text.empty() ? "{}" : text);
  auto set = std::make_shared<const FieldSet>(fields.ok() ? *std::move(fields) : FieldSet());
  if (text.size() > kLongest) return set;
  if (remembered.size() >= kRemembered) remembered.clear();
  remembered.emplace(text, set);
  return set;
}

// Entries that cannot be read manage nothing.
Managers Read(const std::vector<ManagedFieldsEntry>& entries) {
  Managers managers;
  for (const ManagedFieldsEntry& entry : entries) {
    FieldSetPtr set = Parsed(entry.fields_v1.text);
    if (!set->empty()) managers.push_back({entry, std::move(set)});
  }
  return managers;
}

auto SortKey(const ManagedFieldsEntry& e) {
  return std::tuple(std::string_view(e.operation), e.time ? e.time->seconds() : 0,
                    std::string_view(e.manager), std::string_view(e.api_version),
                    std::string_view(e.subresource));
}

std::vector<ManagedFieldsEntry> Write(Managers managers) {
  std::vector<ManagedFieldsEntry> entries;
  for (Manager& manager : managers) {
    if (manager.fields().empty()) continue;
    if (manager.changed) manager.entry.fields_v1.text = manager.fields().ToJson();
    manager.entry.fields_type = "FieldsV1";
    entries.push_back(std::move(manager.entry));
  }
  std::ranges::sort(entries, {}, SortKey);
  return entries;
}

ManagedFieldsEntry EntryOf(const FieldOwner& owner, std::string_view operation) {
  return {.manager = owner.manager.empty() ? "unknown" : owner.manager,
          .operation = std::string(operation),
          .api_version = owner.api_version,
          .subresource = owner.subresource};
}

// An applier is the same in every version.
bool SameManager(const ManagedFieldsEntry& a, const ManagedFieldsEntry& b) {
  return a.manager == b.manager && a.operation == b.operation && a.subresource == b.subresource &&
         (a.operation == kApply || a.api_version == b.api_version);
}

Manager& FindOrAdd(Managers& managers, const ManagedFieldsEntry& id) {
  const auto it =
      std::ranges::find_if(managers, [&](const Manager& m) { return SameManager(m.entry, id); });
  return it != managers.end() ? *it : managers.emplace_back(Manager{id, Parsed("")});
}

void Lose(Manager& manager, const FieldSet& fields) {
  if (fields.empty()) return;
  FieldSet left = manager.fields();
  left.Subtract(fields);
  if (left != manager.fields()) manager.Become(std::move(left));
}

void CapUpdaters(Managers& managers) {
  std::erase_if(managers, [](const Manager& m) { return m.fields().empty(); });
  std::ranges::stable_sort(managers, {}, [](const Manager& m) { return SortKey(m.entry); });
  auto updaters = static_cast<std::size_t>(
      std::ranges::count_if(managers, [](const Manager& m) { return !m.applies(); }));
  while (updaters > kMaxUpdateManagers) {
    // The two oldest of one version become one; without a pair there is nothing to fold.
    const auto old = std::ranges::find_if(managers, [](const Manager& m) { return !m.applies(); });
    const auto next = std::find_if(std::next(old), managers.end(), [&](const Manager& m) {
      return !m.applies() && m.entry.api_version == old->entry.api_version;
    });
    if (next == managers.end()) return;
    FieldSet both = next->fields();
    both.Add(old->fields());
    next->Become(std::move(both));
    next->entry.manager = kOldUpdaters;
    next->entry.subresource.clear();
    managers.erase(old);
    --updaters;
  }
}

std::string Shown(const ManagedFieldsEntry& entry) {
  std::string text = fmt::format("\"{}\"", entry.manager);
  if (!entry.subresource.empty()) {
    text += fmt::format(" with subresource \"{}\"", entry.subresource);
  }
  if (entry.operation == kUpdate) text += fmt::format(" using {}", entry.api_version);
  return text;
}

struct FieldConflict {
  std::string manager;  // as shown
  std::string path;
};

Status ConflictError(const std::vector<FieldConflict>& conflicts) {
  ApiError error{.code = 409, .reason = "Conflict", .details = StatusDetails{}};
  for (const FieldConflict& conflict : conflicts) {
    error.details->causes.push_back({.reason = "FieldManagerConflict",
                                     .message = fmt::format("conflict with {}", conflict.manager),
                                     .field = conflict.path});
  }
  if (conflicts.size() == 1) {
    error.message = fmt::format("Apply failed with 1 conflict: conflict with {}: {}",
                                conflicts[0].manager, conflicts[0].path);
    return ToStatus(error);
  }
  error.message = fmt::format("Apply failed with {} conflicts: ", conflicts.size());
  std::string_view last;
  for (const FieldConflict& conflict : conflicts) {
    if (conflict.manager != last) {
      error.message +=
          fmt::format("{}conflicts with {}:", last.empty() ? "" : "\n", conflict.manager);
    }
    last = conflict.manager;
    error.message += fmt::format("\n- {}", conflict.path);
  }
  return ToStatus(error);
}

// Takes from all managers but `self` what has changed, or says who is in the way.
Status TakeOver(const Comparison& change, const ManagedFieldsEntry& self, bool force,
                Managers& managers) {
  FieldSet touched = change.modified;
  touched.Add(change.added);
  std::vector<FieldConflict> conflicts;
  for (Manager& manager : managers) {
    if (SameManager(manager.entry, self)) continue;
    const FieldSet common = manager.fields().Intersect(touched);
    for (std::string& path : common.Paths()) {
      conflicts.push_back({Shown(manager.entry), std::move(path)});
    }
    Lose(manager, common);
    Lose(manager, change.removed);
  }
  if (force || conflicts.empty()) return {};
  std::ranges::stable_sort(conflicts, {}, &FieldConflict::manager);
  return ConflictError(conflicts);
}

// The status is written through its own door, and nothing else is written there, and so are containers
// for debugging: what the other door ignores is not owned either.
void LeaveToOtherDoors(const FieldOwner& owner, const api::KindInfo& version,
                       DocumentNode& config) {
  if (owner.subresource.empty()) {
    if (owner.fields != nullptr ? owner.status_part : api::HasStatusPart(version)) {
      EraseIn(config, "status");
    }
    return;
  }
  const bool debuggers = owner.subresource == "ephemeralcontainers";
  std::erase_if(config.members, [&](const api::Member& member) {
    return member.key != (debuggers ? "spec" : "status") && member.key != "metadata";
  });
  if (DocumentNode* spec = FindIn(config, "spec"); debuggers && spec != nullptr) {
    std::erase_if(spec->members,
                  [](const api::Member& member) { return member.key != "ephemeralContainers"; });
  }
  if (DocumentNode* metadata = FindIn(config, "metadata"); metadata != nullptr) {
    std::erase_if(metadata->members, [](const api::Member& member) {
      return member.key != "name" && member.key != "namespace" && member.key != "uid" &&
             member.key != "resourceVersion";
    });
  }
}

Comparison Compared(const api::Object& before, const api::Object& after, const FieldOwner& owner) {
  if (owner.fields == nullptr) return Compare(before, after);
  const api::KindInfo& hub = api::HubKind(*after.kind().hub);
  return CompareTrees(*owner.fields, TreeOfObject(before, hub), TreeOfObject(after, hub));
}

// Whoever wrote an object that nobody was said to manage.
Manager BeforeApply(const api::Object& live, const FieldOwner& applier) {
  FieldOwner owner{.manager = std::string(kBeforeApply), .api_version = applier.api_version};
  Comparison all = Compared(EmptyObject(live.kind()), live, applier);
  all.added.Subtract(ServerFields());
  all.added.Erase("f:status");
  Manager manager{EntryOf(owner, kUpdate), Parsed("")};
  manager.entry.time = applier.now.TruncateToSeconds();
  manager.Become(std::move(all.added));
  return manager;
}

StatusOr<api::Object> Decode(const DocumentNode& tree, const api::KindInfo& version) {
  if (api::IsCustom(version)) return CustomFromTree(tree, version);
  api::Object object = api::Object::New(version);
  std::vector<api::Diagnostic> diagnostics;
  DocumentNode bare = tree;  // apiVersion and kind are not fields of the tables
  EraseIn(bare, "apiVersion");
  EraseIn(bare, "kind");
  api::DecodeNode(bare, *version.type, object.MutableData(), api::Severity::kWarning, diagnostics);
  for (const api::Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == api::Severity::kError) {
      return BadRequest(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}",
                                    version.kind, version.version, version.kind,
                                    ToString(diagnostic)));
    }
  }
  return object;
}

// The server's own, as a tree that stays.
const FieldTree* ServerTree() {
  static const FieldTree* const tree = [] {
    static internal::Arena arena;
    static const std::string text = ServerFields().ToJson();
    return *internal::ParseTree(arena, text);
  }();
  return tree;
}

// What an update changes, as far as it has an owner.
internal::FieldChanges OwnedChanges(const api::Object& before, const FieldOwner& owner,
                                    const api::Object& after, internal::Arena& arena) {
  internal::FieldChanges change;
  if (owner.fields == nullptr) {
    change = internal::Changes(arena, before, after);
  } else {
    const Comparison trees = Compared(before, after, owner);
    const auto kept = [&](const FieldSet& set) -> const FieldTree* {
      const auto parsed = internal::ParseTree(arena, arena.Keep(set.ToJson()));
      return set.empty() || !parsed.ok() ? nullptr : *parsed;
    };
    change = {kept(trees.added), kept(trees.modified), kept(trees.removed)};
  }
  change.modified = Union(arena, change.modified, TreeOf(arena, owner.written_empty));
  for (const FieldTree** tree : {&change.added, &change.modified}) {
    *tree = Subtract(arena, *tree, ServerTree());
    // The status has its own door; what a server puts there on other writes is nobody's.
    const bool apart = owner.fields == nullptr || owner.status_part;
    if (owner.subresource.empty() && apart) *tree = Without(arena, *tree, {'f', "status"});
  }
  return change;
}

// In order, and not too many.
void Finish(std::vector<ManagedFieldsEntry>& entries) {
  for (ManagedFieldsEntry& entry : entries) entry.fields_type = "FieldsV1";
  const auto updaters = static_cast<std::size_t>(std::ranges::count_if(
      entries, [](const ManagedFieldsEntry& entry) { return entry.operation != kApply; }));
  if (updaters > kMaxUpdateManagers) {
    Managers managers = Read(entries);
    CapUpdaters(managers);
    entries = Write(std::move(managers));
    return;
  }
  std::ranges::stable_sort(entries, {}, SortKey);
}

// The entries after an update. It asks nobody: what it changes is no longer anybody else's.
std::vector<ManagedFieldsEntry> Tracked(std::vector<ManagedFieldsEntry> entries,
                                        const api::Object& before, const FieldOwner& owner,
                                        const api::Object& after, internal::Arena& arena) {
  const internal::FieldChanges change = OwnedChanges(before, owner, after, arena);
  if (change.none()) return entries;
  const FieldTree* const own = Union(arena, change.added, change.modified);
  const ManagedFieldsEntry self = EntryOf(owner, kUpdate);
  std::vector<ManagedFieldsEntry> kept;
  const auto keep = [&](ManagedFieldsEntry& entry, const FieldTree* was, const FieldTree* is) {
    if (is == nullptr) return;
    // Before the entry moves: its trees look at its text.
    std::string text = is == was ? std::move(entry.fields_v1.text) : ToJson(is);
    kept.push_back(std::move(entry));
    kept.back().fields_v1.text = std::move(text);
  };
  const auto keep_own = [&](ManagedFieldsEntry& entry, const FieldTree* was) {
    if (own != nullptr) entry.time = owner.now.TruncateToSeconds();
    keep(entry, was, Union(arena, Subtract(arena, was, change.removed), own));
  };
  bool known = false;
  for (ManagedFieldsEntry& entry : entries) {
    const std::string& text = entry.fields_v1.text;
    const auto was = internal::ParseTree(arena, text.empty() ? std::string_view("{}") : text);
    // Entries that cannot be read manage nothing.
    if (!was.ok() || *was == nullptr) continue;
    if (!SameManager(entry, self)) {
      keep(entry, *was, Subtract(arena, Subtract(arena, *was, own), change.removed));
    } else if (!std::exchange(known, true)) {
      keep_own(entry, *was);
    } else {
      keep(entry, *was, *was);
    }
  }
  if (!known) {
    ManagedFieldsEntry entry = self;
    keep_own(entry, nullptr);
  }
  Finish(kept);
  return kept;
}

}  // namespace

bool AsksForReset(const api::Object& object) {
  const std::vector<ManagedFieldsEntry>& entries = object.metadata().managed_fields;
  return entries.size() == 1 && entries.front() == ManagedFieldsEntry{};
}

void TrackUpdate(const api::Object& before, const FieldOwner& owner, api::Object& after) {
  api::ObjectMeta& metadata = after.MutableMetadata();
  if (AsksForReset(after)) {
    metadata.managed_fields.clear();
    return;
  }
  std::vector<ManagedFieldsEntry> entries = std::move(metadata.managed_fields);
  metadata.managed_fields.clear();
  if (entries.empty() || !owner.subresource.empty()) entries = before.metadata().managed_fields;
  const bool created = before.metadata().uid.empty();
  if (entries.empty() && !created) return;
  thread_local internal::Arena arena;
  metadata.managed_fields = Tracked(std::move(entries), before, owner, after, arena);
  arena.Clear();
}

StatusOr<api::Object> Apply(const api::Object* live, DocumentNode config,
                            const api::KindInfo& version, const ApplyOptions& options) {
  if (!IsMap(config)) return BadRequest("the body of an apply patch is an object");
  if (const DocumentNode* metadata = FindIn(config, "metadata");
      metadata != nullptr && IsMap(*metadata) && FindIn(*metadata, "managedFields") != nullptr) {
    return BadRequest("metadata.managedFields must be nil");
  }
  const api::TypeInfo& type =
      options.owner.fields != nullptr ? *options.owner.fields : *version.type;
  EraseIn(config, "apiVersion");
  EraseIn(config, "kind");
  DropUnknown(type, config);
  LeaveToOtherDoors(options.owner, version, config);
  auto wanted = FieldsOf(config, type);
  if (!wanted.ok()) {
    return Unprocessable(
        fmt::format("failed to create typed patch object: {}", base::Message(wanted.status())));
  }

  DocumentNode merged = MapNode();
  Managers managers;
  if (live != nullptr) {
    DRAY_ASSIGN_OR_RETURN(merged, ReadTaken(live->ToJson(version)));
    managers = Read(live->metadata().managed_fields);
    // An apply that sets nothing is not the first: done again it must change nothing.
    FieldSet set = *wanted;
    set.Subtract(ServerFields());
    if (managers.empty() && !set.empty()) managers.push_back(BeforeApply(*live, options.owner));
  }
  const ManagedFieldsEntry self = EntryOf(options.owner, kApply);
  Manager& own = FindOrAdd(managers, self);
  const bool known = own.entry.time.has_value();
  const FieldSetPtr last = own.set;
  own.Become(*wanted);
  own.entry.api_version = options.owner.api_version;

  MergeConfig(config, type, merged);
  FieldSet kept;
  for (const Manager& manager : managers) kept.Add(manager.fields());
  FieldSet given_up = WithParents(*last, type);
  given_up.Subtract(WithParents(kept, type));
  RemoveFields(given_up, type, merged);

  DRAY_ASSIGN_OR_RETURN(api::Object object, Decode(merged, version));
  Comparison change =
      Compared(live != nullptr ? *live : EmptyObject(version), object, options.owner);
  // What the configuration sets to nothing is changed, not given up: a struct cannot tell an empty
  // list from none.
  const FieldSet emptied = change.removed.Intersect(*wanted);
  change.modified.Add(emptied);
  change.removed.Subtract(emptied);
  DRAY_RETURN_IF_ERROR(TakeOver(change, self, options.force, managers));
  Manager& applied = FindOrAdd(managers, self);
  FieldSet fields = applied.fields();
  fields.Subtract(ServerFields());
  applied.Become(std::move(fields));
  if (!known || !change.same()) applied.entry.time = options.owner.now.TruncateToSeconds();
  object.MutableMetadata().managed_fields = Write(std::move(managers));
  return object;
}

}  // namespace dray::rest
