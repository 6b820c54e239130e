// SPDX-License-Identifier: Apache-2.0
//
// Observer: a client that lists a kind once and then only watches, across every crash: what it has
// must stay what the server has.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "process/requests.h"

namespace dray::crash {

// One thread at a time.
class Observer {
 public:
  explicit Observer(const api::KindInfo& kind) : kind_(kind) {}

  // Until there is no answer, or it is told to stop.
  void Run(std::uint16_t port, const apiserver::ClientTls& tls, const std::atomic<bool>& stop);

  const api::KindInfo& kind() const { return kind_; }
  // What a server that came back must have: nothing that was shown is taken back.
  std::vector<std::string> CheckNotTakenBack(const process::Listed& listed) const;
  // When nothing happens any more: the same objects in the same versions.
  std::vector<std::string> CheckSame(const process::Listed& listed) const;

  std::uint64_t events() const { return events_; }
  std::uint64_t relists() const { return relists_; }
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  void OnLine(std::string_view line);
  void Complain(std::string text) { complaints_.push_back(std::move(text)); }

  const api::KindInfo& kind_;
  std::int64_t seen_ = 0;                        // 0: must list
  std::map<std::string, std::int64_t> objects_;  // uid to revision
  std::uint64_t events_ = 0;
  std::uint64_t relists_ = 0;
  std::vector<std::string> complaints_;
};

}  // namespace dray::crash
