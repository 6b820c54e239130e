// SPDX-License-Identifier: Apache-2.0
#include "client/internal/note_writer.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "api/event.h"
#include "fmt/format.h"

namespace dray::client::internal {
namespace {

// With the usual backoff together about a minute: a server that is restarted is back by then.
constexpr int kTries = 12;

const api::KindInfo& EventKind() { return api::HubKind(api::TypeInfoOf<api::Event>()); }

bool Reached(const Status& status) {
  return status.code() != StatusCode::kUnavailable && !api::MayHaveHappened(status);
}

}  // namespace

NoteWriter::NoteWriter(const ObjectClient& client, const base::Clock& clock, base::Host& host,
                       const NoteOptions& options)
    : client_(client),
      clock_(clock),
      options_(options),
      folder_(options.max_events),
      wake_(host.MakeAlarm()),
      end_(host.MakeAlarm()),
      idle_(host.MakeAlarm()) {
  running_ = host.Start([this] { Run(); });
}

NoteWriter::~NoteWriter() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_->Ring();
  end_->Ring();
  running_ = nullptr;
}

void NoteWriter::Put(api::EventNote note) {
  {
    const base::MutexLock lock(mutex_);
    if (notes_.size() >= options_.max_waiting) return;
    notes_.push_back(std::move(note));
  }
  wake_->Ring();
}

void NoteWriter::Flush() {
  for (;;) {
    {
      const base::MutexLock lock(mutex_);
      if (notes_.empty() && !writing_) return;
    }
    idle_->Sleep();
  }
}

void NoteWriter::Run() {
  for (;;) {
    std::optional<api::EventNote> note;
    bool stopping = false;
    {
      const base::MutexLock lock(mutex_);
      stopping = stopping_;
      writing_ = !notes_.empty();
      if (writing_) {
        note = std::move(notes_.front());
        notes_.pop_front();
      }
    }
    if (!note) {
      idle_->Ring();
      if (stopping) return;
      wake_->Sleep();
      continue;
    }
    const bool reached = Write(*note);
    const base::MutexLock lock(mutex_);
    if (!reached && stopping_) notes_.clear();
  }
}

Status NoteWriter::Persistently(const std::function<Status()>& write) {
  std::chrono::milliseconds backoff = options_.first_backoff;
  for (int left = kTries;; --left) {
    Status status = write();
    if (Reached(status) || left == 1) return status;
    {
      const base::MutexLock lock(mutex_);
      if (stopping_) return status;
    }
    end_->Sleep(backoff);
    backoff = std::min(2 * backoff, options_.longest_backoff);
  }
}

bool NoteWriter::Write(const api::EventNote& note) {
  if (const auto* known = folder_.Touch(note)) {
    const Status repeated = Repeat(*known);
    // Somebody may have deleted it: people are told anew then.
    if (repeated.code() != StatusCode::kNotFound) {
      return Reached(repeated);
    }
    counts_.erase(known->name);
  }
  const base::Time now = clock_.Now();
  api::Event event = api::EventFor(note, now);
  // Kubernetes names an event by its object and the time.
  event.metadata.name =
      fmt::format("{}.{:x}", note.about.metadata().name, now.UnixNanos() + ++serial_);
  const api::EventFolder::Place place{event.metadata.namespace_, event.metadata.name};
  const api::Object object = api::Object::Of(std::move(event));
  const Status made = Persistently([&] {
    const Status created = client_.Create(object).status();
    // By its name it is this one, of which no answer came.
    return created.code() == StatusCode::kAlreadyExists ? Status() : created;
  });
  if (!made.ok()) return Reached(made);
  counts_[place.name] = 1;
  // The event itself stays: servers end events in their own time, and who may tell something need
  // not be allowed to delete it.
  if (const auto forgotten = folder_.Add(note, place)) counts_.erase(forgotten->name);
  return true;
}

Status NoteWriter::Repeat(const api::EventFolder::Place& place) {
  const int count = ++counts_[place.name];
  const std::string patch = fmt::format(R"({{"count":{},"lastTimestamp":"{}"}})", count,
                                        clock_.Now().TruncateToSeconds().ToRfc3339());
  return Persistently(
      [&] { return client_.Patch(EventKind(), place.namespace_, place.name, patch); });
}

}  // namespace dray::client::internal
