// SPDX-License-Identifier: Apache-2.0
#include "driver/socket_names.h"

#include <openssl/sha.h>

#include <array>
#include <vector>

#include "api/resource_slice.h"
#include "base/names.h"
#include "fmt/format.h"

namespace dray::driver {
namespace {

// The first whose whole path is short enough.
StatusOr<std::string> FirstThatFits(const std::string& folder,
                                    const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::string path = fmt::format("{}/{}", folder, name);
    if (path.size() <= kLongestSocketPath) return path;
  }
  return base::InvalidArgument(
      fmt::format("no socket fits into folder \"{}\": a socket's path has at most {} bytes. Use a "
                  "shorter root folder",
                  folder, kLongestSocketPath));
}

std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

std::string ShortHash(std::string_view text, std::size_t bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  std::string out;
  unsigned bits = 0;
  int have = 0;
  for (std::size_t i = 0; i < bytes && i < hash.size(); ++i) {
    bits = (bits << 8) | hash[i];
    have += 8;
    while (have >= 6) {
      have -= 6;
      out += kDigits[(bits >> have) & 63U];
    }
  }
  if (have > 0) out += kDigits[(bits << (6 - have)) & 63U];
  return out;
}

StatusOr<SocketNames> SocketNamesFor(const SocketPlace& place) {
  if (place.driver.size() > api::kDriverNameMaxLength || !base::IsDnsSubdomain(place.driver)) {
    return base::InvalidArgument(
        fmt::format("\"{}\" is not a valid driver name: it must be a DNS subdomain of at most {} "
                    "characters, such as gpu.example.com",
                    place.driver, api::kDriverNameMaxLength));
  }
  const std::string root = WithoutSlash(place.root);
  SocketNames names;
  names.folder = fmt::format("{}/plugins/{}", root, place.driver);
  names.registry =
      place.registry.empty() ? root + "/plugins_registry" : WithoutSlash(place.registry);
  std::vector<std::string> dra = {"dra.sock"};
  std::vector<std::string> registration = {place.driver + "-reg.sock"};
  if (!place.instance.empty()) {
    const std::string hash = ShortHash(place.instance, 8);
    dra = {fmt::format("dra-{}.sock", place.instance), fmt::format("dra-{}.sock", hash),
           fmt::format("{}.sock", hash)};
    const std::string both = fmt::format("{}{}{}", place.driver, '\0', place.instance);
    registration = {fmt::format("{}-{}-reg.sock", place.driver, place.instance),
                    fmt::format("{}-{}-reg.sock", place.driver, hash),
                    fmt::format("dra-{}-reg.sock", ShortHash(both, 16))};
  }
  DRAY_ASSIGN_OR_RETURN(names.dra, FirstThatFits(names.folder, dra));
  DRAY_ASSIGN_OR_RETURN(names.registration, FirstThatFits(names.registry, registration));
  return names;
}

}  // namespace dray::driver
