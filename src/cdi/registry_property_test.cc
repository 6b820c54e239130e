// SPDX-License-Identifier: Apache-2.0
//
// Property: whatever files there are, the registry answers as a search through all of them does. The
// model reads a name's meaning from the files anew each time and keeps nothing.
#include <gtest/gtest.h>

#include <random>

#include "cdi/registry.h"
#include "fmt/format.h"

namespace dray::cdi {
namespace {

constexpr int kWorlds = 2000;
constexpr int kQuestions = 10;

struct World {
  std::vector<SpecFile> files;
};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}
  int Below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  std::string Kind() { return Below(2) == 0 ? "v.com/a" : "v.com/b"; }
  std::string Name() { return fmt::format("{}=d{}", Kind(), Below(4)); }

  SpecFile File(int index) {
    SpecFile file{.priority = Below(3), .path = fmt::format("file-{}.json", index)};
    Spec spec{.kind = Kind()};
    if (Below(2) == 0) spec.container_edits.env = {fmt::format("FILE{}=1", index)};
    for (int d = 0; d < 4; ++d) {
      if (Below(3) != 0) continue;
      spec.devices.push_back({.name = fmt::format("d{}", d),
                              .container_edits = {.env = {fmt::format("D{}={}", d, index)}}});
    }
    auto text = WriteSpec(spec);
    // A spec without devices is invalid: such files are left out by both.
    file.content = text.ok() && Below(10) != 0 ? *text : std::string("{}");
    return file;
  }

 private:
  std::mt19937 random_;
};

// Slow and obvious: for each name, all files of the highest folder that has it.
std::string Model(const std::vector<SpecFile>& files, const std::vector<std::string>& names) {
  std::string env;
  std::string missing;
  std::vector<std::string> asked;
  std::vector<std::string> used;
  for (const std::string& name : names) {
    if (std::ranges::find(asked, name) != asked.end()) continue;
    asked.push_back(name);
    for (int priority = 9;; --priority) {
      if (priority < 0) {
        missing += name + " ";
        break;
      }
      int definitions = 0;
      std::string file_env;
      std::string device_env;
      std::string path;
      for (const SpecFile& file : files) {
        if (file.priority != priority) continue;
        const auto spec = ReadSpec(*file.content);
        if (!spec.ok()) continue;
        for (const Device& device : spec->devices) {
          if (spec->kind + "=" + device.name != name) continue;
          ++definitions;
          path = file.path;
          file_env = spec->container_edits.env.empty() ? "" : spec->container_edits.env[0] + " ";
          device_env = device.container_edits.env[0] + " ";
        }
      }
      if (definitions == 0) continue;
      if (definitions > 1) {
        missing += name + " ";
      } else {
        if (std::ranges::find(used, path) == used.end()) env += file_env;
        used.push_back(path);
        env += device_env;
      }
      break;
    }
  }
  return missing.empty() ? env : "missing " + missing;
}

std::string Ask(const Registry& registry, const std::vector<std::string>& names) {
  const auto edits = registry.Resolve(names);
  std::string said;
  if (edits.ok()) {
    for (const std::string& variable : edits->env) said += variable + " ";
    return said;
  }
  std::string_view message = base::Message(edits.status());
  const std::string_view begin = "unresolvable CDI devices ";
  EXPECT_TRUE(message.starts_with(begin)) << message;
  message.remove_prefix(begin.size());
  message = message.substr(0, message.find(" ("));
  said = "missing ";
  for (const char c : message) {
    if (c != ',') said += c;
  }
  return said + " ";
}

TEST(RegistryProperty, AnswersAsASearchThroughAllFilesDoes) {
  int given = 0;
  int refused = 0;
  for (unsigned seed = 0; seed < kWorlds; ++seed) {
    Maker maker(seed);
    std::vector<SpecFile> files;
    const int count = maker.Below(6);
    for (int i = 0; i < count; ++i) files.push_back(maker.File(i));
    const Registry registry(files);
    for (int question = 0; question < kQuestions; ++question) {
      std::vector<std::string> names;
      const int wanted = maker.Below(4);
      for (int i = 0; i < wanted; ++i) names.push_back(maker.Name());
      const std::string want = Model(files, names);
      ASSERT_EQ(Ask(registry, names), want) << "seed " << seed;
      (want.starts_with("missing") ? refused : given) += 1;
    }
    // Devices() are those that can be had one by one.
    for (const std::string& name : registry.Devices()) {
      ASSERT_TRUE(registry.Resolve(std::vector{name}).ok()) << "seed " << seed;
    }
  }
  EXPECT_GT(given, kWorlds);
  EXPECT_GT(refused, kWorlds);
}

}  // namespace
}  // namespace dray::cdi
