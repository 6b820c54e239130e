// SPDX-License-Identifier: Apache-2.0
#include "logs/line_writer.h"

#include <signal.h>

#include <utility>

namespace dray::logs {
namespace {

// The same, shared with nobody: see SqliteStore.
Status Own(const Status& status) { return base::MakeStatus(status.code(), base::Message(status)); }

}  // namespace

LineWriter::LineWriter(std::unique_ptr<Output> output, LineWriterOptions options)
    : output_(std::move(output)), options_(std::move(options)) {
  thread_ = std::thread([this] { Run(); });
}

LineWriter::~LineWriter() {
  Flush(options_.patience);
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  given_.NotifyOne();
  output_->GiveUp();
  thread_.join();
}

bool LineWriter::Write(std::string line) {
  {
    const base::MutexLock lock(mutex_);
    if (stopping_ || bytes_ + line.size() > options_.max_bytes) {
      ++counts_.dropped;
      ++dropped_now_;
      return false;
    }
    bytes_ += line.size();
    ++counts_.lines;
    lines_.push_back(std::move(line));
    if (lines_.size() > 1) return true;  // it has been woken
  }
  given_.NotifyOne();
  return true;
}

bool LineWriter::Flush(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  const base::MutexLock lock(mutex_);
  const std::uint64_t goal = counts_.lines;
  while (finished_ < goal) {
    if (!written_.WaitUntil(mutex_, until)) return finished_ >= goal;
  }
  return true;
}

LineWriterCounts LineWriter::counts() const {
  const base::MutexLock lock(mutex_);
  return counts_;
}

Status LineWriter::Health() const {
  const base::MutexLock lock(mutex_);
  return Own(health_);
}

void LineWriter::Run() {
  // Signals are for others; that nobody reads any more is an error of a write, not the end.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::vector<std::string> taken;
  base::MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && lines_.empty()) given_.Wait(mutex_);
    if (lines_.empty()) return;
    taken.clear();
    taken.swap(lines_);
    const std::uint64_t dropped = std::exchange(dropped_now_, 0);
    lock.Unlock();
    WriteOut(taken, dropped);
    lock.Lock();
    // Only now: what is being written is in memory, too.
    for (const std::string& line : taken) bytes_ -= line.size();
    finished_ += taken.size();
    written_.NotifyAll();
  }
}

void LineWriter::WriteOut(const std::vector<std::string>& lines, std::uint64_t dropped) {
  std::string text;
  std::size_t size = 0;
  for (const std::string& line : lines) size += line.size();
  text.reserve(size + 256);
  for (const std::string& line : lines) text += line;
  // After those that came before there was no room.
  if (dropped > 0 && options_.dropped_line) text += options_.dropped_line(dropped);
  Status status = output_->Write(text);
  {
    const base::MutexLock lock(mutex_);
    if (!status.ok()) counts_.failed += lines.size();
    health_ = Own(status);
  }
  if (!status.ok() && options_.on_failure) options_.on_failure(status, lines.size());
}

}  // namespace dray::logs
