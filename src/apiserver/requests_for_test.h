// SPDX-License-Identifier: Apache-2.0
//
// Requests for certificates, made once with keys that nobody has kept.
#pragma once

#include <string_view>

namespace dray::apiserver {

// system:node:n1 of system:nodes, without names of hosts.
inline constexpr std::string_view kNodeRequest = R"(-----BEGIN CERTIFICATE REQUEST-----
MIHqMIGSAgEAMDAxFTATBgNVBAoMDHN5c3RlbTpub2RlczEXMBUGA1UEAwwOc3lz
dGVtOm5vZGU6bjEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASfH0HX13s8lelw
xdhkaDuWNZvDeE5gg9f7a8c3/ZfoPgKZvMkeVAtzqenofOhd8yJu8yBmwtg80V3V
2+gIiTanoAAwCgYIKoZIzj0EAwIDRwAwRAIgTA1CEn0LDMkmJ9EXROpIGgQJv2ep
nu19P94ZY3j1EksCIBjTqCCKMgnm+YkaG0P2TF8nuQ0ITxO4z6pIjdMwxVUl
-----END CERTIFICATE REQUEST-----
)";

// The same with the host n1 and the address 10.0.0.5.
inline constexpr std::string_view kServingRequest = R"(-----BEGIN CERTIFICATE REQUEST-----
MIIBETCBuAIBADAwMRUwEwYDVQQKDAxzeXN0ZW06bm9kZXMxFzAVBgNVBAMMDnN5
c3RlbTpub2RlOm4xMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEo5Zi1Dckl8xi
1AfMpa/g5ASGopa6Rtm3xR0nKWP5wjLCguCLFZPdJ1umfzHpYp+7ddpo5PgPqBUb
cNhguJwXQ6AmMCQGCSqGSIb3DQEJDjEXMBUwEwYDVR0RBAwwCoICbjGHBAoAAAUw
CgYIKoZIzj0EAwIDSAAwRQIgNp4xJ2dAclxUYEP4jGs8RfVduVb25XwLEkLrCajt
jeACIQDGDNZcQdaLUMMabgjSUK5YF+z5OC5SPoVUrq3dm0mZrg==
-----END CERTIFICATE REQUEST-----
)";

// The same with a host whose name is "n1,IP:10.0.0.6".
inline constexpr std::string_view kListAsHostRequest = R"(-----BEGIN CERTIFICATE REQUEST-----
MIIBFzCBvgIBADAwMRUwEwYDVQQKDAxzeXN0ZW06bm9kZXMxFzAVBgNVBAMMDnN5
c3RlbTpub2RlOm4xMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEX4m55csBiUM9
TlhdYJg8t3+/h2YC4SJprOYLoDFyBj1k8z9N9e1AGN31tLxUwE8XJuqzo/5pElVt
a897P0BIHaAsMCoGCSqGSIb3DQEJDjEdMBswGQYDVR0RBBIwEIIObjEsSVA6MTAu
MC4wLjYwCgYIKoZIzj0EAwIDSAAwRQIgIm8B4vbsGZgQoGB7mmWFOha7mM1/jLar
LloSSNnf/ZgCIQDznwBJ5kcz+Zz33Nqdb5YX/f2xaHEBKcyMxfMsuOhd2g==
-----END CERTIFICATE REQUEST-----
)";

// ann of the group team.
inline constexpr std::string_view kClientRequest = R"(-----BEGIN CERTIFICATE REQUEST-----
MIHXMH8CAQAwHTENMAsGA1UECgwEdGVhbTEMMAoGA1UEAwwDYW5uMFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAEi3g66sU5sJCxld8xu0l6uqfh/l1Xqqy7rlCFInFW
I1wjwRoN4AvTS4ss/MsIP/yxpVNVuZbTHWEEffZBcTTy9KAAMAoGCCqGSM49BAMC
A0gAMEUCIDMfSVg7Rx2yFT0n0AQFKXvGxNgTpk4rSzDp/aRP/nNhAiEA0JTNpeDZ
2aQApxVjbfnVsfKHBRdZHC5KAB0aOXgiKbs=
-----END CERTIFICATE REQUEST-----
)";

// mallory of system:masters.
inline constexpr std::string_view kMasterRequest = R"(-----BEGIN CERTIFICATE REQUEST-----
MIHmMIGNAgEAMCsxFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJzMRAwDgYDVQQDDAdt
YWxsb3J5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE79HKRZsWrvHU6CeQkOwj
uVA7Ix2mNTfM7VtySjst2POfOUHrtfTL+wElMy30Pq4Qlde37dGl8ZCp5YLUi/oU
aKAAMAoGCCqGSM49BAMCA0gAMEUCIAvJkMvdoveDPgQAij2FgdDlED+qTikXRWKm
3vqToaHuAiEA8KXUT2nnn9FDdwObnKE33ZO+cO5uotaAH9vGHcr0qsc=
-----END CERTIFICATE REQUEST-----
)";

}  // namespace dray::apiserver
