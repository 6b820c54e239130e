// SPDX-License-Identifier: Apache-2.0
//
// Tables: objects as `kubectl get` prints them (meta.k8s.io/v1 Table). Kubernetes's columns, and
// for claims and slices the ones that people ask for next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/kinds.h"
#include "api/resource_slice.h"
#include "base/time.h"

namespace dray::rest {

struct Column {
  std::string_view name;
  std::string_view type = "string";  // string, integer
  std::string_view format = "";      // "name" for the column with the object's name
  std::string_view description;
  int priority = 0;  // 1: only with -o wide
};

// The last one: there is nothing to show.
using Cell = std::variant<std::string, std::int64_t, double, bool, std::monostate>;

// The table of a kind that somebody has defined.
struct CustomTable {
  std::vector<Column> columns;
  std::function<std::vector<Cell>(const api::Object&)> cells;
};

// What cells are made from besides the object.
struct TableContext {
  base::Time now;  // ages
  // How many of a slice's devices nobody holds; none: not known.
  std::function<std::optional<std::int64_t>(const api::ResourceSlice&)> free_devices = nullptr;
  std::shared_ptr<const CustomTable> custom = nullptr;  // of such a kind
};

std::span<const Column> ColumnsOf(const api::KindInfo& kind);
// As many as the kind has columns.
std::vector<Cell> CellsOf(const api::Object& object, const TableContext& context);

// What a row carries besides its cells.
enum class IncludeObject : std::uint8_t { kNone, kMetadata, kObject };

struct TableOptions {
  std::string list_metadata = "{}";  // JSON
  IncludeObject include = IncludeObject::kMetadata;
  bool headers = true;  // of a watch only the first table has them
};

// A Table in JSON; objects of one kind, written in the version `kind`.
std::string TableJson(const api::KindInfo& kind, std::span<const api::Object> objects,
                      const TableOptions& options, const TableContext& context);

// {"kind":"PartialObjectMetadata",...}: an object without spec and status.
std::string PartialMetadataJson(const api::Object& object);

// How long ago, in at most two units: 5s, 3m10s, 47h, 2y30d.
std::string HumanDuration(std::int64_t seconds);

}  // namespace dray::rest
