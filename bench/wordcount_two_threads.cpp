// The peer of `wordcount`: the same count written by hand for this one job, two threads, keys inline.
//
// Each thread reads half of the file through a 256 KiB buffer, splits at ASCII white space and counts into an
// open-addressing table of 32-byte slots; words over 16 bytes go to a side map. The tables are merged at the end.
// Prints the number of distinct words, of words, and the seconds it took.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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
  void add(uint64_t lo, uint64_t hi, uint64_t length, int64_t n) {
    if (size_ * 2 > slots_.size()) grow();
    Slot& slot = find(slots_, lo, hi, length);
    if (slot.length == 0) {
      slot = {lo, hi, length, 0};
      ++size_;
    }
    slot.count += n;
  }
  void add_long(std::string_view word, int64_t n) { long_[std::string(word)] += n; }
  void merge(const Table& other) {
    for (const Slot& s : other.slots_) {
      if (s.length != 0) add(s.lo, s.hi, s.length, s.count);
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
  static Slot& find(std::vector<Slot>& slots, uint64_t lo, uint64_t hi, uint64_t length) {
    uint64_t hash = (lo ^ (hi * 0x9e3779b97f4a7c15ull)) * 0xff51afd7ed558ccdull;
    hash ^= hash >> 32;
    for (size_t i = hash & (slots.size() - 1);; i = (i + 1) & (slots.size() - 1)) {
      Slot& s = slots[i];
      if (s.length == 0 || (s.lo == lo && s.hi == hi && s.length == length)) return s;
    }
  }
  void grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    for (const Slot& s : slots_) {
      if (s.length != 0) find(larger, s.lo, s.hi, s.length) = s;
    }
    slots_ = std::move(larger);
  }
  std::vector<Slot> slots_;
  size_t size_ = 0;
  std::unordered_map<std::string, int64_t> long_;
};

bool space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

void add_word(Table& table, const char* word, size_t length) {
  if (length > kInline) return table.add_long({word, length}, 1);
  // The buffer is readable 16 bytes beyond its end, so whole words are loaded and what follows is masked off.
  uint64_t lo, hi;
  std::memcpy(&lo, word, 8);
  std::memcpy(&hi, word + 8, 8);
  lo = length >= 8 ? lo : lo & ((uint64_t{1} << 8 * length) - 1);
  hi = length <= 8 ? 0 : length == 16 ? hi : hi & ((uint64_t{1} << 8 * (length - 8)) - 1);
  table.add(lo, hi, length, 1);
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
  std::thread other([&] { count(argv[1], st.st_size / 2, st.st_size, second); });
  count(argv[1], 0, st.st_size / 2, first);
  other.join();
  first.merge(second);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%zu %lld %.3f\n", first.distinct(), static_cast<long long>(first.total()), took.count());
  return 0;
}
