// SPDX-License-Identifier: Apache-2.0
#include "driver/discover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "driver/internal/sysfs.h"
#include "files/temporary_folder.h"
#include "testing/status_matchers.h"

namespace dray::driver {
namespace {

using dray::testing::IsOk;
using dray::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

// A small /sys: two NUMA nodes, a network card below a switch, a GPU.
class DiscoverTest : public ::testing::Test {
 protected:
  DiscoverTest() {
    Function("devices/pci0000:3a/0000:3a:00.0/0000:3B:00.0", "0x8086", "0x1533", "0x020000", "1");
    Function("devices/pci0000:00/0000:00:02.0", "0x1af4", "0x1050", "0x030000", "-1");
    Link("devices/pci0000:00/0000:00:02.0/driver", "bus/pci/drivers/vfio-pci");
    Link("devices/pci0000:00/0000:00:02.0/iommu_group", "kernel/iommu_groups/7");
    Write("devices/pci0000:00/0000:00:02.0/drm/renderD128/dev", "226:128");
    Link("bus/pci/devices/0000:3B:00.0", "devices/pci0000:3a/0000:3a:00.0/0000:3B:00.0");
    Link("bus/pci/devices/0000:00:02.0", "devices/pci0000:00/0000:00:02.0");
    Interface("eth0", "52:54:00:00:00:01", "10000");
    Link("class/net/eth0/device", "devices/pci0000:3a/0000:3a:00.0/0000:3B:00.0");
    Interface("eth1", "52:54:00:00:00:02", "-1");
    Link("class/net/eth1/device", "devices/pci0000:3a/0000:3a:00.0/0000:3B:00.0");
    Interface("lo", "00:00:00:00:00:00", "");
    Write("class/net/bonding_masters", "");
    for (const std::string n : {"0", "1"}) {
      const std::string node = "devices/system/node/node" + n;
      Write(node + "/cpulist", n == "0" ? "0-1,4" : "2-3");
      Write(node + "/meminfo", "Node " + n + " MemTotal:       2097152 kB\nNode 0 MemFree: 1 kB\n");
      Write(node + "/hugepages/hugepages-2048kB/nr_hugepages", n == "0" ? "16" : "0");
    }
    Write("devices/system/node/possible", "0-1");
    Write("devices/system/cpu/cpu2/topology/physical_package_id", "1");
    Write("pci.ids",
          "# comment\n8086  Intel Corporation\n\t1533  I210 Gigabit\n\t\t8086 0001  Sub\n"
          "1af4  Red Hat\nC 02  Network\n");
  }
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    ASSERT_THAT(files::WriteWhole(path.string(), text + "\n"), IsOk());
  }
  void Link(const std::string& name, const std::string& target) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_directories(folder_ / target);
    std::filesystem::create_symlink(folder_ / target, path);
  }
  void Function(const std::string& path, const std::string& vendor, const std::string& device,
                const std::string& type, const std::string& node) {
    Write(path + "/vendor", vendor);
    Write(path + "/device", device);
    Write(path + "/class", type);
    Write(path + "/numa_node", node);
  }
  void Interface(const std::string& name, const std::string& mac, const std::string& speed) {
    Write("class/net/" + name + "/address", mac);
    Write("class/net/" + name + "/mtu", "1500");
    Write("class/net/" + name + "/operstate", "up");
    Write("class/net/" + name + "/speed", speed);
  }
  std::vector<DescribedDevice> Found(std::set<std::string> kinds,
                                     const std::vector<std::string>& filters = {}) {
    DiscoverOptions options{
        .sys = folder_.path(), .pci_ids = folder_ / "pci.ids", .kinds = std::move(kinds)};
    for (const std::string& text : filters) options.filters.push_back(*ParseFilter(text));
    const auto file = Discover(options);
    EXPECT_THAT(file, IsOk());
    // What is found is a description that a server would take.
    EXPECT_THAT(ReadDeviceFile(ToYaml(*file)), IsOk());
    return file->pools.at(0).devices;
  }
  static std::string Text(const DescribedDevice& device, std::string_view name) {
    const api::DeviceAttribute* attribute = device.device.attributes.Find(name);
    return attribute == nullptr ? "none" : attribute->string_value->str();
  }

