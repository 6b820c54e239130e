// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/faulty_files_for_test.h"

#include <filesystem>
#include <new>

namespace dray::store {
namespace {

// What SQLite is given as a file; the system's own file lies behind it in the same allocation.
struct File {
  sqlite3_file base;
  FaultyFiles* files;
  const char* path;  // lives as long as the file, says SQLite

  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

File& Of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
sqlite3_file* Real(sqlite3_file* file) { return Of(file).real(); }
sqlite3_vfs* System() { return sqlite3_vfs_find(nullptr); }

int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  if (Of(file).files->full) return SQLITE_FULL;
  if (Of(file).files->write_fails) return SQLITE_IOERR_WRITE;
  return Real(file)->pMethods->xWrite(Real(file), data, size, offset);
}

int Sync(sqlite3_file* file, int flags) {
  if (Of(file).files->sync_fails) return SQLITE_IOERR_FSYNC;
  const int code = Real(file)->pMethods->xSync(Real(file), flags);
  if (Of(file).files->copy_synced && Of(file).path != nullptr) {
    const std::filesystem::path path = Of(file).path;
    std::filesystem::copy_file(path, path.string() + ".synced",
                               std::filesystem::copy_options::overwrite_existing);
    if (Of(file).files->after_sync) Of(file).files->after_sync();
  }
  return code;
}

// Version 1: no shared memory, which a store that has its file for itself does not need.
constexpr sqlite3_io_methods kMethods = {
    .iVersion = 1,
    .xClose = [](sqlite3_file* f) { return Real(f)->pMethods->xClose(Real(f)); },
    .xRead =
        [](sqlite3_file* f, void* data, int size, sqlite3_int64 offset) {
          return Real(f)->pMethods->xRead(Real(f), data, size, offset);
        },
    .xWrite = Write,
    .xTruncate = [](sqlite3_file* f,
                    sqlite3_int64 size) { return Real(f)->pMethods->xTruncate(Real(f), size); },
    .xSync = Sync,
    .xFileSize = [](sqlite3_file* f,
                    sqlite3_int64* size) { return Real(f)->pMethods->xFileSize(Real(f), size); },
    .xLock = [](sqlite3_file* f, int level) { return Real(f)->pMethods->xLock(Real(f), level); },
    .xUnlock = [](sqlite3_file* f,
                  int level) { return Real(f)->pMethods->xUnlock(Real(f), level); },
    .xCheckReservedLock =
        [](sqlite3_file* f, int* out) {
          return Real(f)->pMethods->xCheckReservedLock(Real(f), out);
        },
    .xFileControl = [](sqlite3_file* f, int op,
                       void* arg) { return Real(f)->pMethods->xFileControl(Real(f), op, arg); },
    .xSectorSize = [](sqlite3_file* f) { return Real(f)->pMethods->xSectorSize(Real(f)); },
    .xDeviceCharacteristics =
        [](sqlite3_file* f) { return Real(f)->pMethods->xDeviceCharacteristics(Real(f)); },
};

int Open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  File* faulty = new (file) File{.files = static_cast<FaultyFiles*>(vfs->pAppData), .path = path};
  const int code = System()->xOpen(System(), path, faulty->real(), flags, out_flags);
  faulty->base.pMethods = faulty->real()->pMethods != nullptr ? &kMethods : nullptr;
  return code;
}

}  // namespace

FaultyFiles::FaultyFiles() : name_("dray-faulty-files"), vfs_(*System()) {
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.szOsFile += static_cast<int>(sizeof(File));
  vfs_.xOpen = Open;
  sqlite3_vfs_register(&vfs_, 0);
}

FaultyFiles::~FaultyFiles() { sqlite3_vfs_unregister(&vfs_); }

}  // namespace dray::store
