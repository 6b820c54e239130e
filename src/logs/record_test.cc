// SPDX-License-Identifier: Apache-2.0
#include "logs/record.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace dray::logs {
namespace {

Record Of(Level level, std::string_view message, const std::vector<Field>& fields) {
  return {.level = level,
          .time = base::Time::FromUnix(1'794'798'765, 123'456),
          .component = "store",
          .message = message,
          .fields = fields.data(),
          .field_count = fields.size()};
}

TEST(Record, AsText) {
  const std::vector<Field> fields = {{"took", std::chrono::nanoseconds(1'250'000'000)},
                                     {"transactions", 17},
                                     {"ok", false},
                                     {"pod", "default/a"},
                                     {"err", base::Unavailable("no disk")}};
  EXPECT_EQ(TextLine(Of(Level::kWarning, "Commit was slow", fields), {.pid = 4711}),
            "W1116 03:12:45.000123    4711 store] \"Commit was slow\" took=\"1.25s\" "
            "transactions=17 ok=false pod=\"default/a\" err=\"no disk\"\n");
  EXPECT_EQ(TextLine(Of(Level::kInfo, "Started", {}), {.pid = 1}),
            "I1116 03:12:45.000123       1 store] \"Started\"\n");
}

TEST(Record, AsJson) {
  const std::vector<Field> fields = {
      {"took", std::chrono::nanoseconds(1'250'000'000)}, {"transactions", 17}, {"ok", true}};
  EXPECT_EQ(JsonLine(Of(Level::kInfo, "Commit was slow", fields)),
            R"({"ts":1794798765000.123,"logger":"store","level":"info","v":0,)"
            R"("msg":"Commit was slow","took":"1.25s","transactions":17,"ok":true})"
            "\n");
  EXPECT_EQ(JsonLine(Of(Level::kError, "No", {})),
            R"({"ts":1794798765000.123,"logger":"store","level":"error","msg":"No"})"
            "\n");
}

TEST(Record, ColourIsOfTheHeaderAndOfWhatIsNotWell) {
  EXPECT_EQ(TextLine(Of(Level::kInfo, "m", {}), {.color = true}),
            "I1116 03:12:45.000123       0 store] \"m\"\n");
  EXPECT_EQ(TextLine(Of(Level::kError, "m", {}), {.color = true}),
            "\x1b[31mE1116 03:12:45.000123       0 store]\x1b[0m \"m\"\n");
}

// Whatever is logged, a record is one line that no terminal obeys.
TEST(Record, NothingInAValueBreaksTheLine) {
  const std::string odd =
      std::string("a\nI0101 fake\r\"\\\x1b[2J\x9b\xc2\x9bz\xe2\x82\xac\xff\t") + '\0';
  const std::vector<Field> fields = {{"name", odd}};
  const std::string text = TextLine(Of(Level::kInfo, "m", fields), {});
  EXPECT_EQ(text,
            "I1116 03:12:45.000123       0 store] \"m\" "
            "name=\"a\\nI0101 fake\\r\\\"\\\\\\x1b[2J\\x9b\\u009bz\xe2\x82\xac\\xff\\t\\x00\"\n");
  const std::string json = JsonLine(Of(Level::kInfo, "m", fields));
  EXPECT_EQ(json.find('\n'), json.size() - 1);
  EXPECT_EQ(json.find('\x1b'), json.npos);
  EXPECT_NE(json.find("\\u009bz"), json.npos) << json;
  EXPECT_NE(json.find("z\xe2\x82\xac\xef\xbf\xbd"), json.npos) << json;
}

TEST(Record, SaysHowManyOfItsKindWereNotTold) {
  Record record = Of(Level::kWarning, "m", {});
  record.suppressed = 41;
  EXPECT_EQ(TextLine(record, {}), "W1116 03:12:45.000123       0 store] \"m\" suppressed=41\n");
  EXPECT_NE(JsonLine(record).find(R"(,"suppressed":41})"), std::string::npos);
}

}  // namespace
}  // namespace dray::logs
