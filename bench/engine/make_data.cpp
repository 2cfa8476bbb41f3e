// The inputs of the cases but the text: make_data FOLDER [RECORDS=5000000] [EDGES=8000000].
// records.txt: lines of 99 characters, ten random letters first; edges.txt: `FROM TO` between a
// million pages, some more linked than others.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

/// SplitMix64.
uint64_t next_random() {
  static uint64_t state = 42;
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void write(const std::string& path, int64_t lines, std::string (*line)(int64_t)) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) std::exit((std::perror(path.c_str()), 1));
  for (int64_t i = 0; i < lines; ++i) {
    const std::string text = line(i);
    std::fwrite(text.data(), 1, text.size(), file);
  }
  if (std::fclose(file) != 0) std::exit((std::perror(path.c_str()), 1));
}

std::string record(int64_t number) {
  std::string line;
  uint64_t random = next_random();
  for (int i = 0; i < 10; ++i, random /= 26) line += static_cast<char>('A' + random % 26);
  line += " " + std::to_string(number) + " ";
  line.append(99 - line.size(), static_cast<char>('a' + number % 26));
  return line + "\n";
}

std::string edge(int64_t) {
  constexpr uint64_t kPages = 1'000'000;
  const uint64_t from = next_random() % kPages, a = next_random() % kPages,
                 b = next_random() % kPages;
  return std::to_string(from) + " " + std::to_string(a < b ? a : b) + "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fputs("make_data FOLDER [RECORDS] [EDGES]\n", stderr), 2;
  const std::string folder = argv[1];
  write(folder + "/records.txt", argc > 2 ? std::atoll(argv[2]) : 5'000'000, record);
  write(folder + "/edges.txt", argc > 3 ? std::atoll(argv[3]) : 8'000'000, edge);
}
