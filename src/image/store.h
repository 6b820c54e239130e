// SPDX-License-Identifier: Apache-2.0
//
// Store: root file systems of images, unpacked once, for containers to be laid over.
//
// Images are looked for in folders (--images): layouts and archives, found by the names that they say
// or are called by. What has been unpacked stays, known by its id, also when its source goes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "base/time.h"
#include "image/documents.h"
#include "image/limits.h"
#include "image/reference.h"

namespace dray::image {

struct StoredImage {
  std::string id;      // sha256:..., digest of the configuration
  std::string digest;  // of the manifest, or empty
  std::string name;    // in full, as it was asked for
  std::string rootfs;  // to be mounted, never to be written to
  ImageConfig config;

  // name@digest where there is one, else the id.
  std::string Ref() const;
};

// An image that a folder has.
struct ListedImage {
  std::string name;
  std::string id;
  std::string digest;
  std::string path;   // of the layout or archive
  std::string fault;  // not empty: why it cannot be used; all else but the path is empty
  friend bool operator==(const ListedImage&, const ListedImage&) = default;
};

struct StoreOptions {
  std::string folder;                // its own; for root only
  std::vector<std::string> sources;  // searched in this order
  Limits limits;
};

// What a folder of images has, by name; archives are looked into in a temporary folder.
StatusOr<std::vector<ListedImage>> ListImages(const std::string& images, const Limits& limits = {});

// When root file systems that no container uses go: as a kubelet's images do.
struct CollectOptions {
  int high_percent = 85;                                     // of the disk is in use: the oldest go
  int low_percent = 80;                                      // and then no more of them
  std::chrono::seconds least_age = std::chrono::minutes(2);  // since somebody asked for it
  std::string mounts = "/proc/self/mountinfo";               // says which are in use
  // How much of the disk is in use; null: what the disk says.
  std::function<int()> percent_used = nullptr;
};

// Thread-safe; one process per folder. Unpacks one image at a time.
class Store {
 public:
  // Makes the folder; removes what an interrupted unpacking left.
  static StatusOr<std::unique_ptr<Store>> Open(StoreOptions options);

  // By name, name@digest or id. Unpacks it if that has not been done. NotFound: it is nowhere, with
  // what would help.
  StatusOr<StoredImage> Find(const std::string& reference);

  // What the sources have now, by name.
  std::vector<ListedImage> List();

  // Removes root file systems if the disk is full enough, those first that nobody has used for
  // longest. Who asks for one of these images later has it unpacked again, as long as its source is
  // there. The ids of those that went.
  std::vector<std::string> Collect(const CollectOptions& options, base::Time now);

 private:
  struct Known {
    std::int64_t changed = 0;  // when the source was last written, and how long it is
    std::int64_t size = 0;
    std::vector<ListedImage> images;
  };

  explicit Store(StoreOptions options) : options_(std::move(options)) {}
  std::vector<ListedImage> Look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StatusOr<StoredImage> Unpacked(const std::string& id, const std::string& name) const
      ABSL_LOCKS_EXCLUDED(records_);
  StatusOr<StoredImage> Unpack(const ListedImage& image) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StoreOptions options_;
  base::Mutex mutex_;
  // Whoever reads a record says so by its time; who removes one has looked at that before.
  mutable base::Mutex records_ ABSL_ACQUIRED_AFTER(mutex_);
  std::map<std::string, Known> known_ ABSL_GUARDED_BY(mutex_);  // by path of the source
};

}  // namespace dray::image
