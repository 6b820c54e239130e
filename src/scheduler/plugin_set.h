// SPDX-License-Identifier: Apache-2.0
//
// PluginSet: the plugins of one profile, by phase, in the order in which they are asked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/framework.h"

namespace dray::scheduler {

// Owns the plugins. One thread.
class PluginSet {
 public:
  struct Scorer {
    ScorePlugin* plugin = nullptr;
    std::int64_t weight = 1;
    // What its Filter is called, of filters(); -1 when it has none.
    int filter = -1;
  };
  // `weight_of` gives a score plugin's weight by name; 0: it does not score.
  PluginSet(std::vector<std::unique_ptr<Plugin>> plugins,
            const std::function<std::int64_t(std::string_view)>& weight_of);

  const std::vector<PreEnqueuePlugin*>& pre_enqueue() const { return pre_enqueue_; }
  const std::vector<PreFilterPlugin*>& pre_filters() const { return pre_filters_; }
  const std::vector<FilterPlugin*>& filters() const { return filters_; }
  const std::vector<PostFilterPlugin*>& post_filters() const { return post_filters_; }
  const std::vector<Scorer>& scorers() const { return scorers_; }
  const std::vector<ReservePlugin*>& reserve() const { return reserve_; }
  const std::vector<PreBindPlugin*>& pre_bind() const { return pre_bind_; }

  // Null when no plugin of that name gives hints.
  HintPlugin* FindHints(std::string_view name) const;
  // Null when the filter has no details.
  DetailPlugin* DetailsOf(std::size_t filter) const { return details_[filter]; }

 private:
  std::vector<std::unique_ptr<Plugin>> plugins_;
  std::vector<PreEnqueuePlugin*> pre_enqueue_;
  std::vector<PreFilterPlugin*> pre_filters_;
  std::vector<FilterPlugin*> filters_;
  std::vector<DetailPlugin*> details_;  // by filter
  std::vector<PostFilterPlugin*> post_filters_;
  std::vector<Scorer> scorers_;
  std::vector<ReservePlugin*> reserve_;
  std::vector<PreBindPlugin*> pre_bind_;
  std::vector<HintPlugin*> hints_;
};

}  // namespace dray::scheduler
