// SPDX-License-Identifier: Apache-2.0
//
// Policies against a model that is as slow and plain as can be: every binding is looked at for every
// wish, and what a rule allows is written out as a list of the texts that would allow it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "rbac/policy.h"
#include "rbac/rbac_for_test.h"
#include "rbac/rules.h"

namespace dray::rbac {
namespace {

const Names kVerbs = {"get", "list", "create", "escalate"};
const Names kGroups = {"", "apps", "x.io"};
const Names kResources = {"pods", "deployments", "things"};
const Names kParts = {"", "status", "scale"};
const Names kNames = {"", "a", "b", "*"};
const Names kSpaces = {"", "one", "two"};
const Names kPaths = {"/metrics", "/metrics/x", "/apis", "/apis/x/y", "/"};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int Below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine_); }
  std::string Of(const Names& names) {
    return names[static_cast<std::size_t>(Below(static_cast<int>(names.size())))];
  }
  // Some of them, maybe twice; sometimes with "*".
  Names Some(const Names& names, int most, bool star = true) {
    Names some;
    for (int n = 1 + Below(most); n > 0; --n) {
      some.push_back(star && Below(8) == 0 ? std::string("*") : Of(names));
    }
    return some;
  }

 private:
  std::mt19937 engine_;
};

api::PolicyRule RandomRule(Random& random) {
  if (random.Below(5) == 0) {
    return PathRule(random.Some(kVerbs, 2),
                    random.Some({"/metrics", "/metrics/*", "/apis/*", "/a*", "/*", "/"}, 3));
  }
  Names resources;
  for (const std::string& resource : random.Some(kResources, 3)) {
    const std::string part = random.Of(kParts);
    resources.push_back(part.empty() ? resource : resource + "/" + part);
  }
  return Rule(random.Some(kVerbs, 3), random.Some(kGroups, 2), resources,
              random.Below(3) == 0 ? random.Some({"a", "b"}, 2) : Names());
}
std::vector<api::PolicyRule> RandomRules(Random& random, int most) {
  std::vector<api::PolicyRule> rules;
  for (int n = random.Below(most + 1); n > 0; --n) rules.push_back(RandomRule(random));
  return rules;
}

// The model

bool In(const Names& list, const std::set<std::string>& words) {
  return std::ranges::any_of(list, [&](const std::string& word) { return words.contains(word); });
}

bool ModelAllows(const api::PolicyRule& rule, const api::AuthorizationRequest& wish) {
  if (!In(rule.verbs, {"*", wish.verb})) return false;
  if (!wish.path.empty()) {
    std::set<std::string> words = {wish.path};
    for (std::size_t i = 0; i <= wish.path.size(); ++i) words.insert(wish.path.substr(0, i) + "*");
    return In(rule.non_resource_urls, words);
  }
  std::set<std::string> resources = {"*"};
  if (wish.subresource.empty()) {
    resources.insert(wish.resource);
  } else {
    resources.insert(wish.resource + "/" + wish.subresource);
    resources.insert("*/" + wish.subresource);
  }
  return In(rule.api_groups, {"*", wish.api_group}) && In(rule.resources, resources) &&
         (rule.resource_names.empty() || In(rule.resource_names, {wish.name}));
}

bool ModelMeans(const api::RbacSubject& subject, const std::string& space,
                const api::UserInfo& user) {
  if (subject.kind == "User") return subject.name == user.name;
  if (subject.kind == "Group") return In(user.groups, {subject.name});
  const std::string& at = subject.namespace_.empty() ? space : subject.namespace_;
  return !at.empty() && user.name == "system:serviceaccount:" + at + ":" + subject.name;
}

bool ModelRole(const std::vector<api::Object>& objects, const api::RoleRef& ref,
               const std::string& space, const api::AuthorizationRequest& wish) {
  for (const api::Object& object : objects) {
    const auto* wide = object.As<api::ClusterRole>();
    const auto* local = object.As<api::Role>();
    const bool meant = wide != nullptr
                           ? ref.kind == "ClusterRole" && wide->metadata.name == ref.name
                           : local != nullptr && ref.kind == "Role" &&
                                 local->metadata.name == ref.name &&
                                 local->metadata.namespace_ == space;
    if (!meant) continue;
    for (const api::PolicyRule& rule : wide != nullptr ? wide->rules : local->rules) {
      if (ModelAllows(rule, wish)) return true;
    }
  }
  return false;
}

