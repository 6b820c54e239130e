// SPDX-License-Identifier: Apache-2.0
#include "image/layout.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "api/json.h"
#include "files/files.h"
#include "fmt/format.h"
#include "image/digest.h"
#include "image/internal/tar_writer.h"
#include "image/reference.h"
#include "image/source.h"
#include "image/unpack.h"

namespace dray::image {
namespace {

using internal::TarWriter;

// Folders that begin with a dot are nobody's images (store.cc): a layout grows in one.
class Growing {
 public:
  static StatusOr<Growing> Begin(const std::string& images) {
    DRAY_RETURN_IF_ERROR(files::MakeFolder(images));
    std::string pattern = images + "/.growing-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) return files::Failed("make folder", pattern, errno);
    Growing growing(images, pattern);
    if (::chmod(pattern.c_str(), 0755) != 0) return files::Failed("make folder", pattern, errno);
    DRAY_RETURN_IF_ERROR(files::MakeFolder(growing.Blobs()));
    return growing;
  }
  Growing(Growing&& other) noexcept
      : images_(std::move(other.images_)), path_(std::exchange(other.path_, "")) {}
  Growing& operator=(Growing&&) = delete;
  ~Growing() {
    if (!path_.empty()) (void)files::RemoveTree(path_);
  }

  const std::string& path() const { return path_; }
  std::string Blobs() const { return path_ + "/blobs/sha256"; }

  StatusOr<Descriptor> AddText(std::string_view type, const std::string& text) const {
    Descriptor descriptor{.media_type = std::string(type),
                          .digest = DigestOf(text),
                          .size = static_cast<std::int64_t>(text.size())};
    DRAY_RETURN_IF_ERROR(
        files::WriteWhole(fmt::format("{}/{}", Blobs(), HexOf(descriptor.digest)), text));
    return descriptor;
  }
  // Takes the file away.
  StatusOr<Descriptor> AddFile(std::string_view type, const std::string& file) const {
    DRAY_ASSIGN_OR_RETURN(std::string digest, DigestOfFile(file));
    struct stat about {};
    if (::stat(file.c_str(), &about) != 0) return files::Failed("read", file, errno);
    const std::string blob = fmt::format("{}/{}", Blobs(), HexOf(digest));
    if (::rename(file.c_str(), blob.c_str()) != 0) return files::Failed("write", blob, errno);
    return Descriptor{
        .media_type = std::string(type), .digest = std::move(digest), .size = about.st_size};
  }

  // The layout takes the place of what had its name.
  StatusOr<WrittenImage> End(const Reference& name, Descriptor manifest, const std::string& id) {
    WrittenImage written{.name = name.ToString(), .id = id, .digest = manifest.digest};
    manifest.annotations[kContainerdName] = written.name;
    if (!name.tag.empty()) manifest.annotations[kRefName] = name.tag;
    const Index index{.media_type = std::string(kIndexType), .manifests = {manifest}};
    DRAY_RETURN_IF_ERROR(files::WriteWhole(path_ + "/oci-layout", kLayoutText));
    DRAY_RETURN_IF_ERROR(files::WriteWhole(path_ + "/index.json", api::EncodeJson(index)));
    std::string folder = written.name;
    if (folder.starts_with("docker.io/library/")) folder.erase(0, 18);
    std::ranges::replace_if(
        folder, [](char c) { return c == '/' || c == ':' || c == '@'; }, '_');
    written.folder = fmt::format("{}/{}", images_, folder);
    const std::string old = path_ + ".old";
    const bool replaces = ::rename(written.folder.c_str(), old.c_str()) == 0;
    if (::rename(path_.c_str(), written.folder.c_str()) != 0) {
      const Status failed = files::Failed("write", written.folder, errno);
      if (replaces) (void)::rename(old.c_str(), written.folder.c_str());
      return failed;
    }
    path_.clear();
    if (replaces) DRAY_RETURN_IF_ERROR(files::RemoveTree(old));
    return written;
  }

 private:
  Growing(std::string images, std::string path)
      : images_(std::move(images)), path_(std::move(path)) {}
  std::string images_;
  std::string path_;
};

// The folders around a path, outermost first, that are not there yet.
Status AddFoldersAround(TarWriter& tar, const std::string& path, std::vector<std::string>& there) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (std::ranges::find(there, folder) != there.end()) continue;
    there.push_back(folder);
    DRAY_RETURN_IF_ERROR(tar.AddFolder(folder));
  }
  return {};
}

Status CheckStatic(const std::string& binary) {
  DRAY_ASSIGN_OR_RETURN(const std::string bytes, files::ReadWhole(binary, 1u << 30));
  // An ELF file with a program interpreter needs libraries that the image would not have.
  constexpr std::uint32_t kInterpreter = 3;
  if (bytes.size() < 64 || !bytes.starts_with("\177ELF")) {
    return base::InvalidArgument(fmt::format("{} is not an ELF executable", binary));
  }
  if (bytes[4] != 2) return {};  // not 64 bits: not looked into
  const auto word = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) {
      value = value << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0);
    }
    return value;
  };
  const std::uint64_t table = word(32, 8);
  const std::uint64_t size = word(54, 2);
  const std::uint64_t count = word(56, 2);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (word(table + i * size, 4) != kInterpreter) continue;
    return base::InvalidArgument(
        fmt::format("{} is not statically linked: it needs libraries that the image would not "
                    "have. Put both into a folder and build the image from that with --rootfs",
                    binary));
  }
  return {};
}

}  // namespace

