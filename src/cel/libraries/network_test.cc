// SPDX-License-Identifier: Apache-2.0
#include "cel/eval_table.h"

namespace dray::cel {
namespace {

using testing::ExpectInLanguage;
using testing::ExpectOnDevices;

TEST(NetworkLib, AddressesHaveOneForm) {
  ExpectOnDevices({
      {"string(ip('2001:DB8::0:1'))", "\"2001:db8::1\""},
      {"string(ip('0:0:1::'))", "\"0:0:1::\""},
      {"string(ip('1:0:0:2:0:0:0:3'))", "\"1:0:0:2::3\""},
      {"ip.isCanonical('::1')", "true"},
      {"ip.isCanonical('::01')", "false"},
      {"ip.isCanonical('x')", "error: "},
      {"ip('::1') == ip('0:0:0:0:0:0:0:1')", "true"},
      {"ip('1.2.3.4').family() + ip('::').family()", "10"},
      {"type(ip('::'))", "net.IP"},
  });
}

TEST(NetworkLib, WhatIsNoAddress) {
  ExpectOnDevices({
      {"isIP('')", "false"},
      {"isIP('1.2.3')", "false"},
      {"isIP('1.2.3.4.5')", "false"},
      {"isIP('01.2.3.4')", "false"},
      {"isIP('1.2.3.256')", "false"},
      {"isIP('1..2.3')", "false"},
      {"isIP(':::')", "false"},
      {"isIP('1::2::3')", "false"},
      {"isIP('1:2:3:4:5:6:7:8:9')", "false"},
      {"isIP('12345::')", "false"},
      {"isIP('fe80::1%eth0')", "false"},
      {"isIP('::ffff:1.2.3.4')", "false"},
      {"isIP('::1.2.3.4')", "true"},
      {"ip('::ffff:1.2.3.4')", "error: IPv4-mapped IPv6 address \"::ffff:1.2.3.4\" is not allowed"},
      {"ip('fe80::1%eth0')", "error: IP address \"fe80::1%eth0\" with zone value is not allowed"},
  });
}

TEST(NetworkLib, MappedAddressesInHexAreTheLanguagesOnly) {
  ExpectOnDevices({{"isIP('::ffff:c0a8:1')", "false"}, {"isCIDR('::ffff:c0a8:1/128')", "false"}});
  ExpectInLanguage({{"isIP('::ffff:c0a8:1')", "true"},
                    {"isCIDR('::ffff:c0a8:1/128')", "true"},
                    {"ip('::ffff:c0a8:1').family()", "6"},
                    {"isIP('::ffff:192.168.0.1')", "false"},
                    {"isCIDR('::ffff:192.168.0.1/128')", "false"}});
}

TEST(NetworkLib, KindsOfAddresses) {
  ExpectOnDevices({
      {"ip('0.0.0.0').isUnspecified() && ip('::').isUnspecified()", "true"},
      {"ip('127.255.0.1').isLoopback() && ip('::1').isLoopback()", "true"},
      {"ip('169.254.1.1').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast()", "true"},
      {"ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()", "true"},
      {"ip('10.0.0.1').isGlobalUnicast() && ip('fd00::1').isGlobalUnicast()", "true"},
      {"ip('255.255.255.255').isGlobalUnicast()", "false"},
      {"ip('127.0.0.1').isGlobalUnicast()", "false"},
  });
}

TEST(NetworkLib, Networks) {
  ExpectOnDevices({
      {"cidr('10.1.2.3/8').masked()", "cidr(\"10.0.0.0/8\")"},
      {"cidr('10.1.2.3/8').ip()", "ip(\"10.1.2.3\")"},
      {"cidr('2001:db8::/32').prefixLength()", "32"},
      {"cidr('10.0.0.0/8').containsIP('10.255.255.255')", "true"},
      {"cidr('10.0.0.0/8').containsIP('11.0.0.0')", "false"},
      {"cidr('0.0.0.0/0').containsIP(ip('1.2.3.4'))", "true"},
      {"cidr('0.0.0.0/0').containsIP('::1')", "false"},
      {"cidr('1.2.3.4/32').containsIP('1.2.3.4')", "true"},
      {"cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "true"},
      {"cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))", "false"},
      {"cidr('10.0.0.0/8').containsCIDR('10.0.0.0/8')", "true"},
      {"string(cidr('10.1.2.3/8'))", "\"10.1.2.3/8\""},
      {"cidr('10.0.0.0/8') == cidr('10.0.0.0/8')", "true"},
  });
}

TEST(NetworkLib, WhatIsNoNetwork) {
  ExpectOnDevices({
      {"isCIDR('10.0.0.0')", "false"},
      {"isCIDR('10.0.0.0/33')", "false"},
      {"isCIDR('::/129')", "false"},
      {"isCIDR('10.0.0.0/08')", "false"},
      {"isCIDR('10.0.0.0/-1')", "false"},
      {"isCIDR('10.0.0.0/')", "false"},
      {"isCIDR('::1%a/64')", "false"},
      {"isCIDR('::/0')", "true"},
      {"cidr('x')", "error: "},
      {"cidr('10.0.0.0/8').containsCIDR('x')", "error: "},
      {"cidr('10.0.0.0/8').containsIP('x')", "error: "},
  });
}

}  // namespace
}  // namespace dray::cel
