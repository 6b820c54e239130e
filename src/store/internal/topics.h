// SPDX-License-Identifier: Apache-2.0
//
// What keys are about, beside their names: an index of the present by topic, and what an event is
// about for those who watch by topic.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "base/string_map.h"
#include "store/store.h"

namespace dray::store::internal {

// One thread at a time (Timeline's lock).
class Topics {
 public:
  using Keys = absl::btree_set<std::string, std::less<>>;
  using FindFn = std::function<EntryPtr(const std::string& key)>;

  // As Store::SetTopics; false: the prefix has topics already. Who adds it then files what is there.
  bool Add(std::string_view prefix, TopicFn topic_of);

  // Empty: nothing.
  std::string Of(const Entry& entry) const;
  // Of what was and of what is: none, one, or, when that changed, two.
  std::vector<std::string> Of(const Event& event) const;

  // A version is replaced by another; null: was not there, is gone. What nobody has read since a
  // restart would have to be decoded to be filed; that is left until it is read, or asked for.
  void File(const Entry* before, const Entry* after);
  // It has been read now.
  void Attached(const Entry& entry);
  // In order; null: none. `find` gives what has not been filed.
  const Keys* KeysOf(std::string_view topic, const FindFn& find);

 private:
  const TopicFn* FnFor(std::string_view key) const;
  void Insert(std::string topic, const std::string& key);

  std::vector<std::pair<std::string, TopicFn>> fns_;  // by prefix
  base::StringMap<Keys> keys_;                        // by topic
  base::StringSet unread_;                            // keys that are not filed
};

}  // namespace dray::store::internal
