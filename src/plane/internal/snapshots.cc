// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/snapshots.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "api/authorization.h"
#include "registry/impersonation.h"
#include "registry/roles.h"
#include "rest/api_error.h"
#include "store/sqlite/sqlite_store.h"

namespace dray::plane::internal {
namespace {

constexpr std::size_t kPiece = 64u << 10;

class FileStream final : public apiserver::StreamSource {
 public:
  explicit FileStream(std::ifstream file) : file_(std::move(file)) {}
  void Start(std::function<void()>) override {}
  State Pull(std::vector<apiserver::Bytes>& out) override {
    std::string piece(kPiece, '\0');
    file_.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    piece.resize(static_cast<std::size_t>(file_.gcount()));
    if (piece.empty()) return State::kEnd;
    out.push_back(std::make_shared<const std::string>(std::move(piece)));
    return State::kMore;
  }

 private:
  std::ifstream file_;
};

apiserver::Response ErrorResponse(const Status& status) {
  const rest::ApiError error = rest::FromStatus(status);
  apiserver::Response response{.status = error.code};
  response.headers.Add("Content-Type", "application/json");
  response.body = std::make_shared<const std::string>(error.ToJson());
  return response;
}

// A file without a name: it is gone when it has been sent, or when the process ends.
StatusOr<std::ifstream> WriteFile(const store::Store& store, const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);  // of a process that was killed
  DRAY_RETURN_IF_ERROR(store::WriteBackup(store, path));
  std::ifstream file(path, std::ios::binary);
  std::filesystem::remove(path, ignored);
  if (!file.is_open()) return base::Unavailable(path + ": cannot be read back");
  return file;
}

}  // namespace

Snapshots::~Snapshots() {
  if (writer_.joinable()) writer_.join();
}

void Snapshots::Handle(apiserver::Request request,
                       std::shared_ptr<apiserver::Responder> responder) {
  if (request.path != "/snapshot") return next_.Handle(std::move(request), std::move(responder));
  // Who may speak for others may not read everything in the name of somebody who may not.
  if (Status allowed = registry::Impersonate(request, registry::RoleAuthorizer()); !allowed.ok()) {
    return responder->Send(ErrorResponse(allowed));
  }
  if (std::ranges::find(request.user.groups, registry::kMasters) == request.user.groups.end()) {
    return responder->Send(ErrorResponse(registry::ForbiddenPath(
        {.name = request.user.name, .groups = request.user.groups}, request.method, request.path)));
  }
  if (request.method != "GET") return responder->Send(ErrorResponse(rest::MethodNotAllowed()));
  const base::MutexLock lock(mutex_);
  if (std::exchange(busy_, true)) {
    return responder->Send(
        ErrorResponse(rest::TooManyRequests("a snapshot is being written, try again", 1)));
  }
  if (writer_.joinable()) writer_.join();
  writer_ = std::thread([this, responder = std::move(responder)]() mutable {
    Write(std::move(responder));
    const base::MutexLock done(mutex_);
    busy_ = false;
  });
}

void Snapshots::Write(std::shared_ptr<apiserver::Responder> responder) {
  auto file = WriteFile(store_, folder_ + "/snapshot.tmp");
  if (!file.ok()) return responder->Send(ErrorResponse(file.status()));
  apiserver::Response response;
  response.headers.Add("Content-Type", "application/vnd.sqlite3");
  response.stream = std::make_unique<FileStream>(*std::move(file));
  responder->Send(std::move(response));
}

}  // namespace dray::plane::internal
