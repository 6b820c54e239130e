// SPDX-License-Identifier: Apache-2.0
//
// GET /snapshot: the whole store as a file that `dray up` starts from.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "apiserver/http.h"
#include "base/mutex.h"
#include "store/store.h"

namespace dray::plane::internal {

// Answers /snapshot to administrators and leaves every other path to the next handler. The file is
// complete before the answer begins, so that what goes wrong is told as an error. Thread-safe.
class Snapshots final : public apiserver::Handler {
 public:
  // All outlive it. `folder`: where the file is while it is being sent.
  Snapshots(const store::Store& store, std::string folder, apiserver::Handler& next)
      : store_(store), folder_(std::move(folder)), next_(next) {}
  // Waits for a file that is being written.
  ~Snapshots() override;

  void Handle(apiserver::Request request, std::shared_ptr<apiserver::Responder> responder) override;

 private:
  void Write(std::shared_ptr<apiserver::Responder> responder);

  const store::Store& store_;
  const std::string folder_;
  apiserver::Handler& next_;
  base::Mutex mutex_;
  std::thread writer_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dray::plane::internal
