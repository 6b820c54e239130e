// SPDX-License-Identifier: Apache-2.0
//
// The scheduler against what a real API server answered: it asks the same and understands it the
// same. With DRAY_RECORD=KUBECONFIG the stories are told to that server anew, and what it says is
// written into the source tree. See README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/time.h"
#include "base/uuid.h"
#include "client/kubeconfig.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "plane/remote_scheduler.h"
#include "recorded/recording.h"
#include "recorded/replay.h"
#include "recorded/story.h"

namespace dray::recorded {
namespace {

constexpr std::chrono::seconds kPatience{30};
// In which something that was never asked could still be.
constexpr std::chrono::milliseconds kAfterwards{300};

const std::filesystem::path& Folder() {
  static const std::filesystem::path folder = DRAY_RECORDED_FOLDER;
  return folder;
}

std::vector<std::string> Stories() {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(Folder() / "stories", none)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

std::filesystem::path TranscriptOf(const std::string& name) {
  return Folder() / "transcripts" / (name + ".jsonl");
}

// The last time that a transcript tells: stories are over in moments, and what a claim was given then
// would have been given too long ago by now.
base::Time RecordedAt(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  static const std::regex kTime(R"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ)");
  std::string last;
  for (std::sregex_iterator it(text.begin(), text.end(), kTime), end; it != end; ++it) {
    last = std::max(last, it->str());
  }
  const auto time = base::Time::ParseRfc3339(last);
  EXPECT_TRUE(time.ok()) << "no time in " << file;
  return time.ok() ? *time : base::Time();
}

// Goes on from the time at which a story was told.
class ClockOfThen final : public base::Clock {
 public:
  explicit ClockOfThen(base::Time then) : then_(then), began_(system_.Monotonic()) {}
  base::Time Now() const override { return then_ + (system_.Monotonic() - began_); }
  std::chrono::nanoseconds Monotonic() const override { return system_.Monotonic(); }

 private:
  base::SystemClock system_;
  base::Time then_;
  std::chrono::nanoseconds began_;
};

plane::RemoteSchedulerOptions OptionsFor(const Story& story, base::RandomSource& random) {
  plane::RemoteSchedulerOptions options;
  options.access.url = "https://recorded";
  options.config.profiles.resize(1);
  options.config.profiles.front().scheduler_name = kSchedulerName;
  options.fit_gates = true;
  options.leader_elect = story.lease();
  options.identity = "the-one";
  // What it makes up, such as names of shares, is the same in each run.
  options.random = &random;
  return options;
}

void Record(const Story& story, const std::string& name, const std::string& kubeconfig) {
  auto access = client::LoadAccess({.kubeconfig = kubeconfig, .context = "", .variables = {}});
  ASSERT_TRUE(access.ok()) << access.status();
  auto admin = client::HttpClient::Create(*access);
  ASSERT_TRUE(admin.ok()) << admin.status();
  Recording recording;
  base::SeededRandomSource random(1);
  const auto connect =
      [&](client::HttpOptions http) -> StatusOr<std::unique_ptr<client::HttpClient>> {
    client::ServerAccess own = *access;
    own.as.user = story.as();
    DRAY_ASSIGN_OR_RETURN(auto server, client::HttpClient::Create(own, std::move(http)));
    return recording.Wrap(std::move(server));
  };
  const base::SystemClock clock;
  std::unique_ptr<plane::RemoteScheduler> scheduler;
  bool again = false;
  const Status told = story.Tell(
      **admin,
      [&]() -> Status {
        if (std::exchange(again, true)) recording.Restart();
        plane::RemoteSchedulerOptions options = OptionsFor(story, random);
        options.connect = connect;
        DRAY_ASSIGN_OR_RETURN(scheduler, plane::RemoteScheduler::Start(std::move(options), clock));
        return {};
      },
      [&] { scheduler = nullptr; });
  ASSERT_TRUE(told.ok()) << told;
  const Status saved = Save(recording.Taken(), TranscriptOf(name));
  ASSERT_TRUE(saved.ok()) << saved;
}

class RecordedServer : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordedServer, IsAskedTheSameAndUnderstood) {
  const auto story = Story::Load(Folder() / "stories" / (GetParam() + ".yaml"));
  ASSERT_TRUE(story.ok()) << story.status();
  if (const char* kubeconfig = std::getenv("DRAY_RECORD")) {
    ASSERT_NO_FATAL_FAILURE(Record(*story, GetParam(), kubeconfig));
  }
  auto transcript = Load(TranscriptOf(GetParam()));
  ASSERT_TRUE(transcript.ok()) << transcript.status();
  base::SeededRandomSource random(1);
  const ClockOfThen clock(RecordedAt(TranscriptOf(GetParam())));
  for (Transcript& life : LivesOf(*std::move(transcript))) {
    Replay replay(std::move(life));
    plane::RemoteSchedulerOptions options = OptionsFor(*story, random);
    options.connect =
        [&](client::HttpOptions http) -> StatusOr<std::unique_ptr<client::HttpClient>> {
      return replay.MakeClient(std::move(http));
    };
    auto scheduler = plane::RemoteScheduler::Start(std::move(options), clock);
    ASSERT_TRUE(scheduler.ok()) << scheduler.status();
    const bool all = replay.Await(kPatience);
    if (all) std::this_thread::sleep_for(kAfterwards);
    // What it gives back at its end is part of the story.
    *scheduler = nullptr;
    EXPECT_TRUE(replay.Surprises().empty())
        << fmt::format("was asked, and never had been:\n{}", fmt::join(replay.Surprises(), "\n"));
    EXPECT_TRUE(replay.Missing().empty())
        << fmt::format("was never asked:\n{}", fmt::join(replay.Missing(), "\n"));
    EXPECT_TRUE(all) << "not everything came to pass in time";
  }
}

TEST(RecordedStories, AreThere) { EXPECT_FALSE(Stories().empty()); }

INSTANTIATE_TEST_SUITE_P(Stories, RecordedServer, ::testing::ValuesIn(Stories()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace dray::recorded
