// SPDX-License-Identifier: Apache-2.0
//
// A whole driver: two coins, of which a container that gets one learns the name.
//
//   coin_driver KUBECONFIG NODE [KUBELET-ROOT [CDI-FOLDER]]
#include <csignal>
#include <iostream>

#include "driver/driver.h"

namespace kit = dray::driver;

// What this driver does with its devices: it names them.
class Coins final : public kit::DeviceHandler {
 public:
  dray::StatusOr<std::vector<kit::DeviceSetup>> Prepare(const kit::ClaimView& claim) override {
    std::vector<kit::DeviceSetup> setups;
    for (const kit::AllocatedDevice& device : claim.devices) {
      setups.emplace_back().edits.env = {"COIN=" + device.device};
    }
    return setups;
  }
};

int Fail(const dray::Status& status) {
  std::cerr << dray::base::Message(status) << '\n';
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3)
    return Fail(dray::base::InvalidArgument("coin_driver KUBECONFIG NODE [ROOT [CDI]]"));
  sigset_t end;  // blocked before threads are started, so that sigwait gets them
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigaddset(&end, SIGINT);
  pthread_sigmask(SIG_BLOCK, &end, nullptr);

  const auto access = dray::client::LoadAccess({.kubeconfig = argv[1]});
  if (!access.ok()) return Fail(access.status());
  kit::DriverOptions options{.name = "coins.example.com", .node = argv[2]};
  if (argc > 3) options.root = argv[3];
  if (argc > 4) options.cdi_folder = argv[4];
  options.problem = [](const dray::Status& status) { (void)Fail(status); };
  Coins coins;
  const auto driver = kit::Driver::Start(options, coins, *access);
  if (!driver.ok()) return Fail(driver.status());
  (*driver)->Publish({{argv[2], kit::PoolOf({{.name = "dime"}, {.name = "penny"}})}});

  int signal = 0;
  sigwait(&end, &signal);
  return 0;
}
