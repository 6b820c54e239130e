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
#include <utility>
#include <vector>

#include "api/container.h"
#include "api/values.h"
#include "base/status.h"
#include "container/runtime.h"
#include "node/loop.h"

namespace dray::node {

struct HttpProbe {
  std::string host;
  std::int32_t port = 0;
  std::string path;
  std::vector<std::pair<std::string, std::string>> headers;
};

// Asks over the network. Answers may come on any thread. Thread-safe.
class ProbeClient {
 public:
  virtual ~ProbeClient() = default;
  // The status of the answer.
  virtual void Http(const HttpProbe& probe, std::chrono::nanoseconds timeout,
                    std::function<void(StatusOr<int>)> done) = 0;
  virtual void Tcp(const std::string& host, std::int32_t port, std::chrono::nanoseconds timeout,
                   std::function<void(Status)> done) = 0;
};

// A probe as the spec has it.
struct ProbeSpec {
  std::vector<std::string> command;  // one of these
  std::optional<HttpProbe> http;
  std::optional<std::pair<std::string, std::int32_t>> tcp;  // host (empty: the pod's), port
  std::string unsupported;                                  // why it cannot be asked
  std::chrono::seconds initial_delay{0};
  std::chrono::seconds timeout{1};
  std::chrono::seconds period{10};
  std::int32_t successes = 1;
  std::int32_t failures = 3;
};

// Named ports are looked up in the container. InvalidArgument: it cannot be understood.
StatusOr<ProbeSpec> ReadProbe(const api::RawJson& json, const api::Container& container);

// One probe of one running container. On the loop's thread alone.
class Probe {
 public:
  enum class Kind : std::uint8_t { kStartup, kReadiness, kLiveness };
  struct Target {
    std::string container_id;
    std::string ip;  // the pod's
    base::Time started_at;
  };
  struct Parts {
    Loop& loop;
    container::Runtime& runtime;
    ProbeClient& client;
    std::function<void(Kind, bool good, const std::string& why)> changed;  // or the first answer
    std::function<void(Kind, const std::string& why)> failed;              // each time
  };

  // Begins at once; a destroyed one says nothing more.
  Probe(Parts parts, Kind kind, ProbeSpec spec, Target target);
  ~Probe();

  // Nothing: it is not known yet.
  std::optional<bool> good() const { return good_; }
  const std::string& container_id() const { return target_.container_id; }

 private:
  void Ask();
  void Answer(const Status& status);

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
