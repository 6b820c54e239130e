// SPDX-License-Identifier: Apache-2.0
//
// Reading manifests from files, folders and standard input. All I/O of the file-reading commands is
// here; what the text means is for others.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dray::cli {

inline constexpr std::size_t kMaxSourceBytes = std::size_t{64} << 20;
inline constexpr std::string_view kStandardInputName = "<stdin>";

struct SourceFile {
  std::string path;  // as it is shown: the way it was named, or found below a named folder
  std::string text;
};

// Something that was named and could not be read.
struct SourceError {
  std::string path;
  std::string message;
  std::string hint;  // may be empty
};

struct SourceOptions {
  bool recursive = false;  // look into the subfolders of folders
  std::size_t max_bytes = kMaxSourceBytes;
};

struct Sources {
  std::vector<SourceFile> files;
  std::vector<SourceError> errors;
};

// Reads what the names name: a file of any name, the *.yaml, *.yml and *.json of a folder in the
// order of their names, "-" for `in`. A file that is named twice (itself and through its folder) is
// read once. One that cannot be read is an error beside the files that can: nothing is lost.
Sources LoadSources(std::span<const std::string> names, std::istream& in,
                    const SourceOptions& options = {});

}  // namespace dray::cli
