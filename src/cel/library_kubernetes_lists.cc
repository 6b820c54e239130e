// SPDX-License-Identifier: Apache-2.0
#include "cel/library.h"

namespace dray::cel::library {

// Kubernetes' lists library.
const std::string_view kKubernetesLists = R"(
isSorted
  list_int_is_sorted_bool list(int).() -> bool
  list_uint_is_sorted_bool list(uint).() -> bool
  list_double_is_sorted_bool list(double).() -> bool
  list_bool_is_sorted_bool list(bool).() -> bool
  list_duration_is_sorted_bool list(duration).() -> bool
  list_timestamp_is_sorted_bool list(timestamp).() -> bool
  list_string_is_sorted_bool list(string).() -> bool
  list_bytes_is_sorted_bool list(bytes).() -> bool
sum
  list_int_sum_int list(int).() -> int
  list_uint_sum_uint list(uint).() -> uint
  list_double_sum_double list(double).() -> double
  list_duration_sum_duration list(duration).() -> duration
max
  list_int_max_int list(int).() -> int
  list_uint_max_uint list(uint).() -> uint
  list_double_max_double list(double).() -> double
  list_bool_max_bool list(bool).() -> bool
  list_duration_max_duration list(duration).() -> duration
  list_timestamp_max_timestamp list(timestamp).() -> timestamp
  list_string_max_string list(string).() -> string
  list_bytes_max_bytes list(bytes).() -> bytes
min
  list_int_min_int list(int).() -> int
  list_uint_min_uint list(uint).() -> uint
  list_double_min_double list(double).() -> double
  list_bool_min_bool list(bool).() -> bool
  list_duration_min_duration list(duration).() -> duration
  list_timestamp_min_timestamp list(timestamp).() -> timestamp
  list_string_min_string list(string).() -> string
  list_bytes_min_bytes list(bytes).() -> bytes
indexOf
  list_a_index_of_int list(A).(A) -> int
lastIndexOf
  list_a_last_index_of_int list(A).(A) -> int
)";

// A list, or anything else as a list of one.
const std::string_view kIncludes = R"(
includes
  list_includes_dyn_dyn dyn.(dyn) -> bool
)";

// Kubernetes' regex library.
const std::string_view kRegex = R"(
find
  string_find_string string.(string) -> string
findAll
  string_find_all_string string.(string) -> list(string)
  string_find_all_string_int string.(string, int) -> list(string)
)";

}  // namespace dray::cel::library