StatusOr<WrittenImage> BuildImage(const BuildOptions& options) {
  DRAY_ASSIGN_OR_RETURN(const Reference name, ParseReference(options.name));
  if (!name.digest.empty()) {
    return base::InvalidArgument("the name of an image that is built has no digest");
  }
  if (options.rootfs.empty() == options.binary.empty()) {
    return base::InvalidArgument(
        "an image is built from either a folder (--rootfs) or a static program (--binary)");
  }
  ImageDocument document{.architecture = Architecture(), .os = "linux", .config = options.config};
  DRAY_ASSIGN_OR_RETURN(Growing growing, Growing::Begin(options.images));
  const std::string layer = growing.path() + "/layer.tar";
  DRAY_ASSIGN_OR_RETURN(const auto tar, TarWriter::Create(layer));
  std::vector<std::string> folders;
  if (!options.rootfs.empty()) {
    if (!std::filesystem::is_directory(options.rootfs)) {
      return base::InvalidArgument(fmt::format("{} is not a directory", options.rootfs));
    }
    DRAY_RETURN_IF_ERROR(tar->AddTree(options.rootfs));
  } else {
    DRAY_RETURN_IF_ERROR(CheckStatic(options.binary));
    const std::string inside = "bin/" + std::filesystem::path(options.binary).filename().string();
    DRAY_RETURN_IF_ERROR(AddFoldersAround(*tar, inside, folders));
    DRAY_RETURN_IF_ERROR(tar->AddFile(inside, options.binary, 0755));
    if (document.config.entrypoint.empty() && document.config.cmd.empty()) {
      document.config.entrypoint = {"/" + inside};
    }
  }
  for (const auto& [path, target] : options.links) {
    const std::string inside = path.substr(std::min(path.find_first_not_of('/'), path.size()));
    if (!std::filesystem::exists(std::filesystem::symlink_status(
            options.rootfs + "/" + std::filesystem::path(inside).parent_path().string())) ||
        options.rootfs.empty()) {
      DRAY_RETURN_IF_ERROR(AddFoldersAround(*tar, inside, folders));
    }
    DRAY_RETURN_IF_ERROR(tar->AddLink(inside, target));
  }
  DRAY_RETURN_IF_ERROR(tar->Finish());
  DRAY_ASSIGN_OR_RETURN(const Descriptor blob, growing.AddFile(kLayerType, layer));
  document.rootfs.diff_ids = {blob.digest};  // it is not compressed
  DRAY_ASSIGN_OR_RETURN(const Descriptor config,
                        growing.AddText(kConfigType, api::EncodeJson(document)));
  const Manifest manifest{
      .media_type = std::string(kManifestType), .config = config, .layers = {blob}};
  DRAY_ASSIGN_OR_RETURN(const Descriptor top,
                        growing.AddText(kManifestType, api::EncodeJson(manifest)));
  return growing.End(name, top, config.digest);
}

StatusOr<std::vector<WrittenImage>> ImportImages(const std::string& source,
                                                 const std::string& images, const std::string& name,
                                                 const Limits& limits) {
  DRAY_RETURN_IF_ERROR(files::MakeFolder(images));
  DRAY_ASSIGN_OR_RETURN(Growing scratch, Growing::Begin(images));
  DRAY_ASSIGN_OR_RETURN(const auto opened, ImageSource::Open(source, scratch.path(), limits));
  if (!name.empty() && opened->images().size() != 1) {
    return base::InvalidArgument(fmt::format("{} holds {} images: they cannot all be called {}",
                                             source, opened->images().size(), name));
  }
  std::vector<WrittenImage> written;
  for (const FoundImage& image : opened->images()) {
    // Seen to be sound before anybody can ask for it.
    const std::string trial = fmt::format("{}/trial-{}", scratch.path(), written.size());
    DRAY_RETURN_IF_ERROR(files::MakeFolder(trial, 0700));
    Budget budget(limits);
    for (const LayerFile& layer : image.layers) {
      DRAY_RETURN_IF_ERROR(UnpackLayer(layer, trial, budget));
    }
    DRAY_RETURN_IF_ERROR(files::RemoveTree(trial));
    std::vector<Reference> names = image.names;
    if (!name.empty()) {
      DRAY_ASSIGN_OR_RETURN(Reference own, ParseReference(name));
      names = {std::move(own)};
    }
    for (const Reference& one : names) {
      DRAY_ASSIGN_OR_RETURN(Growing growing, Growing::Begin(images));
      DRAY_ASSIGN_OR_RETURN(const Descriptor config, growing.AddText(kConfigType, image.config));
      std::vector<Descriptor> layers;
      for (const LayerFile& layer : image.layers) {
        const std::string copy = growing.path() + "/layer";
        std::error_code error;
        std::filesystem::copy_file(layer.path, copy, error);
        if (error) return files::Failed("copy", layer.path, error.value());
        DRAY_ASSIGN_OR_RETURN(Descriptor blob, growing.AddFile(kLayerType, copy));
        layers.push_back(std::move(blob));
      }
      // A manifest that is there keeps its digest, which people may ask for.
      std::string text = image.manifest;
      if (text.empty()) {
        text = api::EncodeJson(
            Manifest{.media_type = std::string(kManifestType), .config = config, .layers = layers});
      }
      DRAY_ASSIGN_OR_RETURN(const Descriptor top, growing.AddText(kManifestType, text));
      DRAY_ASSIGN_OR_RETURN(WrittenImage made, growing.End(one, top, image.id));
      written.push_back(std::move(made));
    }
  }
  return written;
}

}  // namespace dray::image
