// SPDX-License-Identifier: Apache-2.0
//
// The part of fmt that is compiled once (Dependencies.cmake): the functions of this header, and those
// templates whose code other files expect to find here.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
