// SPDX-License-Identifier: Apache-2.0
#include "driver/described_driver.h"

#include <utility>

#include "driver/placeholders.h"
#include "files/files.h"
#include "fmt/format.h"

namespace dray::driver {

void DescribedDevices::Set(DeviceFile file) {
  auto next = std::make_shared<const DeviceFile>(std::move(file));
  const base::MutexLock lock(mutex_);
  file_.swap(next);
}

std::shared_ptr<const DeviceFile> DescribedDevices::file() const {
  const base::MutexLock lock(mutex_);
  return file_;
}

StatusOr<std::vector<DeviceSetup>> DescribedDevices::Prepare(const ClaimView& claim) {
  const std::shared_ptr<const DeviceFile> file = this->file();
  std::vector<DeviceSetup> setups;
  for (const AllocatedDevice& device : claim.devices) {
    const DescribedDevice* described = FindDevice(*file, node_, device.pool, device.device);
    if (described == nullptr) {
      return base::NotFound(
          fmt::format("device {}/{} is not described any more", device.pool, device.device));
    }
    DeviceSetup& setup = setups.emplace_back();
    if (described->cdi) {
      setup.edits = Fill(*described->cdi, claim, device);
    } else {
      DRAY_ASSIGN_OR_RETURN(setup.edits, DefaultEdits(claim, device));
    }
  }
  return setups;
}

StatusOr<DeviceFile> DescriptionSource::Read() {
  DRAY_ASSIGN_OR_RETURN(DeviceFile file, reader_());
  last_ = file;
  return file;
}

StatusOr<std::optional<DeviceFile>> DescriptionSource::ReadIfChanged() {
  auto file = reader_();
  if (!file.ok()) {
    if (trouble_ == base::Message(file.status())) return std::optional<DeviceFile>();
    trouble_ = base::Message(file.status());
    return file.status();
  }
  trouble_.clear();
  if (last_ == *file) return std::optional<DeviceFile>();
  last_ = *file;
  return std::optional<DeviceFile>(*std::move(file));
}

DescriptionSource::Reader FileReader(std::string path) {
  return [path = std::move(path)]() -> StatusOr<DeviceFile> {
    DRAY_ASSIGN_OR_RETURN(const std::string text, files::ReadWhole(path));
    auto file = ReadDeviceFile(text);
    if (!file.ok()) return base::Annotate(file.status(), path);
    return file;
  };
}

}  // namespace dray::driver
