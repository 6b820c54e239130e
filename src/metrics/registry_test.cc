// SPDX-License-Identifier: Apache-2.0
#include "metrics/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace dray::metrics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Registry, TextIsInOrderOfNamesThenLabels) {
  Registry registry;
  auto& requests = registry.Counters({"requests_total", "Requests.", {"verb", "code"}});
  requests.With({"get", "404"}).Add();
  requests.With({"get", "200"}).Add(3);
  registry.Gauges({"depth", "How many wait.", {}}).With({}).Set(1.5);
  EXPECT_EQ(registry.Text(),
            "# HELP depth How many wait.\n"
            "# TYPE depth gauge\n"
            "depth 1.5\n"
            "# HELP requests_total Requests.\n"
            "# TYPE requests_total counter\n"
            "requests_total{verb=\"get\",code=\"200\"} 3\n"
            "requests_total{verb=\"get\",code=\"404\"} 1\n");
  EXPECT_THAT(registry.Names(), ElementsAre("depth", "requests_total"));
}

TEST(Registry, AHistogramHasBucketsSumAndCount) {
  Registry registry;
  auto& took = registry.Histograms({"took_seconds", "Time.", {"verb"}}, {0.5, 1});
  took.With({"get"}).Observe(0.25);
  took.With({"get"}).Observe(3);
  EXPECT_EQ(registry.Text(),
            "# HELP took_seconds Time.\n"
            "# TYPE took_seconds histogram\n"
            "took_seconds_bucket{verb=\"get\",le=\"0.5\"} 1\n"
            "took_seconds_bucket{verb=\"get\",le=\"1\"} 1\n"
            "took_seconds_bucket{verb=\"get\",le=\"+Inf\"} 2\n"
            "took_seconds_sum{verb=\"get\"} 3.25\n"
            "took_seconds_count{verb=\"get\"} 2\n");
}

TEST(Registry, AMetricWithoutValuesIsStillNamed) {
  Registry registry;
  registry.Counters({"errors_total", "Errors.", {"kind"}});
  EXPECT_EQ(registry.Text(), "# HELP errors_total Errors.\n# TYPE errors_total counter\n");
}

TEST(Registry, WhatLabelsAndHelpSayIsEscaped) {
  Registry registry;
  registry.Gauges({"g", "a\\b\nc \"d\"", {"l"}}).With({"say \"no\"\\\n"}).Set(1);
  EXPECT_THAT(registry.Text(), HasSubstr("# HELP g a\\\\b\\nc \"d\"\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("g{l=\"say \\\"no\\\"\\\\\\n\"} 1\n"));
}

TEST(Registry, EmptyLabelValuesAreValues) {
  Registry registry;
  auto& counters = registry.Counters({"c_total", "C.", {"a", "b"}});
  counters.With({"", "x"}).Add();
  counters.With({"x", ""}).Add(2);
  EXPECT_THAT(registry.Text(), HasSubstr("c_total{a=\"\",b=\"x\"} 1\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("c_total{a=\"x\",b=\"\"} 2\n"));
}

TEST(Registry, AMeasurementIsMadeWhenItIsAskedFor) {
  Registry registry;
  double value = 1;
  registry.Measure({"files", "Files.", {"state"}}, [&](Readings& readings) {
    readings.Add({"open"}, value);
    readings.Add({"gone"}, 0);
  });
  EXPECT_THAT(registry.Text(), HasSubstr("files{state=\"gone\"} 0\nfiles{state=\"open\"} 1\n"));
  value = 2;
  EXPECT_THAT(registry.Text(), HasSubstr("files{state=\"open\"} 2\n"));
}

TEST(Registry, AMeasurementThatOnlyGrowsIsACounter) {
  Registry registry;
  registry.Measure(
      {"s_total", "S.", {}}, [](Readings& r) { r.Add({}, 1); }, Registry::Kind::kCounter);
  EXPECT_THAT(registry.Text(), HasSubstr("# TYPE s_total counter\n"));
}

TEST(Registry, NumbersAreWrittenAsPrometheusReadsThem) {
  Registry registry;
  auto& gauges = registry.Gauges({"g", "G.", {"l"}});
  gauges.With({"a"}).Set(1e21);
  gauges.With({"b"}).Set(1.0 / 0.0);
  gauges.With({"c"}).Set(1234567);
  EXPECT_THAT(registry.Text(), HasSubstr("g{l=\"a\"} 1e+21\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("g{l=\"b\"} +Inf\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("g{l=\"c\"} 1234567\n"));
}

TEST(Registry, CanBeReadWhileItIsWritten) {
  Registry registry;
  auto& counters = registry.Counters({"c_total", "C.", {"n"}});
  {
    std::vector<std::jthread> writers;
    for (int t = 0; t < 3; ++t) {
      writers.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) counters.With({std::to_string(i % 50)}).Add();
      });
    }
    for (int i = 0; i < 50; ++i) EXPECT_FALSE(registry.Text().empty());
  }
  std::uint64_t sum = 0;
  for (const auto& [values, counter] : counters.All()) sum += counter->value();
  EXPECT_EQ(sum, 6000u);
}

TEST(RegistryDeathTest, ANameIsRegisteredOnce) {
  Registry registry;
  registry.Gauges({"g", "G.", {}});
  EXPECT_DEATH(registry.Counters({"g", "G.", {}}), "g");
  EXPECT_DEATH(registry.Counters({"not-a-name", "G.", {}}), "not-a-name");
}

}  // namespace
}  // namespace dray::metrics
