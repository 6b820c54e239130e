// SPDX-License-Identifier: Apache-2.0
//
// Two of libarchive's readers in a row: the first one decompresses and the second one reads the tar,
// so that the bytes between them can be hashed.
#include "image/internal/layer_stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "files/files.h"
#include "fmt/format.h"
#include "image/digest.h"

namespace dray::image::internal {
namespace {

constexpr std::size_t kBlock = 128 * 1024;

struct FreeArchive {
  void operator()(archive* one) const { archive_read_free(one); }
};
using Archive = std::unique_ptr<archive, FreeArchive>;

std::string TextOf(const char* utf8, const char* bytes) {
  // In the "C" locale names that are not ASCII have one of the two forms only.
  if (utf8 != nullptr) return utf8;
  return bytes != nullptr ? bytes : "";
}

}  // namespace

struct LayerStream::State {
  std::string path;
  files::Fd file;
  Sha256 blob_sum;
  Sha256 tar_sum;
  std::vector<char> raw = std::vector<char>(kBlock);
  std::vector<char> plain = std::vector<char>(kBlock);
  Archive inner;
  Archive outer;
  bool inner_ended = false;
  std::int64_t plain_left = 0;  // bytes that may still come out of it

  Status Broken(archive* which) const {
    const char* why = archive_error_string(which);
    return base::InvalidArgument(
        fmt::format("{}: {}", path, why != nullptr ? why : "it is not an archive"));
  }

  static la_ssize_t ReadRaw(archive* one, void* data, const void** buffer) {
    auto& self = *static_cast<State*>(data);
    for (;;) {
      const ssize_t n = ::read(self.file.get(), self.raw.data(), self.raw.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        archive_set_error(one, errno, "it cannot be read");
        return -1;
      }
      self.blob_sum.Add({self.raw.data(), static_cast<std::size_t>(n)});
      *buffer = self.raw.data();
      return n;
    }
  }

  static la_ssize_t ReadPlain(archive* one, void* data, const void** buffer) {
    auto& self = *static_cast<State*>(data);
    if (self.inner_ended) return 0;
    const la_ssize_t n = archive_read_data(self.inner.get(), self.plain.data(), self.plain.size());
    if (n < 0) {
      archive_set_error(one, EIO, "%s",
                        archive_error_string(self.inner.get()) != nullptr
                            ? archive_error_string(self.inner.get())
                            : "it cannot be decompressed");
      return -1;
    }
    if (n == 0) self.inner_ended = true;
    self.plain_left -= n;
    if (self.plain_left < 0) {
      archive_set_error(one, EFBIG, "it is too large when it is decompressed");
      return -1;
    }
    self.tar_sum.Add({self.plain.data(), static_cast<std::size_t>(n)});
    *buffer = self.plain.data();
    return n;
  }
};

LayerStream::LayerStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
LayerStream::~LayerStream() = default;

StatusOr<std::unique_ptr<LayerStream>> LayerStream::Open(const std::string& path,
                                                         std::int64_t most) {
  auto state = std::make_unique<State>();
  state->plain_left = most;
  state->path = path;
  state->file = files::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!state->file.valid()) return files::Failed("read", path, errno);
  struct stat about {};
  if (::fstat(state->file.get(), &about) != 0) return files::Failed("read", path, errno);
  if (!S_ISREG(about.st_mode)) {
    return base::InvalidArgument(fmt::format("{} is not an ordinary file", path));
  }
  archive* inner = archive_read_new();
  state->inner.reset(inner);
  archive_read_support_format_raw(inner);
  archive_read_support_format_empty(inner);
  // Not all of libarchive's filters: some of them start programs.
  archive_read_support_filter_gzip(inner);
  archive_read_support_filter_bzip2(inner);
  archive_read_support_filter_xz(inner);
  archive_read_support_filter_zstd(inner);
  if (archive_read_open(inner, state.get(), nullptr, &State::ReadRaw, nullptr) != ARCHIVE_OK) {
    return state->Broken(inner);
  }
  archive_entry* whole = nullptr;
  const int first = archive_read_next_header(inner, &whole);
  if (first == ARCHIVE_EOF) {
    state->inner_ended = true;
  } else if (first != ARCHIVE_OK) {
    return state->Broken(inner);
  }
  archive* outer = archive_read_new();
  state->outer.reset(outer);
  archive_read_support_format_tar(outer);
  archive_read_support_format_empty(outer);
  if (archive_read_open(outer, state.get(), nullptr, &State::ReadPlain, nullptr) != ARCHIVE_OK) {
    return state->Broken(outer);
  }
  return std::unique_ptr<LayerStream>(new LayerStream(std::move(state)));
}

StatusOr<bool> LayerStream::Next(Entry& entry) {
  archive_entry* found = nullptr;
  const int result = archive_read_next_header(state_->outer.get(), &found);
  if (result == ARCHIVE_EOF) return false;
  // A warning is about a name's characters or a time: what matters is looked at below.
  if (result != ARCHIVE_OK && result != ARCHIVE_WARN) return state_->Broken(state_->outer.get());
  entry = Entry();
  entry.path = TextOf(archive_entry_pathname_utf8(found), archive_entry_pathname(found));
  if (entry.path.empty()) {
    return base::InvalidArgument(fmt::format("{}: an entry has no name", state_->path));
  }
  entry.mode = archive_entry_perm(found);
  entry.uid = archive_entry_uid(found);
  entry.gid = archive_entry_gid(found);
  entry.mtime = archive_entry_mtime(found);
  const std::string hard =
      TextOf(archive_entry_hardlink_utf8(found), archive_entry_hardlink(found));
  if (!hard.empty()) {
    entry.kind = Entry::Kind::kHardLink;
    entry.target = hard;
    return true;
  }
  switch (archive_entry_filetype(found)) {
    case AE_IFREG:
      entry.kind = Entry::Kind::kFile;
      break;
    case AE_IFDIR:
      entry.kind = Entry::Kind::kFolder;
      break;
    case AE_IFLNK:
      entry.kind = Entry::Kind::kSymlink;
      entry.target = TextOf(archive_entry_symlink_utf8(found), archive_entry_symlink(found));
      break;
    case AE_IFIFO:
      entry.kind = Entry::Kind::kFifo;
      break;
    case AE_IFCHR:
    case AE_IFBLK:
      entry.kind = Entry::Kind::kDevice;
      break;
    default:
      entry.kind = Entry::Kind::kOther;
  }
  return true;
}

StatusOr<std::size_t> LayerStream::Read(char* buffer, std::size_t size) {
  const la_ssize_t n = archive_read_data(state_->outer.get(), buffer, size);
  if (n < 0) return state_->Broken(state_->outer.get());
  return static_cast<std::size_t>(n);
}

StatusOr<LayerStream::Digests> LayerStream::Finish() {
  const void* ignored = nullptr;
  for (;;) {
    const la_ssize_t n = State::ReadPlain(state_->outer.get(), state_.get(), &ignored);
    if (n < 0) return state_->Broken(state_->outer.get());
    if (n == 0) break;
  }
  for (;;) {
    const la_ssize_t n = State::ReadRaw(state_->inner.get(), state_.get(), &ignored);
    if (n < 0) return state_->Broken(state_->inner.get());
    if (n == 0) break;
  }
  return Digests{.blob = state_->blob_sum.Digest(), .tar = state_->tar_sum.Digest()};
}

}  // namespace dray::image::internal
