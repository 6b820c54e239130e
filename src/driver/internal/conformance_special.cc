// SPDX-License-Identifier: Apache-2.0
//
// The conformance suite's checks with claims that are not the usual ones, and with several at a time.
#include <algorithm>
#include <utility>

#include "cdi/folder.h"
#include "cdi/registry.h"
#include "driver/internal/conformance_run.h"
#include "fmt/format.h"

namespace dray::driver::internal {
namespace {

constexpr std::string_view kShares[] = {"00000000-0000-4000-8000-0000000000a1",
                                        "00000000-0000-4000-8000-0000000000a2"};

std::string Text(const Status& status) {
  return status.ok() ? "" : std::string(base::Message(status));
}

}  // namespace

// What is still there of the CDI devices that have the claim's UID in their names. Others may be of
// the driver itself, and stay.
std::string Run::LeftoverFault(const rpc::PreparedClaim& prepared,
                               const rpc::ClaimName& claim) const {
  const cdi::Registry registry = cdi::Load(options_.cdi_folders);
  for (const rpc::PreparedDevice& device : prepared.devices) {
    for (const std::string& id : device.cdi_ids) {
      if (id.find(claim.uid) == std::string::npos) continue;
      if (registry.Resolve(std::vector<std::string>{id}).ok()) {
        return fmt::format("{} is still there", id);
      }
    }
  }
  return "";
}

// A claim of a shape that drivers meet now and then, prepared and unprepared.
void Run::SpecialClaim(std::string_view name, std::string_view rule, const Given& device,
                       Shape shape) {
  const auto claim = MakeClaim({device}, shape);
  if (!claim.ok()) return Skip(name, rule, Text(claim.status()));
  Check(name, rule, FaultOf(Prepare({*claim}), *claim, {device}));
  (void)Unprepare({*claim});
  (void)DeleteClaim(*claim);
}

void Run::SpecialClaims(const std::vector<Given>& free) {
  SpecialClaim("prepare/subrequest",
               "A device for a subrequest is answered under the request, without the subrequest",
               free[0], Shape::kSubrequest);
  SpecialClaim("prepare/foreign-device", "Devices of other drivers in a claim are left to them",
               free[0], Shape::kForeignDevice);
  SpecialClaim("prepare/foreign-parameters", "Parameters for other drivers are ignored", free[0],
               Shape::kForeignParameters);
  Shares();
}

void Run::Shares() {
  constexpr std::string_view kName = "prepare/shares";
  constexpr std::string_view kRule =
      "Two shares of a device are two devices of the answer, each with its share ID and with CDI "
      "devices of its own";
  if (std::ranges::find(info_.supported_versions, "v1.DRAPlugin") ==
      info_.supported_versions.end()) {
    return Skip(kName, kRule, "v1beta1.DRAPlugin has no share IDs");
  }
  const std::vector<Given> shared = FreeDevices(true);
  if (shared.empty()) return Skip(kName, kRule, "the driver has no device that claims can share");
  std::vector<Given> both(2, shared[0]);
  for (std::size_t i = 0; i < 2; ++i) both[i].share = std::string(kShares[i]);
  const auto claim = MakeClaim(both);
  if (!claim.ok()) return Skip(kName, kRule, Text(claim.status()));
  const auto answer = Prepare({*claim});
  std::string fault = FaultOf(answer, *claim, both);
  if (fault.empty()) {
    const auto& devices = answer->at(claim->uid).devices;
    for (const std::string_view share : kShares) {
      const bool there = std::ranges::any_of(
          devices, [&](const rpc::PreparedDevice& device) { return device.share_id == share; });
      if (!there) fault = fmt::format("no device of the answer has the share ID {}", share);
    }
    if (fault.empty() && devices.size() == 2 && !devices[0].cdi_ids.empty() &&
        devices[0].cdi_ids == devices[1].cdi_ids) {
      fault = fmt::format("both have the CDI devices {}", fmt::join(devices[0].cdi_ids, ", "));
    }
  }
  Check(kName, kRule, fault);
  (void)Unprepare({*claim});
  (void)DeleteClaim(*claim);
}

void Run::AtOnce(const std::vector<Given>& free) {
  Mixed(free);
  constexpr std::string_view kRule = "Calls that come at the same time are all answered";
  if (free.size() < 2) {
    return Skip("prepare/at-once", kRule, "the driver has only one free device");
  }
  const auto a = MakeClaim({free[0]});
  const auto b = MakeClaim({free[1]});
  if (!a.ok() || !b.ok()) {
    return Skip("prepare/at-once", kRule, Text(a.ok() ? b.status() : a.status()));
  }
  Answer<StatusOr<rpc::PrepareAnswer>> first;
  Answer<StatusOr<rpc::PrepareAnswer>> second;
  channel_->Prepare({*a}, options_.patience, first.Taker());
  channel_->Prepare({*b}, options_.patience, second.Taker());
  const auto wait = options_.patience + std::chrono::seconds(10);
  const StatusOr<rpc::PrepareAnswer> none = base::Unavailable("no answer");
  std::string fault = FaultOf(first.Await(wait).value_or(none), *a, {free[0]});
  const std::string other = FaultOf(second.Await(wait).value_or(none), *b, {free[1]});
  if (fault.empty()) fault = other;
  Check("prepare/at-once", kRule, fault);
  for (const rpc::ClaimName& claim : {*a, *b}) {
    (void)Unprepare({claim});
    (void)DeleteClaim(claim);
  }
}

// One claim of a call can be prepared, the other does not exist.
void Run::Mixed(const std::vector<Given>& free) {
  constexpr std::string_view kRule =
      "If one of several claims cannot be prepared, the call fails, or every claim has an entry";
  const auto good = MakeClaim({free[0]});
  if (!good.ok()) return Skip("prepare/mixed", kRule, Text(good.status()));
  const rpc::ClaimName nobody{.namespace_ = options_.namespace_,
                              .uid = "00000000-0000-4000-8000-00000000dead",
                              .name = "dray-driver-test-nobody"};
  const auto both = Prepare({*good, nobody});
  std::string fault;
  if (both.ok()) {
    fault = FaultOf(both, *good, {free[0]});
    if (fault.empty()) fault = RefusalFault(both, nobody);
  } else {
    fault = FaultOf(Prepare({*good}), *good, {free[0]});
    if (!fault.empty()) fault = "the call failed, and afterwards the good claim alone: " + fault;
  }
  Check("prepare/mixed", kRule, fault);
  (void)Unprepare({*good, nobody});
  (void)DeleteClaim(*good);
}

}  // namespace dray::driver::internal
