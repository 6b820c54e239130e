// SPDX-License-Identifier: Apache-2.0
#include "api/values.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "base/status.h"

namespace dray::api {

std::string Base64Of(const Bytes& bytes) { return absl::Base64Escape(base::ToAbsl(bytes.data)); }

bool ReadBase64(std::string_view text, Bytes& bytes) {
  // Abseil's reader takes more than Go's: blanks, missing padding, the other alphabet's padding.
  std::string digits(text);
  std::erase_if(digits, [](char c) { return c == '\r' || c == '\n'; });
  if (digits.size() % 4 != 0) return false;
  std::size_t end = digits.size();
  for (int padding = 0; padding < 2 && end > 0 && digits[end - 1] == '='; ++padding) --end;
  const bool plain =
      std::all_of(digits.begin(), digits.begin() + static_cast<std::ptrdiff_t>(end), [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               c == '+' || c == '/';
      });
  std::string data;
  if (!plain || !absl::Base64Unescape(digits, &data)) return false;
  bytes.data = std::move(data);
  return true;
}

}  // namespace dray::api
