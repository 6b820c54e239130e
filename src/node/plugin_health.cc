// SPDX-License-Identifier: Apache-2.0
#include "node/plugin_health.h"

#include <algorithm>
#include <set>

#include "api/field_table.h"
#include "api/json.h"
#include "api/map.h"
#include "base/utf8.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

HealthOfDevice Seen(const KnownHealth& known) { return {known.health, known.message}; }

// The state file's rows.
struct HealthRow {
  std::string pool;
  std::string device;
  std::string health;
  std::string reported;
  std::int64_t timeout = 0;
  std::string message;
};
struct HealthOfDriverRow {
  api::Map<HealthRow> devices;
};

const api::StructInfo& InfoOf(const HealthRow*) {
  using enum api::Presence;
  static const api::StructInfo info = api::Struct<HealthRow>(
      "DeviceHealth", {api::Field<&HealthRow::pool>("PoolName", {.presence = kAlways}),
                       api::Field<&HealthRow::device>("DeviceName", {.presence = kAlways}),
                       api::Field<&HealthRow::health>("Health", {.presence = kAlways}),
                       api::Field<&HealthRow::reported>("LastUpdated", {.presence = kAlways}),
                       api::Field<&HealthRow::timeout>("HealthCheckTimeout", {.presence = kAlways}),
                       api::Field<&HealthRow::message>("Message", {.presence = kAlways})});
  return info;
}
const api::StructInfo& InfoOf(const HealthOfDriverRow*) {
  static const api::StructInfo info = api::Struct<HealthOfDriverRow>(
      "DriverHealth",
      {api::Field<&HealthOfDriverRow::devices>("Devices", {.presence = api::Presence::kAlways})});
  return info;
}

std::optional<rpc::Health> HealthFrom(std::string_view text) {
  using enum rpc::Health;
  for (const rpc::Health health : {kUnknown, kHealthy, kUnhealthy}) {
    if (ToString(health) == text) return health;
  }
  return std::nullopt;
}

// As Go writes a time with nanoseconds: without the zeros at the end.
std::string ToRfc3339Nano(base::Time time) {
  std::string text = time.ToRfc3339();
  if (time.nanos() == 0) return text;
  std::string fraction = fmt::format("{:09}", time.nanos());
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text.insert(text.size() - 1, "." + fraction);
}

}  // namespace

std::string_view ToString(rpc::Health health) {
  switch (health) {
    case rpc::Health::kHealthy:
      return "Healthy";
    case rpc::Health::kUnhealthy:
      return "Unhealthy";
    case rpc::Health::kUnknown:
      break;
  }
  return "Unknown";
}

std::string ShortenHealthMessage(std::string message) {
  if (message.size() <= kLongestHealthMessage) return message;
  constexpr std::string_view more = "...";
  std::size_t end = kLongestHealthMessage - more.size();
  while (end > 0 && base::IsContinuation(message[end])) --end;
  message.resize(end);
  return message.append(more);
}

void HealthBook::Restore(Drivers drivers, Moment now) {
  drivers_ = std::move(drivers);
  for (auto& [driver, devices] : drivers_) {
    for (auto& [key, known] : devices) {
      // A file from the future, after the clock was set back, holds no longer than a fresh one.
      const std::chrono::nanoseconds left =
          std::min(known.timeout, known.reported + known.timeout - now.time);
      known.ends = now.monotonic + left;
      known.endpoint = 0;
    }
  }
  (void)Expire(now.monotonic);
}

HealthBook::Change HealthBook::Report(const std::string& driver, std::uint64_t endpoint,
                                      const std::vector<rpc::DeviceHealth>& devices, Moment now) {
  Devices& known = drivers_[driver];
  Change change;
  std::set<DeviceName> changed;
  for (const rpc::DeviceHealth& device : devices) {
    DeviceKey key(device.pool, device.device);
    auto found = known.find(key);
    if (found == known.end()) {
      const bool endless =
          device.pool.size() > kLongestDeviceName || device.device.size() > kLongestDeviceName;
      if (endless || known.size() >= kMostDevicesOfDriver) {
        ++change.ignored;
        continue;
      }
      found = known.emplace(std::move(key), KnownHealth()).first;
    }
    KnownHealth& entry = found->second;
    // A new one has ended, too.
    const HealthOfDevice before = entry.ends > now.monotonic ? Seen(entry) : HealthOfDevice();
    entry.health = device.health;
    entry.message = ShortenHealthMessage(device.message);
    entry.timeout = device.timeout.count() > 0 ? std::chrono::nanoseconds(device.timeout)
                                               : std::chrono::nanoseconds(kHealthTimeout);
    entry.reported = now.time;
    entry.ends = now.monotonic + entry.timeout;
    entry.endpoint = endpoint;
    if (Seen(entry) != before) changed.insert({driver, device.pool, device.device});
  }
  change.devices.assign(changed.begin(), changed.end());
  return change;
}

