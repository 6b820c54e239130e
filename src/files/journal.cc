// SPDX-License-Identifier: Apache-2.0
#include "files/journal.h"

#include <algorithm>
#include <utility>

#include "files/crc32.h"
#include "fmt/format.h"

namespace dray::files {
namespace {

// The first two are for heads, by turns: while one is written the other is whole.
constexpr std::size_t kSector = 512;
constexpr std::size_t kStart = 2 * kSector;
constexpr std::size_t kAlign = 8;
constexpr std::string_view kHeadMagic = "dray-log";
constexpr std::uint32_t kRecordMagic = 0x79617264;  // "dray"

void Put32(std::string& out, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}
void Put64(std::string& out, std::uint64_t value) {
  Put32(out, static_cast<std::uint32_t>(value));
  Put32(out, static_cast<std::uint32_t>(value >> 32));
}
std::uint32_t Get32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) {
    value = (value << 8) | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  }
  return value;
}
std::uint64_t Get64(std::string_view bytes, std::size_t at) {
  return Get32(bytes, at) | (static_cast<std::uint64_t>(Get32(bytes, at + 4)) << 32);
}

// FNV-1a. Two wholes that follow each other and have both size and hash in common are the same.
std::uint64_t Hash(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  return hash;
}

// A record: magic, size, checksum, 0; generation; synced; the change; zeros up to the next place.
constexpr std::size_t kRecordHead = 32;

std::size_t Padded(std::size_t size) { return (size + kAlign - 1) / kAlign * kAlign; }

// Of everything but the magic, and of the place that it has.
std::uint32_t RecordSum(std::uint64_t place, std::uint64_t generation, std::uint64_t synced,
                        std::string_view change) {
  std::string about;
  Put64(about, place);
  Put64(about, generation);
  Put64(about, synced);
  Put64(about, change.size());
  return Crc32(change, Crc32(about));
}

std::string EncodeRecord(std::uint64_t place, std::uint64_t generation, std::uint64_t synced,
                         std::string_view change) {
  std::string out;
  out.reserve(kRecordHead + Padded(change.size()));
  Put32(out, kRecordMagic);
  Put32(out, static_cast<std::uint32_t>(change.size()));
  Put32(out, RecordSum(place, generation, synced, change));
  Put32(out, 0);
  Put64(out, generation);
  Put64(out, synced);
  out += change;
  out.resize(kRecordHead + Padded(change.size()), '\0');
  return out;
}

struct Record {
  std::string_view change;
  std::uint64_t generation = 0;
  std::uint64_t synced = 0;
};

// Nothing: there is none at this place.
std::optional<Record> RecordAt(std::string_view bytes, std::size_t place) {
  if (place + kRecordHead > bytes.size() || Get32(bytes, place) != kRecordMagic) return {};
  const std::size_t size = Get32(bytes, place + 4);
  if (size > bytes.size() - place - kRecordHead) return {};
  Record record;
  record.change = bytes.substr(place + kRecordHead, size);
  record.generation = Get64(bytes, place + 16);
  record.synced = Get64(bytes, place + 24);
  if (Get32(bytes, place + 8) !=
      RecordSum(place, record.generation, record.synced, record.change)) {
    return {};
  }
  return record;
}

Status Damaged(const std::string& path, std::string_view why) {
  return base::MakeStatus(StatusCode::kDataLoss, fmt::format("{} is damaged: {}", path, why));
}

}  // namespace

std::optional<Journal::Head> Journal::Decode(std::string_view sector) {
  if (!sector.starts_with(kHeadMagic) || Get32(sector, 32) != Crc32(sector.substr(0, 32))) {
    return {};
  }
  return Head{.generation = Get64(sector, 8),
              .whole_size = Get64(sector, 16),
              .whole_hash = Get64(sector, 24)};
}

std::string Journal::Encode(const Head& head) {
  std::string out(kHeadMagic);
  Put64(out, head.generation);
  Put64(out, head.whole_size);
  Put64(out, head.whole_hash);
  Put32(out, Crc32(out));
  out.resize(kSector, '\0');
  return out;
}

// Nothing: there is no log. Records are those behind `from`, if it is still of `from_generation`.
StatusOr<std::optional<Journal::Log>> Journal::ReadLog(std::uint64_t from_generation,
                                                       std::uint64_t from) const {
  const auto bytes = disk_->Read(options_.log_path, options_.limit);
  if (bytes.status().code() == StatusCode::kNotFound) return std::optional<Log>();
  if (!bytes.ok()) return bytes.status();
  const std::string_view text = *bytes;
  std::optional<Head> head;
  for (std::size_t i = 0; i < 2 && text.size() >= kStart; ++i) {
    const auto found = Decode(text.substr(i * kSector, kSector));
    if (found && (!head || found->generation > head->generation)) head = found;
  }
  if (!head) return Damaged(options_.log_path, "it has no head");
  Log log;
  log.head = *head;
  log.end = log.head.generation == from_generation ? from : kStart;
  for (;;) {
    const auto record = RecordAt(text, log.end);
    if (!record || record->generation != log.head.generation) break;
    log.changes.emplace_back(record->change);
    log.end += kRecordHead + Padded(record->change.size());
  }
  // What comes behind may have reached the disk before what is missing; but not if it says that what
  // is missing had been synced before.
  for (std::size_t place = log.end; place + kRecordHead <= text.size(); place += kAlign) {
    const auto record = RecordAt(text, place);
    if (!record || record->generation < log.head.generation) continue;
    if (record->generation > log.head.generation) {
      return Damaged(options_.log_path,
                     fmt::format("the record at byte {} is newer than its head", place));
    }
    log.torn = true;
    if (record->synced > log.end) {
      return Damaged(options_.log_path,
                     fmt::format("a record at byte {} cannot be read, and one at byte {} can",
                                 log.end, place));
    }
  }
  return std::optional<Log>(std::move(log));
}

