// SPDX-License-Identifier: Apache-2.0
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::ExpectOnDevices;

TEST(UrlLib, Parts) {
  ExpectOnDevices({
      {"url('https://user@h.example:8443/a%20b?x=1&x=2&y=#f').getScheme()", "\"https\""},
      {"url('https://h.example:8443/a').getHost()", "\"h.example:8443\""},
      {"url('https://h.example:8443/a').getHostname()", "\"h.example\""},
      {"url('https://h.example:8443/a').getPort()", "\"8443\""},
      {"url('https://h.example/a').getPort()", "\"\""},
      {"url('https://h/a b').getEscapedPath()", "\"/a%20b\""},
      {"url('https://h/ö').getEscapedPath()", "\"/%C3%B6\""},
      {"url('/only/a/path').getHost()", "\"\""},
      {"url('https://[::1]:80/').getHostname()", "\"::1\""},
  });
}

TEST(UrlLib, QueryHasAListPerKey) {
  ExpectOnDevices({
      {"url('https://h/?x=1&x=2').getQuery()", "{\"x\": [\"1\", \"2\"]}"},
      {"url('https://h/?a+b=%26').getQuery()", "{\"a b\": [\"&\"]}"},
      {"url('https://h/?x').getQuery()", "{\"x\": [\"\"]}"},
      {"url('https://h/').getQuery()", "{}"},
      {"url('https://h/?bad=%zz&x=1').getQuery()", "{\"x\": [\"1\"]}"},
      {"url('https://h/?a;b=1').getQuery()", "{}"},
  });
}

TEST(UrlLib, OnlyAbsoluteOnesAreUrls) {
  ExpectOnDevices({
      {"isURL('https://h')", "true"},
      {"isURL('/a')", "true"},
      {"isURL('a')", "false"},
      {"isURL('')", "false"},
      {"isURL('https://h:port/')", "false"},
      {"isURL('https://[::1/')", "false"},
      {"isURL('https://h/%zz')", "false"},
      {"url('../a')", "error: "},
      {"url('https://a') == url('https://a')", "true"},
      {"url('https://a') == url('https://b')", "false"},
      {"dyn(url('https://a')) == dyn('https://a')", "error: no such overload"},
  });
}

}  // namespace
}  // namespace dray::cel
