// SPDX-License-Identifier: Apache-2.0
//
// A node's door for logs and processes: any path, parameters and protocol, and any bytes on the stream that comes of it.
// Every request is answered once; a stream ends. Input: lines METHOD, PATH?QUERY, PROTOCOLS (empty: no WebSocket), then
// what the client says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "container/none_runtime.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "streaming/handler.h"

namespace {

using dray::streaming::ContainerPlace;

class Once final : public dray::apiserver::Responder {
 public:
  void Send(dray::apiserver::Response sent) override {
    DRAY_CHECK(++times == 1, "answered once");
    response = std::move(sent);
  }
  int times = 0;
  dray::apiserver::Response response;
};

// The container c runs, d has ended, e has never begun; and nobody knows others.
class Some final : public dray::streaming::Containers {
 public:
  explicit Some(std::string log) : log_(std::move(log)) {}
  void Find(std::string, std::string, std::string container,
            std::function<void(dray::StatusOr<ContainerPlace>)> done) override {
    if (container == "c") return done(ContainerPlace{"id", true, log_, ""});
    if (container == "d") return done(ContainerPlace{"id", false, log_, log_});
    if (container == "e") return done(ContainerPlace{});
    done(dray::base::NotFound("there is no such container"));
  }
  void FindSandbox(std::string, std::string pod,
                   std::function<void(dray::StatusOr<std::string>)> done) override {
    if (pod == "p") return done("sandbox");
    done(dray::base::NotFound("there is no such pod"));
  }

 private:
  const std::string log_;
};

struct World {
  World() {
    const std::string line = "2026-11-16T07:00:00.000000001Z stdout F one\n";
    DRAY_CHECK(dray::files::WriteWhole(folder / "c.log", line + line).ok());
  }
  dray::files::TemporaryFolder folder;
  dray::base::ManualClock clock{dray::base::Time::FromUnix(1'800'000'000)};
  dray::container::NoneRuntime runtime{clock};
  Some containers{folder / "c.log"};
  dray::streaming::Handler handler{containers, runtime, clock};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World world;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto line = [&] {
    const std::string_view text = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(text.size() + 1, input.size()));
    return text;
  };
  dray::apiserver::Request request;
  request.method = line();
  const std::string_view target = line();
  if (!target.starts_with('/')) return 0;  // the server has seen to that
  request.path = target.substr(0, target.find('?'));
  request.query = target.substr(std::min(target.size(), request.path.size() + 1));
  request.user = {.name = "kube-apiserver-kubelet-client", .groups = {}};
  if (const std::string_view protocols = line(); !protocols.empty()) {
    request.headers.Add("Upgrade", "websocket");
    request.headers.Add("Sec-WebSocket-Version", "13");
    request.headers.Add("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==");
    request.headers.Add("Sec-WebSocket-Protocol", std::string(protocols));
  }
  const auto answer = std::make_shared<Once>();
  world.handler.Handle(std::move(request), answer);
  DRAY_CHECK(answer->times == 1);
  const auto& stream = answer->response.stream;
  DRAY_CHECK((answer->response.status == 101) <= (stream != nullptr));
  if (stream == nullptr) return 0;
  stream->Start([] {});
  std::vector<dray::apiserver::Bytes> out;
  for (int pulls = 0; pulls < 100; ++pulls) {
    const auto state = stream->Pull(out);
    if (state == dray::apiserver::StreamSource::State::kEnd) return 0;
    const std::size_t taken = stream->Receive(input.substr(0, 7));
    DRAY_CHECK(taken <= std::min<std::size_t>(input.size(), 7));
    input.remove_prefix(taken);
    if (input.empty() && state == dray::apiserver::StreamSource::State::kWait) return 0;
  }
  return 0;
}
