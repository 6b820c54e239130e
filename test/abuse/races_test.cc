// SPDX-License-Identifier: Apache-2.0
//
// Many who want the same object at once.
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "abuse/up_for_test.h"
#include "base/mutex.h"
#include "fmt/format.h"

namespace dray::abuse {
namespace {

using process::Call;

constexpr int kThreads = 8;

class RacesTest : public UpTest {
 protected:
  // Statuses of what each of several clients asks for, a few times.
  template <typename F>
  std::map<int, int> AllAtOnce(int times, F call) {
    base::Mutex mutex;
    std::map<int, int> statuses;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        process::Requests requests = Admin();
        for (int i = 0; i < times; ++i) {
          const int status = requests.Do(call(t, i)).status;
          const base::MutexLock lock(mutex);
          ++statuses[status];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return statuses;
  }
  api::Object Create(std::string_view name) {
    process::Requests requests = Admin();
    return process::Decoded(
        requests.Do({.method = "POST", .path = std::string(kTemplates), .body = TemplateBody(name)})
            .body);
  }
  api::Object Read(std::string_view name) {
    process::Requests requests = Admin();
    return process::Decoded(requests.Do({.path = fmt::format("{}/{}", kTemplates, name)}).body);
  }
};

TEST_F(RacesTest, OneOfManyCreatesTheObject) {
  const auto statuses = AllAtOnce(1, [](int, int) {
    return Call{.method = "POST", .path = std::string(kTemplates), .body = TemplateBody("raced")};
  });
  EXPECT_EQ(statuses, (std::map<int, int>{{201, 1}, {409, kThreads - 1}}));
}

// A revision can be used once, also when the same request comes again and again.
TEST_F(RacesTest, OneOfManyWritesToARevision) {
  const api::Object stored = Create("revised");
  const auto statuses = AllAtOnce(10, [&](int t, int i) {
    api::Object changed = stored;
    changed.MutableMetadata().annotations["who"] = fmt::format("{}-{}", t, i);
    return Call{
        .method = "PUT", .path = fmt::format("{}/revised", kTemplates), .body = changed.ToJson()};
  });
  EXPECT_EQ(statuses, (std::map<int, int>{{200, 1}, {409, 10 * kThreads - 1}}));
}

// Each manager has a field of its own, and all of them the same one.
TEST_F(RacesTest, AppliesOfManyManagersAllCountOrConflict) {
  Create("applied");
  const auto apply = [](std::string_view field, int t, std::string_view query) {
    return Call{.method = "PATCH",
                .path = fmt::format("{}/applied?fieldManager=m{}{}", kTemplates, t, query),
                .body = fmt::format(R"({{"apiVersion":"resource.k8s.io/v1","kind":)"
                                    R"("ResourceClaimTemplate","metadata":{{"name":"applied",)"
                                    R"("annotations":{{"{}":"{}"}}}}}})",
                                    field, t),
                .content_type = "application/apply-patch+yaml"};
  };
  const auto own = AllAtOnce(10, [&](int t, int) { return apply(fmt::format("f{}", t), t, ""); });
  EXPECT_EQ(own, (std::map<int, int>{{200, 10 * kThreads}}));
  const api::Object applied = Read("applied");
  for (int t = 0; t < kThreads; ++t) {
    const auto* value = applied.metadata().annotations.Find(fmt::format("f{}", t));
    ASSERT_NE(value, nullptr) << t;
    EXPECT_EQ(*value, std::to_string(t));
  }
  // One was first, for all others it is a conflict.
  const auto shared = AllAtOnce(10, [&](int t, int) { return apply("shared", t, ""); });
  EXPECT_EQ(shared, (std::map<int, int>{{200, 10}, {409, 10 * (kThreads - 1)}}));
  const auto forced = AllAtOnce(10, [&](int t, int) { return apply("shared", t, "&force=true"); });
  EXPECT_EQ(forced, (std::map<int, int>{{200, 10 * kThreads}}));
  std::set<std::string> managers;
  const api::Object forced_object = Read("applied");
  for (const auto& entry : forced_object.metadata().managed_fields) {
    EXPECT_TRUE(managers.insert(entry.manager + entry.operation).second) << entry.manager;
  }
}

TEST_F(RacesTest, PatchesThatAddAllCount) {
  Create("counted");
  const auto statuses = AllAtOnce(10, [](int t, int i) {
    return Call{.method = "PATCH",
                .path = fmt::format("{}/counted", kTemplates),
                .body = fmt::format(R"([{{"op":"add","path":"/metadata/annotations/t{}-{}",)"
                                    R"("value":"x"}}])",
                                    t, i),
                .content_type = "application/json-patch+json"};
  });
  EXPECT_EQ(statuses, (std::map<int, int>{{200, 10 * kThreads}}));
  EXPECT_EQ(Read("counted").metadata().annotations.size(), 1u + 10u * kThreads);
}

}  // namespace
}  // namespace dray::abuse