StatusOr<Journal::Contents> Journal::ReadAll() {
  Contents read;
  auto whole = disk_->Read(options_.path, options_.limit);
  if (!whole.ok() && whole.status().code() != StatusCode::kNotFound) return whole.status();
  if (whole.ok()) read.whole = *std::move(whole);
  file_.reset();
  changed_ = false;
  DRAY_ASSIGN_OR_RETURN(std::optional<Log> log, ReadLog(0, 0));
  if (!log) return read;
  head_ = log->head;
  // Of another whole: its writer had said everything in a new one and was killed before it could say
  // that here; or somebody else has written it since.
  if (!read.whole || head_.whole_size != read.whole->size() ||
      head_.whole_hash != Hash(*read.whole)) {
    return read;
  }
  read.changes = std::move(log->changes);
  end_ = log->end;
  // Others may not have synced it.
  synced_ = kStart;
  changed_ = !read.changes.empty();
  // A record of before must not follow one that would be written now.
  if (log->torn) return read;
  auto file = disk_->Open(options_.log_path);
  if (!file.ok()) return file.status();
  file_ = *std::move(file);
  return read;
}

StatusOr<Journal> Journal::Open(Disk& disk, JournalOptions options, Contents& read) {
  Journal journal(disk, std::move(options));
  DRAY_ASSIGN_OR_RETURN(read, journal.ReadAll());
  return journal;
}

Status Journal::Append(std::string_view change, Sync sync) {
  if (must_fold()) return base::FailedPrecondition("nothing can be appended before it is folded");
  const std::string record = EncodeRecord(end_, head_.generation, synced_, change);
  Status written = file_->WriteAt(end_, record);
  if (written.ok()) {
    end_ += record.size();
    changed_ = true;
    if (sync == Sync::kYes) written = SyncNow();
  }
  if (!written.ok()) file_.reset();
  return written;
}

Status Journal::SyncNow() {
  if (must_fold() || synced_ == end_) return {};
  Status done = file_->Sync();
  if (done.ok()) {
    synced_ = end_;
  } else {
    file_.reset();
  }
  return done;
}

Status Journal::Fold(std::string_view whole) {
  const Head head{
      .generation = head_.generation + 1, .whole_size = whole.size(), .whole_hash = Hash(whole)};
  std::unique_ptr<OpenFile> file = std::exchange(file_, nullptr);
  // The whole first: a log that belongs to another one says nothing. But if it is the one of before
  // again, the log would go on to belong to it, and what was not synced of it may be missing: then the
  // log first.
  const bool again = head.whole_size == head_.whole_size && head.whole_hash == head_.whole_hash;
  if (!again) DRAY_RETURN_IF_ERROR(disk_->WriteWhole(options_.path, whole, options_.mode));
  if (file == nullptr) {
    // Made anew with all of its room: what an older one says, and what a disk has lost of it, does
    // not matter any more.
    std::string log(std::max(options_.room, kStart), '\0');
    log.replace(head.generation % 2 * kSector, kSector, Encode(head));
    DRAY_RETURN_IF_ERROR(disk_->WriteWhole(options_.log_path, log, options_.mode));
    DRAY_ASSIGN_OR_RETURN(file, disk_->Open(options_.log_path));
  } else {
    DRAY_RETURN_IF_ERROR(file->WriteAt(head.generation % 2 * kSector, Encode(head)));
    DRAY_RETURN_IF_ERROR(file->Sync());
  }
  head_ = head;
  if (again) DRAY_RETURN_IF_ERROR(disk_->WriteWhole(options_.path, whole, options_.mode));
  file_ = std::move(file);
  end_ = synced_ = kStart;
  changed_ = false;
  return {};
}

StatusOr<std::optional<Journal::Contents>> Journal::Refresh() {
  if (!must_fold()) {
    DRAY_ASSIGN_OR_RETURN(std::optional<Log> log, ReadLog(head_.generation, end_));
    if (log && log->head == head_) {
      end_ = log->end;
      if (log->changes.empty()) return std::optional<Contents>();
      changed_ = true;
      return std::optional<Contents>(Contents{.whole = {}, .changes = std::move(log->changes)});
    }
  }
  DRAY_ASSIGN_OR_RETURN(Contents read, ReadAll());
  if (!read.whole) read.whole.emplace();
  return std::optional<Contents>(std::move(read));
}

}  // namespace dray::files
