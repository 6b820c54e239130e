// SPDX-License-Identifier: Apache-2.0
#include "plane/identities.h"

#include <string>

#include "base/names.h"
#include "fmt/format.h"
#include "registry/roles.h"

namespace dray::plane {
namespace {

using apiserver::ClientIdentity;

std::string Text(std::string_view prefix, std::string_view name) {
  return std::string(prefix).append(name);
}

}  // namespace

std::vector<ClientIdentity> StandardClients() {
  return {{"admin", "kubernetes-admin", {std::string(registry::kMasters)}},
          {"viewer", "dray-viewer", {std::string(registry::kViewers)}},
          {"scheduler", std::string(registry::kSchedulerUser), {}},
          {"controllers", std::string(registry::kControllersUser), {}}};
}

StatusOr<ClientIdentity> ClientFor(std::string_view who, std::string_view node) {
  const std::size_t slash = who.find('/');
  const std::string_view role = who.substr(0, slash);
  const std::string_view name = slash == who.npos ? std::string_view() : who.substr(slash + 1);
  const bool known = role == "node" || role == "driver" || role == "admin" || role == "viewer";
  if (!known || name.empty()) {
    return base::InvalidArgument(
        fmt::format("\"{}\": expected node/NAME, driver/NAME, admin/NAME or viewer/NAME", who));
  }
  if (!base::IsDnsSubdomain(name)) {
    return base::InvalidArgument(fmt::format(
        "\"{}\" in \"{}\": expected lower-case letters, digits, '-' and '.', as in gpu.example.com",
        name, who));
  }
  if (!node.empty() && role != "driver") {
    return base::InvalidArgument(fmt::format("a node can be given for a driver, not for {}", who));
  }
  if (!node.empty() && !base::IsDnsSubdomain(node)) {
    return base::InvalidArgument(fmt::format("node \"{}\": expected the name of a node", node));
  }
  ClientIdentity client{
      .name = fmt::format("{}-{}", role, name), .user = std::string(name), .groups = {}};
  if (role == "admin") {
    client.groups = {std::string(registry::kMasters)};
  } else if (role == "viewer") {
    client.groups = {std::string(registry::kViewers)};
  } else if (role == "node") {
    client.user = Text(registry::kNodeUserPrefix, name);
    client.groups = {std::string(registry::kNodes)};
    client.host = std::string(name);
  } else if (node.empty()) {
    client.user = Text(registry::kDriverUserPrefix, name);
    client.groups = {std::string(registry::kDrivers)};
  } else {
    client.name += fmt::format("-on-{}", node);
    client.user = Text(registry::kNodeDriverUserPrefix, name);
    client.groups = {std::string(registry::kDrivers), Text(registry::kOnNodePrefix, node)};
  }
  return client;
}

}  // namespace dray::plane
