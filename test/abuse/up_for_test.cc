// SPDX-License-Identifier: Apache-2.0
#include "abuse/up_for_test.h"

#include <sys/resource.h>

#include <iostream>

#include "fmt/format.h"

namespace dray::abuse {
namespace {

using ::testing::IsEmpty;

// Of everything together: the history (128 MiB of it), bodies, connections.
constexpr std::size_t kMostResident = 1'200u << 20;
constexpr std::chrono::milliseconds kLongestWait{5'000};

World* const world =
    static_cast<World*>(::testing::AddGlobalTestEnvironment(new World()));  // gtest owns it

std::size_t Mebibytes(std::size_t bytes) { return bytes >> 20; }

}  // namespace

std::string TemplateBody(std::string_view name, std::string_view annotation) {
  return fmt::format(
      R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":)"
      R"({{"name":"{}","annotations":{{"a":"{}"}}}},"spec":{{"spec":{{"devices":{{"requests":)"
      R"([{{"name":"r","exactly":{{"deviceClassName":"gpu.example.com"}}}}]}}}}}}}})",
      name, annotation);
}

World& World::Get() { return *world; }

void World::SetUp() {
  // Thousands of connections of its own.
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  data_ = folder_.File("data");
  server_ = std::make_unique<process::UpProcess>(data_, std::vector<std::string>{"--nodes", "4"});
  ASSERT_THAT(server_->AwaitReady(std::chrono::seconds(60)), IsEmpty());
  bystander_ = std::make_unique<Bystander>(*server_);
}

void World::TearDown() {
  bystander_ = nullptr;
  if (server_ == nullptr) return;
  std::cout << fmt::format("at most {} MiB, {} threads\n", Mebibytes(server_->PeakResidentBytes()),
                           server_->Threads());
  EXPECT_LT(server_->PeakResidentBytes(), kMostResident);
  EXPECT_EQ(server_->Terminate(), 0) << server_->Said();
}

void UpTest::TearDown() {
  ASSERT_TRUE(server().Running()) << server().Said();
  const Bystander::Experience experience = World::Get().bystander().Take();
  std::cout << fmt::format("others: {} answers, {} ms at most; {} MiB\n", experience.answers,
                           experience.longest.count(), Mebibytes(server().ResidentBytes()));
  EXPECT_THAT(experience.complaints, IsEmpty());
  EXPECT_LT(experience.longest, kLongestWait);
  EXPECT_LT(server().ResidentBytes(), kMostResident);
}

}  // namespace dray::abuse
