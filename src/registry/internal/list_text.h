// SPDX-License-Identifier: Apache-2.0
//
// The text of a list, made as it is sent: a client that reads slowly holds the objects, which are
// shared with everybody, and not a copy of all their text.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "api/kinds.h"
#include "apiserver/http.h"
#include "registry/objects.h"

namespace dray::registry::internal {

struct ListOf {
  const api::KindInfo* kind = nullptr;  // in the version of the request
  bool metadata_only = false;           // PartialObjectMetadataList
  std::string metadata;                 // of the list, JSON
  std::vector<StoredObjectPtr> items;
};

// One thread.
class ListText {
 public:
  explicit ListText(ListOf list);
  // Appends about so many bytes. False: that was all.
  bool Append(std::string& out, std::size_t bytes);

 private:
  void AppendItem(const StoredObject& stored, std::string& out) const;

  ListOf list_;
  std::string head_;  // apiVersion and kind, which items of a list leave out
  std::size_t next_ = 0;
  bool begun_ = false;
};

// What is left of a list after its beginning.
std::unique_ptr<apiserver::StreamSource> MakeListStream(std::string beginning, ListText rest);

}  // namespace dray::registry::internal
