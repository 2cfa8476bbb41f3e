#include "cmd/bench/make_data.hpp"

#include <xxhash.h>

#include <cmath>
#include <set>
#include <vector>

#include "net/files/files.hpp"

namespace tinderbox::cmd {
namespace {

constexpr size_t kWords = 200'000;
constexpr double kExponent = 1.05;
constexpr int kWordsPerLine = 10;

/// SplitMix64: the standard library's distributions differ between implementations.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return next() % n; }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

std::vector<std::string> make_words(Random& random) {
  std::set<std::string> seen;
  std::vector<std::string> words;
  while (words.size() < kWords) {
    std::string word(2 + random.below(9), ' ');
    for (char& c : word) c = static_cast<char>('a' + random.below(26));
    if (seen.insert(word).second) words.push_back(std::move(word));
  }
  return words;
}

/// Draws ranks by Zipf's law in constant time (Walker's alias method).
class Zipf {
 public:
  explicit Zipf(size_t n) : share_(n), alias_(n) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
      sum += share_[i] = std::pow(static_cast<double>(i + 1), -kExponent);
    std::vector<size_t> small, large;
    for (size_t i = 0; i < n; ++i) {
      share_[i] *= static_cast<double>(n) / sum;
      (share_[i] < 1 ? small : large).push_back(i);
    }
    while (!small.empty() && !large.empty()) {
      size_t s = small.back(), l = large.back();
      small.pop_back();
      alias_[s] = l;
      share_[l] -= 1 - share_[s];
      if (share_[l] < 1) large.pop_back(), small.push_back(l);
    }
    for (size_t rest : small) share_[rest] = 1;
    for (size_t rest : large) share_[rest] = 1;
  }
  size_t draw(Random& random) const {
    size_t i = random.below(share_.size());
    return random.unit() < share_[i] ? i : alias_[i];
  }

 private:
  std::vector<double> share_;
  std::vector<size_t> alias_;
};

void append_line(std::string& text, const std::vector<std::string>& words, const Zipf& zipf,
                 Random& random) {
  for (int i = 0; i < kWordsPerLine; ++i) {
    text += words[zipf.draw(random)];
    text += i + 1 < kWordsPerLine ? ' ' : '\n';
  }
}

}  // namespace

Result<uint64_t> make_text(const std::string& path, int64_t megabytes, uint64_t seed) {
  auto files = net::make_real_files();
  if (size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0)
    if (auto made = files->make_directories(path.substr(0, slash)); !made) return made.error();
  auto file = files->create(path);
  if (!file) return file.error();
  Random random(seed);
  std::vector<std::string> words = make_words(random);
  Zipf zipf(kWords);
  XXH3_state_t* hash = XXH3_createState();
  XXH3_64bits_reset(hash);
  Result<bool> written = true;
  std::string text;
  for (int64_t size = 0; written && size < megabytes * 1'000'000; size += int64_t(text.size())) {
    text.clear();
    while (text.size() < 1 << 20) append_line(text, words, zipf, random);
    XXH3_64bits_update(hash, text.data(), text.size());
    written = (*file)->append(text);
  }
  uint64_t digest = XXH3_64bits_digest(hash);
  XXH3_freeState(hash);
  if (!written) return written.error();
  if (auto committed = (*file)->commit(); !committed) return committed.error();
  return digest;
}

}  // namespace tinderbox::cmd
