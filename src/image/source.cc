// SPDX-License-Identifier: Apache-2.0
#include "image/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <map>
#include <utility>

#include "api/json.h"
#include "files/files.h"
#include "fmt/format.h"
#include "image/digest.h"
#include "image/internal/layer_stream.h"
#include "image/unpack.h"

namespace dray::image {
namespace {

using internal::Entry;
using internal::LayerStream;

constexpr int kDeepestIndex = 3;

// Names in a layout to files of this machine.
using FilesOf = std::function<StatusOr<std::string>(const std::string& name)>;

// The name of a file or folder without what archives are called by: busybox-1.35.tar.gz.
std::string StemOf(const std::string& path) {
  std::string name = path;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  name = name.substr(name.rfind('/') + 1);
  for (const std::string_view ending : {".gz", ".tgz", ".zst", ".xz", ".bz2", ".tar"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

class Reader {
 public:
  Reader(FilesOf files, std::string stem, const Limits& limits)
      : files_(std::move(files)),
        stem_(std::move(stem)),
        limits_(limits),
        documents_left_(limits.all_document_bytes) {}

  bool Has(const std::string& name) const { return files_(name).ok(); }

  StatusOr<std::vector<FoundImage>> Layout() {
    DRAY_ASSIGN_OR_RETURN(const std::string text, Small("index.json"));
    DRAY_RETURN_IF_ERROR(ReadIndex(text, {}, 0));
    return std::move(images_);
  }

  StatusOr<std::vector<FoundImage>> Docker() {
    DRAY_ASSIGN_OR_RETURN(const std::string text, Small("manifest.json"));
    DRAY_ASSIGN_OR_RETURN(const auto listed,
                          Decode<std::vector<DockerImage>>(text, "manifest.json"));
    for (const DockerImage& one : listed) {
      FoundImage image;
      DRAY_ASSIGN_OR_RETURN(image.config, Small(one.config));
      for (const std::string& tag : one.repo_tags) {
        DRAY_ASSIGN_OR_RETURN(Reference name, ParseReference(tag));
        image.names.push_back(std::move(name));
      }
      if (image.names.empty()) DRAY_RETURN_IF_ERROR(NameByFile(image));
      for (const std::string& layer : one.layers) {
        DRAY_ASSIGN_OR_RETURN(const std::string file, files_(layer));
        image.layers.push_back({.path = file});
      }
      DRAY_RETURN_IF_ERROR(Add(std::move(image)));
    }
    return std::move(images_);
  }

 private:
  template <typename T>
  static StatusOr<T> Decode(const std::string& text, const std::string& what) {
    api::JsonDecoder decoder;
    auto value = decoder.Decode<T>(text);
    if (!value.ok()) return base::Annotate(value.status(), what);
    return value;
  }

  StatusOr<std::string> Small(const std::string& name) {
    DRAY_ASSIGN_OR_RETURN(const std::string file, files_(name));
    return ReadDocument(file);
  }

  StatusOr<std::string> ReadDocument(const std::string& file) {
    constexpr std::int64_t kLeast = 1024;  // an empty one is work, too
    DRAY_ASSIGN_OR_RETURN(std::string text,
                          files::ReadWhole(file, static_cast<std::size_t>(limits_.document_bytes)));
    documents_left_ -= std::max(static_cast<std::int64_t>(text.size()), kLeast);
    if (documents_left_ < 0) {
      return base::InvalidArgument("it has more manifests and configurations than are read");
    }
    return text;
  }

  StatusOr<std::string> BlobPath(const std::string& digest) {
    if (!IsDigest(digest)) {
      return base::InvalidArgument(
          fmt::format("\"{}\" must be sha256: and 64 hexadecimal digits", digest.substr(0, 100)));
    }
    return files_(fmt::format("blobs/sha256/{}", HexOf(digest)));
  }

  StatusOr<std::string> Document(const Descriptor& descriptor) {
    DRAY_ASSIGN_OR_RETURN(const std::string file, BlobPath(descriptor.digest));
    DRAY_ASSIGN_OR_RETURN(std::string text, ReadDocument(file));
    if (const std::string digest = DigestOf(text); digest != descriptor.digest) {
      return base::InvalidArgument(fmt::format("{} has the digest {}", file, digest));
    }
    return text;
  }

  Status ReadIndex(const std::string& text, const std::vector<Reference>& names, int depth) {
    DRAY_ASSIGN_OR_RETURN(const Index index, Decode<Index>(text, "index"));
    if (depth >= kDeepestIndex) return base::InvalidArgument("indexes in indexes in indexes");
    for (const Descriptor& entry : index.manifests) {
      if (entry.platform && !(entry.platform->os.empty() && entry.platform->architecture.empty()) &&
          (entry.platform->os != "linux" || entry.platform->architecture != Architecture())) {
        continue;
      }
      std::vector<Reference> own = names;
      DRAY_RETURN_IF_ERROR(NamesOf(entry, own));
      DRAY_ASSIGN_OR_RETURN(const std::string document, Document(entry));
      const bool is_index =
          entry.media_type == kIndexType || entry.media_type.ends_with("manifest.list.v2+json");
      DRAY_RETURN_IF_ERROR(is_index ? ReadIndex(document, own, depth + 1)
                                    : ReadManifest(document, entry.digest, own));
    }
    return {};
  }

  Status ReadManifest(const std::string& text, const std::string& digest,
                      const std::vector<Reference>& names) {
    DRAY_ASSIGN_OR_RETURN(const Manifest manifest, Decode<Manifest>(text, "manifest"));
    FoundImage image{.names = names, .digest = digest, .manifest = text};
    DRAY_ASSIGN_OR_RETURN(image.config, Document(manifest.config));
    for (const Descriptor& layer : manifest.layers) {
      DRAY_ASSIGN_OR_RETURN(const std::string file, BlobPath(layer.digest));
      struct stat about {};
      if (::stat(file.c_str(), &about) != 0 || about.st_size != layer.size) {
        return base::InvalidArgument(
            fmt::format("{} should have {} bytes, and has {}", file, layer.size, about.st_size));
      }
      image.layers.push_back({.path = file, .digest = layer.digest});
    }
    if (image.names.empty()) DRAY_RETURN_IF_ERROR(NameByFile(image));
    return Add(std::move(image));
  }

  // What annotations call it: in full, or a tag of what the file is called.
  Status NamesOf(const Descriptor& entry, std::vector<Reference>& names) {
    const std::string* full = entry.annotations.Find(kContainerdName);
    const std::string* name = entry.annotations.Find(kRefName);
    if (full == nullptr && name == nullptr) return {};
    if (full == nullptr && name->find_first_of("/:") == std::string::npos) {
      const auto tagged = ParseReference(fmt::format("{}:{}", stem_, *name));
      if (tagged.ok()) {
        names.push_back(*tagged);
        return {};
      }
    }
    DRAY_ASSIGN_OR_RETURN(Reference reference, ParseReference(full != nullptr ? *full : *name));
    names.push_back(std::move(reference));
    return {};
  }

  Status NameByFile(FoundImage& image) {
    DRAY_ASSIGN_OR_RETURN(Reference name, ParseReference(stem_));
    image.names.push_back(std::move(name));
    return {};
  }

  Status Add(FoundImage image) {
    DRAY_ASSIGN_OR_RETURN(image.document,
                          Decode<ImageDocument>(image.config, "configuration of an image"));
    image.id = DigestOf(image.config);
    const std::vector<std::string>& diff_ids = image.document.rootfs.diff_ids;
    if (static_cast<std::int64_t>(image.layers.size()) > limits_.layers) {
      return base::InvalidArgument(fmt::format("the image has {} layers; {} are allowed",
                                               image.layers.size(), limits_.layers));
    }
    if (diff_ids.size() != image.layers.size()) {
      return base::InvalidArgument(
          fmt::format("the image has {} layers, and its configuration speaks of {}",
                      image.layers.size(), diff_ids.size()));
    }
    for (std::size_t i = 0; i < diff_ids.size(); ++i) {
      if (!IsDigest(diff_ids[i])) {
        return base::InvalidArgument(fmt::format("rootfs.diff_ids[{}] is not a digest", i));
      }
      image.layers[i].diff_id = diff_ids[i];
    }
    images_.push_back(std::move(image));
    return {};
  }

  FilesOf files_;
  std::string stem_;
  const Limits& limits_;
  std::int64_t documents_left_;  // bytes of them that may still be read
  std::vector<FoundImage> images_;
};

// Files of the archive, by the names that it gives them, in a folder under names of ours.
StatusOr<std::map<std::string, std::string>> UnpackArchive(const std::string& path,
                                                           const std::string& folder,
                                                           const Limits& limits) {
  DRAY_ASSIGN_OR_RETURN(const auto stream, LayerStream::Open(path, Budget(limits).TarBytes()));
  std::map<std::string, std::string> found;
  std::int64_t bytes = limits.bytes;
  std::int64_t entries = limits.entries;
  std::vector<char> buffer(128 * 1024);
  Entry entry;
  for (;;) {
    DRAY_ASSIGN_OR_RETURN(const bool more, stream->Next(entry));
    if (!more) return found;
    if (--entries < 0) return base::InvalidArgument(fmt::format("{} has too many entries", path));
    if (entry.kind != Entry::Kind::kFile) continue;
    std::string name = entry.path;
    while (name.starts_with("./")) name.erase(0, 2);
    // By a number of its own: a name may come twice, and then the last one counts.
    const std::string file = fmt::format("{}/{}", folder, entries);
    const files::Fd out(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!out.valid()) return files::Failed("write", file, errno);
    for (;;) {
      DRAY_ASSIGN_OR_RETURN(const std::size_t n, stream->Read(buffer.data(), buffer.size()));
      if (n == 0) break;
      bytes -= static_cast<std::int64_t>(n);
      if (bytes < 0) return base::InvalidArgument(fmt::format("{} is too large", path));
      DRAY_RETURN_IF_ERROR(files::WriteAll(out.get(), {buffer.data(), n}));
    }
    found[name] = file;
  }
}

}  // namespace

std::string Architecture() {
  utsname machine{};
  ::uname(&machine);
  const std::string_view name = machine.machine;
  if (name == "x86_64") return "amd64";
  if (name == "aarch64") return "arm64";
  return std::string(name);
}

StatusOr<std::unique_ptr<ImageSource>> ImageSource::Open(const std::string& path,
                                                         const std::string& scratch,
                                                         const Limits& limits) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return files::Failed("read", path, errno);
  std::unique_ptr<ImageSource> source(new ImageSource());
  std::map<std::string, std::string> found;
  FilesOf files_of;
  if (S_ISDIR(about.st_mode)) {
    files_of = [path](const std::string& name) -> StatusOr<std::string> {
      const std::string file = fmt::format("{}/{}", path, name);
      struct stat there {};
      if (name.find("..") != std::string::npos || ::stat(file.c_str(), &there) != 0 ||
          !S_ISREG(there.st_mode)) {
        return base::NotFound(fmt::format("{} has no file {}", path, name));
      }
      return file;
    };
  } else {
    DRAY_RETURN_IF_ERROR(files::MakeFolder(scratch, 0700));
    std::string pattern = fmt::format("{}/archive-XXXXXX", scratch);
    if (::mkdtemp(pattern.data()) == nullptr) return files::Failed("make folder", pattern, errno);
    source->unpacked_ = pattern;
    DRAY_ASSIGN_OR_RETURN(found, UnpackArchive(path, pattern, limits));
    files_of = [path, &found](const std::string& name) -> StatusOr<std::string> {
      const auto file = found.find(name);
      if (file != found.end()) return file->second;
      return base::NotFound(fmt::format("{} has no file {}", path, name));
    };
  }
  Reader reader(files_of, StemOf(path), limits);
  if (reader.Has("index.json")) {
    DRAY_ASSIGN_OR_RETURN(source->images_, reader.Layout());
  } else if (reader.Has("manifest.json")) {
    DRAY_ASSIGN_OR_RETURN(source->images_, reader.Docker());
  } else {
    return base::InvalidArgument(fmt::format(
        "{} holds no image: it has neither index.json (OCI) nor manifest.json (docker save)",
        path));
  }
  if (source->images_.empty()) {
    return base::InvalidArgument(
        fmt::format("{} holds no image for linux/{}", path, Architecture()));
  }
  return source;
}

ImageSource::~ImageSource() {
  if (!unpacked_.empty()) (void)files::RemoveTree(unpacked_);
}

}  // namespace dray::image
