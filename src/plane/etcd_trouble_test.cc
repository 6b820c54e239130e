// SPDX-License-Identifier: Apache-2.0
#include "plane/etcd_trouble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace dray::plane {
namespace {

using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// As gRPC 1.51 says it of a real etcd.
TEST(EtcdTrouble, SaysWhatWouldHelp) {
  store::EtcdOptions plain{.address = {.endpoints = {{.address = "a:1"}, {.address = "b:1"}}}};
  store::EtcdOptions tls{.address = {.endpoints = {{.address = "a:1", .tls = true}}}};
  store::EtcdOptions shown = tls;
  shown.tls.certificate = "PEM";
  const auto expect = [](const store::EtcdOptions& options, const std::string& told,
                         const std::string& reason) {
    const std::string text = "a:1: " + told;
    EXPECT_THAT(
        EtcdTrouble(base::Unavailable("no member of etcd answers: " + text), options),
        StatusIs(StatusCode::kUnavailable, AllOf(StartsWith("no member of etcd answers at a:1"),
                                                 HasSubstr(reason), HasSubstr("(" + text + ")"))));
  };
  expect(tls,
         "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Ssl handshake "
         "failed: SSL_ERROR_SSL: error:0A000086:SSL routines::certificate verify failed",
         "--etcd-cafile");
  expect(tls, "last error: UNAVAILABLE: ipv4:127.0.0.1:1: Endpoint read failed",
         "may require a client certificate (--etcd-certfile");
  expect(shown, "last error: UNAVAILABLE: ipv4:127.0.0.1:1: Endpoint read failed",
         "does not accept the certificate of --etcd-certfile");
  expect(plain, "last error: UNAVAILABLE: ipv4:127.0.0.1:1: Socket closed", "try etcds://");
  expect(plain, "Failed to connect to remote host: Connection refused",
         "a:1, b:1: connection refused");
  expect(plain, "DNS resolution failed for a:1: C-ares status", "unknown host name");
  expect(tls, "empty address list: ", "are not PEM certificates");
}

TEST(EtcdTrouble, LeavesWhatIsClear) {
  const store::EtcdOptions options{.address = {.endpoints = {{.address = "a:1"}}}};
  for (const Status& status :
       {base::FailedPrecondition("etcd 3.4.23 loses events"),
        base::Unavailable("no member of etcd answers: a:1: something new")}) {
    EXPECT_EQ(EtcdTrouble(status, options), status);
  }
}

}  // namespace
}  // namespace dray::plane
