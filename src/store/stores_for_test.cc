// SPDX-License-Identifier: Apache-2.0
#include "store/store_for_test.h"

namespace dray::store {

const std::vector<StoreMaker>& AllStores() {
  static const std::vector<StoreMaker> makers = {
      {"Memory",
       [](const TempFolder&, HistoryOptions history) { return MakeMemoryStore(history); }},
      {"Sqlite", OpenSqlite},
      {"Manual",
       [](const TempFolder& folder, HistoryOptions history) {
         return MakeManualStore(folder.disk(), {.history = history});
       },
       /*one_thread=*/true},
  };
  return makers;
}

}  // namespace dray::store
