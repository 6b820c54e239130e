// SPDX-License-Identifier: Apache-2.0
#include "apiserver/token_keys.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "api/document.h"
#include "apiserver/internal/files.h"
#include "apiserver/internal/openssl.h"
#include "fmt/format.h"

namespace dray::apiserver {

using internal::BioPtr;
using internal::KeyPtr;
using internal::SslError;

// One key with what is said of it.
struct TokenKeys::Key {
  KeyPtr key;
  std::string id;  // base64url of the SHA-256 of its public half, as Kubernetes calls keys
  std::string x;   // base64url
  std::string y;
};

namespace {

constexpr std::size_t kNumber = 32;  // bytes of a coordinate, and of half of a signature
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

using ContextPtr = std::unique_ptr<EVP_MD_CTX, internal::Free<EVP_MD_CTX_free>>;
using SignaturePtr = std::unique_ptr<ECDSA_SIG, internal::Free<ECDSA_SIG_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, internal::Free<BN_free>>;

const unsigned char* AsBytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

StatusOr<std::string> Coordinate(EVP_PKEY* key, const char* name) {
  BIGNUM* raw = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &raw) != 1) return SslError("cannot read a key");
  const NumberPtr number(raw);
  std::string bytes(kNumber, '\0');
  if (BN_bn2binpad(number.get(), reinterpret_cast<unsigned char*>(bytes.data()), kNumber) < 0) {
    return base::InvalidArgument("the key is not on the curve P-256");
  }
  return Base64Url(bytes);
}

StatusOr<std::string> IdOf(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size <= 0) return SslError("cannot write a key");
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest = {};
  SHA256(der, static_cast<std::size_t>(size), digest.data());
  OPENSSL_free(der);
  return Base64Url({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

bool OnCurve(EVP_PKEY* key) {
  std::array<char, 64> name = {};
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
         EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name.data(), name.size(),
                                        nullptr) == 1 &&
         std::string_view(name.data()) == "prime256v1";
}

// The signature as two numbers side by side, as tokens have it.
StatusOr<std::string> RawSignature(EVP_PKEY* key, std::string_view text) {
  const ContextPtr context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, AsBytes(text), text.size()) != 1) {
    return SslError("cannot sign");
  }
  std::string der(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(der.data()), &size,
                     AsBytes(text), text.size()) != 1) {
    return SslError("cannot sign");
  }
  const unsigned char* at = AsBytes(der);
  const SignaturePtr signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size)));
  if (!signature) return SslError("cannot sign");
  std::string raw(2 * kNumber, '\0');
  auto* out = reinterpret_cast<unsigned char*>(raw.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out, kNumber);
  BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out + kNumber, kNumber);
  return raw;
}

bool Signed(EVP_PKEY* key, std::string_view text, std::string_view raw) {
  if (raw.size() != 2 * kNumber) return false;
  const SignaturePtr signature(ECDSA_SIG_new());
  BIGNUM* r = BN_bin2bn(AsBytes(raw), kNumber, nullptr);
  BIGNUM* s = BN_bin2bn(AsBytes(raw.substr(kNumber)), kNumber, nullptr);
  if (ECDSA_SIG_set0(signature.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return false;
  }
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size <= 0) return false;
  const ContextPtr context(EVP_MD_CTX_new());
  const bool good = EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
                    EVP_DigestVerify(context.get(), der, static_cast<std::size_t>(size),
                                     AsBytes(text), text.size()) == 1;
  OPENSSL_free(der);
  return good;
}

StatusOr<std::string> NewKey() {
  const KeyPtr key(EVP_EC_gen("P-256"));
  const BioPtr text(BIO_new(BIO_s_mem()));
  if (!key ||
      PEM_write_bio_PrivateKey(text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return SslError("cannot make a key");
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

struct Header {
  std::string algorithm;
  std::string key_id;
};
// Nothing for one that says something twice, or that asks for what is not understood.
std::optional<Header> ReadHeader(std::string_view json) {
  std::vector<api::Diagnostic> diagnostics;
  const api::DocumentNode node = api::ParseJson(json, diagnostics);
  if (!diagnostics.empty() || node.kind != api::DocumentNode::Kind::kMap) return std::nullopt;
  Header header;
  std::set<std::string_view> seen;
  for (const api::Member& member : node.members) {
    if (!seen.insert(member.key).second || member.key == "crit") return std::nullopt;
    const bool text = member.value.kind == api::DocumentNode::Kind::kString;
    if ((member.key == "alg" || member.key == "kid") && !text) return std::nullopt;
    if (member.key == "alg") header.algorithm = member.value.text;
    if (member.key == "kid") header.key_id = member.value.text;
  }
  return header;
}

Status NoToken() { return base::InvalidArgument("not a token of this server"); }

}  // namespace

std::string Base64Url(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = (held << 8) | static_cast<unsigned char>(c);
    bits += 8;
    while (bits >= 6) text += kAlphabet[(held >> (bits -= 6)) & 63];
  }
  if (bits > 0) text += kAlphabet[(held << (6 - bits)) & 63];
  return text;
}

bool ReadBase64Url(std::string_view text, std::string& bytes) {
  std::uint32_t held = 0;
  int bits = 0;
  bytes.clear();
  for (const char c : text) {
    const std::size_t value = kAlphabet.find(c);
    if (value == kAlphabet.npos) return false;
    held = (held << 6) | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) bytes += static_cast<char>((held >> (bits -= 8)) & 0xff);
  }
  // What is left over must be padding of zeros, and less than a character.
  return bits < 6 && (held & ((1u << bits) - 1)) == 0;
}

