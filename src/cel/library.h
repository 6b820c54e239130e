// SPDX-License-Identifier: Apache-2.0
//
// The declarations of functions, one text per library. A function's name stands alone on its line,
// its overloads follow, indented: id, receiver if it is a member, parameters, result.
//
//     size
//       size_bytes (bytes) -> int
//       bytes_size bytes.() -> int
//
// A single capital letter is a type parameter. Names that are no type of the language are opaque
// when they begin with "net.", else objects.
#pragma once

#include <string_view>

namespace dray::cel::library {

extern const std::string_view kOperators;        // Operators, but for ordering
extern const std::string_view kOrdering;         // Ordering within one type
extern const std::string_view kNumericOrdering;  // Ordering across int, uint and double
extern const std::string_view kStandard;         // Sizes, texts and conversions
extern const std::string_view kTimes;            // Parts of timestamps and durations
extern const std::string_view kStrings;          // The strings extension, version 2
extern const std::string_view kLists;            // The lists extension, version 3
extern const std::string_view kSets;             // The sets extension
extern const std::string_view
    kTwoVariables;  // What the macros transformMap and transformMapEntry call
extern const std::string_view kOptionals;        // Optional values
extern const std::string_view kKubernetesLists;  // Kubernetes' lists library
extern const std::string_view kIncludes;         // A list, or anything else as a list of one
extern const std::string_view kRegex;            // Kubernetes' regex library
extern const std::string_view kQuantity;         // kubernetes.Quantity
extern const std::string_view kSemver;           // kubernetes.Semver, library version 1
extern const std::string_view kFormats;          // kubernetes.NamedFormat
extern const std::string_view kUrls;             // kubernetes.URL
extern const std::string_view kNetwork;          // net.IP and net.CIDR
extern const std::string_view kAuthorizer;       // for values that DRA does not have
extern const std::string_view kStringReverse;
extern const std::string_view kEncoders;
extern const std::string_view kMath;
extern const std::string_view kInclude;

}  // namespace dray::cel::library
