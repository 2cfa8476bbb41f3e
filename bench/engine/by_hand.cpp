// The cases of engine.cpp written by hand for this one job each, two threads: by_hand FOLDER CASE.
// Prints `CASE CHECK SECONDS`. The word count has a file of its own: ../wordcount_two_threads.cpp.
#include <absl/container/flat_hash_map.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

/// body(0) and body(1) beside each other.
template <class Body>
void twice(const Body& body) {
  std::thread other([&] { body(1); });
  body(0);
  other.join();
}

class File {
 public:
  explicit File(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY);
    struct stat about {};
    if (fd < 0 || ::fstat(fd, &about) != 0) std::exit((std::perror(path.c_str()), 1));
    size_ = static_cast<size_t>(about.st_size);
    data_ = static_cast<const char*>(
        ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0));
    ::close(fd);
  }
  std::string_view text() const { return {data_, size_}; }

 private:
  const char* data_;
  size_t size_;
};

/// Each thread sums its half of the numbers into a map of its own; then the maps become one, half
/// of the keys a thread.
std::string group(const std::string&) {
  constexpr int64_t kNumbers = 100'000'000, kKeys = 1'000'000;
  absl::flat_hash_map<int64_t, int64_t> halves[2];
  twice([&](int t) {
    for (int64_t x = t * kNumbers / 2; x < (t + 1) * kNumbers / 2; ++x) halves[t][x % kKeys] += x;
  });
  std::atomic<size_t> keys{0};
  std::atomic<int64_t> weighed{0};
  twice([&](int t) {
    int64_t mine = 0;
    absl::flat_hash_map<int64_t, int64_t> sums;
    for (const auto& half : halves)
      for (const auto& [key, sum] : half)
        if ((key & 1) == t) sums[key] += sum;
    for (const auto& [key, sum] : sums) mine += sum * (key % 1000);
    keys += sums.size();
    weighed += mine;
  });
  return std::to_string(keys) + "/" + std::to_string(weighed);
}

/// Records of 100 bytes: the first 8 bytes of each key and where it is are sorted, half a thread,
/// then merged.
std::string sort(const std::string& folder) {
  const File file(folder + "/records.txt");
  const size_t n = file.text().size() / 100;
  struct Entry {
    uint64_t key;
    uint32_t record;
  };
  std::vector<Entry> entries(n);
  const char* data = file.text().data();
  auto less = [data](const Entry& a, const Entry& b) {
    if (a.key != b.key) return a.key < b.key;
    return std::memcmp(data + size_t{a.record} * 100 + 8, data + size_t{b.record} * 100 + 8, 2) < 0;
  };
  twice([&](int t) {
    const size_t from = n * static_cast<size_t>(t) / 2, to = n * static_cast<size_t>(t + 1) / 2;
    for (size_t i = from; i < to; ++i) {
      uint64_t key = 0;
      std::memcpy(&key, data + i * 100, 8);
      entries[i] = {__builtin_bswap64(key), static_cast<uint32_t>(i)};
    }
    std::sort(entries.begin() + static_cast<ptrdiff_t>(from),
              entries.begin() + static_cast<ptrdiff_t>(to), less);
  });
  // The lower and the upper half of the result, a thread each: the records themselves in order.
  std::vector<char> sorted(n * 100);
  std::vector<Entry> merged(n);
  std::merge(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(n / 2),
             entries.begin() + static_cast<ptrdiff_t>(n / 2), entries.end(), merged.begin(), less);
  twice([&](int t) {
    const size_t from = n * static_cast<size_t>(t) / 2, to = n * static_cast<size_t>(t + 1) / 2;
    for (size_t i = from; i < to; ++i)
      std::memcpy(sorted.data() + i * 100, data + size_t{merged[i].record} * 100, 100);
  });
  int64_t bytes = 0;
  for (size_t i = 0; i < n; ++i) {
    const char* line = sorted.data() + i * 100;
    if (i > 0 && std::memcmp(line - 100, line, 10) > 0) return "out of order";
    bytes += line[12] + line[50] + line[97];
  }
  return std::to_string(n) + "/" + std::to_string(bytes);
}

/// Reads the edges, half of the file in each thread.
std::vector<std::pair<int32_t, int32_t>> read_edges(std::string_view text, int t) {
  std::vector<std::pair<int32_t, int32_t>> edges;
  const size_t middle = text.find('\n', text.size() / 2) + 1;
  const char* at = text.data() + (t == 0 ? 0 : middle);
  const char* const end = text.data() + (t == 0 ? middle : text.size());
  while (at < end) {
    std::pair<int32_t, int32_t> edge;
    at = std::from_chars(at, end, edge.first).ptr + 1;
    at = std::from_chars(at, end, edge.second).ptr + 1;
    edges.push_back(edge);
  }
  return edges;
}

/// Targets as an array by source; each thread adds up what half of the edges give.
std::string page_rank(const std::string& folder) {
  const File file(folder + "/edges.txt");
  std::vector<std::pair<int32_t, int32_t>> halves[2];
  twice([&](int t) { halves[t] = read_edges(file.text(), t); });
  size_t pages = 0;
  for (const auto& half : halves)
    for (const auto& [from, to] : half)
      pages = std::max({pages, static_cast<size_t>(from) + 1, static_cast<size_t>(to) + 1});
  std::vector<size_t> starts(pages + 2);  // while they fill, a place later
  for (const auto& half : halves)
    for (const auto& [from, to] : half) ++starts[static_cast<size_t>(from) + 2];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<int32_t> targets(starts.back());
  for (const auto& half : halves)
    for (const auto& [from, to] : half) targets[starts[static_cast<size_t>(from) + 1]++] = to;
  const auto middle = static_cast<size_t>(
      std::lower_bound(starts.begin(), starts.end() - 1, targets.size() / 2) - starts.begin());
  // Only pages with links and ranks go on, as in a join; the others have 0.
  std::vector<double> ranks(pages, 1);
  for (int i = 0; i < 10; ++i) {
    std::vector<double> sums[2];
    twice([&](int t) {
      sums[t].resize(pages);
      for (size_t p = t == 0 ? 0 : middle; p < (t == 0 ? middle : pages); ++p) {
        const double share = ranks[p] / static_cast<double>(starts[p + 1] - starts[p]);
        for (size_t e = starts[p]; e < starts[p + 1]; ++e)
          sums[t][static_cast<size_t>(targets[e])] += share;
      }
    });
    for (size_t p = 0; p < pages; ++p) {
      const double sum = sums[0][p] + sums[1][p];
      ranks[p] = sum > 0 ? 0.15 + 0.85 * sum : 0;
    }
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", std::accumulate(ranks.begin(), ranks.end(), 0.0));
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc == 3 ? argv[2] : "";
  auto* job = name == "group"       ? group
              : name == "sort"      ? sort
              : name == "page_rank" ? page_rank
                                    : nullptr;
  if (!job) return std::fputs("by_hand FOLDER group|sort|page_rank\n", stderr), 2;
  const auto start = std::chrono::steady_clock::now();
  const std::string check = job(argv[1]);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%s %s %.3f\n", name.c_str(), check.c_str(), took.count());
}