StatusOr<TokenKeys> TokenKeys::FromPem(const std::vector<std::string>& keys) {
  TokenKeys all;
  for (const std::string& pem : keys) {
    auto key = std::make_shared<Key>();
    DRAY_ASSIGN_OR_RETURN(key->key, internal::ParseKey(pem));
    if (!OnCurve(key->key.get())) {
      return base::InvalidArgument("the key is not on the curve P-256");
    }
    DRAY_ASSIGN_OR_RETURN(key->id, IdOf(key->key.get()));
    DRAY_ASSIGN_OR_RETURN(key->x, Coordinate(key->key.get(), OSSL_PKEY_PARAM_EC_PUB_X));
    DRAY_ASSIGN_OR_RETURN(key->y, Coordinate(key->key.get(), OSSL_PKEY_PARAM_EC_PUB_Y));
    all.keys_.push_back(std::move(key));
  }
  if (all.keys_.empty()) return base::InvalidArgument("there is no key to sign tokens with");
  return all;
}

StatusOr<TokenKeys> TokenKeys::Ensure(const std::string& folder) {
  const std::string pki = folder + "/pki";
  const std::string path = pki + "/sa.key";
  DRAY_RETURN_IF_ERROR(internal::MakeFolder(pki));
  DRAY_ASSIGN_OR_RETURN(auto pem, internal::ReadSecret(path));
  if (!pem) {
    DRAY_ASSIGN_OR_RETURN(pem, NewKey());
    DRAY_RETURN_IF_ERROR(internal::WriteFile(path, *pem));
  }
  auto keys = FromPem({*pem});
  if (!keys.ok()) return base::Annotate(keys.status(), path);
  return keys;
}

StatusOr<std::string> TokenKeys::Sign(std::string_view claims) const {
  const Key& key = *keys_.front();
  std::string text = Base64Url(fmt::format(R"({{"alg":"ES256","kid":"{}","typ":"JWT"}})", key.id));
  text.append(".").append(Base64Url(claims));
  DRAY_ASSIGN_OR_RETURN(const std::string signature, RawSignature(key.key.get(), text));
  return text + "." + Base64Url(signature);
}

StatusOr<std::string> TokenKeys::Verify(std::string_view token) const {
  if (token.size() > kMaxTokenBytes) return NoToken();
  const std::size_t first = token.find('.');
  const std::size_t second = first == token.npos ? first : token.find('.', first + 1);
  if (second == token.npos || token.find('.', second + 1) != token.npos) return NoToken();
  std::string header;
  std::string claims;
  std::string signature;
  if (!ReadBase64Url(token.substr(0, first), header) ||
      !ReadBase64Url(token.substr(first + 1, second - first - 1), claims) ||
      !ReadBase64Url(token.substr(second + 1), signature)) {
    return NoToken();
  }
  const auto named = ReadHeader(header);
  // The algorithm is ours to say: a token that names another one, or none, is not ours.
  if (!named || named->algorithm != "ES256") return NoToken();
  for (const auto& key : keys_) {
    if (!named->key_id.empty() && named->key_id != key->id) continue;
    if (Signed(key->key.get(), token.substr(0, second), signature)) return claims;
  }
  return NoToken();
}

std::string TokenKeys::Jwks() const {
  std::vector<std::string> keys;
  for (const auto& key : keys_) {
    keys.push_back(fmt::format(
        R"({{"use":"sig","kty":"EC","kid":"{}","crv":"P-256","alg":"ES256","x":"{}","y":"{}"}})",
        key->id, key->x, key->y));
  }
  return fmt::format(R"({{"keys":[{}]}})", absl::StrJoin(keys, ","));
}

}  // namespace dray::apiserver
