// SPDX-License-Identifier: Apache-2.0
#include "crash/observer.h"

#include <algorithm>

#include "fmt/format.h"

namespace dray::crash {
namespace {

constexpr std::string_view kType = R"({"type":")";
constexpr std::string_view kObject = R"(","object":)";

}  // namespace

void Observer::Run(std::uint16_t port, const apiserver::ClientTls& tls,
                   const std::atomic<bool>& stop) {
  while (!stop && complaints_.empty()) {
    if (seen_ == 0) {
      process::Requests requests(port, tls);
      const auto listed = requests.List(kind_);
      if (!listed) return;
      ++relists_;
      objects_.clear();
      for (const api::Object& object : listed->objects) {
        objects_[object.metadata().uid] = process::RevisionOf(object);
      }
      seen_ = listed->revision;
    }
    apiserver::TestClient client(port, tls);
    // A short one: it ends soon after it was told to stop, and goes on from where it was.
    if (!client.connected() ||
        !client.Send(
            process::Text({.path = fmt::format("{}?watch=1&timeoutSeconds=1&resourceVersion={}",
                                               process::PathOf(kind_), seen_)})) ||
        !client.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 200")) {
      return;
    }
    std::string text;
    for (std::string chunk = client.ReadChunk(); !chunk.empty(); chunk = client.ReadChunk()) {
      text += chunk;
      std::size_t begin = 0;
      for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
        OnLine(std::string_view(text).substr(begin, end - begin));
        begin = end + 1;
      }
      text.erase(0, begin);
    }
  }
}

void Observer::OnLine(std::string_view line) {
  const auto at = line.find(kObject);
  if (!line.starts_with(kType) || at == line.npos) return Complain(fmt::format("{}", line));
  const std::string_view type = line.substr(kType.size(), at - kType.size());
  std::string_view json = line.substr(at + kObject.size());
  json.remove_suffix(1);
  if (type == "ERROR") {
    // So much has happened meanwhile that it is no longer known what.
    if (json.find(R"("code":410)") == json.npos) Complain(fmt::format("{}", line));
    seen_ = 0;
    return;
  }
  ++events_;
  const api::Object object = process::Decoded(json);
  const std::string& uid = object.metadata().uid;
  const std::int64_t revision = process::RevisionOf(object);
  const auto known = objects_.find(uid);
  const std::string what =
      fmt::format("{} {} {} at {}", type, kind_.kind, object.metadata().name, revision);
  if (revision <= seen_) Complain(fmt::format("{} comes after {}", what, seen_));
  if ((type == "ADDED") != (known == objects_.end())) {
    Complain(what + (type == "ADDED" ? " is known already" : " was not known"));
  }
  if (known != objects_.end() && known->second >= revision) {
    Complain(fmt::format("{}, which was known at {}", what, known->second));
  }
  seen_ = std::max(seen_, revision);
  if (type == "DELETED") {
    objects_.erase(uid);
  } else {
    objects_[uid] = revision;
  }
}

std::vector<std::string> Observer::CheckNotTakenBack(const process::Listed& listed) const {
  std::vector<std::string> complaints;
  if (listed.revision < seen_) {
    complaints.push_back(fmt::format("the server is at revision {}, {} was shown for {}",
                                     listed.revision, seen_, kind_.plural));
  }
  for (const api::Object& object : listed.objects) {
    const auto known = objects_.find(object.metadata().uid);
    if (known != objects_.end() && process::RevisionOf(object) < known->second) {
      complaints.push_back(fmt::format("{} {} has revision {}, {} was shown", kind_.kind,
                                       object.metadata().name, object.metadata().resource_version,
                                       known->second));
    }
  }
  return complaints;
}

std::vector<std::string> Observer::CheckSame(const process::Listed& listed) const {
  std::vector<std::string> complaints;
  std::map<std::string, std::int64_t> left = objects_;
  for (const api::Object& object : listed.objects) {
    const auto known = left.find(object.metadata().uid);
    if (known == left.end()) {
      complaints.push_back(
          fmt::format("{} {} was never shown", kind_.kind, object.metadata().name));
      continue;
    }
    if (known->second != process::RevisionOf(object)) {
      complaints.push_back(fmt::format("{} {} was shown at {}, and is at {}", kind_.kind,
                                       object.metadata().name, known->second,
                                       object.metadata().resource_version));
    }
    left.erase(known);
  }
  for (const auto& [uid, revision] : left) {
    complaints.push_back(
        fmt::format("{} with uid {} is gone, and nobody has said so", kind_.kind, uid));
  }
  return complaints;
}

}  // namespace dray::crash
