// SPDX-License-Identifier: Apache-2.0
//
// Probes of a container: asked again and again while it runs, and what follows from the answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "container/runtime.h"
#include "node/actions.h"
#include "node/loop.h"

namespace dray::node {

// One probe of one running container. On the loop's thread alone.
class Probe {
 public:
  enum class Kind : std::uint8_t { kStartup, kReadiness, kLiveness };
  struct Target {
    ActionTarget action;
    base::Time started_at;
  };
  struct Parts {
    Loop& loop;
    container::Runtime& runtime;
    ProbeClient& client;
    std::function<void(Kind, bool good, const std::string& why)> changed;  // or the first answer
    std::function<void(Kind, const std::string& why)> failed;              // each time
    std::function<void(Kind, const std::string& what)> warned;             // each time
  };

  // Begins at once; a destroyed one says nothing more.
  Probe(Parts parts, Kind kind, ProbeSpec spec, Target target);
  ~Probe();

  // Nothing: it is not known yet.
  std::optional<bool> good() const { return good_; }
  // What a container gets that is ended because of it; nothing: what its pod gives.
  std::optional<std::chrono::seconds> grace() const { return spec_.grace; }
  const std::string& container_id() const { return target_.action.container_id; }

 private:
  void Ask();
  void Answer(const Status& status, const std::string& warning);

  const Parts parts_;
  const Kind kind_;
  const ProbeSpec spec_;
  const Target target_;
  std::optional<bool> good_;
  std::int32_t in_a_row_ = 0;
  bool last_ok_ = false;
  Loop::Timer timer_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace dray::node
