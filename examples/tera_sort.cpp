// tera_gen RECORDS OUT, tera_sort IN OUT, tera_validate IN: the sort benchmark in records of 100
// bytes, a line each: ten random letters as the key, the record's number, filling.
#include <charconv>
#include <iostream>
#include <stdexcept>
#include <tinderbox.hpp>

constexpr size_t kKey = 10, kLine = 99;

/// A number that looks random but is the same for the same `n`. Source: SplitMix64.
static uint64_t scrambled(uint64_t n) {
  n += 0x9e3779b97f4a7c15;
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9;
  n = (n ^ (n >> 27)) * 0x94d049bb133111eb;
  return n ^ (n >> 31);
}
static std::string record(int64_t number) {
  std::string line;
  uint64_t random = scrambled(static_cast<uint64_t>(number));
  for (size_t i = 0; i < kKey; ++i, random /= 26) line += static_cast<char>('A' + random % 26);
  line += " " + std::to_string(number) + " ";
  line.append(kLine - line.size(), static_cast<char>('a' + number % 26));
  return line;
}

static int generate(tinderbox::Context& context, std::span<const std::string> args) {
  const std::string usage = "tera_gen takes RECORDS OUT";
  if (args.size() != 2) throw std::invalid_argument(usage);
  context.range(0, tinderbox::positive_argument(args[0], usage, INT64_MAX))
      .map([](int64_t n) { return record(n); })
      .save_as_text_file(args[1]);
  return 0;
}

static int sort(tinderbox::Context& context, std::span<const std::string> args) {
  if (args.size() != 2) throw std::invalid_argument("tera_sort takes IN OUT");
  context.text_file(args[0])
      .map([](std::string_view line) { return std::pair(line.substr(0, kKey), line); })
      .sort_by_key()
      .values()
      .save_as_text_file(args[1]);
  return 0;
}

/// A partition's first and last key, its records, the sum of what identifies them.
struct Part {
  std::string first, last;
  int64_t records = 0;
  uint64_t checksum = 0;
};

static int validate(tinderbox::Context& context, std::span<const std::string> args) {
  if (args.size() != 1) throw std::invalid_argument("tera_validate takes IN");
  auto parts = context.text_file(args[0])
                   .map_partitions<Part>([](auto& lines, auto& emit) {
                     Part part;
                     lines.for_each([&](std::string_view line) {
                       if (line.size() != kLine)
                         throw std::runtime_error("'" + std::string(line) + "' is no record");
                       const std::string_view key = line.substr(0, kKey);
                       if (part.records++ == 0) part.first = key;
                       if (key < part.last)
                         throw std::runtime_error("'" + std::string(key) + "' comes after '" +
                                                  part.last + "'");
                       part.last = key;
                       int64_t number = 0;
                       std::from_chars(line.data() + kKey + 1, line.data() + kLine, number);
                       if (line != record(number))
                         throw std::runtime_error("'" + std::string(line) + "' was changed");
                       part.checksum += scrambled(static_cast<uint64_t>(number));
                     });
                     if (part.records > 0) emit(part);
                   })
                   .collect();
  Part all;
  for (const Part& part : parts) {
    if (part.first < all.last)
      throw std::runtime_error("'" + part.first + "' comes after '" + all.last +
                               "', a part before");
    all.last = part.last;
    all.records += part.records;
    all.checksum += part.checksum;
  }
  std::cout << all.records << " records in order, checksum " << std::hex << all.checksum << "\n";
  return 0;
}
TINDERBOX_APPLICATION(tera_gen, "records to sort: RECORDS OUT", generate);
TINDERBOX_APPLICATION(tera_sort, "sort records by their keys: IN OUT", sort);
TINDERBOX_APPLICATION(tera_validate, "whether records are in order: IN", validate);
