// SPDX-License-Identifier: Apache-2.0
#include "image/digest.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/check.h"
#include "files/files.h"
#include "fmt/format.h"

namespace dray::image {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  DRAY_CHECK(state_->context != nullptr &&
             EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;

void Sha256::Add(std::string_view bytes) {
  DRAY_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::Digest() {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  DRAY_CHECK(EVP_DigestFinal_ex(state_->context, sum, &size) == 1);
  std::string text = "sha256:";
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", sum[i]);
  return text;
}

std::string DigestOf(std::string_view bytes) {
  Sha256 sum;
  sum.Add(bytes);
  return sum.Digest();
}

StatusOr<std::string> DigestOfFile(const std::string& path) {
  const files::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return files::Failed("read", path, errno);
  Sha256 sum;
  std::vector<char> buffer(1u << 20);
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return files::Failed("read", path, errno);
    if (n == 0) return sum.Digest();
    sum.Add({buffer.data(), static_cast<std::size_t>(n)});
  }
}

std::string_view HexOf(std::string_view digest) { return digest.substr(digest.find(':') + 1); }

}  // namespace dray::image
