// SPDX-License-Identifier: Apache-2.0
#include "api/generated_name.h"

namespace dray::api {
namespace {

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

// Whether a text goes on with what completes a name, and the name ends there.
bool StartsWithGenerated(std::string_view text) {
  if (text.size() < kNameSuffixLength) return false;
  const std::string_view suffix = text.substr(0, kNameSuffixLength);
  return suffix.find_first_not_of(kNameAlphabet) == std::string_view::npos &&
         (text.size() == kNameSuffixLength || !IsNameCharacter(text[kNameSuffixLength]));
}

}  // namespace

std::string WithoutGeneratedParts(std::string_view text, std::string_view generate_name) {
  const std::string_view stem = generate_name.substr(0, kNameStemMaxLength);
  if (stem.empty()) return std::string(text);
  std::string cut;
  for (;;) {
    const std::size_t at = text.find(stem);
    if (at == std::string_view::npos) return cut.append(text);
    const std::size_t end = at + stem.size();
    cut.append(text.substr(0, end));
    text.remove_prefix(end);
    if (StartsWithGenerated(text)) text.remove_prefix(kNameSuffixLength);
  }
}

Status WithoutGeneratedParts(const Status& status, std::string_view generate_name) {
  if (status.ok()) return status;
  return base::MakeStatus(status.code(),
                          WithoutGeneratedParts(base::Message(status), generate_name));
}

}  // namespace dray::api
