// SPDX-License-Identifier: Apache-2.0
//
// What a certificate says, of which whoever connects may show any. Input is PEM, or DER as TLS
// carries it. Properties: no crash; hosts come sorted; PEM and DER of one certificate say the same.
#include <openssl/bio.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "apiserver/certificates.h"
#include "apiserver/internal/openssl.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dray::apiserver;  // NOLINT: a fuzz target is about one room
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto info = ReadCertificate(text); info.ok()) {
    DRAY_CHECK(std::ranges::is_sorted(info->hosts), "hosts are sorted");
  }
  internal::ParseKey(text).status().IgnoreError();
  const unsigned char* at = data;
  const internal::CertificatePtr certificate(d2i_X509(nullptr, &at, static_cast<long>(size)));
  if (certificate == nullptr) return 0;
  const CertificateInfo info = internal::Describe(certificate.get());
  const internal::BioPtr out(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(out.get(), certificate.get()) != 1) return 0;
  char* bytes = nullptr;
  const long length = BIO_get_mem_data(out.get(), &bytes);
  const auto again = ReadCertificate({bytes, static_cast<std::size_t>(length)});
  DRAY_CHECK(again.ok(), "what was read can be read again");
  DRAY_CHECK(again->common_name == info.common_name && again->hosts == info.hosts &&
                 again->organizations == info.organizations && again->not_after == info.not_after,
             "and says the same");
  return 0;
}
