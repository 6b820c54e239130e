// SPDX-License-Identifier: Apache-2.0
//
// What a container prints, and what lies in its log: the lines that are written are read as what was printed, however it
// was cut; lines that anybody may have left there are read or refused; selecting shows no more than it may.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "container/log_format.h"
#include "container/log_reader.h"

namespace {

using namespace dray::container;  // NOLINT(google-build-using-namespace)

void CheckPrinted(std::string_view printed, std::size_t piece) {
  const dray::base::Time now = dray::base::Time::FromUnix(1'000'000);
  LogEncoder encoder(LogStream::kErr);
  std::string log;
  for (std::size_t at = 0; at < printed.size(); at += piece) {
    encoder.Add(printed.substr(at, piece), now, log);
  }
  encoder.Finish(now, log);
  std::string read;
  for (std::string_view rest = log; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    DRAY_CHECK(end != rest.npos, "lines end");
    const auto line = ParseLogLine(rest.substr(0, end));
    DRAY_CHECK(line.ok(), std::string(rest.substr(0, end)));
    DRAY_CHECK(line->stream == LogStream::kErr && line->time == now);
    DRAY_CHECK(line->text.size() <= kLongestLogText);
    read.append(line->text);
    if (!line->partial) read += '\n';
    rest.remove_prefix(end + 1);
  }
  std::string expected(printed);
  if (!expected.empty() && expected.back() != '\n') expected += '\n';
  DRAY_CHECK(read == expected);
}

void CheckFile(std::string_view text, std::int64_t limit) {
  LogSelector selector({.limit_bytes = limit, .timestamps = limit % 2 == 0});
  std::string shown;
  bool more = true;
  while (!text.empty() && more) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto line = ParseLogLine(text.substr(0, end));
    if (line.ok()) more = selector.Add(*line, shown);
    text.remove_prefix(std::min(end + 1, text.size()));
    DRAY_CHECK(static_cast<std::int64_t>(shown.size()) <= limit);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  CheckPrinted(bytes, std::max<std::size_t>(data[0], 1));
  CheckFile(bytes, data[0]);
  return 0;
}
