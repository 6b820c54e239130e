// SPDX-License-Identifier: Apache-2.0
//
// Registry: which devices the CDI files of a machine define, and what a container needs to get them.
// Pure: made from the contents of files (folder.h reads them), never changed.
//
// A name that several files define belongs to the folder of the highest priority that defines it; if
// two files of that folder do, nobody can say which is meant, and the device cannot be had. A file
// that is wrong is left out, with what is wrong with it; it does not spoil the others.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cdi/spec.h"

namespace dray::cdi {

struct SpecFile {
  int priority = 0;  // of its folder; the higher one wins
  std::string path;  // for people; in this order within a priority
  StatusOr<std::string> content = std::string();
};

struct FileProblem {
  std::string path;
  std::string message;
  friend bool operator==(const FileProblem&, const FileProblem&) = default;
};

// Immutable; thread-safe.
class Registry {
 public:
  Registry() = default;
  explicit Registry(std::vector<SpecFile> files);

  // Everything that a container with these devices (qualified names) needs, in order: for each device
  // its file's own edits, if no other before it came from that file, then the device's. A name that
  // comes again is not looked at again. NotFound names all that cannot be had, and nothing is given.
  StatusOr<ContainerEdits> Resolve(std::span<const std::string> names) const;

  // Qualified, sorted; without those in conflict.
  std::vector<std::string> Devices() const;
  // Files that were left out and names in conflict, by path.
  const std::vector<FileProblem>& problems() const { return problems_; }

 private:
  struct LoadedSpec {
    int priority = 0;
    std::string path;
    Spec spec;
  };
  struct Place {
    const LoadedSpec* spec = nullptr;
    const Device* device = nullptr;
    const LoadedSpec* rival = nullptr;  // of the same priority: the name cannot be had
  };

  std::vector<std::shared_ptr<const LoadedSpec>> specs_;
  std::map<std::string, Place, std::less<>> places_;
  std::vector<FileProblem> problems_;
};

}  // namespace dray::cdi
