// SPDX-License-Identifier: Apache-2.0
//
// ObjectClient: the verbs on objects as requests to a server. What RemoteCluster is made of, and
// what those use who want to be told why something could not be read.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "api/json.h"
#include "api/kinds.h"
#include "base/mutex.h"
#include "base/status.h"
#include "client/http_client.h"

namespace dray::client {

// Objects are those of a kind's hub. Errors are as the server's registry would return them
// (NotFound, AlreadyExists, Aborted for a conflict, InvalidArgument, PermissionDenied, OutOfRange
// for a revision that has left the history), kUnavailable when the server cannot be reached. A
// write that the server was sent and to which it said neither yes nor no is an
// api::OutcomeUnknown. Thread-safe.
class ObjectClient {
 public:
  // `http` outlives it. `manager` is by whom fields are managed that are written.
  ObjectClient(HttpClient& http, std::string manager);

  struct Listing {
    std::vector<api::Object> objects;  // in the server's order
    std::string revision;
  };
  // Page by page; the server makes the selection. NotFound: the server has no such kind in any
  // version.
  StatusOr<Listing> List(const api::KindInfo& kind, const api::Selection& selection = {}) const;
  StatusOr<api::Object> Get(const api::KindInfo& kind, std::string_view namespace_,
                            std::string_view name) const;

  StatusOr<api::Object> Create(const api::Object& object) const;
  StatusOr<api::Object> Update(const api::Object& object) const;
  StatusOr<api::Object> UpdateStatus(const api::Object& object) const;
  // Of a namespace that nothing keeps any more: servers take that by this door alone.
  StatusOr<api::Object> Finalize(const api::Object& object) const;
  // Of a request for a certificate: the conditions that say what was decided.
  StatusOr<api::Object> UpdateApproval(const api::Object& object) const;
  // A JSON merge patch.
  Status Patch(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
               std::string_view patch) const;
  // `uid`: only if it has that one; empty: any. `grace_seconds`: how long a pod has to end; nothing:
  // as long as it says itself.
  Status Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid,
                std::optional<std::int64_t> grace_seconds = std::nullopt) const;
  Status Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
              std::string_view node) const;

  // Everything that happens after `revision`, for ReadEvent. The server ends it after `longest`; it
  // breaks when nothing comes for as long as `silence`.
  StatusOr<std::shared_ptr<LineStream>> Watch(const api::KindInfo& kind, std::string_view revision,
                                              std::chrono::seconds longest,
                                              const api::Selection& selection,
                                              std::chrono::milliseconds silence) const;
  struct WatchEvent {
    enum class Type : unsigned char { kAdded, kModified, kDeleted, kBookmark };
    Type type = Type::kAdded;
    api::Object object;
  };
  // One line of a watch of `kind`. An event of type ERROR is the error that it tells.
  StatusOr<WatchEvent> ReadEvent(api::JsonDecoder& decoder, const api::KindInfo& kind,
                                 std::string_view line) const;

 private:
  // The version in which the server has it, as far as is known: the hub's, or another one that
  // answered a List.
  const api::KindInfo& Served(const api::KindInfo& kind) const;
  StatusOr<Listing> ListIn(const api::KindInfo& version, const api::Selection& selection) const;
  StatusOr<std::string> Ask(const HttpRequest& request) const;
  StatusOr<api::Object> Write(std::string_view method, std::string target,
                              const api::Object& object) const;
  // A second try of a write that was `refused`, in protobuf: a server compares values that belong
  // to others byte by byte, and shows in JSON other bytes than it has stored. `refused` again where
  // that is not why.
  StatusOr<std::string> WriteVerbatim(std::string_view target, const api::KindInfo& version,
                                      const api::Object& object, const Status& refused) const;

  HttpClient& http_;
  const std::string manager_;
  mutable base::Mutex mutex_;
  // By hub.
  mutable std::map<const api::TypeInfo*, const api::KindInfo*> versions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::client
