// SPDX-License-Identifier: Apache-2.0
//
// JsonOut: JSON text, written from left to right. Where commas belong is its business; that every
// list and map is closed is the caller's.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace dray::fleet {

// Thread-compatible.
class JsonOut {
 public:
  JsonOut& BeginMap() { return Open('{'); }
  JsonOut& EndMap() { return Close('}'); }
  JsonOut& BeginList() { return Open('['); }
  JsonOut& EndList() { return Close(']'); }

  JsonOut& Key(std::string_view key) {
    Comma();
    Quote(key);
    out_ += ':';
    comma_ = false;
    return *this;
  }
  JsonOut& String(std::string_view text) {
    Comma();
    Quote(text);
    return *this;
  }
  template <std::integral T>
  requires(!std::same_as<T, bool>) JsonOut& Number(T value) {
    Comma();
    out_ += std::to_string(value);
    return *this;
  }
  // With so many digits behind the point.
  JsonOut& Real(double value, int digits = 4);
  JsonOut& Bool(bool value) { return Raw(value ? "true" : "false"); }
  JsonOut& Null() { return Raw("null"); }
  // A value that is JSON already.
  JsonOut& Raw(std::string_view json) {
    Comma();
    out_ += json;
    return *this;
  }

  // Members.
  JsonOut& Text(std::string_view key, std::string_view value) { return Key(key).String(value); }
  // Nothing where it is empty.
  JsonOut& TextIf(std::string_view key, std::string_view value) {
    return value.empty() ? *this : Text(key, value);
  }
  template <std::integral T>
  JsonOut& Count(std::string_view key, T value) {
    return Key(key).Number(value);
  }
  JsonOut& Flag(std::string_view key, bool value) { return Key(key).Bool(value); }
  JsonOut& Map(std::string_view key) { return Key(key).BeginMap(); }
  JsonOut& List(std::string_view key) { return Key(key).BeginList(); }

  std::size_t size() const { return out_.size(); }
  std::string Take() { return std::move(out_); }

 private:
  JsonOut& Open(char bracket) {
    Comma();
    out_ += bracket;
    comma_ = false;
    return *this;
  }
  JsonOut& Close(char bracket) {
    out_ += bracket;
    comma_ = true;
    return *this;
  }
  void Comma() {
    if (comma_) out_ += ',';
    comma_ = true;
  }
  void Quote(std::string_view text);

  std::string out_;
  bool comma_ = false;
};

}  // namespace dray::fleet