bool ModelPolicy(const std::vector<api::Object>& objects, const api::AuthorizationRequest& wish) {
  for (const api::Object& object : objects) {
    if (const auto* binding = object.As<api::ClusterRoleBinding>()) {
      for (const api::RbacSubject& subject : binding->subjects) {
        if (ModelMeans(subject, "", wish.user) && ModelRole(objects, binding->role_ref, "", wish)) {
          return true;
        }
      }
    }
    const auto* binding = object.As<api::RoleBinding>();
    if (binding == nullptr || !wish.path.empty()) continue;
    if (wish.namespace_.empty() || binding->metadata.namespace_ != wish.namespace_) continue;
    for (const api::RbacSubject& subject : binding->subjects) {
      if (ModelMeans(subject, wish.namespace_, wish.user) &&
          ModelRole(objects, binding->role_ref, wish.namespace_, wish)) {
        return true;
      }
    }
  }
  return false;
}

// One of everything that a rule can name, with what has no name yet.
std::vector<api::AuthorizationRequest> AllWishes() {
  std::vector<api::AuthorizationRequest> all;
  for (const std::string& verb : kVerbs) {
    for (const std::string& path : kPaths) all.push_back({.user = {}, .verb = verb, .path = path});
    for (const std::string& group : kGroups) {
      for (const std::string& resource : kResources) {
        for (const std::string& part : kParts) {
          for (const std::string& name : kNames) {
            all.push_back({.user = {},
                           .verb = verb,
                           .api_group = group,
                           .resource = resource,
                           .subresource = part,
                           .name = name});
          }
        }
      }
    }
  }
  return all;
}

std::vector<api::RbacSubject> RandomSubjects(Random& random) {
  std::vector<api::RbacSubject> subjects;
  for (int n = random.Below(3); n > 0; --n) {
    switch (random.Below(3)) {
      case 0:
        subjects.push_back(User(random.Of({"eve", "system:serviceaccount:one:sa"})));
        break;
      case 1:
        subjects.push_back(Group(random.Of({"dev", "ops"})));
        break;
      default:
        subjects.push_back(Account(random.Of(kSpaces), "sa"));
    }
  }
  return subjects;
}

std::vector<api::Object> RandomObjects(Random& random) {
  std::vector<api::Object> objects;
  for (const std::string name : {"r0", "r1", "r2"}) {
    if (random.Below(5) != 0) objects.push_back(ClusterRoleOf(name, RandomRules(random, 3)));
    for (const std::string space : {"one", "two"}) {
      if (random.Below(3) != 0) objects.push_back(RoleOf(space, name, RandomRules(random, 3)));
    }
  }
  for (int n = random.Below(6); n > 0; --n) {
    const std::string name = "b" + std::to_string(n);
    const std::string role = random.Of({"r0", "r1", "r2"});
    if (random.Below(3) == 0) {
      objects.push_back(WideBinding(name, role, RandomSubjects(random)));
    } else {
      objects.push_back(LocalBinding(random.Of({"one", "two"}), name,
                                     random.Of({"Role", "ClusterRole"}), role,
                                     RandomSubjects(random)));
    }
  }
  return objects;
}

int Instances() {
  const char* wanted = std::getenv("DRAY_INSTANCES");
  return wanted == nullptr ? 400 : std::atoi(wanted);
}
unsigned FirstSeed() {
  const char* seed = std::getenv("DRAY_SEED");
  return seed == nullptr ? 1 : static_cast<unsigned>(std::atoi(seed));
}

TEST(RbacProperty, APolicyAllowsWhatTheModelAllows) {
  const std::vector<api::UserInfo> users = {{"eve"},
                                            {"eve", {"dev"}},
                                            {"bob", {"dev", "ops"}},
                                            {"system:serviceaccount:one:sa"},
                                            {"system:serviceaccount:two:sa", {"ops"}}};
  const std::vector<api::AuthorizationRequest> wishes = AllWishes();
  int allowed = 0;
  int refused = 0;
  for (unsigned seed = FirstSeed(); seed < FirstSeed() + static_cast<unsigned>(Instances());
       ++seed) {
    SCOPED_TRACE("DRAY_SEED=" + std::to_string(seed));
    Random random(seed);
    const std::vector<api::Object> objects = RandomObjects(random);
    const Policy policy(objects);
    for (int n = 0; n < 150; ++n) {
      api::AuthorizationRequest wish =
          wishes[static_cast<std::size_t>(random.Below(static_cast<int>(wishes.size())))];
      wish.user = users[static_cast<std::size_t>(random.Below(static_cast<int>(users.size())))];
      wish.namespace_ = random.Of(kSpaces);
      const bool expected = ModelPolicy(objects, wish);
      ASSERT_EQ(policy.Authorize(wish).allowed, expected)
          << wish.user.name << " " << wish.verb << " " << wish.api_group << "/" << wish.resource
          << "/" << wish.subresource << " " << wish.name << wish.path << " in " << wish.namespace_;
      (expected ? allowed : refused) += 1;
      // What somebody may is what their rules say.
      const auto rules = policy.RulesFor(wish.user, wish.path.empty() ? wish.namespace_ : "");
      ASSERT_EQ(Allows(rules.rules, wish), expected);
    }
  }
  EXPECT_GT(allowed, refused / 100) << "the test sees both";
}

