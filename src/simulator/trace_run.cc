// SPDX-License-Identifier: Apache-2.0
//
// The run: pods come to the real scheduler one by one.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "api/device_class.h"
#include "api/memory_cluster.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "controllers/resource_claim_controller.h"
#include "fmt/format.h"
#include "packing/fragmentation.h"
#include "packing/history.h"
#include "scheduler/ids.h"
#include "scheduler/scheduler.h"
#include "simulator/internal/trace_bound.h"
#include "simulator/trace.h"

namespace dray::simulator {
namespace {

constexpr std::string_view kTraceDriver = "gpu.trace.example.com";
constexpr std::string_view kTraceClass = "gpu";
constexpr std::string_view kTraceNamespace = "default";
constexpr std::int64_t kMilli = 1000;
constexpr packing::Amount kPerMilli = packing::kWhole / kMilli;

base::Quantity Amount(std::int64_t amount, std::string_view suffix) {
  return *base::Quantity::Parse(fmt::format("{}{}", amount, suffix));
}

class CountedUids final : public scheduler::Ids {
 public:
  std::string Uid() override { return fmt::format("00000000-0000-4000-8000-{:012}", next_++); }

 private:
  std::uint64_t next_ = 1;
};

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

class TraceRun {
 public:
  TraceRun(const Trace& trace, const std::vector<TraceNode>& nodes, const TraceOptions& options)
      : trace_(trace),
        nodes_(nodes),
        options_(options),
        uids_(options.seed),
        cluster_(clock_, uids_, {.gates = options.gates, .validate = false}) {}

  Status Load();
  StatusOr<TraceResult> Run(const std::vector<TracePod>& arrivals);

 private:
  struct Placed {
    std::int64_t milli = 0;
    std::size_t node = 0;
    packing::Request request;
    std::vector<std::uint32_t> devices;
    std::int32_t share = 0;
    bool claims = false;
  };
  struct Leaving {
    double time = 0;
    std::string name;
    friend bool operator>(const Leaving& a, const Leaving& b) {
      return std::tie(a.time, a.name) > std::tie(b.time, b.name);
    }
  };

  packing::Request RequestOf(const TracePod& pod) const;
  Status Create(const std::string& name, const TracePod& pod);
  Status Decide(const std::string& name, const TracePod& pod);
  Status Leave(const std::string& name);
  void Bound(const std::vector<TracePod>& arrivals);
  Status Delete(const api::KindInfo& kind, const std::string& name);
  void Measure(double arrived);
  template <typename Work>
  auto Timed(Work work);

