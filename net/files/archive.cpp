// A reader of ustar with the extensions that tars in the field have: GNU long names (L, K) and pax
// headers (x) with path, linkpath and size. Input is hostile: no entry may write outside the
// directory, be it by its name, by a link, or through a link that an earlier entry made.
#include "net/files/archive.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sstream>
#include <vector>

#include "net/process/launch.hpp"

namespace tinderbox::net {
namespace {

constexpr size_t kBlock = 512;
constexpr int64_t kMaxName = 64 << 10;  // of a long name or a pax header

struct Failure {
  std::string what;
};

/// The archive's bytes. gzopen reads plain files as they are.
class Input {
 public:
  explicit Input(const std::string& path) : file_(::gzopen(path.c_str(), "rbe")) {
    if (file_ == nullptr) throw Failure{std::strerror(errno)};
    ::gzbuffer(file_, 256 << 10);
  }
  ~Input() { ::gzclose(file_); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// Fewer than `n` only at the end.
  size_t read(char* to, size_t n) {
    int got = ::gzread(file_, to, static_cast<unsigned>(n));
    int error = Z_OK;
    const char* text = ::gzerror(file_, &error);
    if (got < 0 || error == Z_BUF_ERROR)
      throw Failure{error == Z_BUF_ERROR ? "it is cut short"
                                         : std::string("it is damaged: ") + text};
    return static_cast<size_t>(got);
  }
  void exactly(char* to, size_t n) {
    if (read(to, n) != n) throw Failure{"it is cut short"};
  }

 private:
  gzFile file_;
};

struct Entry {
  std::string name, link;
  int64_t size = 0;
  mode_t mode = 0;
  char type = '0';
};

std::string text(const char* from, size_t max) { return std::string(from, ::strnlen(from, max)); }

/// Octal, or base 256 when the first bit is set.
int64_t number(const char* from, size_t n) {
  int64_t value = 0;
  if (static_cast<unsigned char>(from[0]) & 0x80) {
    for (size_t i = 1; i < n; ++i) {
      if (value >> 54) throw Failure{"a size in it is absurd"};
      value = value << 8 | static_cast<unsigned char>(from[i]);
    }
    return value;
  }
  for (size_t i = 0; i < n && from[i] != 0; ++i)
    if (from[i] >= '0' && from[i] <= '7') value = value << 3 | (from[i] - '0');
  return value;
}

bool checksum_is_right(const std::array<char, kBlock>& h) {
  int64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(h[i]);
  return sum == number(h.data() + 148, 8);
}

/// Records of a pax header: "LENGTH KEY=VALUE\n".
void apply_pax(std::string_view records, Entry& next, std::optional<int64_t>& size) {
  while (!records.empty()) {
    size_t blank = records.find(' ');
    size_t length = blank == std::string_view::npos ? 0 : std::strtoul(records.data(), nullptr, 10);
    if (length <= blank + 1 || length > records.size())
      throw Failure{"a pax header in it is malformed"};
    std::string_view record = records.substr(blank + 1, length - blank - 2);
    size_t equal = std::min(record.find('='), record.size());
    std::string_view key = record.substr(0, equal);
    std::string value(record.substr(std::min(equal + 1, record.size())));
    if (key == "path") next.name = value;
    if (key == "linkpath") next.link = value;
    if (key == "size") size = std::strtoll(value.c_str(), nullptr, 10);
    records.remove_prefix(length);
  }
}

/// The name's parts; "." parts are dropped. Errors: absolute, "..".
std::vector<std::string> parts_of(const std::string& name) {
  if (name.starts_with('/')) throw Failure{"entry '" + name + "' is an absolute path"};
  std::vector<std::string> parts;
  std::istringstream in(name);
  for (std::string part; std::getline(in, part, '/');) {
    if (part == "..") throw Failure{"entry '" + name + "' leaves the directory"};
    if (!part.empty() && part != ".") parts.push_back(part);
  }
  return parts;
}

class Unpacker {
 public:
  Unpacker(Input& input, const std::string& directory) : input_(input), directory_(directory) {}

  int64_t run() {
    bool any = false;
    while (std::optional<Entry> entry = next()) {
      any = true;
      make(*entry);
    }
    if (!any && !ended_) throw Failure{"it is empty"};
    return files_;
  }

 private:
  /// Skips to the next real entry, taking in the headers that describe it.
  std::optional<Entry> next() {
    Entry told;
    std::optional<int64_t> size;
    for (std::array<char, kBlock> header;;) {
      size_t got = input_.read(header.data(), kBlock);
      if (got == 0) return std::nullopt;
      if (got < kBlock) throw Failure{"it is cut short"};
      if (std::all_of(header.begin(), header.end(), [](char c) { return c == 0; })) {
        ended_ = true;
        return std::nullopt;
      }
      if (!checksum_is_right(header)) throw Failure{"it is not a tar archive, or damaged"};
      Entry entry = parse(header);
      if (entry.type == 'L')
        told.name = long_text(entry.size);
      else if (entry.type == 'K')
        told.link = long_text(entry.size);
      else if (entry.type == 'x')
        apply_pax(body(entry.size), told, size);
      else if (entry.type == 'g')
        body(entry.size);
      else {
        if (!told.name.empty()) entry.name = told.name;
        if (!told.link.empty()) entry.link = told.link;
        if (size) entry.size = *size;
        if (entry.size < 0) throw Failure{"a size in it is negative"};
        return entry;
      }
    }
  }

