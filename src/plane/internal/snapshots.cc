// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/snapshots.h"

#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "rest/api_error.h"
#include "store/sqlite/sqlite_store.h"

namespace dray::plane::internal {
namespace {

constexpr std::string_view kPath = "/snapshot";
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
  bool Finite() const override { return true; }

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

bool Snapshots::Answer(const apiserver::Request& request, Send send) {
  if (request.path != kPath) return false;
  // Not HEAD either: to learn how long it is one would have to write it.
  if (request.method != "GET") {
    send(ErrorResponse(rest::MethodNotAllowed()));
    return true;
  }
  const base::MutexLock lock(mutex_);
  if (std::exchange(busy_, true)) {
    send(ErrorResponse(rest::TooManyRequests("a snapshot is being written, try again", 1)));
    return true;
  }
  if (writer_.joinable()) writer_.join();
  writer_ = std::thread([this, send = std::move(send)] {
    Write(send);
    const base::MutexLock done(mutex_);
    busy_ = false;
  });
  return true;
}

void Snapshots::Write(const Send& send) {
  auto file = WriteFile(store_, folder_ + "/snapshot.tmp");
  if (!file.ok()) return send(ErrorResponse(file.status()));
  apiserver::Response response;
  response.headers.Add("Content-Type", "application/vnd.sqlite3");
  response.stream = std::make_unique<FileStream>(*std::move(file));
  send(std::move(response));
}

}  // namespace dray::plane::internal
