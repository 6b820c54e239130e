// SPDX-License-Identifier: Apache-2.0
//
// HealthBook: what drivers have said of the health of their devices, for as long as it holds. Pure:
// time comes with each call.
//
// Spec: docs/spec/node.md section 8. A kubelet forgets everything of a driver when a stream of it
// ends; here only what that endpoint reported is forgotten, since another one may go on reporting
// during an update.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/time.h"
#include "node/plugins.h"
#include "rpc/messages.h"

namespace dray::node {

inline constexpr std::size_t kMostDevicesOfDriver = 16'384;
// No pool and no device has a longer name; what claims to is not kept.
inline constexpr std::size_t kLongestDeviceName = 253;
inline constexpr std::size_t kLongestHealthMessage = 1024;
inline constexpr std::chrono::seconds kHealthTimeout{30};  // where a driver says none

// A message of at most kLongestHealthMessage bytes: a longer one ends in "..." after whole
// characters.
std::string ShortenHealthMessage(std::string message);

// Both clocks: the one that files show, and the one that never jumps.
struct Moment {
  base::Time time;
  std::chrono::nanoseconds monotonic{0};

  static Moment Of(const base::Clock& clock) { return {clock.Now(), clock.Monotonic()}; }
};

struct KnownHealth {
  rpc::Health health = rpc::Health::kUnknown;
  std::string message;
  std::chrono::nanoseconds timeout = kHealthTimeout;
  base::Time reported;               // when it was heard
  std::chrono::nanoseconds ends{0};  // until when it holds, of the clock that never jumps
  std::uint64_t endpoint = 0;        // who said so; 0: an earlier life of the agent heard it
  friend bool operator==(const KnownHealth&, const KnownHealth&) = default;
};

// One thread.
class HealthBook {
 public:
  using DeviceKey = std::pair<std::string, std::string>;  // pool, device
  using Devices = std::map<DeviceKey, KnownHealth>;
  using Drivers = std::map<std::string, Devices, std::less<>>;

  // What a state file says, as far as it still holds. Replaces everything.
  void Restore(Drivers drivers, Moment now);
  const Drivers& drivers() const { return drivers_; }

  struct Change {
    std::vector<DeviceName> devices;  // whose HealthOf is another now, in order, each once
    std::size_t ignored = 0;          // new ones for which there was no room
  };
  // The endpoint has said so now. Devices that it does not mention keep what was said of them until
  // that time is over.
  Change Report(const std::string& driver, std::uint64_t endpoint,
                const std::vector<rpc::DeviceHealth>& devices, Moment now);
  // The endpoint says nothing any more.
  Change Forget(const std::string& driver, std::uint64_t endpoint);
  // Forgets what has not been repeated in time.
  Change Expire(std::chrono::nanoseconds now);
  // When Expire has something to do next.
  std::optional<std::chrono::nanoseconds> NextEnd() const;

  // Unknown without a message: nothing is known, or it is too old.
  HealthOfDevice HealthOf(const DeviceName& device, std::chrono::nanoseconds now) const;

 private:
  Drivers drivers_;
};

inline constexpr std::string_view kHealthFileName = "dra_health_state";

// The state file: driver -> Devices -> "pool/device", as a kubelet writes it. What reads as no such
// file is an error; single entries that make no sense are left out.
std::string EncodeHealth(const HealthBook::Drivers& drivers);
StatusOr<HealthBook::Drivers> DecodeHealth(std::string_view json);

std::string_view ToString(rpc::Health health);  // Healthy, Unhealthy, Unknown

}  // namespace dray::node
