// SPDX-License-Identifier: Apache-2.0
//
// What is played can fail: a changed request, one too many, one that is missing.
#include "recorded/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <future>
#include <string>

namespace dray::recorded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kStatus =
    "/apis/resource.k8s.io/v1/namespaces/a/resourceclaims/c/status";

client::HttpRequest Put(std::string body) {
  return {.method = "PUT", .target = std::string(kStatus), .body = std::move(body)};
}

// A watch that tells of a claim when its status has been written.
Transcript WithAWatch() {
  Transcript transcript;
  Entry watch = RequestEntry({.target = "/claims?watch=true&timeoutSeconds=300"}, true);
  watch.status = 200;
  Entry put = RequestEntry(Put(R"({"at":"2026-01-02T03:04:05Z","device":"gpu-0"})"), false);
  put.status = 200;
  put.answer = R"({"kind":"ResourceClaim"})";
  Entry line;
  line.line = R"({"type":"MODIFIED"})";
  transcript.entries = {watch, put, line};
  return transcript;
}

TEST(ReplayTest, AnswersWhatWasAskedAtAnotherTime) {
  Replay replay(WithAWatch());
  const auto client = replay.MakeClient({});
  const auto answer = client->Send(Put(R"({"at":"2031-12-31T00:00:00Z","device":"gpu-0"})"));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, R"({"kind":"ResourceClaim"})");
  EXPECT_THAT(replay.Surprises(), IsEmpty());
}

TEST(ReplayTest, AChangedRequestIsASurprise) {
  Replay replay(WithAWatch());
  const auto client = replay.MakeClient({});
  // Another device; a time in another form; another type of content; once too often.
  EXPECT_FALSE(client->Send(Put(R"({"at":"2026-01-02T03:04:05Z","device":"gpu-1"})")).ok());
  EXPECT_FALSE(client->Send(Put(R"({"at":"2026-01-02T03:04:05.123456Z","device":"gpu-0"})")).ok());
  client::HttpRequest other = Put(R"({"at":"2026-01-02T03:04:05Z","device":"gpu-0"})");
  other.content_type = "application/yaml";
  EXPECT_FALSE(client->Send(other).ok());
  const auto same = Put(R"({"at":"2026-01-02T03:04:05Z","device":"gpu-0"})");
  EXPECT_TRUE(client->Send(same).ok());
  EXPECT_FALSE(client->Send(same).ok());
  EXPECT_THAT(replay.Surprises(), ElementsAre(HasSubstr("gpu-1"), HasSubstr("MICROTIME"),
                                              HasSubstr("PUT"), HasSubstr("PUT")));
  EXPECT_TRUE(replay.Await(seconds(10)));
}

TEST(ReplayTest, WhatIsNotAskedIsMissing) {
  Replay replay(WithAWatch());
  const auto client = replay.MakeClient({});
  ASSERT_TRUE(
      client->Open({.target = "/claims?watch=true&timeoutSeconds=7"}, seconds(1), seconds(1)).ok());
  EXPECT_FALSE(replay.Await(milliseconds(20)));
  EXPECT_THAT(replay.Missing(), ElementsAre(HasSubstr("gpu-0")));
}

TEST(ReplayTest, AWatchTellsNothingBeforeItsCause) {
  Replay replay(WithAWatch());
  const auto client = replay.MakeClient({});
  const auto stream = client->Open({.target = "/claims?watch=true"}, seconds(1), seconds(1));
  ASSERT_TRUE(stream.ok()) << stream.status();
  std::string line;
  auto heard = std::async(std::launch::async, [&] { return (*stream)->Next(line); });
  EXPECT_EQ(heard.wait_for(milliseconds(20)), std::future_status::timeout);
  ASSERT_TRUE(client->Send(Put(R"({"at":"2026-01-02T03:04:05Z","device":"gpu-0"})")).ok());
  EXPECT_TRUE(*heard.get());
  EXPECT_EQ(line, R"({"type":"MODIFIED"})");
  EXPECT_TRUE(replay.Await(seconds(10)));
  (*stream)->Cancel();
  EXPECT_FALSE((*stream)->Next(line).ok());
}

TEST(TranscriptTest, IsReadAsItWasWritten) {
  std::string folder = std::filesystem::temp_directory_path() / "dray-recorded-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  Transcript transcript = WithAWatch();
  Entry bytes =
      RequestEntry({.method = "PUT", .target = "/b", .body = std::string("k8s\0\n\x01", 6)}, false);
  bytes.status = 422;
  // Escapes and numbers stay as the server writes them.
  bytes.answer = R"({"a":"\u003c","b":1.0,"c":[]})";
  transcript.entries.push_back(bytes);
  const std::filesystem::path file = std::filesystem::path(folder) / "x.jsonl";
  ASSERT_TRUE(Save(transcript, file).ok());
  const auto read = Load(file);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->entries.size(), transcript.entries.size());
  EXPECT_EQ(read->entries[3].body, bytes.body);
  EXPECT_EQ(read->entries[3].answer, bytes.answer);
  EXPECT_EQ(read->entries[3].status, 422);
  EXPECT_EQ(read->entries[2].line, transcript.entries[2].line);
  EXPECT_EQ(Shown(read->entries[1]), Shown(transcript.entries[1]));
  std::filesystem::remove_all(folder);
}

TEST(TranscriptTest, EachClientHasItsLife) {
  Transcript whole = WithAWatch();
  const std::size_t length = whole.entries.size();
  Entry mark;
  mark.method = kRestart;
  whole.entries.push_back(mark);
  for (Entry entry : WithAWatch().entries) {
    if (entry.is_line()) entry.watch += length + 1;
    whole.entries.push_back(std::move(entry));
  }
  const std::vector<Transcript> lives = LivesOf(std::move(whole));
  ASSERT_EQ(lives.size(), 2u);
  for (const Transcript& life : lives) {
    ASSERT_EQ(life.entries.size(), length);
    for (std::size_t i = 0; i < length; ++i) {
      EXPECT_EQ(Shown(life.entries[i]), Shown(WithAWatch().entries[i]));
      EXPECT_EQ(life.entries[i].watch, WithAWatch().entries[i].watch);
    }
  }
}

TEST(TranscriptTest, UidsAreCountedAndFoundAgain) {
  Uids uids;
  const std::string one = R"({"uid":"b1fe3f3c-9d3b-4a6f-8a5e-0123456789ab"})";
  const std::string counted = uids.Counted(one);
  EXPECT_EQ(counted, R"({"uid":"00000000-0000-4000-8000-000000000001"})");
  EXPECT_EQ(uids.Counted(one), counted);
  EXPECT_EQ(uids.Original(counted), one);
  EXPECT_EQ(uids.Original("no uid"), "no uid");
  // One that the client has made up, as for a share of a device, comes back as it was.
  const std::string own = R"({"shareID":"c2fe3f3c-9d3b-4a6f-8a5e-0123456789ab"})";
  EXPECT_EQ(uids.Original(own), own);
  EXPECT_EQ(uids.Counted(own), own);
}

}  // namespace
}  // namespace dray::recorded
