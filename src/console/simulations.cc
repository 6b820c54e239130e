// SPDX-License-Identifier: Apache-2.0
#include "console/simulations.h"

#include <charconv>
#include <utility>
#include <vector>

#include "api/document.h"
#include "fleet/json.h"
#include "fmt/format.h"

namespace dray::console {

Simulations::~Simulations() {
  {
    const base::MutexLock lock(mutex_);
    for (const auto& [number, run] : runs_) run->cancelled = true;
  }
  queue_.Stop();
}

StatusOr<std::string> Simulations::Begin(const std::string& user, SimulationRequest request) {
  auto run = std::make_shared<Run>();
  {
    const base::MutexLock lock(mutex_);
    std::size_t under_way = 0;
    std::vector<std::uint64_t> done;
    for (const auto& [number, other] : runs_) {
      if (other->user != user) continue;
      const base::MutexLock own(other->mutex);
      if (other->state == "running") {
        ++under_way;
      } else {
        done.push_back(number);
      }
    }
    if (under_way >= kMostAtOnce) {
      return base::MakeStatus(
          StatusCode::kResourceExhausted,
          fmt::format("{} of your simulations are running; wait for one to finish, or stop one",
                      under_way));
    }
    while (done.size() >= kMostKept) {
      runs_.erase(done.front());
      done.erase(done.begin());
    }
    run->number = next_++;
    run->user = user;
    run->request = std::move(request);
    run->started = clock_.Now();
    runs_.emplace(run->number, run);
  }
  queue_.Post([this, run] { Work(run); });
  return fmt::format("s{}", run->number);
}

void Simulations::Work(const std::shared_ptr<Run>& run) {
  Answer answer{.code = 0};
  if (!run->cancelled) {
    answer = desk_.Simulate(
        run->request,
        [&](const Desk::Started& about) {
          const base::MutexLock lock(run->mutex);
          run->about = about;
        },
        [&](const SimulationProgress& progress) {
          const base::MutexLock lock(run->mutex);
          run->progress = progress;
        },
        [&] { return run->cancelled.load(); });
  }
  const base::MutexLock lock(run->mutex);
  if (run->cancelled) {
    run->state = "cancelled";
  } else if (answer.code == 200) {
    run->state = "done";
    run->progress.share = 1;
    run->result = std::move(answer.json);
  } else {
    run->state = "failed";
    std::vector<api::Diagnostic> none;
    const api::DocumentNode status = api::ParseJson(answer.json, none);
    const api::Member* message = status.Find("message");
    run->error = message == nullptr ? "it failed" : message->value.text;
  }
}

std::string Simulations::JsonOf(const Run& run, bool whole) {
  const base::MutexLock lock(run.mutex);
  fleet::JsonOut out;
  out.BeginMap().Text("id", fmt::format("s{}", run.number));
  out.Text("scenario", run.request.scenario).Text("title", run.about.title);
  out.Count("seed", run.about.seed).Text("policy", run.about.policy);
  out.Text("state", run.state).Key("progress").Real(run.progress.share);
  out.Text("started", run.started.ToRfc3339());
  if (whole) {
    out.Count("simulatedSeconds", run.progress.seconds).TextIf("error", run.error);
    if (!run.result.empty()) out.Key("result").Raw(run.result);
  }
  out.EndMap();
  return out.Take();
}

std::string Simulations::List(std::string_view user) const {
  fleet::JsonOut out;
  out.BeginMap().List("simulations");
  const base::MutexLock lock(mutex_);
  for (auto it = runs_.rbegin(); it != runs_.rend(); ++it) {
    if (it->second->user == user) out.Raw(JsonOf(*it->second, false));
  }
  out.EndList().EndMap();
  return out.Take();
}

std::shared_ptr<Simulations::Run> Simulations::Find(std::string_view user,
                                                    std::string_view id) const {
  std::uint64_t number = 0;
  if (!id.starts_with('s')) return nullptr;
  const char* const end = id.data() + id.size();
  const auto [rest, error] = std::from_chars(id.data() + 1, end, number);
  if (error != std::errc() || rest != end) return nullptr;
  const base::MutexLock lock(mutex_);
  const auto it = runs_.find(number);
  // Other people's are not there.
  return it == runs_.end() || it->second->user != user ? nullptr : it->second;
}

std::optional<std::string> Simulations::Show(std::string_view user, std::string_view id) const {
  const auto run = Find(user, id);
  if (run == nullptr) return std::nullopt;
  return JsonOf(*run, true);
}

bool Simulations::Remove(std::string_view user, std::string_view id) {
  const auto run = Find(user, id);
  if (run == nullptr) return false;
  run->cancelled = true;
  const base::MutexLock lock(mutex_);
  runs_.erase(run->number);
  return true;
}

}  // namespace dray::console
