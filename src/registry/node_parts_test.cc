// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/node_door.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";

// Remembers what it is asked for.
class FakeDoor final : public NodeDoor {
 public:
  void Ask(NodeRequest request, std::function<void(apiserver::Response)> answer) override {
    asked.push_back(request);
    apiserver::Response response;
    response.body = std::make_shared<const std::string>("what the node says");
    answer(std::move(response));
  }
  std::vector<NodeRequest> asked;
};

class NodePartsTest : public ::testing::Test {
 protected:
  NodePartsTest() : world_({}, nullptr, {.nodes = &door_}) {
    world_.Post("/api/v1/namespaces", R"({"metadata":{"name":"default"}})");
    world_.Post("/api/v1/nodes", R"({"metadata":{"name":"real"}})");
    Status("/api/v1/nodes/real", R"({"daemonEndpoints":{"kubeletEndpoint":{"Port":10250}},
        "addresses":[{"type":"Hostname","address":"real"},
                     {"type":"InternalIP","address":"10.0.0.7"}]})");
    world_.Post("/api/v1/nodes", R"({"metadata":{"name":"hollow"}})");
    Add("one", "real", R"([{"name":"c","image":"i"}])");
    Add("two", "real", R"([{"name":"a","image":"i"},{"name":"b","image":"i"}])");
    Add("waits", "", R"([{"name":"c","image":"i"}])");
    Add("nowhere", "hollow", R"([{"name":"c","image":"i"}])");
  }
  void Add(const std::string& name, const std::string& node, const std::string& containers) {
    const std::string on = node.empty() ? "" : R"(,"nodeName":")" + node + '"';
    const Answer made =
        world_.Post(std::string(kPods), R"({"metadata":{"name":")" + name +
                                            R"("},"spec":{"containers":)" + containers + on + "}}");
    EXPECT_EQ(made.status, 201) << made.text;
  }
  void Status(const std::string& path, const std::string& status) {
    const Answer done = world_.Ask({.method = "PATCH",
                                    .path = path + "/status",
                                    .body = R"({"status":)" + status + "}",
                                    .content_type = "application/merge-patch+json"});
    EXPECT_EQ(done.status, 200) << done.text;
  }
  Answer Ask(std::string_view path, std::string_view method = "GET", bool upgrade = true,
             apiserver::User user = {"admin", {std::string(kMasters)}}) {
    Asking asking{.method = std::string(method), .path = std::string(kPods) + std::string(path)};
    asking.user = std::move(user);
    asking.headers.Add("Authorization", "Bearer secret");
    if (upgrade) {
      asking.headers.Add("Upgrade", "websocket");
      asking.headers.Add("Sec-WebSocket-Key", "k");
    }
    return world_.Ask(asking);
  }

  FakeDoor door_;
  World world_;
};

TEST_F(NodePartsTest, ALogIsAskedForAtTheNode) {
  const Answer answer =
      Ask("/two/log?container=b&follow=true&tailLines=5&timestamps=1&previous=false", "GET", false);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.text, "what the node says");
  ASSERT_EQ(door_.asked.size(), 1u);
  EXPECT_EQ(door_.asked[0].node, "real");
  EXPECT_EQ(door_.asked[0].address, "10.0.0.7");
  EXPECT_EQ(door_.asked[0].port, 10250);
  EXPECT_EQ(door_.asked[0].target,
            "/containerLogs/default/two/b?follow=true&timestamps=true&tailLines=5");
  EXPECT_EQ(door_.asked[0].headers.Find("Authorization"), "");
}

TEST_F(NodePartsTest, TheOnlyContainerNeedsNoName) {
  EXPECT_EQ(Ask("/one/log").status, 200);
  EXPECT_EQ(door_.asked.at(0).target, "/containerLogs/default/one/c");
  const Answer two = Ask("/two/log");
  EXPECT_EQ(two.status, 400);
  EXPECT_THAT(two.text, HasSubstr("a container name must be specified for pod two, choose one of: "
                                  "[a b]"));
  const Answer none = Ask("/two/log?container=x");
  EXPECT_EQ(none.status, 400);
  EXPECT_THAT(none.text, HasSubstr("container x is not valid for pod two"));
}

TEST_F(NodePartsTest, WhatIsAskedForIsChecked) {
  struct Row {
    std::string_view query;
    std::string_view says;
  };
  for (const Row& row : {Row{"tailLines=-1", "tailLines: -1 must be greater than or equal to 0"},
                         Row{"tailLines=x", "\\\"x\\\" is not a whole number"},
                         Row{"limitBytes=0", "limitBytes: 0 must be"},
                         Row{"sinceSeconds=0", "sinceSeconds: 0 must be"},
                         Row{"sinceTime=yesterday", "\\\"yesterday\\\" is not an RFC 3339 time"},
                         Row{"sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", "at most one of"}}) {
    const Answer answer = Ask("/one/log?" + std::string(row.query));
    EXPECT_EQ(answer.status, 400) << row.query;
    EXPECT_THAT(answer.text, HasSubstr(std::string(row.says)));
  }
  EXPECT_TRUE(door_.asked.empty());
}

