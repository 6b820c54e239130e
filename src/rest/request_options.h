// SPDX-License-Identifier: Apache-2.0
//
// The options of each verb: one struct with its field table per kind of options, and what is
// checked of it. The same table reads a query and a body, so that an option means the same wherever
// a client has put it.
//
// Spec: meta/v1's GetOptions, ListOptions, CreateOptions, UpdateOptions, PatchOptions and
// DeleteOptions. Whatever a check finds is an Invalid of that kind, with the option as its field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/errors.h"
#include "api/field_table.h"
#include "base/status.h"
#include "rest/decode.h"

namespace dray::rest {

inline constexpr std::size_t kMaxManagerLength = 128;
inline constexpr std::string_view kIgnoreStoreReadError =
    "ignoreStoreReadErrorWithClusterBreakingPotential";

struct GetOptions {
  std::string resource_version;
};
const api::StructInfo& InfoOf(const GetOptions*);

// Of lists, watches, and deletions of collections.
struct ListOptions {
  std::string label_selector;
  std::string field_selector;
  bool watch = false;
  bool allow_watch_bookmarks = false;
  std::string resource_version;
  std::string resource_version_match;
  std::optional<std::int64_t> timeout_seconds;
  std::int64_t limit = 0;
  std::string continue_;
  std::optional<bool> send_initial_events;
};
const api::StructInfo& InfoOf(const ListOptions*);

// Of creates, updates and patches; `force` is for applying alone.
struct WriteOptions {
  std::vector<std::string> dry_run;
  std::string field_manager;
  std::string field_validation;
  std::optional<bool> force;
};
const api::StructInfo& InfoOf(const WriteOptions*);

struct Preconditions {
  std::optional<std::string> uid;
  std::optional<std::string> resource_version;
};
const api::StructInfo& InfoOf(const Preconditions*);

struct DeleteOptions {
  std::optional<std::int64_t> grace_period_seconds;
  std::optional<Preconditions> preconditions;
  std::optional<bool> orphan_dependents;  // the older word for propagationPolicy
  std::optional<std::string> propagation_policy;
  std::vector<std::string> dry_run;
  std::optional<bool> ignore_store_read_error;  // remove what cannot be read
};
const api::StructInfo& InfoOf(const DeleteOptions*);

// What a watch from the beginning means: all that is there, then an end of it that is marked.
void SetDefaults(ListOptions& options);
Status Check(const ListOptions& options);

// Which of the three kinds of options a write has.
enum class WriteVerb : std::uint8_t { kCreate, kUpdate, kPatch, kApply };
Status Check(const WriteOptions& options, WriteVerb verb);
// Of checked options.
FieldValidation ValidationOf(const WriteOptions& options);

Status Check(const DeleteOptions& options);

// The DeleteOptions that a tree says. Nothing of it is passed over: an object of another kind, a
// value of another type and a field that nobody knows are BadRequests, because a deletion that was
// meant otherwise cannot be taken back.
StatusOr<DeleteOptions> ReadDeleteOptions(const DocumentNode& tree);

}  // namespace dray::rest