  files::TemporaryFolder folder_;
};

TEST_F(DiscoverTest, PciFunctionsHaveTheirStandardAttributes) {
  const auto found = Found({"pci"});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].device.name, "pci-0000-00-02-0");
  EXPECT_EQ(Text(found[0], "resource.kubernetes.io/pcieRoot"), "pci0000:00");
  EXPECT_EQ(found[0].device.attributes.Find("resource.kubernetes.io/numaNode"), nullptr);
  EXPECT_EQ(Text(found[0], "driver"), "vfio-pci");
  ASSERT_THAT(found[0].cdi->device_nodes, SizeIs(3));
  EXPECT_EQ(found[0].cdi->device_nodes[1].path, "/dev/vfio/7");
  EXPECT_EQ(found[0].cdi->device_nodes[2].path, "/dev/dri/renderD128");
  EXPECT_EQ(found[1].device.name, "pci-0000-3b-00-0");
  EXPECT_EQ(Text(found[1], "resource.kubernetes.io/pciBusID"), "0000:3b:00.0");
  EXPECT_EQ(Text(found[1], "resource.kubernetes.io/pcieRoot"), "pci0000:3a");
  EXPECT_EQ(found[1].device.attributes.Find("resource.kubernetes.io/numaNode")->int_value, 1);
  EXPECT_EQ(Text(found[1], "vendor"), "8086");
  EXPECT_EQ(Text(found[1], "vendorName"), "Intel Corporation");
  EXPECT_EQ(Text(found[1], "model"), "I210 Gigabit");
  EXPECT_EQ(Text(found[0], "model"), "none");
  EXPECT_THAT(found[1].cdi->env, ElementsAre("PCI_DEVICE_0000_3B_00_0=0000:3b:00.0"));
}

// As a list (KEP-5491): the own node, then those of its socket that are nearest.
TEST_F(DiscoverTest, NumaNodesCanBeLists) {
  Write("devices/system/node/node2/cpulist", "5");
  Write("devices/system/node/node3/cpulist", "6");
  for (const auto& [cpu, package] : {std::pair("0", "0"), {"5", "0"}, {"6", "1"}}) {
    Write(std::string("devices/system/cpu/cpu") + cpu + "/topology/physical_package_id", package);
  }
  Write("devices/system/cpu/cpu2/topology/physical_package_id", "0");
  const auto of = [&](const std::string& distances) {
    Write("devices/system/node/node1/distance", distances);
    DiscoverOptions options{.sys = folder_.path(), .kinds = {"pci", "net"}, .numa_lists = true};
    const auto file = Discover(options);
    EXPECT_THAT(file, IsOk());
    EXPECT_THAT(ReadDeviceFile(ToYaml(*file)), IsOk());
    std::vector<std::int64_t> nodes;
    for (const DescribedDevice& device : file->pools.at(0).devices) {
      const auto* numa = device.device.attributes.Find("resource.kubernetes.io/numaNode");
      if (device.device.name == "pci-0000-00-02-0") {
        EXPECT_EQ(numa, nullptr);
        continue;
      }
      EXPECT_FALSE(numa->int_value.has_value());
      nodes = *numa->Lists().int_values;
    }
    return nodes;
  };
  EXPECT_THAT(of("12 10 12 11"), ElementsAre(1, 0, 2));
  EXPECT_THAT(of("12 10 15 11"), ElementsAre(1, 0));
  // A kernel that says nothing sensible.
  EXPECT_THAT(of("12 10"), ElementsAre(1));
  EXPECT_THAT(of(""), ElementsAre(1));
}

TEST_F(DiscoverTest, FiltersTakeWhatTheyName) {
  EXPECT_THAT(Found({"pci"}, {"class=02*"}), SizeIs(1));
  EXPECT_THAT(Found({"pci"}, {"class=02*", "vendor=1af4"}), IsEmpty());
  EXPECT_THAT(Found({"pci"}, {"pciBusID=*:02.*"}), SizeIs(1));
  EXPECT_THAT(Found({"pci"}, {"numaNode=1"}), SizeIs(1));
  EXPECT_THAT(Found({"pci"}, {"nothing=*"}), IsEmpty());
  EXPECT_THAT(ParseFilter("class"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("class=02*")));
}

