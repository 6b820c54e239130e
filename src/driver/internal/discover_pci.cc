// SPDX-License-Identifier: Apache-2.0
//
// PCI functions: /sys/bus/pci/devices.
#include <cctype>
#include <map>

#include "driver/internal/sysfs.h"
#include "files/files.h"
#include "fmt/format.h"

namespace dray::driver::internal {
namespace {

// pci.ids: "8086  Intel Corporation", and below it "\t1533  I210 Gigabit Network Connection".
class PciNames {
 public:
  explicit PciNames(const std::string& path) {
    const auto text = files::ReadWhole(path);
    if (!text.ok()) return;
    std::string vendor;
    std::string_view rest = *text;
    while (!rest.empty()) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      const bool model = line.starts_with("\t") && !line.starts_with("\t\t");
      if (model) line.remove_prefix(1);
      // Classes come last, and subsystems are of no interest.
      if (line.starts_with("C ")) break;
      if (line.size() < 7 || line.starts_with("#") || line.starts_with("\t")) continue;
      const std::string id(line.substr(0, 4));
      const std::string name(line.substr(6));
      if (!model) {
        vendor = id;
        names_[id] = name;
      } else {
        names_[vendor + ":" + id] = name;
      }
    }
  }
  std::string Find(const std::string& id) const {
    const auto it = names_.find(id);
    return it == names_.end() ? "" : it->second;
  }

 private:
  std::map<std::string, std::string> names_;
};

// 0x1af4 without the 0x.
std::string Hex(const std::string& path) {
  const std::string text = ReadLine(path).value_or("");
  return text.starts_with("0x") ? text.substr(2) : text;
}

// The root complex below which the function is: the first part of its place under /sys/devices.
std::string RootOf(const std::string& sys, const std::string& path) {
  const auto real = Resolved(path);
  const auto devices = Resolved(sys + "/devices");
  if (!real || !devices || !real->starts_with(*devices + "/")) return "";
  const std::string_view below = std::string_view(*real).substr(devices->size() + 1);
  const std::string_view root = below.substr(0, below.find('/'));
  return root.starts_with("pci") ? std::string(root) : "";
}

// What a container needs: the files that the function's driver made for it.
cdi::ContainerEdits EditsOf(const std::string& path, const std::string& id,
                            const std::string& driver) {
  cdi::ContainerEdits edits;
  edits.env.push_back(fmt::format("PCI_DEVICE_{}={}", VariableOf(id), id));
  if (driver == "vfio-pci") {
    if (const auto group = LinkName(path + "/iommu_group")) {
      edits.device_nodes.push_back({.path = "/dev/vfio/vfio"});
      edits.device_nodes.push_back({.path = "/dev/vfio/" + *group});
    }
  }
  for (const std::string& node : List(path + "/drm")) {
    if (!node.starts_with("card") && !node.starts_with("renderD")) continue;
    edits.device_nodes.push_back({.path = "/dev/dri/" + node});
  }
  return edits;
}

}  // namespace

void DiscoverPci(const DiscoverOptions& options, std::vector<DescribedDevice>& devices) {
  const PciNames names(options.pci_ids);
  const std::string folder = options.sys + "/bus/pci/devices";
  for (std::string id : List(folder)) {
    const std::string path = fmt::format("{}/{}", folder, id);
    for (char& c : id) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    DescribedDevice& entry = devices.emplace_back();
    api::Device& device = entry.device;
    device.name = LabelOf("pci-" + id);
    const std::string vendor = Hex(path + "/vendor");
    const std::string model = Hex(path + "/device");
    const std::string driver = LinkName(path + "/driver").value_or("");
    SetString(device, "vendor", vendor);
    SetString(device, "device", model);
    SetString(device, "class", Hex(path + "/class"));
    SetString(device, "vendorName", names.Find(vendor));
    SetString(device, "model", names.Find(vendor + ":" + model));
    SetString(device, "driver", driver);
    SetString(device, "resource.kubernetes.io/pciBusID", id);
    SetString(device, "resource.kubernetes.io/pcieRoot", RootOf(options.sys, path));
    if (const auto node = ReadNumber(path + "/numa_node"); node && *node >= 0) {
      SetNumaNode(device, options, *node);
    }
    entry.cdi = EditsOf(path, id, driver);
  }
}

}  // namespace dray::driver::internal
