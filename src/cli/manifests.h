// SPDX-License-Identifier: Apache-2.0
//
// From text to objects: the documents of files, the objects in them, and what cannot be understood.
// Every file-reading command begins here.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/kinds.h"
#include "cli/report.h"
#include "cli/source_files.h"

namespace dray::cli {

// An object and where it came from. The node lives in the Manifests it belongs to.
struct Manifest {
  ObjectId id;
  std::size_t source = 0;  // index into Manifests::sources
  const api::DocumentNode* node;
  api::Object object;
  std::vector<std::string> broken_fields;  // could not be read and have their default value
};

struct ManifestOptions {
  bool strict = false;  // unknown and repeated fields are errors instead of warnings
};

// Everything that was read. Movable, not copyable: manifests point into the documents.
struct Manifests {
  Manifests() = default;
  Manifests(Manifests&&) = default;
  Manifests& operator=(Manifests&&) = default;

  std::vector<SourceFile> sources;
  std::deque<api::DocumentNode> documents;
  std::vector<Manifest> manifests;
  Report report;  // every object seen, with what was found while reading
};

// Reads all files; goes on after a broken document or object. Objects of kinds that dray does not
// know are noted once per kind and skipped, unless the kind looks like a misspelt one.
Manifests ReadManifests(Sources sources, const ManifestOptions& options = {});

}  // namespace dray::cli
