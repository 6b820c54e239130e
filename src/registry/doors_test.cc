// SPDX-License-Identifier: Apache-2.0
//
// Every kind of path with every method and every kind of client: what each is answered, as a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

struct Row {
  std::string path;
  // GET, POST, PUT, PATCH, DELETE, OPTIONS, BREW; without a body.
  std::vector<int> answers;
};

const std::vector<std::string> kMethods = {"GET",    "POST",    "PUT", "PATCH",
                                           "DELETE", "OPTIONS", "BREW"};

void ExpectTable(const apiserver::User& user, const apiserver::Headers& headers,
                 const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    std::vector<int> answers;
    for (const std::string& method : kMethods) {
      World world;  // one that no other request has changed
      world.Post("/api/v1/namespaces/default/pods",
                 R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
      answers.push_back(
          world.Ask({.method = method, .path = row.path, .user = user, .headers = headers}).status);
    }
    EXPECT_THAT(answers, ::testing::ElementsAreArray(row.answers)) << row.path;
  }
}

const std::string kPods = "/api/v1/namespaces/default/pods";

// Anything but reading one of these is a matter of who asks, before it is one of what there is.
TEST(Doors, OfNobody) {
  ExpectTable({}, {},
              {
                  {"/healthz", {200, 405, 405, 405, 405, 405, 405}},
                  {"/livez", {200, 405, 405, 405, 405, 405, 405}},
                  {"/healthzz", {403, 403, 403, 403, 403, 403, 403}},
                  {"/version", {403, 403, 403, 403, 403, 403, 403}},
                  {"/apis", {403, 403, 403, 403, 403, 403, 403}},
                  {"/metrics", {403, 403, 403, 403, 403, 403, 403}},
                  {"/nosuch", {403, 403, 403, 403, 403, 403, 403}},
                  {kPods, {403, 403, 403, 403, 403, 403, 403}},
                  {kPods + "/p", {403, 403, 403, 403, 403, 403, 403}},
                  {"/apis/nosuch/v1/x", {403, 403, 403, 403, 403, 403, 403}},
              });
}

const std::vector<Row> kOfAViewer = {
    {"/healthz", {200, 405, 405, 405, 405, 405, 405}},
    {"/version", {200, 405, 405, 405, 405, 405, 405}},
    {"/apis", {200, 405, 405, 405, 405, 405, 405}},
    {"/nosuch", {404, 405, 405, 405, 405, 405, 405}},
    {kPods, {200, 403, 403, 403, 403, 403, 403}},
    {kPods + "/p", {200, 403, 403, 403, 403, 403, 403}},
    {kPods + "/p/binding", {405, 403, 403, 403, 403, 403, 403}},
    {"/apis/nosuch/v1/x", {404, 403, 403, 403, 403, 403, 403}},
};
TEST(Doors, OfAViewer) { ExpectTable({"eve", {std::string(kViewers)}}, {}, kOfAViewer); }

TEST(Doors, OfAnAdministratorInAViewersName) {
  ExpectTable({"admin", {std::string(kMasters)}},
              {.list = {{"Impersonate-User", "eve"}, {"Impersonate-Group", std::string(kViewers)}}},
              kOfAViewer);
}

TEST(Doors, OfAViewerInAnAdministratorsName) {
  const std::vector<int> forbidden(kMethods.size(), 403);
  ExpectTable(
      {"eve", {std::string(kViewers)}},
      {.list = {{"Impersonate-User", "admin"}, {"Impersonate-Group", std::string(kMasters)}}},
      {{"/healthz", forbidden},
       {"/version", forbidden},
       {"/nosuch", forbidden},
       {kPods, forbidden},
       {kPods + "/p", forbidden}});
}

TEST(Doors, OfAnAdministrator) {
  ExpectTable({"admin", {std::string(kMasters)}}, {},
              {
                  {"/healthz", {200, 405, 405, 405, 405, 405, 405}},
                  {"/version", {200, 405, 405, 405, 405, 405, 405}},
                  {"/nosuch", {404, 405, 405, 405, 405, 405, 405}},
                  {kPods, {200, 400, 405, 405, 200, 405, 405}},
                  {kPods + "/p", {200, 405, 400, 415, 200, 405, 405}},
                  {kPods + "/none", {404, 405, 400, 415, 404, 405, 405}},
                  {kPods + "/p/status", {200, 405, 400, 415, 405, 405, 405}},
                  {kPods + "/p/nosuch", {404, 404, 404, 404, 404, 404, 404}},
                  {"/api/v1/nosuch", {404, 404, 404, 404, 404, 404, 404}},
                  {"/apis/nosuch/v1/x", {404, 404, 404, 404, 404, 404, 404}},
              });
}

}  // namespace
}  // namespace dray::registry
