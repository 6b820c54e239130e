// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "store/internal/intake.h"
#include "store/log.h"
#include "store/sqlite/log_file.h"

namespace dray::store {
namespace {

// More than this in one commit makes nobody faster and the first ones wait longer.
constexpr std::size_t kMaxBatch = 4096;

// A file, and the thread that writes to it.
class SqliteLog final : public Log {
 public:
  SqliteLog(const SqliteOptions& options, std::unique_ptr<LogFile> file)
      : on_begin_(options.on_begin), on_commit_(options.on_commit), file_(std::move(file)) {}

  // Commits what has been handed over first.
  ~SqliteLog() override {
    if (!writer_.joinable()) return;
    intake_->Stop();
    writer_.join();
  }

  Status Open(internal::Timeline& cache) override {
    DRAY_RETURN_IF_ERROR(file_->Load(cache));
    cache_ = &cache;
    intake_.emplace(cache);
    writer_ = std::thread([this] { Run(); });
    return {};
  }

  void Write(Transaction transaction, CommitFn done) override {
    intake_->Add(transaction, std::move(done));
  }
  void Latest(std::function<void(StatusOr<Revision>)> done) override { done(cache_->revision()); }
  EarlyWrites* early() override { return &*intake_; }
  Status Health() const override { return intake_->Health(); }

 private:
  void Run() {
    for (auto group = intake_->Await(kMaxBatch); !group.empty();
         group = intake_->Await(kMaxBatch)) {
      CommitGroup(std::move(group));
      if (!intake_->Health().ok()) continue;
      if (const Status status = file_->Tidy();
          !status.ok() && status.code() != StatusCode::kResourceExhausted) {
        intake_->Close(internal::StorageFailed(status));
      }
    }
  }

  void CommitGroup(internal::Intake::Group group) {
    Status status = intake_->Health();
    if (on_begin_ && !group.events.empty()) on_begin_();
    const auto began = std::chrono::steady_clock::now();
    if (status.ok() && !group.events.empty()) status = file_->Append(group.events);
    if (on_commit_ && !group.events.empty()) {
      on_commit_({.ok = status.ok(),
                  .transactions = group.transactions.size(),
                  .changes = group.events.size(),
                  .wrote = std::chrono::steady_clock::now() - began,
                  .waiting = intake_->waiting()});
    }
    if (!status.ok()) return intake_->Failed(std::move(group), status);
    auto forgotten = intake_->Stored(std::move(group));
    file_->Forget(std::move(forgotten), cache_->oldest_revision());
  }

  const std::function<void()> on_begin_;
  const std::function<void(const CommitReport&)> on_commit_;
  const std::unique_ptr<LogFile> file_;  // the writer's, once it runs
  internal::Timeline* cache_ = nullptr;
  std::optional<internal::Intake> intake_;  // once it is open
  std::thread writer_;
};

// And the name is on the disk, too.
Status Rename(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) return base::Unavailable("cannot be given its name: " + error.message());
  const auto folder = std::filesystem::path(to).parent_path();
  const int descriptor =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
  return {};
}

}  // namespace

StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options) {
  DRAY_ASSIGN_OR_RETURN(std::unique_ptr<LogFile> file, LogFile::Open(options));
  auto store = MakeStore(std::make_unique<SqliteLog>(options, std::move(file)), options.history);
  if (!store.ok()) return base::Annotate(store.status(), options.path);
  return store;
}

Status WriteBackup(const Store& store, const std::string& path) {
  if (std::filesystem::exists(path)) {
    return base::FailedPrecondition(path + ": there is such a file already");
  }
  // It has its name when it is whole: of a part one would not see that it is one.
  const std::string part = path + ".part";
  const auto remove = [&part] {
    std::error_code ignored;
    for (const char* end : {"", "-wal", "-journal"}) std::filesystem::remove(part + end, ignored);
  };
  remove();
  DRAY_ASSIGN_OR_RETURN(RangeResult all, store.Range(""));
  std::ranges::sort(all.entries, {}, [](const EntryPtr& entry) { return entry->modified.value; });
  std::vector<Event> events;
  events.reserve(all.entries.size());
  for (EntryPtr& entry : all.entries) events.push_back({.entry = std::move(entry)});
  DRAY_ASSIGN_OR_RETURN(std::unique_ptr<LogFile> log, LogFile::Open({.path = part}));
  Status status = log->Fill(events, all.revision);
  log = nullptr;
  if (status.ok()) status = Rename(part, path);
  if (!status.ok()) remove();
  return status.ok() ? status : base::Annotate(status, path);
}

}  // namespace dray::store
