// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the conformance suite share: the driver at the other end, and the results.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/mutex.h"
#include "driver/conformance.h"

namespace dray::driver::internal {

// The health that a driver reports, and whether it is there. Thread-safe.
class Ear final : public rpc::PluginListener {
 public:
  void OnConnected(bool connected) override;
  void OnHealth(std::vector<rpc::DeviceHealth> devices) override;
  void OnHealthEnd(Status why) override;

  bool AwaitConnected(bool connected, std::chrono::nanoseconds patience);
  // A report, or the end of the stream, or neither in time.
  struct Heard {
    std::optional<std::vector<rpc::DeviceHealth>> report;
    std::optional<Status> end;
  };
  Heard AwaitHealth(std::chrono::nanoseconds patience);
  // Whether the stream ends within this time.
  std::optional<Status> AwaitEnd(std::chrono::nanoseconds patience);

 private:
  base::Mutex mutex_;
  base::CondVar changed_;
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;
  Heard heard_ ABSL_GUARDED_BY(mutex_);
};

// Waits for an answer that comes on another thread. The promise is shared, since an answer may come
// when nobody waits any more.
template <class T>
class Answer {
 public:
  std::function<void(T)> Taker() {
    return [promise = promise_](T value) { promise->set_value(std::move(value)); };
  }
  // Nothing: it did not come.
  std::optional<T> Await(std::chrono::nanoseconds patience) {
    std::future<T> future = promise_->get_future();
    if (future.wait_for(patience) != std::future_status::ready) return std::nullopt;
    return future.get();
  }

 private:
  std::shared_ptr<std::promise<T>> promise_ = std::make_shared<std::promise<T>>();
};

// One thread.
class Run {
 public:
  Run(const ConformanceOptions& options, rpc::PluginConnector& connector)
      : options_(options), connector_(connector) {}

  void Registration();
  void WithoutClaims();
  void Slices();
  void QuietSlices();
  void Repair();
  void Claims();
  void Versions();
  void Health();
  void Restart();
  // What is left of failed checks.
  void CleanUp();

  std::vector<CheckResult> Take() && { return std::move(results_); }
  // False: nothing more can be asked.
  bool reachable() const { return channel_ != nullptr; }

 private:
  // Empty: it holds; else what happened instead.
  void Check(std::string_view name, std::string_view rule, const std::string& fault);
  void Skip(std::string_view name, std::string_view rule, std::string_view why);

  StatusOr<rpc::PluginInfo> GetInfo(std::chrono::nanoseconds patience);
  Status Notify(const std::string& error);
  StatusOr<rpc::PrepareAnswer> Prepare(const std::vector<rpc::ClaimName>& claims);
  StatusOr<rpc::UnprepareAnswer> Unprepare(const std::vector<rpc::ClaimName>& claims);
  bool Connect(rpc::DraService dra, rpc::HealthService health);

  // A claim on the API server that was given these devices, by an allocator that is not there.
  struct Given {
    std::string pool;
    std::string device;
    std::optional<std::string> share = std::nullopt;
  };
  enum class Shape : std::uint8_t { kUsual, kSubrequest, kForeignDevice, kForeignParameters };
  StatusOr<rpc::ClaimName> MakeClaim(const std::vector<Given>& devices,
                                     Shape shape = Shape::kUsual);
  Status DeleteClaim(const rpc::ClaimName& claim);
  // Devices that no claim has: that a claim can have alone, or that claims share.
  std::vector<Given> FreeDevices(bool shared = false) const;
  StatusOr<std::vector<api::ResourceSlice>> ListSlices() const;
  bool IsPublished(std::string_view pool, std::string_view device) const;

  // What is wrong with the answer for a claim that was given these devices; empty: nothing.
  std::string FaultOf(const StatusOr<rpc::PrepareAnswer>& answer, const rpc::ClaimName& claim,
                      const std::vector<Given>& devices) const;
  std::string FaultOf(const StatusOr<rpc::UnprepareAnswer>& answer,
                      const rpc::ClaimName& claim) const;
  static std::string RefusalFault(const StatusOr<rpc::PrepareAnswer>& answer,
                                  const rpc::ClaimName& claim);
  std::string CdiFault(const rpc::PreparedClaim& prepared) const;
  std::string LeftoverFault(const rpc::PreparedClaim& prepared, const rpc::ClaimName& claim) const;

  void Owners();
  void OneClaim(const std::vector<Given>& free);
  void WrongClaims(const std::vector<Given>& free);
  void Batches(const std::vector<Given>& free);
  void GoneClaim(const std::vector<Given>& free);
  void SpecialClaim(std::string_view name, std::string_view rule, const Given& device, Shape shape);
  void SpecialClaims(const std::vector<Given>& free);
  void Shares();
  void AtOnce(const std::vector<Given>& free);
  void Mixed(const std::vector<Given>& free);

  const ConformanceOptions& options_;
  rpc::PluginConnector& connector_;
  std::vector<CheckResult> results_;
  rpc::PluginInfo info_;
  std::string endpoint_;
  Ear ear_;
  std::unique_ptr<rpc::PluginChannel> channel_;
  std::vector<api::ResourceSlice> slices_;
  std::string node_;
  std::vector<rpc::ClaimName> made_;
  int claims_ = 0;
};

}  // namespace dray::driver::internal
