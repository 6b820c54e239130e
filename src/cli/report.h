// SPDX-License-Identifier: Apache-2.0
//
// What a check of manifests found, and how it is written: for people like a compiler's messages,
// for machines as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/document.h"

namespace dray::cli {

enum class Level : std::uint8_t { kError, kWarning, kNote };

// Which object, and where it begins.
struct ObjectId {
  std::string file;
  api::Position position;
  std::string api_version;
  std::string kind;
  std::string namespace_;  // empty for cluster-wide kinds
  std::string name;        // "prefix*" when the server makes the name

  // "resource.k8s.io/v1 ResourceClaim default/foo", as far as it is known.
  std::string ToString() const;
};

struct Finding {
  Level level = Level::kError;
  std::string reason;      // stable, for machines: Kubernetes's causes, UnknownField, ...
  ObjectId object;         // at least the file
  api::Position position;  // of the field; unknown when the file could not be read
  std::string field;       // spec.devices.requests[0].exactly.count
  std::string message;     // what is wrong with the field, without its name
  std::string hint;        // what was probably meant; may be empty
};

struct Report {
  std::vector<ObjectId> objects;  // every object seen, in order
  std::vector<Finding> findings;
  std::vector<std::string> files;  // those that could be read, in order
  std::size_t skipped = 0;         // objects of kinds that are not checked
  // Those by kind: how many.
  std::vector<std::pair<std::string, std::size_t>> skipped_kinds;
  bool unusable = false;  // some input could not be read at all

  std::size_t Count(Level level) const;
  // kExitOk, kExitFindings or kExitUsage.
  int ExitCode() const;
};

struct TextOptions {
  bool color = false;
  std::size_t columns = 0;  // lines are broken there; 0: never
};

// One line per finding, `file:line:column: error: object: field: message`, and one more for a hint.
// Where many say the same of different objects, the first says it and the others are counted; kinds
// that were skipped are one line at the end.
std::string ToText(const Report& report, const TextOptions& options = {});
// "12 objects in 3 files: 2 errors, 1 warning"
std::string SummaryOf(const Report& report);
// One JSON document: {"objects": […], "findings": […], "counts": {…}}. Every field is always there.
std::string ToJson(const Report& report);

}  // namespace dray::cli
