// SPDX-License-Identifier: Apache-2.0
//
// Witness: what one client was told about the objects that it writes, and whether a server that
// comes back still knows it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/kinds.h"

namespace dray::crash {

inline constexpr std::string_view kMark = "crash/mark";  // an annotation that its writer counts up

// What is known about an object. An answer that did not come leaves two possibilities open.
struct Memory {
  const api::KindInfo* kind = nullptr;
  std::string name;
  std::string sort;                // what its maker calls it
  std::optional<std::string> uid;  // none: nobody has said whether it was made
  std::int64_t revision = 0;
  int mark = 0;
  std::optional<int> asked_mark;  // no answer yet
  bool asked_deletion = false;    // no answer yet
  bool deleted = false;           // on its way, or gone
};

using ByPath = std::map<std::string, api::Object>;

// One thread.
class Witness {
 public:
  // Names are used once.
  Memory& Asked(std::string path, Memory memory);
  // The answer to a request about it.
  void Confirmed(Memory& memory, const api::Object& object);
  void Refused(const std::string& path) { memories_.erase(path); }

  // Complaints about a server that came back; what was open is settled by what it says. A listing
  // of all kinds that this knows objects of.
  std::vector<std::string> Check(const ByPath& stored);

  std::map<std::string, Memory>& memories() { return memories_; }
  std::size_t gone() const { return gone_.size(); }
  // Requests that a crash left without an answer, and how many of them had been done.
  std::uint64_t open() const { return open_; }
  std::uint64_t open_and_done() const { return open_and_done_; }

 private:
  void CheckOne(const std::string& path, Memory& memory, const api::Object* object);
  void Complain(const std::string& path, std::string_view text);

  std::map<std::string, Memory> memories_;  // by path
  std::vector<std::string> gone_;           // paths that will not come back
  std::vector<std::string> complaints_;
  std::uint64_t open_ = 0;
  std::uint64_t open_and_done_ = 0;
};

int MarkOf(const api::Object& object);

}  // namespace dray::crash
