// SPDX-License-Identifier: Apache-2.0
#include "node/machine.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "files/files.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string ReadLine(const std::string& path) {
  auto text = files::ReadWhole(path);
  return text.ok() ? Trimmed(*std::move(text)) : std::string();
}

// The number behind "MemTotal:".
std::optional<std::int64_t> NumberAfter(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const char* begin = text.data() + at + key.size();
  const char* end = text.data() + text.size();
  while (begin != end && *begin == ' ') ++begin;
  std::int64_t number = 0;
  if (std::from_chars(begin, end, number).ec != std::errc()) return std::nullopt;
  return number;
}

// PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
std::string PrettyName(std::string_view text) {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  const std::size_t at = text.find(kKey);
  if (at == std::string_view::npos) return "Linux";
  std::string_view line = text.substr(at + kKey.size());
  line = line.substr(0, line.find('\n'));
  if (line.size() >= 2 && line.front() == '"') line = line.substr(1, line.size() - 2);
  return std::string(line);
}

std::string Architecture(std::string_view machine) {
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  if (machine == "armv7l") return "arm";
  return std::string(machine);
}

std::vector<std::string> Addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, &::freeifaddrs);
  std::vector<std::string> four;
  std::vector<std::string> six;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0 ||
        (one->ifa_flags & IFF_LOOPBACK) != 0) {
      continue;
    }
    char text[INET6_ADDRSTRLEN] = {};
    if (one->ifa_addr->sa_family == AF_INET) {
      const auto* in = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
      if (::inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)) != nullptr)
        four.emplace_back(text);
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      const auto* in = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
      if (IN6_IS_ADDR_LINKLOCAL(&in->sin6_addr)) continue;
      if (::inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof(text)) != nullptr) {
        six.emplace_back(text);
      }
    }
  }
  // One of each family: the first that the machine has.
  std::vector<std::string> addresses;
  if (!four.empty()) addresses.push_back(four.front());
  if (!six.empty()) addresses.push_back(six.front());
  return addresses;
}

base::Quantity Kibibytes(std::int64_t amount) {
  return base::Quantity::FromInt(amount * 1024, base::Quantity::Format::kBinarySI);
}

}  // namespace

Machine LookAtMachine(const MachineOptions& options) {
  Machine machine;
  machine.capacity["cpu"] =
      base::Quantity::FromInt(std::max<long>(1, ::sysconf(_SC_NPROCESSORS_ONLN)));
  machine.capacity["pods"] = base::Quantity::FromInt(options.max_pods);
  if (const auto text = files::ReadWhole(options.proc + "/meminfo"); text.ok()) {
    if (const auto total = NumberAfter(*text, "MemTotal:")) {
      machine.capacity["memory"] = Kibibytes(*total);
    }
  }
  const std::string pages = options.sys + "/kernel/mm/hugepages";
  if (const auto sizes = files::NamesIn(pages); sizes.ok()) {
    for (const std::string& name : *sizes) {
      const auto size = NumberAfter(name, "hugepages-");
      const auto count = NumberAfter(ReadLine(fmt::format("{}/{}/nr_hugepages", pages, name)), "");
      if (!size || !count) continue;
      const std::string resource = "hugepages-" + Kibibytes(*size).ToString();
      machine.capacity[resource] = Kibibytes(*size * *count);
    }
  }
  struct statvfs disk {};
  if (::statvfs(options.disk.c_str(), &disk) == 0) {
    machine.capacity["ephemeral-storage"] = Kibibytes(
        static_cast<std::int64_t>(disk.f_blocks) * static_cast<std::int64_t>(disk.f_frsize) / 1024);
  }
  utsname name{};
  if (::uname(&name) == 0) {
    machine.info.kernel_version = name.release;
    machine.info.architecture = Architecture(name.machine);
    machine.hostname = name.nodename;
  }
  machine.info.operating_system = "linux";
  machine.info.kubelet_version = options.version;
  machine.info.machine_id = ReadLine(options.etc + "/machine-id");
  machine.info.system_uuid = ReadLine(options.sys + "/class/dmi/id/product_uuid");
  if (machine.info.system_uuid.empty()) machine.info.system_uuid = machine.info.machine_id;
  machine.info.boot_id = ReadLine(options.proc + "/sys/kernel/random/boot_id");
  const auto release = files::ReadWhole(options.etc + "/os-release");
  machine.info.os_image = release.ok() ? PrettyName(*release) : "Linux";
  machine.addresses = Addresses();
  machine.app_armor = ReadLine(options.sys + "/module/apparmor/parameters/enabled") == "Y";
  return machine;
}

}  // namespace dray::node
