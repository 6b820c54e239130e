// SPDX-License-Identifier: Apache-2.0
//
// DescribedDevices: the handler of a driver whose devices are described, by a file or by what the
// machine says about itself. Preparing is writing the CDI edits of the description.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "driver/device_file.h"
#include "driver/plugin_service.h"

namespace dray::driver {

// Thread-safe.
class DescribedDevices final : public DeviceHandler {
 public:
  DescribedDevices(std::string node, DeviceFile file)
      : node_(std::move(node)), file_(std::make_shared<const DeviceFile>(std::move(file))) {}

  void Set(DeviceFile file);
  std::shared_ptr<const DeviceFile> file() const;
  WantedPools Pools() const { return PoolsOf(*file(), node_); }
  std::vector<rpc::DeviceHealth> Health() const { return HealthOf(*file(), node_); }

  StatusOr<std::vector<DeviceSetup>> Prepare(const ClaimView& claim) override;

 private:
  const std::string node_;
  mutable base::Mutex mutex_;
  std::shared_ptr<const DeviceFile> file_ ABSL_GUARDED_BY(mutex_);
};

// A description that may change while it is used: a file, or a machine. One thread.
class DescriptionSource {
 public:
  // Reads the whole description.
  using Reader = std::function<StatusOr<DeviceFile>()>;
  explicit DescriptionSource(Reader reader) : reader_(std::move(reader)) {}

  StatusOr<DeviceFile> Read();
  // The description if it is another one than before; nothing if not. What cannot be read is an
  // error, once for each; the last good one holds meanwhile.
  StatusOr<std::optional<DeviceFile>> ReadIfChanged();

 private:
  const Reader reader_;
  std::optional<DeviceFile> last_;
  std::string trouble_;
};

// Reads a file of devices; faults name the file.
DescriptionSource::Reader FileReader(std::string path);

}  // namespace dray::driver
