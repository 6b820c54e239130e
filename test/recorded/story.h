// SPDX-License-Identifier: Apache-2.0
//
// A story: what somebody does to a cluster while dray schedules it. Told to a real server, it gives a
// transcript; the transcript alone is what tests play.
//
//   title: A pod gets the device of one that went.
//   as: system:kube-scheduler        # whom the server takes the scheduler for; else whoever records
//   lease: true                      # it decides by a lease
//   before: [objects]                # there when the scheduler starts
//   steps:
//     - create: [objects]            # or delete, or patch (merged), or status (merged into it)
//     - restart: []                  # the scheduler ends, and another one begins
//       until: [pod a on node-1]     # see Story::Holds
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "base/status.h"
#include "client/http_client.h"

namespace dray::recorded {

inline constexpr std::string_view kSchedulerName = "dray-scheduler";
inline constexpr std::string_view kNamespace = "story";

// One thread.
class Story {
 public:
  static StatusOr<Story> Load(const std::filesystem::path& file);

  const std::string& title() const { return title_; }
  const std::string& as() const { return as_; }
  bool lease() const { return lease_; }

  // Tells it to the server that `admin` leads to, which has nothing else to do and runs Kubernetes's
  // controllers, but not the one that looks after nodes. `schedule` starts the scheduler, again after `stop`
  // where the story says so. What was made is gone afterwards.
  Status Tell(client::HttpClient& admin, const std::function<Status()>& schedule,
              const std::function<void()>& stop) const;

 private:
  struct Act {
    std::string verb;  // create, delete, patch, status
    std::vector<api::DocumentNode> objects;
  };
  struct Step {
    std::vector<Act> acts;
    std::vector<std::string> until;
  };

  static Status Do(client::HttpClient& admin, const Act& act);
  static Status Await(client::HttpClient& admin, const std::vector<std::string>& until);
  // "pod a on node-1", "pod a bound", "pod a waits", "pod a gone", "claim c has gpu-0 gpu-1",
  // "claim c free", "claims 3" (so many are allocated), "event FailedScheduling of a".
  static StatusOr<bool> Holds(client::HttpClient& admin, std::string_view condition);
  Status CleanUp(client::HttpClient& admin) const;

  std::string title_;
  std::string as_;
  bool lease_ = false;
  std::vector<api::DocumentNode> before_;
  std::vector<Step> steps_;
};

}  // namespace dray::recorded
