// SPDX-License-Identifier: Apache-2.0
//
// RemoteCluster: a Cluster at the other end of a connection. Deciders that run on it cannot tell it
// from one in their own process, but for the time that it takes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/mutex.h"
#include "client/http_client.h"
#include "client/object_client.h"

namespace dray::client {

namespace internal {
class Inbox;
class NoteWriter;
}  // namespace internal

struct RemoteOptions {
  std::string component = "dray";  // who writes: fields are managed by that name
  // Called from other threads when a watch has something to tell.
  std::function<void()> on_change = nullptr;
  // Between two attempts to reach the server again.
  std::chrono::milliseconds first_backoff{100};
  std::chrono::milliseconds longest_backoff{10'000};
  // A watch of which nothing is heard for so long is stale; a little before it is begun anew. Servers
  // send bookmarks once a minute.
  std::chrono::milliseconds silence{75'000};
  std::size_t max_events = 10'000;  // that are remembered; the server keeps them as it likes
  std::size_t note_writers = 4;     // threads
  // Events that wait to be written; what is told while so many do is left out. Nobody else waits.
  std::size_t max_waiting_events = 80'000;
  int reads = 3;  // how often what cannot be read is asked for
  // How long a pod that is deleted has to end; nothing: as long as it says itself. 0 is what a node
  // says of a pod of which nothing runs any more.
  std::optional<std::int64_t> delete_grace_seconds = std::nullopt;
  base::Host* host = nullptr;  // where it runs and waits; null: the machine. Outlives it
  // Asked when the server does not let us list or watch a kind (PermissionDenied); true: it is empty,
  // and looked at again once a minute. Told with an OK when it can be read after that. What is not
  // empty, or when there is nobody to ask, is waited for. From several threads.
  std::function<bool(const api::KindInfo& kind, const Status& why)> withheld = nullptr;
  // Until a kind that the server does not have, or withholds, is looked for again.
  std::chrono::milliseconds absent{60'000};
};

// Reads go to the server; what cannot be read is tried a few times. A write that reached the server
// and of which no answer came, or one that does not say, may have been done
// (api::MayHaveHappened); one that did not reach it is kUnavailable. Thread-safe; a watch belongs
// to one thread.
class RemoteCluster final : public api::Cluster {
 public:
  // Both outlive it.
  RemoteCluster(HttpClient& http, const base::Clock& clock, RemoteOptions options = {});
  // Writes the notes that wait, if the server takes them. Watches are gone by then.
  ~RemoteCluster() override;

  StatusOr<std::vector<api::Object>> List(const api::KindInfo& kind) const override;
  StatusOr<std::optional<api::Object>> Find(const api::KindInfo& kind, std::string_view namespace_,
                                            std::string_view name) const override;
  // Waits until everything is listed, or cannot be at the moment: the watch tells nothing then
  // until it can. The server makes the selection.
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override;
  StatusOr<api::Object> Create(api::Object object) override;
  StatusOr<api::Object> Update(api::Object object) override;
  StatusOr<api::Object> UpdateStatus(api::Object object) override;
  Status Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid = {}) override;
  Status Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
              std::string_view node) override;
  // Does not wait. What cannot be written now is tried again for about a minute.
  void Note(const api::EventNote& note) override;

  // Waits for notes to be written.
  void Flush();
  // The revision up to which all watches have been told everything.
  std::uint64_t Progress() const;
  // What keeps watches from going on, such as a server that is away.
  Status Health() const;

 private:
  std::vector<std::shared_ptr<internal::Inbox>> Inboxes() const;

  const RemoteOptions options_;
  base::Host& host_;
  const base::Clock& clock_;
  const ObjectClient client_;
  mutable base::Mutex mutex_;
  std::vector<std::weak_ptr<internal::Inbox>> inboxes_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<internal::NoteWriter>> notes_;
};

}  // namespace dray::client