TEST_F(DiscoverTest, InterfacesShareTheirBandwidth) {
  const auto found = Found({"net"});
  ASSERT_THAT(found, SizeIs(2));
  const api::Device& fast = found[0].device;
  EXPECT_EQ(fast.name, "net-eth0");
  EXPECT_EQ(fast.allow_multiple_allocations, true);
  const api::DeviceCapacity* bandwidth = fast.capacity.Find("bandwidth");
  ASSERT_NE(bandwidth, nullptr);
  EXPECT_EQ(bandwidth->value.ToString(), "10G");
  EXPECT_EQ(bandwidth->request_policy->default_value->ToString(), "100M");
  EXPECT_EQ(bandwidth->request_policy->valid_range->step->ToString(), "1M");
  EXPECT_EQ(fast.attributes.Find("resource.kubernetes.io/numaNode")->int_value, 1);
  EXPECT_THAT(found[0].cdi->env,
              ElementsAre("NET_INTERFACE_ETH0=eth0", "NET_BANDWIDTH_ETH0=${capacity.bandwidth}"));
  // One that does not know how fast it is belongs to one claim at a time.
  EXPECT_FALSE(found[1].device.allow_multiple_allocations.has_value());
  EXPECT_THAT(found[1].device.capacity, IsEmpty());
}

TEST_F(DiscoverTest, NumaNodesShareTheirMemoryAndCpus) {
  const auto found = Found({"numa"});
  ASSERT_THAT(found, SizeIs(2));
  const api::Device& node = found[1].device;
  EXPECT_EQ(node.name, "numa-1");
  EXPECT_EQ(node.capacity.Find("memory")->value.ToString(), "2Gi");
  EXPECT_EQ(node.capacity.Find("cpus")->value.ToString(), "2");
  EXPECT_EQ(node.allow_multiple_allocations, true);
  EXPECT_EQ(node.attributes.Find("socket")->int_value, 1);
  EXPECT_EQ(Text(found[0], "cpus"), "0-1,4");
}

TEST_F(DiscoverTest, CpuSetsAndHugepagesAreOfNodes) {
  const auto sets = Found({"cpu"});
  ASSERT_THAT(sets, SizeIs(2));
  EXPECT_EQ(sets[0].device.capacity.Find("cpus")->value.ToString(), "3");
  EXPECT_THAT(sets[0].cdi->env, ElementsAre("CPUSET_0=0-1,4"));
  const auto pages = Found({"hugepages"});
  ASSERT_THAT(pages, SizeIs(1));
  EXPECT_EQ(pages[0].device.name, "hugepages-2mi-node-0");
  EXPECT_EQ(pages[0].device.capacity.Find("memory")->value.ToString(), "32Mi");
  EXPECT_EQ(pages[0].device.capacity.Find("memory")->request_policy->valid_range->step->ToString(),
            "2Mi");
}

TEST_F(DiscoverTest, AKindThatThereIsNotIsNamed) {
  EXPECT_THAT(Discover({.kinds = {"usb"}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("pci, net, numa, cpu, hugepages")));
}

TEST(Discover, ThisMachineCanBeDescribed) {
  const auto file = Discover({.kinds = {"pci", "net", "numa", "cpu", "hugepages"}});
  ASSERT_THAT(file, IsOk());
  EXPECT_THAT(ReadDeviceFile(ToYaml(*file)), IsOk());
}

TEST(Discover, ListsOfCpusAreRead) {
  EXPECT_THAT(internal::ParseCpuList("0-2,7"), Optional(ElementsAre(0, 1, 2, 7)));
  EXPECT_THAT(internal::ParseCpuList(""), Optional(IsEmpty()));
  EXPECT_EQ(internal::ParseCpuList("2-1"), std::nullopt);
  EXPECT_EQ(internal::ParseCpuList("a"), std::nullopt);
  EXPECT_EQ(internal::ParseCpuList("1-"), std::nullopt);
}

}  // namespace
}  // namespace dray::driver
