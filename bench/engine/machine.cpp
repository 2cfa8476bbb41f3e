// machine FILE: what this machine's memory gives two threads, the limits of everything measured
// beside it. Prints a line each.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr size_t kWords = 32 << 20;           // 256 MB a thread: no cache holds them
constexpr uint64_t kLines = 20'000'000;       // lines of a cache that a thread reads at random
constexpr std::streamsize kRead = 256 << 10;  // bytes at a time of a file
constexpr int kRounds = 5;                    // the best one counts

using Words = std::vector<uint64_t>;

/// Seconds of the best round in which two threads run work(0) and work(1).
template <class Work>
double best(Work work) {
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    std::thread other([&] { work(1); });
    work(0);
    other.join();
    least = std::min(
        least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return least;
}

/// A sum over lines none of which depends on the one before. Source: Marsaglia's xorshift.
uint64_t lines_at_random(const Words& words, uint64_t seed) {
  constexpr size_t kLine = 8;  // words
  uint64_t state = 88172645463325252u + seed, sum = 0;
  for (uint64_t i = 0; i < kLines; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    sum += words[state % (kWords / kLine) * kLine];
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("machine FILE\n", stderr), 1;
  Words from[2] = {Words(kWords, 1), Words(kWords, 1)}, to[2] = {Words(kWords), Words(kWords)};
  uint64_t sums[2] = {};
  const double bytes = 2.0 * kWords * sizeof(uint64_t);
  std::printf(
      "memory copied: %.1f GB/s\n",
      bytes / 1e9 / best([&](int t) { std::copy(from[t].begin(), from[t].end(), to[t].begin()); }));
  std::printf("memory read: %.1f GB/s\n", bytes / 1e9 / best([&](int t) {
                                            sums[t] += std::accumulate(from[t].begin(),
                                                                       from[t].end(), uint64_t{0});
                                          }));
  std::printf("a line of the memory at random: %.1f ns a core\n",
              1e9 / kLines * best([&](int t) {
                sums[t] += lines_at_random(from[t], static_cast<uint64_t>(t));
              }));
  double read = 0;
  const double seconds = best([&](int t) {
    std::ifstream file(argv[1], std::ios::binary);
    std::vector<char> buffer(kRead);
    double mine = 0;
    while (file.read(buffer.data(), kRead) || file.gcount() > 0)
      mine += static_cast<double>(file.gcount());
    if (t == 0) read = mine;
  });
  std::printf("page cache read: %.1f GB/s\n", 2 * read / 1e9 / seconds);
  return sums[0] + sums[1] == 0;  // nothing is computed for nothing
}
