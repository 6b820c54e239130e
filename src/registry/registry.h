// SPDX-License-Identifier: Apache-2.0
//
// Registry: the verbs on objects, in a store. What the API server does between a request that was
// read and one that is answered: names, defaults, strategies, validation, admission, managed
// fields, optimistic concurrency.
//
// Writes are handed to the store and answered when they are durable, so that many of them share a
// disk write; nobody waits on a thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/authorization.h"
#include "api/document.h"
#include "api/kinds.h"
#include "api/write_rules.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/uuid.h"
#include "registry/objects.h"
#include "rest/field_set.h"
#include "rest/tree.h"

namespace dray::crd {
class ServedVersion;
}  // namespace dray::crd
namespace dray::policy {
struct Request;
}  // namespace dray::policy

namespace dray::registry {

namespace internal {
class WriteLines;
}  // namespace internal
class PolicyAdmission;
class RoleAuthorizer;
class WriteNotes;

struct RegistryOptions {
  api::WriteRules rules;
  // For the permissions that a claim's status takes (KEP-4817); null: everybody has them. Outlives
  // the registry.
  const api::Authorizer* authorizer = nullptr;
  // Who may give which roles; null: everybody. Outlives the registry.
  const RoleAuthorizer* roles = nullptr;
  // Admission policies; null: there are none. Outlives the registry.
  const PolicyAdmission* policies = nullptr;
  // New pods get a service account, and the volume with its token.
  bool service_accounts = false;
  // Where writes go on once the store has reported: are answered, or tried again. Null: on the
  // store's thread, which others wait for meanwhile.
  std::function<void(std::function<void()>)> post = nullptr;
  // Is told of each stored object that cannot be read, once, from any thread.
  std::function<void(const Objects::Unreadable&)> on_unreadable = nullptr;
};

// Who writes, and how.
struct WriteContext {
  api::UserInfo user;
  std::string verb = "update";   // create, update, patch, delete: what permissions are asked for
  std::string manager;           // of fields; empty: "unknown"
  std::string api_version;       // of the request; empty: the hub's
  bool dry_run = false;          // everything but the write
  rest::FieldSet written_empty;  // rest::EmptyListsOf the body of a create
  // A decider of this process, which also decides what clients have a part of their own for.
  bool decider = false;
  // By way of namespaces/finalize: what keeps a namespace until it is empty may be taken away.
  bool finalizes = false;
  // Where a subresource is written that has a body of its own, as policies see it.
  struct Body {
    std::string subresource;  // "scale"
    std::string group;
    std::string version;
    std::string kind;
    // What it is of an object.
    std::function<api::DocumentNode(const api::Object&)> of;
  };
  std::shared_ptr<const Body> body = nullptr;
  // What policies have to say besides; null: nobody listens.
  std::shared_ptr<WriteNotes> notes = nullptr;
};

// What of an object is written. Containers for debugging are pods' alone, the approval is that of
// certificate requests.
enum class Part : std::uint8_t { kObject, kStatus, kApproval, kEphemeralContainers };

enum class Propagation : std::uint8_t { kDefault, kOrphan, kBackground, kForeground };

struct DeleteOptions {
  std::optional<std::string> uid;               // only if it has this one
  std::optional<std::string> resource_version;  // likewise
  std::optional<std::int64_t> grace_seconds;
  Propagation propagation = Propagation::kDefault;
  bool eviction = false;  // the pod says that it was evicted
  // Also if it cannot be read: then nothing is asked that only the object could say, such as its
  // finalizers (ignoreStoreReadErrorWithClusterBreakingPotential).
  bool unread = false;
};

// Whether the object is the one that the options mean; a conflict says why not.
Status CheckPreconditions(const api::Object& object, const DeleteOptions& options);

// Where a pod is to run, and what it gets on the way there.
struct Binding {
  std::string node;
  std::string uid = {};               // empty: any pod by that name
  std::string resource_version = {};  // likewise
  api::Map<std::string> labels = {};
  api::Map<std::string> annotations = {};
};

struct Deleted {
  api::Object object;  // as it last was, or as it waits for its finalizers
  bool gone = false;
};

// Errors are ApiErrors inside of a Status. Callbacks run once, on the caller's thread or one of the
// store's. Thread-safe.
class Registry {
 public:
  using Done = std::function<void(StatusOr<api::Object>)>;
  using DeleteDone = std::function<void(StatusOr<Deleted>)>;
  // The new version of a stored object; may be called again when another write came first.
  using Change = std::function<StatusOr<api::Object>(const api::Object& stored)>;

