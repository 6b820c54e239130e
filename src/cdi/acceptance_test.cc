// SPDX-License-Identifier: Apache-2.0
//
// Row 63 of the node's acceptance table, and what else the registry promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cdi/registry.h"
#include "fmt/format.h"
#include "testing/status_matchers.h"

namespace dray::cdi {
namespace {

using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

// Devices with an edit each: what=<value>.
std::string SpecOf(std::string_view kind, const std::vector<std::string>& devices,
                   std::string_view value, std::string_view file_env = "") {
  std::string text = fmt::format(
      "cdiVersion: 0.5.0\nkind: {}\ncontainerEdits: {{env: [{}]}}\ndevices:\n", kind, file_env);
  for (const std::string& device : devices) {
    text +=
        fmt::format("- {{name: \"{0}\", containerEdits: {{env: [\"{0}={1}\"]}}}}\n", device, value);
  }
  return text;
}

std::vector<std::string> Names(std::initializer_list<const char*> names) {
  return {names.begin(), names.end()};
}

auto HasEnv(const auto& matcher) { return Field(&ContainerEdits::env, matcher); }

TEST(Acceptance, Row63CdiNameMissingConflictAndPriority) {
  const Registry registry({
      {.priority = 1,
       .path = "/etc/cdi/a.json",
       .content = SpecOf("v.com/gpu", {"both", "old"}, "etc")},
      {.priority = 2,
       .path = "/var/run/cdi/a.json",
       .content = SpecOf("v.com/gpu", {"both", "twice"}, "run")},
      {.priority = 2,
       .path = "/var/run/cdi/b.yaml",
       .content = SpecOf("v.com/gpu", {"twice"}, "run")},
  });
  // The higher folder wins.
  EXPECT_THAT(registry.Resolve(Names({"v.com/gpu=both"})),
              IsOkAndHolds(HasEnv(ElementsAre("both=run"))));
  EXPECT_THAT(registry.Resolve(Names({"v.com/gpu=old"})),
              IsOkAndHolds(HasEnv(ElementsAre("old=etc"))));
  // A name that is missing: all of them are named, nothing is given.
  EXPECT_THAT(
      registry.Resolve(Names({"v.com/gpu=x", "v.com/gpu=both", "v.com/gpu=y", "v.com/gpu=x"})),
      StatusIs(StatusCode::kNotFound, Eq("unresolvable CDI devices v.com/gpu=x, v.com/gpu=y")));
  // Twice in a folder: unusable.
  EXPECT_THAT(registry.Resolve(Names({"v.com/gpu=twice"})),
              StatusIs(StatusCode::kNotFound,
                       AllOf(HasSubstr("unresolvable CDI devices v.com/gpu=twice"),
                             HasSubstr("/var/run/cdi/a.json and /var/run/cdi/b.yaml"))));
  EXPECT_THAT(registry.Devices(), ElementsAre("v.com/gpu=both", "v.com/gpu=old"));
  EXPECT_THAT(registry.problems(), ElementsAre(Field(&FileProblem::path, "/var/run/cdi/a.json")));
}

TEST(Registry, AConflictBelowDoesNotHurtTheFolderAbove) {
  const Registry registry({
      {.priority = 1, .path = "/etc/cdi/a.json", .content = SpecOf("v/c", {"a"}, "one")},
      {.priority = 1, .path = "/etc/cdi/b.json", .content = SpecOf("v/c", {"a"}, "two")},
      {.priority = 2, .path = "/run/a.json", .content = SpecOf("v/c", {"a"}, "run")},
  });
  EXPECT_THAT(registry.Resolve(Names({"v/c=a"})), IsOkAndHolds(HasEnv(ElementsAre("a=run"))));
  EXPECT_TRUE(registry.problems().empty());
}

TEST(Registry, TheFilesOwnEditsComeOnceBeforeItsFirstDevice) {
  const Registry registry({
      {.path = "1.yaml", .content = SpecOf("v/c", {"a", "b"}, "1", "FILE=1")},
      {.path = "2.yaml", .content = SpecOf("v/d", {"a"}, "2", "FILE=2")},
  });
  EXPECT_THAT(registry.Resolve(Names({"v/c=b", "v/d=a", "v/c=a", "v/c=b"})),
              IsOkAndHolds(HasEnv(ElementsAre("FILE=1", "b=1", "FILE=2", "a=2", "a=1"))));
}

TEST(Registry, AFileThatIsWrongDoesNotSpoilTheOthers) {
  const Registry registry({
      {.path = "bad.json", .content = std::string("{")},
      {.path = "gone.json", .content = base::Unavailable("cannot read gone.json")},
      {.path = "good.json", .content = SpecOf("v/c", {"a"}, "1")},
      {.path = "strict.json", .content = SpecOf("v/c", {"b"}, "1") + "more: 1\n"},
  });
  EXPECT_THAT(registry.Devices(), ElementsAre("v/c=a"));
  EXPECT_THAT(registry.problems(),
              ElementsAre(Field(&FileProblem::path, "bad.json"),
                          AllOf(Field(&FileProblem::path, "gone.json"),
                                Field(&FileProblem::message, HasSubstr("cannot read"))),
                          AllOf(Field(&FileProblem::path, "strict.json"),
                                Field(&FileProblem::message, HasSubstr("more")))));
  EXPECT_THAT(registry.Resolve(Names({"v/c=b"})), Not(::dray::testing::IsOk()));
}

TEST(Registry, ACopyLivesOnItsOwn) {
  Registry copy;
  {
    const Registry registry({{.path = "1.yaml", .content = SpecOf("v/c", {"a"}, "1")}});
    copy = registry;
  }
  EXPECT_THAT(copy.Resolve(Names({"v/c=a"})), IsOkAndHolds(HasEnv(ElementsAre("a=1"))));
}

}  // namespace
}  // namespace dray::cdi
