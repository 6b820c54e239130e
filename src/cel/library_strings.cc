// SPDX-License-Identifier: Apache-2.0
#include "cel/library.h"

namespace dray::cel::library {

// The strings extension, version 2.
const std::string_view kStrings = R"(
charAt
  string_char_at_int string.(int) -> string
indexOf
  string_index_of_string string.(string) -> int
  string_index_of_string_int string.(string, int) -> int
lastIndexOf
  string_last_index_of_string string.(string) -> int
  string_last_index_of_string_int string.(string, int) -> int
lowerAscii
  string_lower_ascii string.() -> string
upperAscii
  string_upper_ascii string.() -> string
replace
  string_replace_string_string string.(string, string) -> string
  string_replace_string_string_int string.(string, string, int) -> string
split
  string_split_string string.(string) -> list(string)
  string_split_string_int string.(string, int) -> list(string)
substring
  string_substring_int string.(int) -> string
  string_substring_int_int string.(int, int) -> string
trim
  string_trim string.() -> string
format
  string_format string.(list(dyn)) -> string
strings.quote
  strings_quote (string) -> string
join
  list_join list(string).() -> string
  list_join_string list(string).(string) -> string
)";

}  // namespace dray::cel::library