// Whether one text of a rule has another, by Kubernetes's words.
bool ModelHas(const Names& had, const std::string& word) { return In(had, {"*", word}); }

bool ModelCovers(const api::PolicyRule& had, const std::string& verb, const std::string& group,
                 const std::string& resource, const std::string* name) {
  std::set<std::string> resources = {"*", resource};
  if (const auto slash = resource.find('/'); slash != resource.npos) {
    resources.insert("*" + resource.substr(slash));
  }
  const bool named =
      had.resource_names.empty() || (name != nullptr && In(had.resource_names, {*name}));
  return named && ModelHas(had.verbs, verb) && ModelHas(had.api_groups, group) &&
         In(had.resources, resources);
}

using Piece = std::tuple<std::string, std::string, std::string, std::string>;

std::set<Piece> ModelMissing(const std::vector<api::PolicyRule>& had,
                             const std::vector<api::PolicyRule>& wanted) {
  std::set<Piece> missing;
  for (const api::PolicyRule& want : wanted) {
    for (const std::string& verb : want.verbs) {
      for (const std::string& group : want.api_groups) {
        for (const std::string& resource : want.resources) {
          Names names = want.resource_names;
          if (names.empty()) names.emplace_back();
          for (const std::string& name : names) {
            const std::string* given = want.resource_names.empty() ? nullptr : &name;
            if (std::ranges::none_of(had, [&](const auto& rule) {
                  return ModelCovers(rule, verb, group, resource, given);
                })) {
              missing.emplace(verb, group, resource, name);
            }
          }
        }
      }
      for (const std::string& url : want.non_resource_urls) {
        std::set<std::string> words = {url};
        for (std::size_t i = 0; i <= url.size(); ++i) words.insert(url.substr(0, i) + "*");
        if (std::ranges::none_of(had, [&](const auto& rule) {
              return ModelHas(rule.verbs, verb) && In(rule.non_resource_urls, words);
            })) {
          missing.emplace(verb, "", url, "");
        }
      }
    }
  }
  return missing;
}

TEST(RbacProperty, WhatIsMissingIsWhatTheModelMisses) {
  const std::vector<api::AuthorizationRequest> wishes = AllWishes();
  int covered = 0;
  for (unsigned seed = FirstSeed(); seed < FirstSeed() + static_cast<unsigned>(Instances()) * 5;
       ++seed) {
    SCOPED_TRACE("DRAY_SEED=" + std::to_string(seed));
    Random random(seed);
    const auto had = RandomRules(random, 4);
    auto wanted = RandomRules(random, 2);
    // Often something that is had, with less in it.
    if (!had.empty() && random.Below(2) == 0) {
      wanted = {had[static_cast<std::size_t>(random.Below(static_cast<int>(had.size())))]};
      if (wanted.front().verbs.size() > 1) wanted.front().verbs.pop_back();
    }
    const Missing missing = Uncovered(had, wanted);
    ASSERT_FALSE(missing.more);
    std::set<Piece> found;
    for (const api::PolicyRule& rule : missing.rules) {
      ASSERT_EQ(rule.verbs.size(), 1u);
      if (rule.resources.empty()) {
        found.emplace(rule.verbs[0], "", rule.non_resource_urls[0], "");
      } else {
        found.emplace(rule.verbs[0], rule.api_groups[0], rule.resources[0],
                      rule.resource_names.empty() ? "" : rule.resource_names[0]);
      }
    }
    ASSERT_EQ(found, ModelMissing(had, wanted));
    if (!missing.empty()) continue;
    ++covered;
    // Nobody who is let through by it gets anything new.
    for (const api::AuthorizationRequest& wish : wishes) {
      ASSERT_TRUE(!Allows(wanted, wish) || Allows(had, wish)) << wish.verb << wish.resource;
    }
  }
  EXPECT_GT(covered, Instances()) << "the test sees both";
}

}  // namespace
}  // namespace dray::rbac