HealthBook::Change HealthBook::Forget(const std::string& driver, std::uint64_t endpoint) {
  Change change;
  const auto found = drivers_.find(driver);
  if (found == drivers_.end()) return change;
  std::erase_if(found->second, [&](const auto& entry) {
    const auto& [key, known] = entry;
    // What an earlier life heard was said by a stream that is over, too.
    if (known.endpoint != endpoint && known.endpoint != 0) return false;
    if (Seen(known) != HealthOfDevice()) {
      change.devices.push_back({driver, key.first, key.second});
    }
    return true;
  });
  if (found->second.empty()) drivers_.erase(found);
  return change;
}

HealthBook::Change HealthBook::Expire(std::chrono::nanoseconds now) {
  Change change;
  for (auto& [driver, devices] : drivers_) {
    std::erase_if(devices, [&, &name = driver](const auto& entry) {
      const auto& [key, known] = entry;
      if (known.ends > now) return false;
      if (Seen(known) != HealthOfDevice()) {
        change.devices.push_back({name, key.first, key.second});
      }
      return true;
    });
  }
  std::erase_if(drivers_, [](const auto& driver) { return driver.second.empty(); });
  return change;
}

std::optional<std::chrono::nanoseconds> HealthBook::NextEnd() const {
  std::optional<std::chrono::nanoseconds> next;
  for (const auto& [driver, devices] : drivers_) {
    for (const auto& [key, known] : devices) {
      if (!next || known.ends < *next) next = known.ends;
    }
  }
  return next;
}

HealthOfDevice HealthBook::HealthOf(const DeviceName& device, std::chrono::nanoseconds now) const {
  const auto driver = drivers_.find(device.driver);
  if (driver == drivers_.end()) return {};
  const auto found = driver->second.find(DeviceKey(device.pool, device.device));
  if (found == driver->second.end() || found->second.ends <= now) return {};
  return Seen(found->second);
}

std::string EncodeHealth(const HealthBook::Drivers& drivers) {
  api::Map<HealthOfDriverRow> rows;
  for (const auto& [driver, devices] : drivers) {
    HealthOfDriverRow& row = rows[driver];
    for (const auto& [key, known] : devices) {
      row.devices[key.first + "/" + key.second] = {.pool = key.first,
                                                   .device = key.second,
                                                   .health = std::string(ToString(known.health)),
                                                   .reported = ToRfc3339Nano(known.reported),
                                                   .timeout = known.timeout.count(),
                                                   .message = known.message};
    }
  }
  return api::EncodeJson(rows);
}

StatusOr<HealthBook::Drivers> DecodeHealth(std::string_view json) {
  api::JsonDecoder decoder;
  DRAY_ASSIGN_OR_RETURN(const auto rows, decoder.Decode<api::Map<HealthOfDriverRow>>(json));
  HealthBook::Drivers out;
  for (const auto& [driver, row] : rows) {
    HealthBook::Devices devices;
    for (const auto& [name, device] : row.devices) {
      const std::optional<rpc::Health> health = HealthFrom(device.health);
      const StatusOr<base::Time> reported = base::Time::ParseRfc3339(device.reported);
      if (!health || !reported.ok() || devices.size() >= kMostDevicesOfDriver) continue;
      devices.emplace(
          HealthBook::DeviceKey(device.pool, device.device),
          KnownHealth{.health = *health,
                      .message = ShortenHealthMessage(device.message),
                      .timeout = device.timeout > 0 ? std::chrono::nanoseconds(device.timeout)
                                                    : std::chrono::nanoseconds(kHealthTimeout),
                      .reported = *reported});
    }
    if (!devices.empty()) out.emplace(std::string(std::string_view(driver)), std::move(devices));
  }
  return out;
}

}  // namespace dray::node
