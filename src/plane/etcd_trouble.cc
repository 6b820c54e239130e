// SPDX-License-Identifier: Apache-2.0
#include "plane/etcd_trouble.h"

#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dray::plane {
namespace {

// Empty: it says itself what is the matter.
std::string_view Reason(std::string_view told, bool tls, bool shows_certificate) {
  const auto says = [told](std::string_view text) { return told.find(text) != told.npos; };
  if (says("certificate verify failed") || says("Peer name") || says("Hostname Verification")) {
    return "its certificate is not signed by a CA of --etcd-cafile (or, without that flag, by one "
           "that this machine trusts), or is for another name";
  }
  if (says("empty address list"))
    return "the files of the --etcd-... flags are not PEM certificates";
  // The server hangs up, and TLS has no word for why that would come back in time.
  const bool hung_up =
      says("Endpoint read failed") || says("Socket closed") || says("Connection reset");
  if (hung_up && !tls)
    return "it closes the connection, possibly because it only accepts TLS: try etcds://";
  if (hung_up && shows_certificate) {
    return "it closes the connection: it does not accept the certificate of --etcd-certfile, or "
           "does not use TLS";
  }
  if (hung_up) {
    return "it closes the connection: it may require a client certificate (--etcd-certfile and "
           "--etcd-keyfile)";
  }
  if (says("wrong version number")) return "it does not use TLS: try etcd://";
  if (says("Connection refused")) return "connection refused";
  if (says("DNS resolution failed")) return "unknown host name";
  if (says("Deadline Exceeded") || says("timed out")) return "it did not answer in time";
  return "";
}

}  // namespace

Status EtcdTrouble(const Status& status, const store::EtcdOptions& options) {
  constexpr std::string_view kNobody = "no member of etcd answers: ";
  std::string_view told = base::Message(status);
  if (!told.starts_with(kNobody)) return status;
  told.remove_prefix(kNobody.size());
  std::vector<std::string> endpoints;
  bool tls = false;
  for (const rpc::EtcdEndpoint& endpoint : options.address.endpoints) {
    endpoints.push_back(endpoint.address);
    tls |= endpoint.tls;
  }
  const std::string_view reason = Reason(told, tls, !options.tls.certificate.empty());
  if (reason.empty()) return status;
  return base::MakeStatus(status.code(), fmt::format("no member of etcd answers at {}: {} ({})",
                                                     fmt::join(endpoints, ", "), reason, told));
}

}  // namespace dray::plane
