// SPDX-License-Identifier: Apache-2.0
//
// Files and flags that somebody writes by hand. The first byte chooses: a kubeconfig, a scheduler's
// configuration, a file of tokens, feature gates, a server's URL, completed indexes of a job.
// Properties: no crash; a refusal says why; what is read twice is the same both times.
#include <stdlib.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "api/gate_notes.h"
#include "api/gates.h"
#include "apiserver/authentication.h"
#include "base/check.h"
#include "client/internal/socket.h"
#include "client/kubeconfig.h"
#include "controllers/job_indexes.h"
#include "scheduler/config.h"

namespace {

using namespace dray;  // NOLINT: a fuzz target knows the rooms that it is about

// A folder that goes with the process.
class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "dray-fuzz-XXXXXX").string()) {
    DRAY_CHECK(::mkdtemp(path_.data()) != nullptr, path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string File() const { return path_ + "/config"; }

 private:
  std::string path_;
};

void ReadKubeconfig(std::string_view text) {
  static const Folder folder;
  std::ofstream(folder.File(), std::ios::binary | std::ios::trunc) << text;
  std::filesystem::permissions(folder.File(), std::filesystem::perms::owner_all);
  const auto access = client::LoadAccess({.kubeconfig = folder.File()});
  if (!access.ok()) {
    DRAY_CHECK(!base::Message(access.status()).empty(), "says why");
    return;
  }
  DRAY_CHECK(!access->url.empty(), text);
  DRAY_CHECK(access->certificate.empty() == access->key.empty(), text);
}

void ReadSchedulerConfig(std::string_view text) {
  const auto loaded = scheduler::ReadConfig(text);
  if (!loaded.ok()) {
    DRAY_CHECK(!base::Message(loaded.status()).empty(), "says why");
    return;
  }
  DRAY_CHECK(!loaded->config.profiles.empty(), text);
  DRAY_CHECK(loaded->config.initial_backoff.count() > 0, text);
  DRAY_CHECK(loaded->config.max_backoff >= loaded->config.initial_backoff, text);
  DRAY_CHECK(loaded->config.parallelism >= 0, text);
  const auto again = scheduler::ReadConfig(text);
  DRAY_CHECK(again.ok() && again->notes == loaded->notes, text);
}

void ReadTokens(std::string_view text) {
  const auto tokens = apiserver::Authenticator::Create(text);
  if (!tokens.ok()) {
    DRAY_CHECK(!base::Message(tokens.status()).empty(), "says why");
    return;
  }
  // Without a token somebody is nobody in particular, and no token is the empty one.
  apiserver::Headers headers;
  DRAY_CHECK(tokens->Authenticate(headers, nullptr).has_value(), text);
  headers.Add("Authorization", "Bearer ");
  const auto empty = tokens->Authenticate(headers, nullptr);
  DRAY_CHECK(!empty || empty->name == "system:anonymous", text);
}

void ReadGates(std::string_view text) {
  const auto defaults = api::FeatureGates::KubernetesDefaults();
  const auto gates = api::FeatureGates::Parse(text, defaults);
  api::GateNotes(text, defaults);
  if (!gates.ok()) DRAY_CHECK(!base::Message(gates.status()).empty(), "says why");
}

void ReadUrl(std::string_view text) {
  const auto endpoint = client::internal::ParseUrl(text);
  if (!endpoint.ok()) {
    DRAY_CHECK(!base::Message(endpoint.status()).empty(), "says why");
    return;
  }
  DRAY_CHECK(!endpoint->host.empty() && !endpoint->port.empty(), text);
  // Nobody may end a line of a request with it.
  for (const std::string* part : {&endpoint->host, &endpoint->port, &endpoint->path}) {
    DRAY_CHECK(part->find_first_of(std::string_view("\r\n\0 ", 4)) == part->npos, text);
  }
}

void ReadIndexes(std::string_view text) {
  constexpr std::int32_t kCompletions = 1000;
  const auto indexes = controllers::ParseIndexes(text, kCompletions);
  for (const auto& [first, last] : indexes.ranges()) {
    DRAY_CHECK(first >= 0 && first <= last && last < kCompletions, text);
  }
  const std::string written = controllers::ToText(indexes);
  DRAY_CHECK(controllers::ParseIndexes(written, kCompletions) == indexes, written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'k':
      ReadKubeconfig(text);
      break;
    case 's':
      ReadSchedulerConfig(text);
      break;
    case 't':
      ReadTokens(text);
      break;
    case 'g':
      ReadGates(text);
      break;
    case 'u':
      ReadUrl(text);
      break;
    case 'i':
      ReadIndexes(text);
      break;
    default:
      break;
  }
  return 0;
}
