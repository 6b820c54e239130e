// SPDX-License-Identifier: Apache-2.0
//
// LocalCluster: the Cluster that deciders of this process are handed. Its verbs are the registry's,
// waited for; its watches follow the store.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/cluster.h"
#include "api/event_folder.h"
#include "registry/registry.h"

namespace dray::registry {

// Thread-safe, but for the rule that a store's callbacks may not wait: it is not used from those. A
// watch belongs to one thread.
class LocalCluster final : public api::Cluster {
 public:
  // The registry outlives it. `component` is who writes: fields are managed by that name.
  LocalCluster(Registry& registry, std::string component, std::size_t max_events = 10'000);
  // Waits for notes that are still being written.
  ~LocalCluster() override;

  StatusOr<std::vector<api::Object>> List(const api::KindInfo& kind) const override;
  StatusOr<std::optional<api::Object>> Find(const api::KindInfo& kind, std::string_view namespace_,
                                            std::string_view name) const override;
  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override;
  StatusOr<api::Object> Create(api::Object object) override;
  StatusOr<api::Object> Update(api::Object object) override;
  StatusOr<api::Object> UpdateStatus(api::Object object) override;
  Status Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid = {}) override;
  Status Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
              std::string_view node) override;
  // Does not wait.
  void Note(const api::EventNote& note) override;

 private:
  Status Newest() const;
  struct Notes;  // shared with the callbacks of writes under way

  Registry& registry_;
  const WriteContext context_;
  const std::shared_ptr<Notes> notes_;
};

}  // namespace dray::registry
