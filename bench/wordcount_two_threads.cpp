// The peer of `wordcount`: the same count written by hand for this one job, two threads, keys
// inline.
//
// Each thread reads half of the file through a 256 KiB buffer, splits at ASCII white space and
// counts into an open-addressing table of 32-byte slots; words over 16 bytes go to a side map. A
// word waits in a short queue while its slot is prefetched. The tables are merged at the end.
// Prints the number of distinct words, of words, and the seconds it took.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

constexpr size_t kBuffer = 256 << 10;
constexpr size_t kInline = 16;

struct Slot {
  uint64_t lo, hi;
  uint64_t length;  // 0: free
  int64_t count;
};

class Table {
 public:
  Table() : slots_(1024) {}
  /// Counts the word once its slot had time to come into the cache.
  void add_soon(uint64_t lo, uint64_t hi, uint64_t length) {
    Waiting& w = queue_[at_++ % kQueue];
    if (w.length != 0) add(w.lo, w.hi, w.length, 1, w.hash);
    w = {lo, hi, length, hash_of(lo, hi)};
    __builtin_prefetch(&slots_[w.hash & (slots_.size() - 1)], 1);
  }
  void flush() {
    for (Waiting& w : queue_) {
      if (w.length != 0) add(w.lo, w.hi, w.length, 1, w.hash);
      w.length = 0;
    }
  }
  void add(uint64_t lo, uint64_t hi, uint64_t length, int64_t n, uint64_t hash) {
    if (size_ * 2 > slots_.size()) grow();
    Slot& slot = find(slots_, lo, hi, length, hash);
    if (slot.length == 0) {
      slot = {lo, hi, length, 0};
      ++size_;
    }
    slot.count += n;
  }
  void add_long(std::string_view word, int64_t n) { long_[std::string(word)] += n; }
  void merge(const Table& other) {
    for (const Slot& s : other.slots_) {
      if (s.length != 0) add(s.lo, s.hi, s.length, s.count, hash_of(s.lo, s.hi));
    }
    for (const auto& [word, n] : other.long_) long_[word] += n;
  }
  size_t distinct() const { return size_ + long_.size(); }
  int64_t total() const {
    int64_t sum = 0;
    for (const Slot& s : slots_) sum += s.count;
    for (const auto& [word, n] : long_) sum += n;
    return sum;
  }

 private:
  static constexpr size_t kQueue = 32;
  struct Waiting {
    uint64_t lo, hi, length, hash;
  };
  static uint64_t hash_of(uint64_t lo, uint64_t hi) {
    uint64_t hash = (lo ^ (hi * 0x9e3779b97f4a7c15ull)) * 0xff51afd7ed558ccdull;
    return hash ^ (hash >> 32);
  }
  static Slot& find(std::vector<Slot>& slots, uint64_t lo, uint64_t hi, uint64_t length,
                    uint64_t hash) {
    for (size_t i = hash & (slots.size() - 1);; i = (i + 1) & (slots.size() - 1)) {
      Slot& s = slots[i];
      if (s.length == 0 || (s.lo == lo && s.hi == hi && s.length == length)) return s;
    }
  }
  void grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    for (const Slot& s : slots_) {
      if (s.length != 0) find(larger, s.lo, s.hi, s.length, hash_of(s.lo, s.hi)) = s;
    }
    slots_ = std::move(larger);
  }
  std::vector<Slot> slots_;
  Waiting queue_[kQueue] = {};
  size_t at_ = 0;
  size_t size_ = 0;
  std::unordered_map<std::string, int64_t> long_;
};

bool space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct Mask {
  uint64_t lo, hi;
};
/// kMasks[n] keeps the first n of 16 bytes.
constexpr auto kMasks = [] {
  std::array<Mask, kInline + 1> masks{};
  for (size_t n = 0; n <= kInline; ++n) {
    masks[n].lo = n >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * n) - 1;
    masks[n].hi = n <= 8 ? 0 : n == 16 ? ~uint64_t{0} : (uint64_t{1} << 8 * (n - 8)) - 1;
  }
  return masks;
}();

void add_word(Table& table, const char* word, size_t length) {
  if (length > kInline) return table.add_long({word, length}, 1);
  // The buffer is readable 16 bytes beyond its end, so whole words are loaded and what follows is
  // masked off.
  uint64_t lo, hi;
  std::memcpy(&lo, word, 8);
  std::memcpy(&hi, word + 8, 8);
  table.add_soon(lo & kMasks[length].lo, hi & kMasks[length].hi, length);
}

/// Counts the words that start in [from, to).
void count(const char* path, off_t from, off_t to, Table& table) {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) std::exit(1);
  std::vector<char> buffer(kBuffer + kInline);
  size_t rest = 0;
  off_t at = from == 0 ? 0 : from - 1;
  bool skip = from != 0;  // the word that the byte before belongs to is the other thread's
  while (true) {
    const ssize_t got = pread(fd, buffer.data() + rest, buffer.size() - kInline - rest, at);
    if (got < 0) std::exit(1);
    at += got;
    const char* p = buffer.data();
    const char* const end = p + rest + got;
    while (skip && p != end) skip = !space(*p++);
    while (true) {
      while (p != end && space(*p)) ++p;
      const char* const start = p;
      if (at - (end - start) >= to) return void(close(fd));
      while (p != end && !space(*p)) ++p;
      if (p == end && got > 0) {
        rest = static_cast<size_t>(end - start);
        std::memmove(buffer.data(), start, rest);
        break;
      }
      if (p != start) add_word(table, start, static_cast<size_t>(p - start));
      if (p == end) return void(close(fd));
    }
    if (rest + kInline == buffer.size()) buffer.resize(buffer.size() * 2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  struct stat st;
  if (argc != 2 || stat(argv[1], &st) != 0) {
    std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  Table first, second;
  std::thread other([&] {
    count(argv[1], st.st_size / 2, st.st_size, second);
    second.flush();
  });
  count(argv[1], 0, st.st_size / 2, first);
  first.flush();
  other.join();
  first.merge(second);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%zu %lld %.3f\n", first.distinct(), static_cast<long long>(first.total()),
              took.count());
  return 0;
}