  // All outlive it. `random` is thread-safe.
  Registry(store::Store& store, const base::Clock& clock, base::RandomSource& random,
           RegistryOptions options);
  ~Registry();

  const Objects& objects() const { return objects_; }
  const base::Clock& clock() const { return clock_; }

  StatusOr<api::Object> Get(const api::KindInfo& kind, std::string_view namespace_,
                            std::string_view name) const;

  // The namespace is the request's; an object that names another one is refused.
  void Create(api::Object object, std::string_view namespace_, const WriteContext& context,
              Done done);
  void Update(Part part, api::Object object, const WriteContext& context, Done done);
  // Read, change, write, until nobody comes in between. `change` gives the object as a client would
  // send it: with the resourceVersion that it must have, or none.
  void Modify(Part part, const api::KindInfo& kind, std::string_view namespace_,
              std::string_view name, Change change, const WriteContext& context, Done done);
  // Server-side apply; creates what is not there.
  void Apply(Part part, const api::KindInfo& version, std::string_view namespace_,
             std::string_view name, rest::DocumentNode config, bool force,
             const WriteContext& context,
             std::function<void(StatusOr<api::Object>, bool created)> done);
  void Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
              const DeleteOptions& options, const WriteContext& context, DeleteDone done);
  // What admission policies say of something that is no write of an object: to join a process, to
  // have a token.
  Status AdmitOther(const policy::Request& request, WriteNotes* notes) const;
  // Whether a policy may be in force: who writes had better listen.
  bool HasPolicies() const;
  // Sets the node of a pod that has none.
  void Bind(std::string_view namespace_, std::string_view pod, Binding binding,
            const WriteContext& context, Done done);

 private:
  struct Attempt;
  class Write;

  // Of a kind that somebody has defined; null for others. `creates`: an object is about to be made.
  StatusOr<std::shared_ptr<const crd::ServedVersion>> VersionOf(const api::KindInfo& kind,
                                                                bool creates) const;
  Status CheckRights(const api::UserInfo& user, const api::Object& next,
                     const api::Object* old) const;
  // What admission policies say. `asked`: the version of the request. `old` is null for a create.
  Status AskPolicies(const WriteContext& context, Part part, const api::KindInfo& asked,
                     const api::Object& next, const api::Object* old) const;
  Status CompleteName(api::Object& object) const;
  StatusOr<Attempt> TryCreate(api::Object object, const WriteContext& context,
                              bool keep_managed_fields) const;
  StatusOr<Attempt> TryReplace(const Found& found, api::Object next) const;
  StatusOr<api::Object> Prepared(Part part, api::Object object, const api::Object& stored,
                                 const WriteContext& context, bool keep_managed_fields) const;
  StatusOr<Attempt> TryDelete(const Found& found, const DeleteOptions& options) const;
  StatusOr<Attempt> TryDeleteUnread(const api::KindInfo& kind, const std::string& namespace_,
                                    const std::string& name) const;
  void Run(std::string key, std::function<StatusOr<Attempt>()> attempt, bool dry_run,
           Done done) const;
  // Whether what is stored may be newer than what is shown: other servers write there, too.
  bool OthersWrite() const;
  void Post(std::function<void()> task) const;

  Objects objects_;
  const base::Clock& clock_;
  base::RandomSource& random_;
  const RegistryOptions options_;
  const std::unique_ptr<const api::NamespaceLabels> namespaces_;
  const std::unique_ptr<internal::WriteLines> lines_;
};

}  // namespace dray::registry
