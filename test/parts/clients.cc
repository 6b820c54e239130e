// SPDX-License-Identifier: Apache-2.0
#include "parts/clients.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "api/config_map.h"
#include "api/document.h"
#include "api/json.h"
#include "fmt/format.h"

namespace dray::parts {
namespace {

using process::Call;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;
using Kind = Operation::Kind;
using Outcome = Operation::Outcome;

constexpr seconds kEpoch{20};  // after which there are other names, so that no history grows long
constexpr std::string_view kMergePatch = "application/merge-patch+json";

std::string Maps() { return fmt::format("/api/v1/namespaces/{}/configmaps", kRegisters); }

std::string ValueOf(const api::Object& object) {
  const auto* map = object.As<api::ConfigMap>();
  const std::string* value = map == nullptr ? nullptr : map->data.Find("v");
  return value == nullptr ? "" : *value;
}

}  // namespace

Asker::Asker(std::string name, const Doors& doors, std::uint64_t seed)
    : name_(std::move(name)), doors_(doors), dice_(seed) {
  for (const std::uint16_t port : doors_.ports) {
    requests_.push_back(std::make_unique<process::Requests>(port, doors_.tls));
  }
  Move();
}

apiserver::ClientResponse Asker::Do(const Call& call) {
  if (dice_.Chance(0.05)) Move();
  apiserver::ClientResponse response = requests_[at_]->Do(call);
  if (response.status == 0 || response.status >= 500) Move();
  return response;
}

Outcome OutcomeOf(int status) {
  if (status / 100 == 2) return Outcome::kDone;
  // 503 says that nothing was written, 429 that it was not tried; 504 that nobody knows.
  if (status / 100 == 4 || status == 503) return Outcome::kNotDone;
  return Outcome::kUnknown;
}

std::optional<Listing> ReadListing(std::string_view body) {
  std::vector<api::Diagnostic> diagnostics;
  const api::DocumentNode document = api::ParseJson(body, diagnostics);
  const auto* metadata = document.Find("metadata");
  const auto* version = metadata == nullptr ? nullptr : metadata->value.Find("resourceVersion");
  if (version == nullptr) return std::nullopt;
  Listing listing;
  listing.revision = std::stoll(version->value.text);
  for (const api::ObjectNode& node : api::ObjectsIn(document, diagnostics)) {
    const auto object = api::DecodeObject(node, api::Severity::kError, diagnostics);
    if (!object) return std::nullopt;
    const std::string& name = object->metadata().name;
    if (name.starts_with("kube-")) continue;
    listing.items[name] = {process::RevisionOf(*object), ValueOf(*object)};
  }
  return listing;
}

RegisterClient::RegisterClient(int index, const Doors& doors, std::uint64_t seed)
    : index_(index),
      asker_(fmt::format("client-{}", index), doors,
             seed * 64 + static_cast<std::uint64_t>(index)) {}

void RegisterClient::Run(const std::atomic<bool>& stop) {
  while (!stop) {
    Step();
    std::this_thread::sleep_for(milliseconds(asker_.dice().Range(0, 40)));
  }
}

std::string RegisterClient::AnyName() {
  const auto epoch = (Clock::now() - began_) / kEpoch;
  return fmt::format("r-{}-{}", epoch, asker_.dice().Range(0, kNames - 1));
}

Operation RegisterClient::Begin(Kind kind, std::string name) const {
  Operation operation;
  operation.kind = kind;
  operation.name = std::move(name);
  operation.client = fmt::format("{} at server-{}", asker_.name(), asker_.at());
  operation.began = Clock::now();
  return operation;
}

void RegisterClient::Keep(Operation operation) { operations_.push_back(std::move(operation)); }

void RegisterClient::Step() {
  const std::string name = AnyName();
  const std::string path = fmt::format("{}/{}", Maps(), name);
  const std::string value = fmt::format("{}-{}", index_, ++values_);
  const std::string data = fmt::format(R"("data":{{"v":"{}"}})", value);
  const int roll = asker_.dice().Range(0, 99);
  if (roll < 35) return Read(name);
  if (roll < 42) return List();
  Operation operation = Begin(Kind::kWrite, name);
  operation.value = value;
  if (roll < 62) {
    std::string version;
    if (known_name_ == name && asker_.dice().Chance(0.7)) {
      version = fmt::format(R"(,"resourceVersion":"{}")", known_);
    }
    return Write(
        {.method = "PUT",
         .path = path,
         .body = fmt::format(R"({{"metadata":{{"name":"{}"{}}},{}}})", name, version, data)},
        std::move(operation));
  }
  if (roll < 82) {
    return Write({.method = "PATCH",
                  .path = path,
                  .body = fmt::format("{{{}}}", data),
                  .content_type = std::string(kMergePatch)},
                 std::move(operation));
  }
  if (roll < 94) {
    return Write({.method = "POST",
                  .path = Maps(),
                  .body = fmt::format(R"({{"metadata":{{"name":"{}"}},{}}})", name, data)},
                 std::move(operation));
  }
  if (!name.ends_with(fmt::format("-{}", index_))) return Read(name);
  operation.kind = Kind::kDelete;
  operation.value.clear();
  Write({.method = "DELETE", .path = path}, std::move(operation));
}

void RegisterClient::Read(const std::string& name) {
  Operation read = Begin(Kind::kRead, name);
  const auto response = asker_.Do({.path = fmt::format("{}/{}", Maps(), name)});
  read.ended = Clock::now();
  // Who is not answered has seen nothing.
  if (response.status != 200 && response.status != 404) return;
  read.outcome = Outcome::kDone;
  if (response.status == 200) {
    const api::Object object = process::Decoded(response.body);
    read.revision = process::RevisionOf(object);
    read.seen = ValueOf(object);
    known_name_ = name;
    known_ = object.metadata().resource_version;
  }
  Keep(std::move(read));
}

void RegisterClient::List() {
  const Operation asked = Begin(Kind::kRead, "");
  const auto epoch = (Clock::now() - began_) / kEpoch;
  const auto response = asker_.Do({.path = Maps()});
  const Moment ended = Clock::now();
  if (response.status != 200) return;
  auto listing = ReadListing(response.body);
  if (!listing) return complaints_.push_back(fmt::format("no list: {}", response.body));
  listing->client = asked.client;
  for (int i = 0; i < kNames; ++i) {
    Operation read = asked;
    read.name = fmt::format("r-{}-{}", epoch, i);
    read.ended = ended;
    read.outcome = Outcome::kDone;
    const auto item = listing->items.find(read.name);
    if (item != listing->items.end()) std::tie(read.revision, read.seen) = item->second;
    Keep(std::move(read));
  }
  listings_.push_back(*std::move(listing));
}

void RegisterClient::Write(Call call, Operation operation) {
  const auto response = asker_.Do(call);
  operation.ended = Clock::now();
  operation.outcome = OutcomeOf(response.status);
  static constexpr std::array kUsual = {0, 200, 201, 404, 409, 429, 503, 504};
  if (std::ranges::find(kUsual, response.status) == kUsual.end()) {
    complaints_.push_back(
        fmt::format("{} {}: {} {}", call.method, call.path, response.status, response.body));
  }
  if (operation.kind == Kind::kWrite && operation.outcome == Outcome::kDone) {
    const api::Object object = process::Decoded(response.body);
    operation.revision = process::RevisionOf(object);
    known_name_ = operation.name;
    known_ = object.metadata().resource_version;
  }
  if (response.status == 404) {
    // To be told that there is none is to have looked.
    Operation read = operation;
    read.kind = Kind::kRead;
    read.value.clear();
    read.outcome = Outcome::kDone;
    Keep(std::move(read));
  }
  Keep(std::move(operation));
}

WatchClient::WatchClient(int index, const Doors& doors, std::uint64_t seed)
    : asker_(fmt::format("watcher-{}", index), doors,
             seed * 64 + 32 + static_cast<std::uint64_t>(index)) {}

void WatchClient::Run(const std::atomic<std::int64_t>& until, seconds patience) {
  std::optional<Clock::time_point> deadline;
  while (until == 0 || at_ < until) {
    if (until != 0 && !deadline) deadline = Clock::now() + patience;
    if (deadline && Clock::now() > *deadline) {
      return complaints_.push_back(fmt::format("{} has been shown everything up to {}, and not {}",
                                               asker_.name(), at_, until.load()));
    }
    asker_.Move();
    if (at_ == 0) {
      Begin();
    } else {
      Watch();
    }
  }
}

void WatchClient::Begin() {
  // With resourceVersion=0 a server may show what it knows, be it old.
  const bool old = asker_.dice().Chance(0.3);
  const auto response = asker_.Do({.path = Maps() + (old ? "?resourceVersion=0" : "")});
  auto listing = response.status == 200 ? ReadListing(response.body) : std::nullopt;
  if (!listing) return std::this_thread::sleep_for(milliseconds(100));
  listing->client = asker_.name();
  at_ = listing->revision;
  chains_.push_back({.client = asker_.name(), .from = at_, .events = {}, .complete = at_});
  listings_.push_back(*std::move(listing));
}

void WatchClient::Watch() {
  apiserver::TestClient client(asker_.doors().ports[asker_.at()], asker_.doors().tls);
  chains_.back().resumed.insert(at_);
  std::string head;
  if (client.connected() &&
      client.Send(process::Text(
          {.path = fmt::format("{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={}&"
                               "resourceVersion={}",
                               Maps(), asker_.dice().Range(1, 5), at_)}))) {
    head = client.ReadUntil("\r\n\r\n");
  }
  if (!head.starts_with("HTTP/1.1 200")) {
    if (head.starts_with("HTTP/1.1 410")) at_ = 0;
    return std::this_thread::sleep_for(milliseconds(100));
  }
  ++connections_;
  std::string text;
  // As long as whole lines come they count, whatever becomes of the connection.
  for (std::string chunk = client.ReadChunk(); !chunk.empty() && at_ != 0;
       chunk = client.ReadChunk()) {
    text += chunk;
    std::size_t begin = 0;
    for (auto end = text.find('\n'); end != std::string::npos && at_ != 0;
         end = text.find('\n', begin)) {
      OnLine(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
    }
    text.erase(0, begin);
  }
}

void WatchClient::OnLine(std::string_view line) {
  constexpr std::string_view kType = R"({"type":")";
  constexpr std::string_view kObject = R"(","object":)";
  const auto at = line.find(kObject);
  if (!line.starts_with(kType) || at == line.npos) {
    return complaints_.push_back(fmt::format("{}: no event: {}", asker_.name(), line));
  }
  const std::string type(line.substr(kType.size(), at - kType.size()));
  std::string_view json = line.substr(at + kObject.size());
  json.remove_suffix(1);
  if (type == "ERROR") {
    // So much has been thrown away meanwhile that it is no longer known what.
    if (json.find(R"("code":410)") == json.npos) {
      complaints_.push_back(fmt::format("{}: {}", asker_.name(), line));
    }
    at_ = 0;
    return;
  }
  Watched& chain = chains_.back();
  const api::Object object = process::Decoded(json);
  const std::int64_t revision = process::RevisionOf(object);
  if (type == "BOOKMARK") {
    chain.complete = std::max(chain.complete, revision);
  } else if (!object.metadata().name.starts_with("kube-")) {
    ++events_;
    chain.events.push_back({.type = type,
                            .name = object.metadata().name,
                            .revision = revision,
                            .value = ValueOf(object)});
  }
  if (revision < at_) {
    complaints_.push_back(
        fmt::format("{}: {} at {} comes after {}", asker_.name(), type, revision, at_));
  }
  at_ = std::max(at_, revision);
}

}  // namespace dray::parts