  const Trace& trace_;
  const std::vector<TraceNode>& nodes_;
  const TraceOptions& options_;
  base::ManualClock clock_{base::Time::FromUnix(1'800'000'000)};
  base::SeededRandomSource uids_;
  api::MemoryCluster cluster_;
  CountedUids ids_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<controllers::ResourceClaimController> controller_;  // where pods leave
  std::map<std::string, std::uint16_t> models_;
  absl::flat_hash_map<std::string, std::size_t> node_numbers_;
  std::vector<packing::NodeState> states_;
  absl::flat_hash_map<std::string, Placed> placed_;
  packing::History seen_;
  packing::FragmentationMemory measured_;
  std::int64_t capacity_ = 0;
  std::int64_t given_ = 0;
  TraceResult result_;
  std::vector<std::size_t> ends_;  // by row: how many pods had come
};

template <typename Work>
auto TraceRun::Timed(Work work) {
  if (!options_.processor_time) return work();
  const Duration before = options_.processor_time();
  auto done = work();
  result_.scheduler_time =
      result_.scheduler_time.value_or(Duration(0)) + (options_.processor_time() - before);
  return done;
}

Status TraceRun::Load() {
  std::vector<api::Object> objects;
  api::DeviceClass device_class;
  device_class.metadata.name = kTraceClass;
  objects.push_back(api::Object::Of(std::move(device_class)));
  for (const TraceNode& node : nodes_) {
    if (node.devices > 0) models_.try_emplace(node.model, 0);
  }
  std::uint16_t number = 0;
  for (auto& [model, kind] : models_) {
    kind = number++;
    result_.models.push_back(model);
  }
  if (models_.size() > packing::kMaxKinds) {
    return base::InvalidArgument(fmt::format("{}: must have at most {} models, and has {}",
                                             trace_.node_file, packing::kMaxKinds, models_.size()));
  }
  for (const TraceNode& row : nodes_) {
    packing::NodeState& state = states_.emplace_back();
    state.left = {static_cast<std::int32_t>(row.milli_cpu),
                  static_cast<std::int32_t>(row.memory_mib), 0};
    if (!node_numbers_.emplace(row.name, states_.size() - 1).second) {
      return base::InvalidArgument(
          fmt::format("{}: node \"{}\" appears twice", trace_.node_file, row.name));
    }
    api::Node node;
    node.metadata.name = row.name;
    node.status.allocatable[api::kResourceCpu] = Amount(row.milli_cpu, "m");
    node.status.allocatable[api::kResourceMemory] = Amount(row.memory_mib, "Mi");
    node.status.allocatable[api::kResourcePods] = Amount(100'000, "");
    node.status.capacity = node.status.allocatable;
    node.status.conditions.push_back(
        {.type = std::string(api::kNodeReadyCondition), .status = "True"});
    objects.push_back(api::Object::Of(std::move(node)));
    capacity_ += std::int64_t{row.devices} * kMilli;
    result_.devices += row.devices;
    if (row.devices == 0) continue;
    api::ResourceSlice slice;
    slice.metadata.name = row.name;
    slice.spec.driver = kTraceDriver;
    slice.spec.pool = {.name = row.name, .generation = 1, .resource_slice_count = 1};
    slice.spec.node_name = row.name;
    slice.spec.devices.emplace();
    for (std::int32_t i = 0; i < row.devices; ++i) {
      state.Add(models_.at(row.model), 0, {packing::kWhole});
      api::Device& device = slice.spec.devices->emplace_back();
      device.name = fmt::format("gpu-{}", i);
      device.allow_multiple_allocations = true;
      device.capacity["share"].value = Amount(kMilli, "");
      if (!row.model.empty()) {
        device.attributes["model"].string_value = base::OptionalText(row.model);
      }
    }
    objects.push_back(api::Object::Of(std::move(slice)));
  }
  if (capacity_ == 0) {
    return base::InvalidArgument(
        fmt::format("{}: must have a node with devices, since the result is the share of devices "
                    "that is allocated",
                    trace_.node_file));
  }
  DRAY_RETURN_IF_ERROR(cluster_.Load(std::move(objects)));
  result_.nodes = static_cast<std::int64_t>(nodes_.size());
  result_.seed = options_.seed;
  result_.policy = allocator::RowOf(options_.policy).name;
  scheduler_ = std::make_unique<scheduler::Scheduler>(
      cluster_, clock_, ids_,
      scheduler::SchedulerOptions{.config = options_.config,
                                  .gates = options_.gates,
                                  .policy = options_.policy,
                                  // What is refused is dropped.
                                  .explain = false});
  scheduler_->Sync();
  return {};
}

packing::Request TraceRun::RequestOf(const TracePod& pod) const {
  packing::Request request;
  request.needs = {static_cast<std::int32_t>(pod.milli_cpu),
                   static_cast<std::int32_t>(pod.memory_mib), 0};
  if (pod.devices == 0) return request;
  packing::Demand demand{.count = static_cast<std::uint32_t>(pod.devices)};
  for (const auto& [model, kind] : models_) {
    if (!pod.models.empty() && std::ranges::find(pod.models, model) == pod.models.end()) continue;
    demand.options.push_back(
        {.kind = kind, .whole = pod.share == kMilli, .amounts = {pod.share * kPerMilli}});
  }
  request.demands.push_back(std::move(demand));
  return request;
}

Status TraceRun::Create(const std::string& name, const TracePod& from) {
  api::Pod pod;
  pod.metadata.namespace_ = kTraceNamespace;
  pod.metadata.name = name;
  pod.spec.scheduler_name = options_.config.profiles.front().scheduler_name;
  api::Container& container = pod.spec.containers.emplace_back();
  container.name = "c";
  container.image = "example.com/image";
  container.resources.requests[api::kResourceCpu] = Amount(from.milli_cpu, "m");
  container.resources.requests[api::kResourceMemory] = Amount(from.memory_mib, "Mi");
  if (from.devices > 0) {
    api::ResourceClaim claim;
    claim.metadata.namespace_ = kTraceNamespace;
    claim.metadata.name = name;
    api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
    request.name = "gpu";
    request.exactly.emplace();
    request.exactly->device_class_name = kTraceClass;
    request.exactly->allocation_mode = api::kAllocationModeExactCount;
    request.exactly->count = from.devices;
    request.exactly->capacity.emplace();
    request.exactly->capacity->requests["share"] = Amount(from.share, "");
    if (!from.models.empty()) {
      std::string list;
      for (const std::string& model : from.models) {
        list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", absl::Utf8SafeCEscape(model));
      }
      // An attribute that a device does not have is an error for who asks for it.
      const std::string devices = fmt::format("device.attributes[\"{}\"]", kTraceDriver);
      request.exactly->selectors = {
          {.cel = api::CELDeviceSelector{
               .expression =
                   fmt::format("{}{}.model in [{}]",
                               models_.contains("") ? fmt::format("\"model\" in {} && ", devices)
                                                    : std::string(),
                               devices, list)}}};
    }
    pod.spec.resource_claims.push_back({.name = "gpu", .resource_claim_name = name});
    container.resources.claims.push_back({.name = "gpu"});
    DRAY_RETURN_IF_ERROR(cluster_.Create(api::Object::Of(std::move(claim))).status());
  }
  return cluster_.Create(api::Object::Of(std::move(pod))).status();
}

Status TraceRun::Delete(const api::KindInfo& kind, const std::string& name) {
  return cluster_.Delete(kind, kTraceNamespace, name);
}

Status TraceRun::Decide(const std::string& name, const TracePod& pod) {
  DRAY_RETURN_IF_ERROR(Create(name, pod));
  const auto outcome = Timed([&] {
    scheduler_->Sync();
    return scheduler_->ScheduleOne();
  });
  ++result_.pods;
  const packing::Request request = RequestOf(pod);
  seen_.Learn(request);
  if (!outcome || outcome->kind != scheduler::Outcome::Kind::kBound) {
    if (outcome && outcome->kind == scheduler::Outcome::Kind::kError) {
      return base::InvalidArgument(fmt::format("pod {}: {}", pod.name, outcome->message));
    }
    ++result_.refused;
    DRAY_RETURN_IF_ERROR(Delete(KindOf<api::Pod>(), name));
    return pod.devices > 0 ? Delete(KindOf<api::ResourceClaim>(), name) : Status();
  }
  Placed& placed = placed_[name];
  placed.milli = pod.milli();
  placed.node = node_numbers_.at(outcome->node);
  placed.request = request;
  placed.share = pod.share;
  placed.claims = pod.devices > 0;
  given_ += placed.milli;
  packing::NodeState& state = states_[placed.node];
  for (std::size_t i = 0; i < packing::kScalars; ++i) state.left[i] -= request.needs[i];
  if (!placed.claims) return {};
  const auto claim = cluster_.Stored(KindOf<api::ResourceClaim>(), kTraceNamespace, name);
  for (const auto& given : claim->As<api::ResourceClaim>()->status.allocation->devices.results) {
    const auto device = static_cast<std::uint32_t>(std::stoul(given.device.substr(4)));
    placed.devices.push_back(device);
    state.free[device] -= placed.share * kPerMilli;
  }
  return {};
}

Status TraceRun::Leave(const std::string& name) {
  const auto found = placed_.find(name);
  if (found == placed_.end()) return {};
  const Placed placed = std::move(found->second);
  placed_.erase(found);
  ++result_.departed;
  given_ -= placed.milli;
  packing::NodeState& state = states_[placed.node];
  for (std::size_t i = 0; i < packing::kScalars; ++i) state.left[i] += placed.request.needs[i];
  for (const std::uint32_t device : placed.devices) {
    state.free[device] += placed.share * kPerMilli;
  }
  DRAY_RETURN_IF_ERROR(Delete(KindOf<api::Pod>(), name));
  if (!placed.claims) return {};
  // Which gives the devices back.
  if (controller_ == nullptr) {
    controller_ =
        std::make_unique<controllers::ResourceClaimController>(cluster_, clock_, options_.gates);
  }
  while (controller_->Sync() > 0) {
  }
  return Delete(KindOf<api::ResourceClaim>(), name);
}

void TraceRun::Measure(double arrived) {
  packing::FragmentationMeter meter(seen_, &measured_);
  absl::flat_hash_map<packing::NodeState, std::uint32_t> different;
  for (packing::NodeState state : states_) {
    packing::Normalize(state);
    ++different[std::move(state)];
  }
  for (const auto& [state, count] : different) meter.Add(state, count);
  TraceRow& row = result_.rows.emplace_back();
  row.arrived = arrived;
  row.allocated = static_cast<double>(given_) / static_cast<double>(capacity_);
  row.fragmentation = meter.sum().all.share();
  for (std::size_t kind = 0; kind < models_.size(); ++kind) {
    row.by_model.push_back(meter.sum().kinds[kind].share());
  }
}

void TraceRun::Bound(const std::vector<TracePod>& arrivals) {
  if (result_.rows.empty()) return;
  // Solved for the figures that are told alone.
  std::vector<std::size_t> solved = {result_.rows.size() - 1};
  if (const TraceRow* row = result_.At(1); row != nullptr && row != &result_.rows.back()) {
    solved.push_back(static_cast<std::size_t>(row - result_.rows.data()));
  }
  const std::vector<double> bounds = internal::TraceBounds(nodes_, arrivals, ends_, solved);
  for (std::size_t i = 0; i < bounds.size(); ++i) result_.rows[i].bound = bounds[i];
}

StatusOr<TraceResult> TraceRun::Run(const std::vector<TracePod>& arrivals) {
  std::priority_queue<Leaving, std::vector<Leaving>, std::greater<>> leaving;
  std::int64_t asked = 0;
  int percent = 0;
  double area = 0;
  double since = 0;
  // Times count from anywhere, such as 1970.
  const double begin = arrivals.empty() ? 0 : arrivals.front().arrival;
  const double end = arrivals.empty() ? 0 : arrivals.back().arrival;
  const double middle = begin + (end - begin) / 2;
  const auto pass = [&](double until) {  // of the second half
    const double from = std::max(since, middle);
    if (until > from) area += (until - from) * static_cast<double>(given_);
    since = until;
  };
  bool leaves = false;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const TracePod& pod = arrivals[i];
    for (; !leaving.empty() && leaving.top().time <= pod.arrival; leaving.pop()) {
      pass(leaving.top().time);
      DRAY_RETURN_IF_ERROR(Leave(leaving.top().name));
    }
    pass(pod.arrival);
    const std::string name = fmt::format("pod-{}", i);
    DRAY_RETURN_IF_ERROR(Decide(name, pod));
    if (pod.departure) {
      leaves = true;
      leaving.push({*pod.departure, name});
    }
    asked += pod.milli();
    const double arrived = static_cast<double>(asked) / static_cast<double>(capacity_);
    // The last pod of each percent; where pods leave, as many samples as that at even distances.
    const bool last = i + 1 == arrivals.size();
    const double next = last ? 0
                             : static_cast<double>(asked + arrivals[i + 1].milli()) /
                                   static_cast<double>(capacity_);
    if (last || (100 * next > percent + 1 && percent < kMostTraceRows)) {
      Measure(arrived);
      ends_.push_back(i + 1);
      percent = static_cast<int>(100 * next);
    }
  }
  if (leaves && end > middle) {
    result_.mean_allocated = area / (end - middle) / static_cast<double>(capacity_);
  }
  if (!leaves && options_.bounds) Bound(arrivals);
  result_.node_evaluations = static_cast<std::int64_t>(scheduler_->statistics().node_evaluations);
  return result_;
}

}  // namespace

const TraceRow* TraceResult::At(double arrived) const {
  const TraceRow* found = nullptr;
  for (const TraceRow& row : rows) {
    if (row.arrived <= arrived) found = &row;
  }
  return found;
}

StatusOr<TraceResult> RunTrace(const Trace& trace, const std::vector<TraceNode>& nodes,
                               const std::vector<TracePod>& arrivals, const TraceOptions& options) {
  TraceRun run(trace, nodes, options);
  DRAY_RETURN_IF_ERROR(run.Load());
  return run.Run(arrivals);
}

}  // namespace dray::simulator
