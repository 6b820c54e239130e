// SPDX-License-Identifier: Apache-2.0
//
// A disk for tests: it keeps what was written apart from what is safe, so that a test can cut the
// power at any step and see every state that a real disk may be left in; and it fails before or after
// a step when it is told to.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/disk.h"

namespace dray::files {

class DiskForTest final : public Disk {
 public:
  enum class Fault : std::uint8_t {
    kNone,
    kBefore,  // the step fails, and nothing was done
    kAfter,   // it fails, and everything was done
    kTorn,    // it fails in the middle: of a write a part is there, of a sync some sectors
    kLie,     // it says that it was done, and nothing was: a sync that is none
  };

  // The step of this number, counted from now, goes wrong. `dies`: and nothing works after it.
  void FailAt(int step, Fault fault, bool dies, unsigned seed = 1) {
    left_ = step;
    fault_ = fault;
    dies_ = dies;
    random_.seed(seed);
  }
  void Heal() {
    left_ = -1;
    dead_ = false;
  }
  int steps() const { return steps_; }
  int syncs() const { return syncs_; }  // a WriteWhole has two
  bool dead() const { return dead_; }

  // The process is killed: what was written is there.
  void Kill() { Heal(); }
  // The power is cut: of what was not synced each sector may be there or not.
  void CutPower(unsigned seed) {
    Heal();
    random_.seed(seed);
    for (auto& [path, file] : files_) {
      Save(file, true);
      file.now = file.safe;
    }
  }
  bool Has(const std::string& path) const { return files_.contains(path); }
  std::string& Bytes(const std::string& path) { return files_[path].now; }
  void Remove(const std::string& path) { files_.erase(path); }

  StatusOr<std::string> Read(const std::string& path, std::size_t limit) override {
    const auto it = files_.find(path);
    if (it == files_.end()) return base::NotFound("cannot read " + path);
    if (it->second.now.size() > limit) return base::FailedPrecondition("it is too long");
    return it->second.now;
  }
  Status WriteWhole(const std::string& path, std::string_view contents, unsigned) override {
    syncs_ += 2;
    const Fault fault = Step();
    // Renamed or not; there is nothing between.
    if (fault == Fault::kBefore || fault == Fault::kLie) return Broken();
    if (fault == Fault::kTorn && random_() % 2 == 0) return Broken();
    files_[path] = {.now = std::string(contents), .safe = std::string(contents), .dirty = {}};
    return fault == Fault::kNone ? Status() : Broken();
  }
  StatusOr<std::unique_ptr<OpenFile>> Open(const std::string& path) override {
    if (dead_) return Broken();
    if (!Has(path)) return base::NotFound("cannot open " + path);
    return std::unique_ptr<OpenFile>(std::make_unique<Opened>(*this, path));
  }

 private:
  static constexpr std::size_t kSector = 512;
  struct File {
    std::string now;
    std::string safe;
    std::set<std::size_t> dirty;  // sectors that were written and not synced
  };
  class Opened final : public OpenFile {
   public:
    Opened(DiskForTest& disk, std::string path) : disk_(disk), path_(std::move(path)) {}
    Status WriteAt(std::uint64_t offset, std::string_view bytes) override {
      return disk_.WriteAt(path_, offset, bytes);
    }
    Status Sync() override { return disk_.SyncFile(path_); }

   private:
    DiskForTest& disk_;
    const std::string path_;
  };

  static Status Broken() { return base::Unavailable("the disk is told to fail"); }
  Fault Step() {
    ++steps_;
    if (dead_) return Fault::kBefore;
    if (left_ < 0 || left_-- > 0) return Fault::kNone;
    dead_ = dies_;
    return fault_;
  }
  Status WriteAt(const std::string& path, std::uint64_t offset, std::string_view bytes) {
    const Fault fault = Step();
    if (fault == Fault::kBefore) return Broken();
    std::string& now = files_[path].now;
    if (fault == Fault::kTorn) bytes = bytes.substr(0, random_() % (bytes.size() + 1));
    if (now.size() < offset + bytes.size()) now.resize(offset + bytes.size(), '\0');
    now.replace(offset, bytes.size(), bytes);
    for (std::size_t at = offset / kSector * kSector; at < offset + bytes.size(); at += kSector) {
      files_[path].dirty.insert(at);
    }
    return fault == Fault::kNone || fault == Fault::kLie ? Status() : Broken();
  }
  Status SyncFile(const std::string& path) {
    ++syncs_;
    const Fault fault = Step();
    File& file = files_[path];
    if (fault == Fault::kNone || fault == Fault::kAfter) Save(file, false);
    if (fault == Fault::kTorn) Save(file, true);
    // As Linux does it: what could not be written is not tried again by the next sync.
    file.dirty.clear();
    return fault == Fault::kNone || fault == Fault::kLie ? Status() : Broken();
  }
  // Puts what is dirty on the disk; `some`: each sector or not.
  void Save(File& file, bool some) {
    for (const std::size_t at : file.dirty) {
      if (some && random_() % 2 == 0) continue;
      const std::string sector = file.now.substr(at, kSector);
      if (file.safe.size() < at + sector.size()) file.safe.resize(at + sector.size(), '\0');
      file.safe.replace(at, sector.size(), sector);
    }
    file.dirty.clear();
  }

  std::map<std::string, File> files_;
  std::mt19937 random_{1};
  int left_ = -1;
  Fault fault_ = Fault::kNone;
  bool dies_ = false;
  bool dead_ = false;
  int steps_ = 0;
  int syncs_ = 0;
};

}  // namespace dray::files