TEST_F(NodePartsTest, AProcessIsJoinedByAnUpgrade) {
  EXPECT_EQ(Ask("/one/exec?command=sh&command=-c&command=echo%20%26&stdin=true&stdout=true").status,
            200);
  EXPECT_EQ(door_.asked.at(0).target,
            "/exec/default/one/c?input=1&output=1&command=sh&command=-c&command=echo%20%26");
  EXPECT_EQ(door_.asked.at(0).headers.Find("Upgrade"), "websocket");
  EXPECT_EQ(door_.asked.at(0).headers.Find("Sec-WebSocket-Key"), "k");
  EXPECT_EQ(Ask("/one/attach?stdout=true", "POST").status, 200);
  EXPECT_EQ(door_.asked.at(1).target, "/attach/default/one/c?output=1");
  EXPECT_EQ(Ask("/one/exec?stdout=true").status, 400);  // no command
  EXPECT_EQ(Ask("/one/exec?command=sh").status, 400);   // no stream
  EXPECT_EQ(Ask("/one/exec?command=sh&stdout=true", "GET", false).status, 400);
  EXPECT_EQ(Ask("/one/exec?command=sh&stdout=true", "DELETE").status, 405);
  EXPECT_EQ(Ask("/one/log", "POST").status, 405);
  Status(std::string(kPods) + "/one", R"({"phase":"Succeeded"})");
  const Answer over = Ask("/one/exec?command=sh&stdout=true");
  EXPECT_EQ(over.status, 400);
  EXPECT_THAT(over.text, HasSubstr("completed pod; current phase is Succeeded"));
}

TEST_F(NodePartsTest, PortsAreThoseOfThePod) {
  EXPECT_EQ(Ask("/two/portforward").status, 200);
  EXPECT_EQ(door_.asked.at(0).target, "/portForward/default/two");
  EXPECT_EQ(door_.asked.at(0).headers.Find("Upgrade"), "websocket");
  // kubectl without WebSocket.
  Asking asking{.method = "POST", .path = std::string(kPods) + "/one/portforward"};
  asking.user = {"admin", {std::string(kMasters)}};
  asking.headers.Add("Upgrade", "SPDY/3.1");
  asking.headers.Add("X-Stream-Protocol-Version", "portforward.k8s.io");
  EXPECT_EQ(world_.Ask(asking).status, 200);
  EXPECT_EQ(door_.asked.at(1).headers.Find("X-Stream-Protocol-Version"), "portforward.k8s.io");
  EXPECT_EQ(Ask("/one/portforward", "GET", false).status, 400);
  const apiserver::User viewer{"v", {std::string(kViewers)}};
  EXPECT_EQ(Ask("/one/portforward", "GET", true, viewer).status, 403);
  Status(std::string(kPods) + "/one", R"({"phase":"Failed"})");
  EXPECT_THAT(Ask("/one/portforward").text, HasSubstr("cannot forward ports of a completed pod"));
}

// To join a process is to create something, whichever method asks.
TEST_F(NodePartsTest, WhoMayOnlyReadSeesLogsAndJoinsNothing) {
  const apiserver::User viewer{"v", {std::string(kViewers)}};
  EXPECT_EQ(Ask("/one/log", "GET", false, viewer).status, 200);
  EXPECT_EQ(Ask("/one/exec?command=sh&stdout=true", "GET", true, viewer).status, 403);
  EXPECT_EQ(Ask("/one/attach?stdout=true", "GET", true, viewer).status, 403);
}

TEST_F(NodePartsTest, WhereNothingRunsThatIsSaid) {
  EXPECT_EQ(Ask("/waits/log").status, 200);  // it has written nothing yet
  EXPECT_EQ(Ask("/waits/log").text, "");
  const Answer waits = Ask("/waits/exec?command=sh&stdout=true");
  EXPECT_EQ(waits.status, 400);
  EXPECT_THAT(waits.text, HasSubstr("pod waits does not have a host assigned"));
  const Answer hollow = Ask("/nowhere/log");
  EXPECT_EQ(hollow.status, 501);
  EXPECT_THAT(hollow.text, HasSubstr("is on a simulated node"));
  // As hollow nodes are once they have been heard of.
  Status("/api/v1/nodes/hollow", R"({"addresses":[{"type":"Hostname","address":"hollow"}],)"
                                 R"("nodeInfo":{"containerRuntimeVersion":"hollow://1"}})");
  const Answer heard = Ask("/nowhere/log");
  EXPECT_EQ(heard.status, 501);
  EXPECT_THAT(heard.text, HasSubstr("is on a simulated node"));
  EXPECT_EQ(Ask("/nobody/log").status, 404);
  EXPECT_TRUE(door_.asked.empty());
}

// A kubelet that is told no address of its machine but the loopback says none: it is not simulated for that.
TEST_F(NodePartsTest, ANodeThatSaysNoAddressIsToldApartFromASimulatedOne) {
  Status("/api/v1/nodes/hollow",
         R"({"nodeInfo":{"containerRuntimeVersion":"containerd://2.1.9"}})");
  const Answer answer = Ask("/nowhere/log");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.text, HasSubstr(R"(node \"hollow\" says neither an address nor a port)"));
  EXPECT_TRUE(door_.asked.empty());
}

}  // namespace
}  // namespace dray::registry
