// SPDX-License-Identifier: Apache-2.0
//
// Text: an immutable string of 16 bytes. Up to 15 characters are inside; longer ones are on the
// heap, counted, and shared by all copies. Made for the strings of which a cluster has millions
// that are short or alike: attribute names and values.
#pragma once

#include <atomic>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <string_view>

#include "fmt/format.h"

namespace dray::base {

// A value that reads like a std::string_view which owns its characters. Copies of one long text
// share it; different threads may hold copies. Thread-compatible.
class Text {
 public:
  static constexpr std::size_t kInlineSize = 15;

  Text() noexcept { Clear(); }
  Text(std::string_view text) {  // NOLINT: a text is made from any string
    if (text.size() <= kInlineSize) {
      SetInline(text);
    } else {
      SetLong(text);
    }
  }
  Text(const std::string& text) : Text(std::string_view(text)) {}  // NOLINT
  Text(const char* text) : Text(std::string_view(text)) {}         // NOLINT
  Text(const Text& other) noexcept {
    std::memcpy(bytes_, other.bytes_, sizeof(bytes_));
    if (is_long()) long_text()->references.fetch_add(1, std::memory_order_relaxed);
  }
  Text(Text&& other) noexcept {
    std::memcpy(bytes_, other.bytes_, sizeof(bytes_));
    other.Clear();
  }
  Text& operator=(const Text& other) noexcept {
    Text copy(other);
    Swap(copy);
    return *this;
  }
  Text& operator=(Text&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~Text() {
    if (is_long()) Release();
  }

  void Assign(std::string_view text) {
    if (text.size() <= kInlineSize && !is_long()) {
      SetInline(text);
    } else {
      *this = Text(text);
    }
  }

  std::string_view view() const {
    if (is_long()) return {long_text()->characters(), long_text()->size};
    return {reinterpret_cast<const char*>(bytes_), bytes_[kTagAt] == kAbsent ? 0U : bytes_[kTagAt]};
  }
  operator std::string_view() const { return view(); }  // NOLINT: that is what it is
  std::string str() const { return std::string(view()); }
  std::size_t size() const { return view().size(); }
  bool empty() const { return size() == 0; }
  const char* data() const { return view().data(); }
  bool starts_with(std::string_view prefix) const { return view().starts_with(prefix); }
  std::size_t find(char c) const { return view().find(c); }
  // A view into this text.
  std::string_view substr(std::size_t at, std::size_t n = std::string_view::npos) const {
    return view().substr(at, n);
  }

  friend bool operator==(const Text& a, const Text& b) {
    return std::memcmp(a.bytes_, b.bytes_, sizeof(a.bytes_)) == 0 ||
           (a.is_long() && a.view() == b.view());
  }
  friend bool operator==(const Text& a, std::string_view b) { return a.view() == b; }
  friend bool operator==(const Text& a, const char* b) { return a.view() == b; }
  friend bool operator==(const Text& a, const std::string& b) { return a.view() == b; }
  friend std::strong_ordering operator<=>(const Text& a, const Text& b) {
    if (a.is_long() || b.is_long()) return a.view() <=> b.view();
    // Inline texts are padded with zeros and end with their size, so they order as two big-endian
    // numbers.
    if (const auto order = a.Word(0) <=> b.Word(0); order != 0) return order;
    return a.Word(8) <=> b.Word(8);
  }
  friend std::strong_ordering operator<=>(const Text& a, std::string_view b) {
    return a.view() <=> b;
  }
  friend std::ostream& operator<<(std::ostream& os, const Text& text) { return os << text.view(); }

 private:
  friend class OptionalText;

  struct Long {
    std::atomic<std::uint32_t> references;
    std::uint32_t size;
    char* characters() { return reinterpret_cast<char*>(this + 1); }
  };
  // The last byte: the size of an inline text, or one of these.
  static constexpr std::size_t kTagAt = 15;
  static constexpr unsigned char kLong = 0xff;
  static constexpr unsigned char kAbsent = 0xfe;  // OptionalText's; reads as empty

  bool is_long() const { return bytes_[kTagAt] == kLong; }
  Long* long_text() const {
    Long* text = nullptr;
    std::memcpy(&text, bytes_, sizeof(text));
    return text;
  }
  std::uint64_t Word(std::size_t at) const {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes_ + at, sizeof(word));
    return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
  }
  void Clear() { std::memset(bytes_, 0, sizeof(bytes_)); }
  void Swap(Text& other) {
    unsigned char kept[sizeof(bytes_)];
    std::memcpy(kept, bytes_, sizeof(bytes_));
    std::memcpy(bytes_, other.bytes_, sizeof(bytes_));
    std::memcpy(other.bytes_, kept, sizeof(bytes_));
  }
  // Fixed-size copies that overlap are cheaper than a call with a variable size.
  void SetInline(std::string_view text) {
    Clear();
    const std::size_t n = text.size();
    if (n >= 8) {
      std::memcpy(bytes_, text.data(), 8);
      std::memcpy(bytes_ + n - 8, text.data() + n - 8, 8);
    } else if (n >= 4) {
      std::memcpy(bytes_, text.data(), 4);
      std::memcpy(bytes_ + n - 4, text.data() + n - 4, 4);
    } else {
      for (std::size_t i = 0; i < n; ++i) bytes_[i] = static_cast<unsigned char>(text[i]);
    }
    bytes_[kTagAt] = static_cast<unsigned char>(n);
  }
  void SetLong(std::string_view text);
  void Release();

  alignas(8) unsigned char bytes_[16];
};
static_assert(sizeof(Text) == 16);

// std::optional<Text> in Text's own 16 bytes.
class OptionalText {
 public:
  OptionalText() noexcept { reset(); }
  OptionalText(std::string_view text) : text_(text) {}    // NOLINT: converts like std::optional
  OptionalText(const std::string& text) : text_(text) {}  // NOLINT
  OptionalText(const char* text) : text_(text) {}         // NOLINT
  OptionalText(Text text) : text_(std::move(text)) {}     // NOLINT

  bool has_value() const { return text_.bytes_[Text::kTagAt] != Text::kAbsent; }
  explicit operator bool() const { return has_value(); }
  const Text& operator*() const { return text_; }
  const Text* operator->() const { return &text_; }
  std::string_view value_or(std::string_view other) const {
    return has_value() ? text_.view() : other;
  }
  void emplace() { text_ = Text(); }
  void emplace(Text&& text) { text_ = std::move(text); }
  void emplace(std::string_view text) { text_.Assign(text); }
  void reset() {
    text_ = Text();
    text_.bytes_[Text::kTagAt] = Text::kAbsent;
  }

  friend bool operator==(const OptionalText& a, const OptionalText& b) {
    return a.text_ == b.text_;
  }

 private:
  Text text_;
};
static_assert(sizeof(OptionalText) == 16);

}  // namespace dray::base

template <>
struct fmt::formatter<dray::base::Text> : fmt::formatter<fmt::string_view> {
  template <typename Context>
  auto format(const dray::base::Text& text, Context& context) const {
    return fmt::formatter<fmt::string_view>::format({text.data(), text.size()}, context);
  }
};
