// SPDX-License-Identifier: Apache-2.0
#include "cli/source_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "fmt/format.h"

namespace dray::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kChunk = std::size_t{1} << 16;

bool IsManifestName(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".yaml" || extension == ".yml" || extension == ".json";
}

class Loader {
 public:
  Loader(std::istream& in, const SourceOptions& options) : in_(in), options_(options) {}

  void Named(const std::string& name) {
    if (name == "-") {
      if (std::exchange(stdin_read_, true)) return;
      Read(in_, std::string(kStandardInputName));
      return;
    }
    std::error_code error;
    const fs::file_status status = fs::status(name, error);
    if (fs::is_directory(status)) {
      Folder(name);
    } else if (!fs::exists(status)) {
      Fail(name, error ? error.message() : "No such file or directory");
    } else {
      File(name);
    }
  }

  Sources Take() { return std::move(sources_); }

 private:
  void Folder(const fs::path& folder) {
    std::vector<fs::path> files;
    bool has_folders = false;
    std::error_code error;
    const auto consider = [&](const fs::directory_entry& entry) {
      std::error_code ignored;
      if (entry.is_directory(ignored)) {
        has_folders = true;
      } else if (IsManifestName(entry.path())) {
        files.push_back(entry.path());
      }
    };
    // A link to a folder is not followed when recursive: it may lead in a circle.
    if (options_.recursive) {
      for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
           it.increment(error)) {
        consider(*it);
      }
    } else {
      for (fs::directory_iterator it(folder, error), end; !error && it != end;
           it.increment(error)) {
        consider(*it);
      }
    }
    if (error) Fail(folder.string(), error.message());
    if (files.empty() && !error) {
      Fail(folder.string(), "no *.yaml, *.yml or *.json in this folder",
           has_folders && !options_.recursive ? "use -R to read its subfolders as well" : "");
    }
    std::ranges::sort(files);
    for (const fs::path& file : files) File(file);
  }

  void File(const fs::path& path) {
    std::error_code error;
    const fs::path canonical = fs::canonical(path, error);
    if (!error && !seen_.insert(canonical.string()).second) return;
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      Fail(path.string(), errno != 0 ? std::strerror(errno) : "cannot be opened");
      return;
    }
    Read(file, path.string());
  }

  void Read(std::istream& from, std::string path) {
    std::string text;
    while (from) {
      const std::size_t before = text.size();
      text.resize(before + kChunk);
      from.read(text.data() + before, static_cast<std::streamsize>(kChunk));
      text.resize(before + static_cast<std::size_t>(from.gcount()));
      if (text.size() > options_.max_bytes) {
        Fail(std::move(path), fmt::format("is larger than {} bytes", options_.max_bytes),
             "split it into several files");
        return;
      }
    }
    if (from.bad()) {
      Fail(std::move(path), "could not be read completely");
      return;
    }
    // Editors put it there; to a parser it would shift the first line by a column.
    if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
    sources_.files.push_back({std::move(path), std::move(text)});
  }

  void Fail(std::string path, std::string message, std::string hint = "") {
    sources_.errors.push_back({std::move(path), std::move(message), std::move(hint)});
  }

  std::istream& in_;
  const SourceOptions& options_;
  Sources sources_;
  std::set<std::string> seen_;  // canonical paths
  bool stdin_read_ = false;
};

}  // namespace

Sources LoadSources(std::span<const std::string> names, std::istream& in,
                    const SourceOptions& options) {
  Loader loader(in, options);
  for (const std::string& name : names) loader.Named(name);
  return loader.Take();
}

}  // namespace dray::cli
