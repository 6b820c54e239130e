// SPDX-License-Identifier: Apache-2.0
#include "abuse/bystander.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "process/requests.h"

namespace dray::abuse {
namespace {

constexpr std::chrono::milliseconds kPause{20};

}  // namespace

Bystander::Bystander(const process::UpProcess& server) {
  thread_ = std::thread([this, &server] { Run(server); });
}

Bystander::~Bystander() {
  stop_ = true;
  thread_.join();
}

Bystander::Experience Bystander::Take() {
  const base::MutexLock lock(mutex_);
  return std::exchange(experience_, {});
}

void Bystander::Run(const process::UpProcess& server) {
  process::Requests requests(server.port(), server.Tls());
  const std::string quotas = "/api/v1/namespaces/default/resourcequotas";
  for (int i = 0; !stop_; ++i) {
    process::Call call{.path = "/api/v1/nodes"};
    int expected = 200;
    if (i % 3 == 1) {
      call = {.method = "POST",
              .path = quotas,
              .body = R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"}})"};
      expected = 201;
    } else if (i % 3 == 2) {
      call = {.method = "DELETE", .path = quotas + "/q"};
    }
    const auto begin = std::chrono::steady_clock::now();
    const apiserver::ClientResponse response = requests.Do(call);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begin);
    {
      const base::MutexLock lock(mutex_);
      ++experience_.answers;
      experience_.longest = std::max(experience_.longest, took);
      if (response.status != expected) {
        experience_.complaints.push_back(
            fmt::format("{} {}: {} {}", call.method, call.path, response.status, response.body));
      }
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace dray::abuse
