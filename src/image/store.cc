// SPDX-License-Identifier: Apache-2.0
//
// On disk: images/<hex of the id>.json, written last, and rootfs/<hex of the layers>.
#include "image/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <set>

#include "api/json.h"
#include "files/files.h"
#include "files/mount_table.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "image/digest.h"
#include "image/source.h"
#include "image/unpack.h"

namespace dray::image {

// What is remembered of an image that was unpacked.
struct Record {
  std::string id;
  std::string digest;
  std::vector<std::string> names;
  std::string layers;  // hex; names the root file system
  ImageConfig config;
};

const api::StructInfo& InfoOf(const Record*) {
  using T = Record;
  static const api::StructInfo info = api::Struct<T>("Record", {
                                                                   api::Field<&T::id>("id"),
                                                                   api::Field<&T::digest>("digest"),
                                                                   api::Field<&T::names>("names"),
                                                                   api::Field<&T::layers>("layers"),
                                                                   api::Field<&T::config>("config"),
                                                               });
  return info;
}

namespace {

constexpr std::size_t kNamesTold = 5;

bool IsArchiveName(std::string_view name) {
  return name.ends_with(".tar") || name.ends_with(".tar.gz") || name.ends_with(".tgz") ||
         name.ends_with(".tar.zst") || name.ends_with(".tar.xz") || name.ends_with(".tar.bz2");
}

// Layouts and archives directly in the folder, or the folder itself.
std::vector<std::string> CandidatesIn(const std::string& folder) {
  struct stat about {};
  if (::stat((folder + "/index.json").c_str(), &about) == 0) return {folder};
  std::vector<std::string> paths;
  const auto names = files::NamesIn(folder);
  if (!names.ok()) return paths;
  for (const std::string& name : *names) {
    if (name.starts_with(".")) continue;
    const std::string path = fmt::format("{}/{}", folder, name);
    if (::stat(path.c_str(), &about) != 0) continue;
    if (S_ISREG(about.st_mode) ? IsArchiveName(name)
                               : ::stat((path + "/index.json").c_str(), &about) == 0) {
      paths.push_back(path);
    }
  }
  return paths;
}

// Which layers, in which order.
std::string ChainOf(const FoundImage& image) {
  Sha256 sum;
  for (const LayerFile& layer : image.layers) sum.Add(layer.diff_id + "\n");
  return std::string(HexOf(sum.Digest()));
}

bool Matches(const ListedImage& image, const Reference& wanted) {
  if (!image.fault.empty()) return false;
  const auto name = ParseReference(image.name);
  if (!name.ok() || name->Name() != wanted.Name()) return false;
  if (!wanted.digest.empty()) return image.digest == wanted.digest || image.id == wanted.digest;
  return name->tag == wanted.tag;
}

}  // namespace

std::string StoredImage::Ref() const {
  if (digest.empty()) return id;
  const auto reference = ParseReference(name);
  return reference.ok() ? fmt::format("{}@{}", reference->Name(), digest) : id;
}

StatusOr<std::unique_ptr<Store>> Store::Open(StoreOptions options) {
  // For its owner only: images have set-user-id programs.
  DRAY_RETURN_IF_ERROR(files::MakeFolder(options.folder, 0700));
  DRAY_RETURN_IF_ERROR(files::MakeFolder(options.folder + "/images"));
  DRAY_RETURN_IF_ERROR(files::MakeFolder(options.folder + "/rootfs"));
  DRAY_RETURN_IF_ERROR(files::RemoveTree(options.folder + "/scratch"));
  DRAY_RETURN_IF_ERROR(files::MakeFolder(options.folder + "/scratch"));
  return std::unique_ptr<Store>(new Store(std::move(options)));
}

std::vector<ListedImage> Store::Look() {
  std::map<std::string, Known> now;
  std::vector<ListedImage> all;
  for (const std::string& folder : options_.sources) {
    for (const std::string& path : CandidatesIn(folder)) {
      struct stat about {};
      if (::stat((path + "/index.json").c_str(), &about) != 0 &&
          ::stat(path.c_str(), &about) != 0) {
        continue;
      }
      Known known{.changed = about.st_mtim.tv_sec * 1'000'000'000LL + about.st_mtim.tv_nsec,
                  .size = about.st_size};
      if (const auto before = known_.find(path); before != known_.end() &&
                                                 before->second.changed == known.changed &&
                                                 before->second.size == known.size) {
        known.images = before->second.images;
      } else if (const auto source =
                     ImageSource::Open(path, options_.folder + "/scratch", options_.limits);
                 source.ok()) {
        for (const FoundImage& image : (*source)->images()) {
          for (const Reference& name : image.names) {
            known.images.push_back({.name = name.ToString(),
                                    .id = image.id,
                                    .digest = image.digest,
                                    .path = path,
                                    .fault = {}});
          }
        }
      } else {
        all.push_back({.path = path, .fault = std::string(base::Message(source.status()))});
        // What is wrong with it stays wrong until it changes; a disk that is full does not.
        if (source.status().code() == StatusCode::kInvalidArgument) {
          known.images.push_back(all.back());
          now.emplace(path, std::move(known));
        }
        continue;
      }
      all.insert(all.end(), known.images.begin(), known.images.end());
      now.emplace(path, std::move(known));
    }
  }
  known_ = std::move(now);
  return all;
}

std::vector<ListedImage> Store::List() {
  const base::MutexLock lock(mutex_);
  std::vector<ListedImage> all = Look();
  std::ranges::stable_sort(all, {}, &ListedImage::name);
  return all;
}

StatusOr<std::vector<ListedImage>> ListImages(const std::string& images, const Limits& limits) {
  std::string pattern = "/tmp/dray-images-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) return files::Failed("make folder", pattern, errno);
  std::vector<ListedImage> all;
  const auto store = Store::Open({.folder = pattern, .sources = {images}, .limits = limits});
  if (store.ok()) all = (*store)->List();
  (void)files::RemoveTree(pattern);
  if (!store.ok()) return store.status();
  return all;
}

StatusOr<StoredImage> Store::Unpacked(const std::string& id, const std::string& name) const {
  const std::string file = fmt::format("{}/images/{}.json", options_.folder, HexOf(id));
  const base::MutexLock lock(records_);
  (void)::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
  DRAY_ASSIGN_OR_RETURN(const std::string text, files::ReadWhole(file));
  api::JsonDecoder decoder;
  DRAY_ASSIGN_OR_RETURN(const Record record, decoder.Decode<Record>(text));
  StoredImage image{.id = record.id,
                    .digest = record.digest,
                    .name = name.empty() && !record.names.empty() ? record.names.front() : name,
                    .rootfs = fmt::format("{}/rootfs/{}", options_.folder, record.layers),
                    .config = record.config};
  struct stat about {};
  if (::stat(image.rootfs.c_str(), &about) != 0) return files::Failed("read", image.rootfs, errno);
  return image;
}

StatusOr<StoredImage> Store::Unpack(const ListedImage& listed) {
  DRAY_ASSIGN_OR_RETURN(
      const auto source,
      ImageSource::Open(listed.path, options_.folder + "/scratch", options_.limits));
  const auto& images = source->images();
  const auto image = std::ranges::find(images, listed.id, &FoundImage::id);
  if (image == images.end()) {
    return base::Aborted(fmt::format("{} changed while it was read", listed.path));
  }
  const std::string chain = ChainOf(*image);
  const std::string rootfs = fmt::format("{}/rootfs/{}", options_.folder, chain);
  struct stat about {};
  if (::stat(rootfs.c_str(), &about) != 0) {
    const std::string growing = fmt::format("{}/scratch/{}", options_.folder, chain);
    DRAY_RETURN_IF_ERROR(files::RemoveTree(growing));
    DRAY_RETURN_IF_ERROR(files::MakeFolder(growing));
    Budget budget(options_.limits);
    for (const LayerFile& layer : image->layers) {
      if (const Status unpacked = UnpackLayer(layer, growing, budget); !unpacked.ok()) {
        (void)files::RemoveTree(growing);
        return base::Annotate(unpacked, fmt::format("image {}", listed.name));
      }
    }
    // What is written down as unpacked is there after a power cut, too.
    DRAY_RETURN_IF_ERROR(files::SyncAll(growing));
    if (::rename(growing.c_str(), rootfs.c_str()) != 0) {
      return files::Failed("write", rootfs, errno);
    }
    DRAY_RETURN_IF_ERROR(files::SyncAll(options_.folder + "/rootfs"));
  }
  Record record{.id = image->id,
                .digest = image->digest,
                .names = {},
                .layers = chain,
                .config = image->document.config};
  for (const Reference& name : image->names) record.names.push_back(name.ToString());
  DRAY_RETURN_IF_ERROR(
      files::WriteWhole(fmt::format("{}/images/{}.json", options_.folder, HexOf(image->id)),
                        api::EncodeJson(record)));
  return Unpacked(image->id, listed.name);
}

std::vector<std::string> Store::Collect(const CollectOptions& options, base::Time now) {
  const auto percent_used = [&]() -> int {
    if (options.percent_used) return options.percent_used();
    struct statvfs disk {};
    if (::statvfs(options_.folder.c_str(), &disk) != 0 || disk.f_blocks == 0) return 0;
    return 100 - static_cast<int>(disk.f_bavail * 100 / disk.f_blocks);
  };
  std::vector<std::string> gone;
  if (percent_used() < options.high_percent) return gone;
  const base::MutexLock lock(mutex_);
  struct Candidate {
    std::string file;
    std::string id;
    std::string layers;
    base::Time used;
  };
  std::vector<Candidate> candidates;
  std::map<std::string, int> shared;  // root file systems, and how many images have them
  const auto names = files::NamesIn(options_.folder + "/images");
  const auto table = files::ReadWhole(options.mounts);
  // Who does not know what is in use removes nothing.
  if (!names.ok() || !table.ok()) return gone;
  const std::string mounts = files::UnescapedMount(*table);
  api::JsonDecoder decoder;
  for (const std::string& name : *names) {
    Candidate one{.file = fmt::format("{}/images/{}", options_.folder, name)};
    const auto text = files::ReadWhole(one.file);
    struct stat about {};
    if (!text.ok() || ::stat(one.file.c_str(), &about) != 0) continue;
    const auto record = decoder.Decode<Record>(*text);
    if (!record.ok() || record->layers.empty()) continue;
    one.id = record->id;
    one.layers = record->layers;
    one.used = base::Time::FromUnix(about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
    ++shared[one.layers];
    candidates.push_back(std::move(one));
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::used);
  for (const Candidate& one : candidates) {
    if (percent_used() <= options.low_percent) break;
    const std::string rootfs = fmt::format("{}/rootfs/{}", options_.folder, one.layers);
    if (mounts.find("lowerdir=" + rootfs) != std::string::npos) continue;
    {
      const base::MutexLock record(records_);
      struct stat about {};
      if (::stat(one.file.c_str(), &about) != 0) continue;
      const base::Time used = base::Time::FromUnix(about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
      if (now - used < options.least_age) continue;
      if (!files::RemoveFile(one.file).ok()) continue;
    }
    gone.push_back(one.id);
    if (--shared[one.layers] > 0) continue;
    // Not half of one, whenever this is interrupted: what is in scratch goes when the store is opened.
    const std::string aside = fmt::format("{}/scratch/{}", options_.folder, one.layers);
    if (::rename(rootfs.c_str(), aside.c_str()) == 0) (void)files::RemoveTree(aside);
  }
  return gone;
}

StatusOr<StoredImage> Store::Find(const std::string& reference) {
  if (IsDigest(reference)) {
    if (auto image = Unpacked(reference, ""); image.ok()) return image;
  }
  const base::MutexLock lock(mutex_);
  const std::vector<ListedImage> all = Look();
  std::vector<std::string> names;
  const auto wanted = ParseReference(reference);
  if (!wanted.ok() && !IsDigest(reference)) return wanted.status();
  for (const ListedImage& image : all) {
    const bool is_it = IsDigest(reference) ? image.id == reference : Matches(image, *wanted);
    if (is_it) {
      if (auto ready = Unpacked(image.id, image.name); ready.ok()) return ready;
      return Unpack(image);
    }
    if (image.fault.empty()) names.push_back(image.name);
  }
  // Its source may be gone: what was unpacked is still good.
  const auto records = files::NamesIn(options_.folder + "/images");
  if (records.ok() && wanted.ok()) {
    for (const std::string& file : *records) {
      const std::string id = "sha256:" + file.substr(0, file.find('.'));
      const auto stored =
          IsDigest(id) ? Unpacked(id, "") : StatusOr<StoredImage>(base::NotFound(""));
      if (!stored.ok()) continue;
      const ListedImage as_listed{.name = stored->name,
                                  .id = stored->id,
                                  .digest = stored->digest,
                                  .path = {},
                                  .fault = {}};
      if (Matches(as_listed, *wanted)) return stored;
    }
  }
  std::string shown = wanted.ok() ? wanted->ToString() : reference;
  std::string message =
      fmt::format("image {} not found: there is no registry; images are taken from {}", shown,
                  options_.sources.empty() ? "no folder (--images)"
                                           : fmt::format("{}", fmt::join(options_.sources, ", ")));
  if (!names.empty()) {
    std::ranges::sort(names);
    const std::size_t told = std::min(names.size(), kNamesTold);
    message += fmt::format(
        "; there is {}{}",
        fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(told), ", "),
        names.size() > told ? ", ..." : "");
  }
  for (const ListedImage& image : all) {
    if (image.fault.empty()) continue;
    message += fmt::format("; {} cannot be used: {}", image.path, image.fault);
    break;
  }
  return base::NotFound(message);
}

}  // namespace dray::image
