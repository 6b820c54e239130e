// SPDX-License-Identifier: Apache-2.0
//
// The conformance suite's checks with claims of its own.
#include <algorithm>
#include <map>
#include <utility>

#include "cdi/folder.h"
#include "cdi/names.h"
#include "cdi/registry.h"
#include "driver/claim_view.h"
#include "driver/internal/conformance_run.h"
#include "fmt/format.h"

namespace dray::driver::internal {
namespace {

constexpr std::string_view kRequest = "r";
constexpr std::string_view kSubrequest = "sub";
constexpr std::string_view kClass = "dray-driver-test";
constexpr std::string_view kForeignRequest = "other";
constexpr std::string_view kForeignDriver = "nobody.dray-driver-test.example.com";
constexpr std::string_view kClaimsRule = "Claims are prepared and unprepared";

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

std::string Text(const Status& status) {
  return status.ok() ? "" : std::string(base::Message(status));
}

}  // namespace

bool Run::IsPublished(std::string_view pool, std::string_view device) const {
  return std::ranges::any_of(slices_, [&](const api::ResourceSlice& slice) {
    return slice.spec.pool.name == pool && slice.spec.devices &&
           std::ranges::find(*slice.spec.devices, device, &api::Device::name) !=
               slice.spec.devices->end();
  });
}

std::vector<Run::Given> Run::FreeDevices(bool shared) const {
  std::vector<Given> free;
  if (options_.cluster == nullptr) return free;
  const auto claims = options_.cluster->List(KindOf<api::ResourceClaim>());
  if (!claims.ok()) return free;
  std::set<std::pair<std::string, std::string>> taken;
  for (const api::Object& object : *claims) {
    const auto* claim = object.As<api::ResourceClaim>();
    if (!claim->status.allocation.has_value()) continue;
    for (const auto& result : claim->status.allocation->devices.results) {
      if (result.driver == info_.name) taken.emplace(result.pool, result.device);
    }
  }
  for (const api::ResourceSlice& slice : slices_) {
    for (const api::Device& device : slice.spec.devices.value_or(std::vector<api::Device>())) {
      if (device.allow_multiple_allocations.value_or(false) != shared) continue;
      if (!device.consumes_counters.empty() || !device.taints.empty()) continue;
      if (taken.contains({slice.spec.pool.name, device.name})) continue;
      free.push_back({.pool = slice.spec.pool.name, .device = device.name});
    }
  }
  return free;
}

StatusOr<rpc::ClaimName> Run::MakeClaim(const std::vector<Given>& devices, Shape shape) {
  api::ResourceClaim claim;
  claim.metadata.namespace_ = options_.namespace_;
  claim.metadata.generate_name = "dray-driver-test-";
  api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
  request.name = kRequest;
  const std::int64_t count = std::max<std::int64_t>(1, static_cast<std::int64_t>(devices.size()));
  if (shape == Shape::kSubrequest) {
    api::DeviceSubRequest& sub = request.first_available.emplace_back();
    sub.name = kSubrequest;
    sub.device_class_name = kClass;
    sub.count = count;
    sub.allocation_mode = api::kAllocationModeExactCount;
  } else {
    request.exactly.emplace().device_class_name = kClass;
    request.exactly->count = count;
    request.exactly->allocation_mode = api::kAllocationModeExactCount;
  }
  if (shape == Shape::kForeignDevice) {
    api::DeviceRequest& other = claim.spec.devices.requests.emplace_back();
    other.name = kForeignRequest;
    other.exactly.emplace().device_class_name = kClass;
    other.exactly->count = 1;
    other.exactly->allocation_mode = api::kAllocationModeExactCount;
  }
  DRAY_ASSIGN_OR_RETURN(api::Object made, options_.cluster->Create(api::Object::Of(claim)));
  const rpc::ClaimName name{.namespace_ = made.metadata().namespace_,
                            .uid = made.metadata().uid,
                            .name = made.metadata().name};
  made_.push_back(name);
  if (devices.empty()) return name;
  auto* stored = made.Mutable<api::ResourceClaim>();
  api::AllocationResult& allocation = stored->status.allocation.emplace();
  const std::string request_name = shape == Shape::kSubrequest
                                       ? fmt::format("{}/{}", kRequest, kSubrequest)
                                       : std::string(kRequest);
  for (const Given& device : devices) {
    allocation.devices.results.push_back({.request = request_name,
                                          .driver = info_.name,
                                          .pool = device.pool,
                                          .device = device.device,
                                          .share_id = device.share});
  }
  if (shape == Shape::kForeignDevice) {
    allocation.devices.results.push_back({.request = std::string(kForeignRequest),
                                          .driver = std::string(kForeignDriver),
                                          .pool = "pool",
                                          .device = "device"});
  }
  if (shape == Shape::kForeignParameters) {
    api::DeviceAllocationConfiguration& config = allocation.devices.config.emplace_back();
    config.source = "FromClaim";
    config.opaque.emplace();
    config.opaque->driver = kForeignDriver;
    config.opaque->parameters.text = R"({"kind":"NobodyKnowsThis"})";
  }
  const auto updated = options_.cluster->UpdateStatus(made);
  if (!updated.ok()) return updated.status();
  return name;
}

Status Run::DeleteClaim(const rpc::ClaimName& claim) {
  std::erase(made_, claim);
  return options_.cluster->Delete(KindOf<api::ResourceClaim>(), claim.namespace_, claim.name,
                                  claim.uid);
}

void Run::CleanUp() {
  const std::vector<rpc::ClaimName> made = made_;
  for (const rpc::ClaimName& claim : made) {
    if (channel_ != nullptr) (void)Unprepare({claim});
    (void)DeleteClaim(claim);
  }
}

std::string Run::FaultOf(const StatusOr<rpc::PrepareAnswer>& answer, const rpc::ClaimName& claim,
                         const std::vector<Given>& devices) const {
  if (!answer.ok()) return fmt::format("the call failed: {}", Text(answer.status()));
  const auto entry = answer->find(claim.uid);
  if (entry == answer->end()) return "the answer has no entry for the claim";
  if (!entry->second.error.empty()) return fmt::format("error: {}", entry->second.error);
  for (const rpc::PreparedDevice& device : entry->second.devices) {
    const bool given = std::ranges::any_of(devices, [&](const Given& other) {
      return other.pool == device.pool && other.device == device.device;
    });
    if (!given) {
      return fmt::format("device {}/{} was not given to the claim", device.pool, device.device);
    }
    for (const std::string& request : device.requests) {
      if (request != kRequest) {
        return fmt::format(
            "device {}/{} names request \"{}\"; requests are named without "
            "subrequests, and this claim has only \"{}\"",
            device.pool, device.device, request, kRequest);
      }
    }
  }
  return "";
}

std::string Run::FaultOf(const StatusOr<rpc::UnprepareAnswer>& answer,
                         const rpc::ClaimName& claim) const {
  if (!answer.ok()) return fmt::format("the call failed: {}", Text(answer.status()));
  const auto entry = answer->find(claim.uid);
  if (entry == answer->end()) return "the answer has no entry for the claim";
  if (!entry->second.empty()) return fmt::format("error: {}", entry->second);
  return answer->size() == 1 ? "" : fmt::format("the answer has {} entries", answer->size());
}

std::string Run::RefusalFault(const StatusOr<rpc::PrepareAnswer>& answer,
                              const rpc::ClaimName& claim) {
  if (!answer.ok()) return "";
  const auto entry = answer->find(claim.uid);
  if (entry == answer->end()) return "neither an error nor an entry for the claim";
  return entry->second.error.empty() ? "it succeeded" : "";
}

std::string Run::CdiFault(const rpc::PreparedClaim& prepared) const {
  std::vector<std::string> ids;
  for (const rpc::PreparedDevice& device : prepared.devices) {
    ids.insert(ids.end(), device.cdi_ids.begin(), device.cdi_ids.end());
  }
  for (const std::string& id : ids) {
    if (const auto name = cdi::ParseQualifiedName(id); !name.ok()) return Text(name.status());
  }
  if (ids.empty()) return "";
  return Text(cdi::Load(options_.cdi_folders).Resolve(ids).status());
}

void Run::Claims() {
  if (options_.cluster == nullptr) {
    return Skip("prepare/claim", kClaimsRule,
                "there is no API server; --kubeconfig names one on which claims can be made");
  }
  const std::vector<Given> free = FreeDevices();
  if (free.empty()) {
    return Skip("prepare/claim", kClaimsRule,
                "the driver has no device that is free and that a claim can have alone");
  }
  OneClaim(free);
  WrongClaims(free);
  Batches(free);
  GoneClaim(free);
  SpecialClaims(free);
  AtOnce(free);
}

void Run::OneClaim(const std::vector<Given>& free) {
  const auto claim = MakeClaim({free[0]});
  if (!claim.ok()) return Skip("prepare/claim", kClaimsRule, Text(claim.status()));
  const auto first = Prepare({*claim});
  const std::string fault = FaultOf(first, *claim, {free[0]});
  Check("prepare/claim",
        "A claim is answered with devices that it was given, under the requests that it has",
        fault);
  if (!fault.empty()) return;
  const rpc::PreparedClaim& prepared = first->at(claim->uid);
  Check("prepare/entries", "An answer has an entry for each claim of the call and no other",
        first->size() == 1 ? "" : fmt::format("{} entries for one claim", first->size()));
  Check("prepare/cdi", "CDI names are qualified, and files in the CDI folders define them",
        CdiFault(prepared));
  const auto again = Prepare({*claim});
  Check("prepare/idempotent", "Preparing a claim again gives the same answer",
        !again.ok()        ? Text(again.status())
        : *again == *first ? ""
                           : "it is another answer");
  // The last line of defence against an allocator that is wrong.
  if (const auto rival = MakeClaim({free[0]}); rival.ok()) {
    Check("prepare/in-use", "A device that a claim has prepared is refused to another claim",
          RefusalFault(Prepare({*rival}), *rival));
    (void)Unprepare({*rival});
    (void)DeleteClaim(*rival);
  }
  Check("unprepare/claim", "Unpreparing a prepared claim is a success",
        FaultOf(Unprepare({*claim}), *claim));
  Check("unprepare/cdi", "CDI devices that were made for a claim go when it is unprepared",
        LeftoverFault(prepared, *claim));
  Check("unprepare/idempotent", "Unpreparing it again is a success",
        FaultOf(Unprepare({*claim}), *claim));
  const auto anew = Prepare({*claim});
  std::string anew_fault = FaultOf(anew, *claim, {free[0]});
  if (anew_fault.empty()) anew_fault = CdiFault(anew->at(claim->uid));
  Check("prepare/anew", "A claim that was unprepared can be prepared anew", anew_fault);
  (void)Unprepare({*claim});
  (void)DeleteClaim(*claim);
}

void Run::WrongClaims(const std::vector<Given>& free) {
  if (const auto pending = MakeClaim({}); pending.ok()) {
    Check("prepare/not-allocated", "Preparing a claim that is not allocated fails",
          RefusalFault(Prepare({*pending}), *pending));
    (void)DeleteClaim(*pending);
  }
  const auto claim = MakeClaim({free[0]});
  if (!claim.ok()) return;
  rpc::ClaimName replaced = *claim;
  replaced.uid = "00000000-0000-4000-8000-000000000bad";
  Check("prepare/replaced", "Preparing a claim fails when there is another one by its name",
        RefusalFault(Prepare({replaced}), replaced));
  (void)Unprepare({replaced});
  (void)DeleteClaim(*claim);
}

void Run::Batches(const std::vector<Given>& free) {
  constexpr std::string_view kRule = "Several claims in one call are answered one by one";
  if (free.size() < 2) return Skip("prepare/batch", kRule, "the driver has only one free device");
  const auto a = MakeClaim({free[0]});
  const auto b = MakeClaim({free[1]});
  if (!a.ok() || !b.ok())
    return Skip("prepare/batch", kRule, Text(a.ok() ? b.status() : a.status()));
  const auto both = Prepare({*a, *b});
  std::string fault = FaultOf(both, *a, {free[0]});
  if (fault.empty()) fault = FaultOf(both, *b, {free[1]});
  Check("prepare/batch", kRule, fault);
  const auto undone = Unprepare({*a, *b});
  fault = !undone.ok()          ? Text(undone.status())
          : undone->size() == 2 ? ""
                                : fmt::format("{} entries", undone->size());
  if (undone.ok()) {
    for (const auto& [uid, error] : *undone) {
      if (!error.empty()) fault = error;
    }
  }
  Check("unprepare/batch", "Several claims in one call are unprepared one by one", fault);
  (void)DeleteClaim(*a);
  (void)DeleteClaim(*b);
}

void Run::GoneClaim(const std::vector<Given>& free) {
  const auto claim = MakeClaim({free[0]});
  if (!claim.ok()) return;
  std::string fault = FaultOf(Prepare({*claim}), *claim, {free[0]});
  const Status deleted = DeleteClaim(*claim);
  if (fault.empty() && !deleted.ok()) fault = Text(deleted);
  if (fault.empty()) fault = FaultOf(Unprepare({*claim}), *claim);
  Check("unprepare/gone", "A claim can be unprepared when it is gone from the API server", fault);
}

}  // namespace dray::driver::internal
