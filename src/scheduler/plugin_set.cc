// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugin_set.h"

#include <algorithm>
#include <utility>

namespace dray::scheduler {
namespace {

template <typename T>
void AddTo(std::vector<T*>& list, Plugin* plugin) {
  if (T* phase = dynamic_cast<T*>(plugin); phase != nullptr) list.push_back(phase);
}

}  // namespace

PluginSet::PluginSet(std::vector<std::unique_ptr<Plugin>> plugins,
                     const std::function<std::int64_t(std::string_view)>& weight_of)
    : plugins_(std::move(plugins)) {
  for (const auto& owned : plugins_) {
    Plugin* plugin = owned.get();
    AddTo(pre_enqueue_, plugin);
    AddTo(pre_filters_, plugin);
    AddTo(post_filters_, plugin);
    AddTo(reserve_, plugin);
    AddTo(pre_bind_, plugin);
    AddTo(hints_, plugin);
    auto* filter = dynamic_cast<FilterPlugin*>(plugin);
    if (filter != nullptr) {
      filters_.push_back(filter);
      details_.push_back(dynamic_cast<DetailPlugin*>(plugin));
    }
    if (auto* scorer = dynamic_cast<ScorePlugin*>(plugin); scorer != nullptr) {
      const std::int64_t weight = weight_of(plugin->name());
      const int index = filter == nullptr ? -1 : static_cast<int>(filters_.size()) - 1;
      if (weight > 0) scorers_.push_back({scorer, weight, index});
    }
  }
}

HintPlugin* PluginSet::FindHints(std::string_view name) const {
  const auto found = std::ranges::find(hints_, name, &HintPlugin::name);
  return found == hints_.end() ? nullptr : *found;
}

}  // namespace dray::scheduler
