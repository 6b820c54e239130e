// SPDX-License-Identifier: Apache-2.0
//
// SemVer: semantic versions 2.0.0 (semver.org), as device attributes of type version carry them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace dray::base {

// Whether `text` has the form that semver.org's regular expression describes, with numbers of any
// length. This is what validation of a version attribute asks; SemVer::Parse also needs the numbers
// to fit.
bool IsSemVer(std::string_view text);

// The first thing that is wrong with a version, for those who say it in words of their own.
struct SemVerFault {
  enum class What : std::uint8_t {
    kNone,
    kEmpty,
    kNotThreeNumbers,
    kNotDigits,
    kCharacter,  // an identifier has letters, digits and '-'
    kLeadingZeros,
    kTooLarge,             // above 2^64-1
    kShortWithPrerelease,  // or with build metadata
  };
  enum class Part : std::uint8_t { kVersion, kMajor, kMinor, kPatch, kPrerelease, kBuild };

  What what = What::kNone;
  Part part = Part::kVersion;
  std::string text = {};  // of the number or identifier
};

// A parsed version. Ordered by precedence (semver.org, item 11): build metadata does not count,
// so 1.0.0+a == 1.0.0+b; IdenticalTo tells those apart. Numbers, also those in a pre-release, fit
// in 64 bits. Thread-compatible.
class SemVer {
 public:
  // 0.0.0
  SemVer() = default;
  SemVer(std::uint64_t major, std::uint64_t minor, std::uint64_t patch)
      : major_(major), minor_(minor), patch_(patch) {}

  // Strict: three numbers without leading zeros, no "v". OutOfRange if a number is above 2^64-1,
  // else InvalidArgument.
  static StatusOr<SemVer> Parse(std::string_view text);
  // As Kubernetes' CEL function semver(text, true): drops one leading "v" and the leading zeros of
  // the three numbers, and fills up a missing minor or patch with 0. A version filled up this way
  // has neither pre-release nor build.
  static StatusOr<SemVer> ParseTolerant(std::string_view text);

  // The same, with the fault instead of a sentence.
  static std::optional<SemVer> Read(std::string_view text, SemVerFault* fault);
  static std::optional<SemVer> ReadTolerant(std::string_view text, SemVerFault* fault);

  std::uint64_t major() const { return major_; }
  std::uint64_t minor() const { return minor_; }
  std::uint64_t patch() const { return patch_; }
  // Without the '-' and '+' before them; empty if there is none.
  const std::string& prerelease() const { return prerelease_; }
  const std::string& build() const { return build_; }

  std::string ToString() const;

  // -1, 0 or 1 by precedence.
  int Compare(const SemVer& other) const;
  friend bool operator==(const SemVer& a, const SemVer& b) { return a.Compare(b) == 0; }
  friend std::weak_ordering operator<=>(const SemVer& a, const SemVer& b) {
    return a.Compare(b) <=> 0;
  }
  // Equal in every part, build metadata too.
  bool IdenticalTo(const SemVer& other) const {
    return Compare(other) == 0 && build_ == other.build_;
  }

 private:
  std::uint64_t major_ = 0;
  std::uint64_t minor_ = 0;
  std::uint64_t patch_ = 0;
  std::string prerelease_;
  std::string build_;
};

}  // namespace dray::base
