#include "net/files/sha256.hpp"

#include <openssl/evp.h>

#include <vector>

#include "net/files/files.hpp"

namespace tinderbox::net {

struct Sha256::Context {
  EVP_MD_CTX* digest = EVP_MD_CTX_new();
  Context() { EVP_DigestInit_ex(digest, EVP_sha256(), nullptr); }
  ~Context() { EVP_MD_CTX_free(digest); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;

void Sha256::add(std::string_view part) {
  EVP_DigestUpdate(context_->digest, part.data(), part.size());
}

std::string Sha256::hex() {
  static constexpr char kDigits[] = "0123456789abcdef";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned n = 0;
  EVP_DigestFinal_ex(context_->digest, digest, &n);
  std::string out;
  for (unsigned i = 0; i < n; ++i) (out += kDigits[digest[i] >> 4]) += kDigits[digest[i] & 15];
  return out;
}

Result<std::string> sha256_of_file(const std::string& path) {
  constexpr size_t kPart = 64 << 10;  // stays in the cache between reading and hashing
  auto files = make_real_files();
  Result<std::unique_ptr<ReadFile>> file = files->open(path);
  if (!file) return file.error();
  Sha256 sum;
  std::vector<char> part(kPart);
  for (int64_t at = 0;;) {
    Result<size_t> n = (*file)->read_at(at, part.data(), part.size());
    if (!n) return n.error();
    sum.add({part.data(), *n});
    at += static_cast<int64_t>(*n);
    if (*n < part.size()) return sum.hex();
  }
}

}  // namespace tinderbox::net