  static Entry parse(const std::array<char, kBlock>& h) {
    Entry e;
    e.name = text(h.data(), 100);
    e.link = text(h.data() + 157, 100);
    e.mode = static_cast<mode_t>(number(h.data() + 100, 8)) & 0777;
    e.size = number(h.data() + 124, 12);
    e.type = h[156] == 0 ? '0' : h[156];
    bool ustar = std::memcmp(h.data() + 257, "ustar\0", 6) == 0;
    std::string prefix = ustar ? text(h.data() + 345, 155) : "";
    if (!prefix.empty()) e.name = prefix + "/" + e.name;
    return e;
  }

  static int64_t padding(int64_t size) { return (512 - size % 512) % 512; }

  std::string body(int64_t size) {
    if (size < 0 || size > kMaxName) throw Failure{"a header in it is too large"};
    std::string out(static_cast<size_t>(size + padding(size)), 0);
    input_.exactly(out.data(), out.size());
    out.resize(static_cast<size_t>(size));
    return out;
  }
  std::string long_text(int64_t size) {
    return text(body(size).c_str(), static_cast<size_t>(size));
  }

  void make(const Entry& e) {
    std::vector<std::string> parts = parts_of(e.name);
    switch (e.type) {
      case '0':
      case '7':
        if (parts.empty()) throw Failure{"an entry has no name"};
        make_file(e, parts);
        break;
      case '5':
        make_directories(e.name, parts);
        break;
      case '1':
      case '2':
        if (parts.empty()) throw Failure{"an entry has no name"};
        make_link(e, parts);
        break;
      default:
        throw Failure{"entry '" + e.name + "' is of kind '" + e.type + "', which is not supported"};
    }
  }

  /// Makes directories for all of `parts`; refuses to pass through a link.
  std::string make_directories(const std::string& name, const std::vector<std::string>& parts) {
    std::string path = directory_;
    for (const std::string& part : parts) {
      path += "/" + part;
      if (::mkdir(path.c_str(), 0777) == 0) continue;
      struct stat stat {};
      if (errno != EEXIST || ::lstat(path.c_str(), &stat) != 0) throw Failure{system(path)};
      if (!S_ISDIR(stat.st_mode))
        throw Failure{"entry '" + name + "' passes through a link or file"};
    }
    return path;
  }

  /// The path of an entry, whose directories exist; what was there is removed.
  std::string place(const Entry& e, std::vector<std::string> parts) {
    std::string last = parts.back();
    parts.pop_back();
    std::string path = make_directories(e.name, parts) + "/" + last;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw Failure{system(path)};
    return path;
  }

  void make_file(const Entry& e, const std::vector<std::string>& parts) {
    std::string path = place(e, parts);
    OwnedFd out(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, e.mode | 0600));
    if (!out) throw Failure{system(path)};
    std::string part(256 << 10, 0);
    for (int64_t left = e.size; left > 0;) {
      size_t n = static_cast<size_t>(std::min<int64_t>(left, static_cast<int64_t>(part.size())));
      input_.exactly(part.data(), n);
      for (size_t at = 0; at < n;) {
        ssize_t wrote = ::write(out.get(), part.data() + at, n - at);
        if (wrote < 0 && errno != EINTR) throw Failure{system(path)};
        if (wrote > 0) at += static_cast<size_t>(wrote);
      }
      left -= static_cast<int64_t>(n);
    }
    input_.exactly(part.data(), static_cast<size_t>(padding(e.size)));
    ++files_;
  }

  void make_link(const Entry& e, const std::vector<std::string>& parts) {
    std::string path = place(e, parts);
    if (e.type == '1') {
      std::vector<std::string> to = parts_of(e.link);
      std::string last = to.empty() ? "" : to.back();
      if (!to.empty()) to.pop_back();
      std::string from = make_directories(e.link, to) + "/" + last;
      if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, path.c_str(), 0) != 0)
        throw Failure{system(path)};
    } else {
      check_target(e, parts.size() - 1);
      if (::symlink(e.link.c_str(), path.c_str()) != 0) throw Failure{system(path)};
    }
    ++files_;
  }

  /// A symbolic link may climb no higher than to the directory itself, and only with its first
  /// parts: behind another link ".." would count from elsewhere.
  static void check_target(const Entry& e, size_t depth) {
    bool inside = !e.link.empty() && e.link[0] != '/', descended = false;
    std::istringstream in(e.link);
    for (std::string part; inside && std::getline(in, part, '/');) {
      if (part == "..")
        inside = !descended && depth-- > 0;
      else if (!part.empty() && part != ".")
        descended = true;
    }
    if (!inside) throw Failure{"link '" + e.name + "' leads out of the directory"};
  }

  static std::string system(const std::string& path) {
    return "cannot write '" + path + "': " + std::strerror(errno);
  }

  Input& input_;
  std::string directory_;
  int64_t files_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<int64_t> unpack_tar(const std::string& archive, const std::string& directory) try {
  Input input(archive);
  return Unpacker(input, directory).run();
} catch (const Failure& failure) {
  return Error{"cannot unpack '" + archive + "': " + failure.what};
}

}  // namespace tinderbox::net
