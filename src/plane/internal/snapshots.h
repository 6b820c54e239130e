// SPDX-License-Identifier: Apache-2.0
//
// GET /snapshot: the whole store as a file that `dray up` starts from.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "apiserver/http.h"
#include "base/mutex.h"
#include "store/store.h"

namespace dray::plane::internal {

// Answers GET /snapshot; who may ask for it is the business of whoever asks here. The file is
// complete before the answer begins, so that what goes wrong is told as an error. Thread-safe.
class Snapshots {
 public:
  using Send = std::function<void(apiserver::Response)>;

  // The store outlives it. `folder`: where the file is while it is being sent.
  Snapshots(const store::Store& store, std::string folder)
      : store_(store), folder_(std::move(folder)) {}
  // Waits for a file that is being written.
  ~Snapshots();
  Snapshots(const Snapshots&) = delete;
  Snapshots& operator=(const Snapshots&) = delete;

  // False: the request is for another path. Else `send` is called, perhaps from another thread.
  bool Answer(const apiserver::Request& request, Send send);

 private:
  void Write(const Send& send);

  const store::Store& store_;
  const std::string folder_;
  base::Mutex mutex_;
  std::thread writer_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dray::plane::internal
