// SPDX-License-Identifier: Apache-2.0
//
// One try of a write: what is to be committed, and what is answered then.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "base/valid_utf8.h"
#include "fmt/format.h"
#include "registry/registry.h"
#include "rest/api_error.h"
#include "store/store.h"

namespace dray::registry {

// As JSON. A request brings 3 MiB at most.
inline constexpr std::size_t kMaxObjectBytes = 6u << 20;

// Without operations there is nothing to write, and the result is the answer.
struct Registry::Attempt {
  api::Object result;
  store::Transaction transaction = {};
  std::optional<std::size_t> index;  // of the operation whose entry is the answer; else `result`
  bool puts = false;                 // that operation stores the result
  bool deletes = false;

  // Its text is made by Seal: who only asks what would happen does not need one.
  void PutResult(std::optional<store::Revision> expected) {
    index = transaction.operations.size();
    puts = true;
    transaction.operations.push_back({.kind = store::Operation::Kind::kPut,
                                      .key = KeyOf(result),
                                      .value = nullptr,
                                      .expected = expected,
                                      .attach = nullptr});
  }
  void Delete(api::Object last, std::optional<store::Revision> expected) {
    index = transaction.operations.size();
    deletes = true;
    Objects::Delete(transaction, std::move(last), expected);
  }

  // What is to be committed. A result that is stored is part of it, and nobody else's: it gets its
  // revision without being copied.
  store::Transaction Seal() && {
    if (puts) Objects::Fill(transaction.operations[*index], std::move(result));
    return std::move(transaction);
  }

  // Nothing is written that could not be read again. Every door sees to that itself; whoever forgets
  // it is stopped here, before there is an object that nobody can do anything about. Nor does an
  // object grow beyond what a request can bring, with who manages it, one patch after the other;
  // one that is larger already may become smaller.
  static Status CheckStorable(const store::Transaction& sealed, const store::Store& store) {
    for (const store::Operation& operation : sealed.operations) {
      if (operation.value == nullptr) continue;
      const std::string& bytes = *operation.value;
      if (!base::IsUtf8(bytes)) {
        return rest::BadRequest("the object has text in it that is not UTF-8");
      }
      if (bytes.size() <= kMaxObjectBytes) continue;
      const store::EntryPtr known = store.Find(operation.key);
      if (known != nullptr && known->value != nullptr && bytes.size() < known->value->size()) {
        continue;
      }
      return rest::TooLarge(fmt::format("the object would have {} bytes: at most {} can be stored",
                                        bytes.size(), kMaxObjectBytes));
    }
    return {};
  }
};

}  // namespace dray::registry
