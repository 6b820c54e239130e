// SPDX-License-Identifier: Apache-2.0
#include "crash/witness.h"

#include <utility>

#include "fmt/format.h"
#include "process/requests.h"

namespace dray::crash {

int MarkOf(const api::Object& object) {
  const auto* mark = object.metadata().annotations.Find(kMark);
  return mark == nullptr ? 0 : std::stoi(std::string(*mark));
}

Memory& Witness::Asked(std::string path, Memory memory) {
  return memories_.insert_or_assign(std::move(path), std::move(memory)).first->second;
}

void Witness::Confirmed(Memory& memory, const api::Object& object) {
  memory.uid = object.metadata().uid;
  memory.revision = process::RevisionOf(object);
  memory.mark = MarkOf(object);
  memory.asked_mark.reset();
}

std::vector<std::string> Witness::Check(const ByPath& stored) {
  complaints_.clear();
  for (const std::string& path : gone_) {
    if (stored.contains(path)) Complain(path, "was gone and is there again");
  }
  for (auto it = memories_.begin(); it != memories_.end();) {
    const auto found = stored.find(it->first);
    const api::Object* object = found == stored.end() ? nullptr : &found->second;
    CheckOne(it->first, it->second, object);
    if (object == nullptr) {
      // Without a uid it may still be made: by a request that nobody will answer. Not by this
      // server, which has just begun.
      gone_.push_back(it->first);
      it = memories_.erase(it);
    } else {
      ++it;
    }
  }
  return std::exchange(complaints_, {});
}

void Witness::CheckOne(const std::string& path, Memory& memory, const api::Object* object) {
  const bool made = !memory.uid && object != nullptr;
  const bool marked =
      memory.asked_mark && object != nullptr && MarkOf(*object) == *memory.asked_mark;
  const bool deleted = memory.asked_deletion && !memory.deleted &&
                       (object == nullptr || object->metadata().deletion_timestamp.has_value());
  if (!memory.uid || memory.asked_mark || (memory.asked_deletion && !memory.deleted)) ++open_;
  if (made || marked || deleted) ++open_and_done_;
  const bool may_be_gone = !memory.uid || memory.deleted || memory.asked_deletion;
  if (object == nullptr) {
    if (!may_be_gone) Complain(path, fmt::format("is lost; it had revision {}", memory.revision));
    return;
  }
  const bool deleting = object->metadata().deletion_timestamp.has_value();
  const int mark = MarkOf(*object);
  const std::int64_t revision = process::RevisionOf(*object);
  if (memory.uid) {
    if (object->metadata().uid != *memory.uid) Complain(path, "is another object");
    if (revision < memory.revision) {
      Complain(path, fmt::format("has revision {}, {} was told", revision, memory.revision));
    }
    if (mark != memory.mark && mark != memory.asked_mark) {
      Complain(path, fmt::format("has mark {}, {} was told", mark, memory.mark));
    }
    if (memory.deleted && !deleting) Complain(path, "is there although it was deleted");
    if (deleting && !memory.deleted && !memory.asked_deletion) {
      Complain(path, "is being deleted, and nobody has asked for it");
    }
  }
  Confirmed(memory, *object);
  memory.deleted = deleting;
  memory.asked_deletion = false;
}

void Witness::Complain(const std::string& path, std::string_view text) {
  complaints_.push_back(fmt::format("{} {}", path, text));
}

}  // namespace dray::crash
