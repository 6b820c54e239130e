// SPDX-License-Identifier: Apache-2.0
#include "image/internal/tar_writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "files/files.h"
#include "fmt/format.h"

namespace dray::image::internal {
namespace {

struct FreeWriter {
  void operator()(archive* one) const { archive_write_free(one); }
};
struct FreeEntry {
  void operator()(archive_entry* one) const { archive_entry_free(one); }
};
using EntryPointer = std::unique_ptr<archive_entry, FreeEntry>;

EntryPointer NewEntry(const std::string& name, unsigned type, unsigned mode) {
  EntryPointer entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_filetype(entry.get(), type);
  archive_entry_set_perm(entry.get(), mode & 07777);
  archive_entry_set_uid(entry.get(), 0);
  archive_entry_set_gid(entry.get(), 0);
  archive_entry_set_mtime(entry.get(), 0, 0);
  archive_entry_set_size(entry.get(), 0);
  return entry;
}

}  // namespace

struct TarWriter::State {
  std::string path;
  std::unique_ptr<archive, FreeWriter> out;

  Status Broken() const {
    const char* why = archive_error_string(out.get());
    return base::Unavailable(
        fmt::format("cannot write {}: {}", path, why != nullptr ? why : "unknown"));
  }
  Status Header(archive_entry* entry) {
    const int result = archive_write_header(out.get(), entry);
    return result == ARCHIVE_OK || result == ARCHIVE_WARN ? Status() : Broken();
  }
  Status Bytes(std::string_view bytes) {
    const la_ssize_t n = archive_write_data(out.get(), bytes.data(), bytes.size());
    return n == static_cast<la_ssize_t>(bytes.size()) ? Status() : Broken();
  }
  Status File(archive_entry* entry, const std::string& file) {
    const files::Fd in(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat about {};
    if (!in.valid() || ::fstat(in.get(), &about) != 0) return files::Failed("read", file, errno);
    if (!S_ISREG(about.st_mode)) {
      return base::InvalidArgument(fmt::format("{} is not an ordinary file", file));
    }
    archive_entry_set_size(entry, about.st_size);
    DRAY_RETURN_IF_ERROR(Header(entry));
    std::vector<char> buffer(128 * 1024);
    for (std::int64_t left = about.st_size; left > 0;) {
      const ssize_t n =
          ::read(in.get(), buffer.data(),
                 std::min<std::size_t>(buffer.size(), static_cast<std::size_t>(left)));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return files::Failed("read", file, errno);
      if (n == 0) return base::Unavailable(fmt::format("{} got shorter while it was read", file));
      DRAY_RETURN_IF_ERROR(Bytes({buffer.data(), static_cast<std::size_t>(n)}));
      left -= n;
    }
    return {};
  }
};

TarWriter::TarWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TarWriter::~TarWriter() = default;

StatusOr<std::unique_ptr<TarWriter>> TarWriter::Create(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->out.reset(archive_write_new());
  archive_write_set_format_gnutar(state->out.get());
  if (archive_write_open_filename(state->out.get(), path.c_str()) != ARCHIVE_OK) {
    return state->Broken();
  }
  return std::unique_ptr<TarWriter>(new TarWriter(std::move(state)));
}

Status TarWriter::AddFolder(const std::string& name, unsigned mode) {
  return state_->Header(NewEntry(name + "/", AE_IFDIR, mode).get());
}

Status TarWriter::AddLink(const std::string& name, const std::string& target) {
  const EntryPointer entry = NewEntry(name, AE_IFLNK, 0777);
  archive_entry_set_symlink(entry.get(), target.c_str());
  return state_->Header(entry.get());
}

Status TarWriter::AddBytes(const std::string& name, std::string_view bytes, unsigned mode) {
  const EntryPointer entry = NewEntry(name, AE_IFREG, mode);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
  DRAY_RETURN_IF_ERROR(state_->Header(entry.get()));
  return state_->Bytes(bytes);
}

Status TarWriter::AddFile(const std::string& name, const std::string& file, unsigned mode) {
  return state_->File(NewEntry(name, AE_IFREG, mode).get(), file);
}

Status TarWriter::AddOdd(char kind, const std::string& name, const std::string& target) {
  const EntryPointer entry = NewEntry(name,
                                      kind == 'b'   ? AE_IFBLK
                                      : kind == 'c' ? AE_IFCHR
                                                    : AE_IFREG,
                                      0644);
  if (kind == 'h') {
    archive_entry_set_hardlink(entry.get(), target.c_str());
  } else {
    archive_entry_set_rdevmajor(entry.get(), 1);
    archive_entry_set_rdevminor(entry.get(), 3);
  }
  return state_->Header(entry.get());
}

Status TarWriter::AddTree(const std::string& folder) {
  struct Folder {
    std::string name;  // in the archive
    std::string path;
  };
  std::vector<Folder> todo = {{"", folder}};
  while (!todo.empty()) {
    const Folder at = todo.back();
    todo.pop_back();
    DRAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files::NamesIn(at.path));
    for (const std::string& name : names) {
      const std::string path = fmt::format("{}/{}", at.path, name);
      const std::string inside = at.name.empty() ? name : at.name + "/" + name;
      struct stat about {};
      if (::lstat(path.c_str(), &about) != 0) return files::Failed("read", path, errno);
      const bool is_folder = S_ISDIR(about.st_mode);
      const EntryPointer entry =
          NewEntry(is_folder ? inside + "/" : inside, about.st_mode & S_IFMT, about.st_mode);
      archive_entry_set_uid(entry.get(), about.st_uid);
      archive_entry_set_gid(entry.get(), about.st_gid);
      if (is_folder) {
        DRAY_RETURN_IF_ERROR(state_->Header(entry.get()));
        todo.push_back({inside, path});
      } else if (S_ISREG(about.st_mode)) {
        DRAY_RETURN_IF_ERROR(state_->File(entry.get(), path));
      } else if (S_ISLNK(about.st_mode)) {
        std::string target(4096, '\0');
        const ssize_t n = ::readlink(path.c_str(), target.data(), target.size());
        if (n < 0) return files::Failed("read", path, errno);
        target.resize(static_cast<std::size_t>(n));
        archive_entry_set_symlink(entry.get(), target.c_str());
        DRAY_RETURN_IF_ERROR(state_->Header(entry.get()));
      } else if (S_ISFIFO(about.st_mode)) {
        DRAY_RETURN_IF_ERROR(state_->Header(entry.get()));
      }
    }
  }
  return {};
}

Status TarWriter::Finish() {
  return archive_write_close(state_->out.get()) == ARCHIVE_OK ? Status() : state_->Broken();
}

}  // namespace dray::image::internal
