// The file system of this machine behind net/files/files.hpp.
#include "net/files/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace tinderbox::net {
namespace {

/// From this size on a view maps the file instead of copying it.
constexpr int64_t kMapFrom = 1 << 20;
/// Each failed one was a step of somebody else in the same tree.
constexpr int kMostRemovals = 100;

Error system_error(const char* what, const std::string& path, int number = errno) {
  return Error{std::string("cannot ") + what + " " + path + ": " + std::strerror(number)};
}

/// An open descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

class RealReadFile : public ReadFile {
 public:
  RealReadFile(std::string path, Descriptor fd, int64_t size)
      : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}

  Result<size_t> read_at(int64_t offset, char* to, size_t n) override {
    size_t done = 0;
    while (done < n) {
      const ssize_t got =
          ::pread(fd_.get(), to + done, n - done, offset + static_cast<int64_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return system_error("read", path_);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  int64_t size() const override { return size_; }

  Result<Payload> view(int64_t offset, int64_t length) override {
    if (offset < 0 || length < 0 || offset > size_ || length > size_ - offset)
      return Error{"cannot read " + std::to_string(length) + " bytes at " + std::to_string(offset) +
                   " of " + path_ + ": it has only " + std::to_string(size_) + " bytes"};
    if (length == 0) return Payload();
    return length >= kMapFrom ? map(offset, length) : copy(offset, length);
  }

 private:
  Result<Payload> copy(int64_t offset, int64_t length) {
    const auto n = static_cast<size_t>(length);
    std::shared_ptr<char[]> buffer = std::make_shared_for_overwrite<char[]>(n);
    Result<size_t> got = read_at(offset, buffer.get(), n);
    if (!got) return got.error();
    if (*got != n) return shorter();
    return Payload(buffer, std::string_view(buffer.get(), n));
  }

  Error shorter() const { return Error{"cannot read " + path_ + ": it became shorter"}; }

  Result<Payload> map(int64_t offset, int64_t length) {
    // The file may have been open for long. Who reads a mapping past its end is ended by a signal.
    struct stat now = {};
    if (::fstat(fd_.get(), &now) != 0) return system_error("read", path_);
    if (now.st_size < offset + length) return shorter();
    const int64_t page = ::sysconf(_SC_PAGESIZE);
    const int64_t start = offset / page * page;
    const auto bytes = static_cast<size_t>(offset - start + length);
    void* at = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd_.get(), start);
    if (at == MAP_FAILED) return copy(offset, length);
    ::madvise(at, bytes, MADV_SEQUENTIAL);
    std::shared_ptr<const void> owner(at, [bytes](void* p) { ::munmap(p, bytes); });
    const char* first = static_cast<const char*>(at) + (offset - start);
    return Payload(std::move(owner), std::string_view(first, static_cast<size_t>(length)),
                   &forget_pages);
  }

  /// Whole ones before its end. The first one begins in the mapping, which begins with a page.
  static void forget_pages(std::string_view part) {
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const uintptr_t begin = reinterpret_cast<uintptr_t>(part.data()) / page * page;
    const uintptr_t end = (reinterpret_cast<uintptr_t>(part.data()) + part.size()) / page * page;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }

  std::string path_;
  Descriptor fd_;
  int64_t size_;
};

class RealWriteFile : public WriteFile {
 public:
  /// `temporary` is empty for a file that was opened under its own name.
  RealWriteFile(std::string path, std::string temporary, Descriptor fd, int64_t size)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)), size_(size) {}
  ~RealWriteFile() override {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }

  Result<bool> append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t put = ::write(fd_.get(), bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return system_error("write", path_);
      bytes.remove_prefix(static_cast<size_t>(put));
      size_ += put;
    }
    return true;
  }

  Result<bool> sync() override {
    if (::fdatasync(fd_.get()) != 0) return system_error("sync", path_);
    return true;
  }

  Result<bool> commit() override {
    if (fd_.close() != 0) return system_error("close", path_);
    if (temporary_.empty()) return true;
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) return system_error("create", path_);
    temporary_.clear();
    return true;
  }

  int64_t size() const override { return size_; }

 private:
  std::string path_;
  std::string temporary_;
  Descriptor fd_;
  int64_t size_;
};

FileStat stat_of(const struct stat& s) {
  return FileStat{.directory = S_ISDIR(s.st_mode),
                  .size = s.st_size,
                  .modified = s.st_mtim.tv_sec * 1000LL + s.st_mtim.tv_nsec / 1'000'000};
}

/// Null at the end, with errno 0, and on an error.
const dirent* next_entry(DIR* directory) {
  errno = 0;
  return ::readdir(directory);
}

/// What vanished meanwhile, or links to nothing, is no entry.
bool leads_nowhere(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

constexpr std::string_view kTemporary = ".tmp";
bool is_temporary(std::string_view name) {
  return name.starts_with('.') && name.ends_with(kTemporary);
}
/// A name beside `path` that no other writer of any process uses.
std::string temporary_name(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, name) + "." + path.substr(name) + "." + std::to_string(::getpid()) + "." +
         std::to_string(counter.fetch_add(1)) + std::string(kTemporary);
}

class RealFiles : public Files {
 public:
  Result<std::unique_ptr<ReadFile>> open(const std::string& path) override {
    // A pipe that nobody writes to would be waited for.
    Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0) return system_error("open", path);
    struct stat s {};
    if (::fstat(fd.get(), &s) != 0) return system_error("open", path);
    if (S_ISDIR(s.st_mode)) return system_error("open", path, EISDIR);
    if (!S_ISREG(s.st_mode)) return Error{"cannot open " + path + ": it is not a regular file"};
    std::unique_ptr<ReadFile> file =
        std::make_unique<RealReadFile>(path, std::move(fd), int64_t{s.st_size});
    return file;
  }

  Result<std::unique_ptr<WriteFile>> create(const std::string& path) override {
    std::string temporary = temporary_name(path);
    return open_to_write(path, std::move(temporary), O_WRONLY | O_CREAT | O_EXCL);
  }

  Result<std::unique_ptr<WriteFile>> append(const std::string& path) override {
    return open_to_write(path, "", O_WRONLY | O_CREAT | O_APPEND);
  }

  Result<bool> remove(const std::string& path) override {
    if (::unlink(path.c_str()) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return system_error("remove", path);
  }

  Result<bool> remove_tree(const std::string& path) override {
    for (int removal = 1;; ++removal) {
      std::error_code error;
      const auto removed = std::filesystem::remove_all(path, error);
      if (!error) return removed > 0 || removal > 1;
      // An entry vanished or came while its directory was emptied.
      const bool passing = error.value() == ENOENT || error.value() == ENOTEMPTY;
      if (!passing || removal == kMostRemovals) return system_error("remove", path, error.value());
    }
  }

  Result<bool> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return system_error("rename", from + " to " + to);
    return true;
  }

  Result<std::vector<FileEntry>> list(const std::string& directory) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(directory.c_str()), ::closedir);
    if (!dir) return system_error("list", directory);
    std::vector<FileEntry> entries;
    while (const dirent* entry = next_entry(dir.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat s {};
      if (::fstatat(::dirfd(dir.get()), entry->d_name, &s, 0) == 0)
        entries.push_back({std::string(name), stat_of(s)});
      else if (!leads_nowhere(errno))
        return system_error("look at", directory + "/" + entry->d_name);
    }
    if (errno != 0) return system_error("list", directory);
    std::sort(entries.begin(), entries.end(),
              [](const FileEntry& a, const FileEntry& b) { return a.name < b.name; });
    return entries;
  }

  Result<bool> make_directories(const std::string& path) override {
    std::error_code error;
    const bool made = std::filesystem::create_directories(path, error);
    if (error) return system_error("create directory", path, error.value());
    return made;
  }

  Result<int64_t> free_space(const std::string& path) override {
    struct statvfs s {};
    if (::statvfs(path.c_str(), &s) != 0) return system_error("ask for the free space of", path);
    return static_cast<int64_t>(s.f_bavail) * static_cast<int64_t>(s.f_frsize);
  }

  Result<std::optional<FileStat>> stat(const std::string& path) override {
    struct stat s {};
    if (::stat(path.c_str(), &s) == 0) return std::optional(stat_of(s));
    if (leads_nowhere(errno)) return std::optional<FileStat>();
    return system_error("look at", path);
  }

  Result<int64_t> discard_uncommitted(const std::string& directory) override {
    const auto entries = list(directory);
    if (!entries) return entries.error();
    int64_t discarded = 0;
    for (const FileEntry& entry : *entries) {
      if (!is_temporary(entry.name)) continue;
      const Result<bool> gone = remove(directory + "/" + entry.name);
      if (!gone) return gone.error();
      discarded += *gone;
    }
    return discarded;
  }

 private:
  static Result<std::unique_ptr<WriteFile>> open_to_write(const std::string& path,
                                                          std::string temporary, int flags) {
    const std::string& name = temporary.empty() ? path : temporary;
    Descriptor fd(::open(name.c_str(), flags | O_CLOEXEC, 0666));
    if (fd.get() < 0) return system_error("create", path);
    struct stat s {};
    if (::fstat(fd.get(), &s) != 0) return system_error("create", path);
    std::unique_ptr<WriteFile> file = std::make_unique<RealWriteFile>(
        path, std::move(temporary), std::move(fd), int64_t{s.st_size});
    return file;
  }
};

}  // namespace

Place place_of(std::string_view path) {
  if (path.starts_with("s3a://") || path.starts_with("s3://")) return Place::Store;
  return path.starts_with("http://") || path.starts_with("https://") ? Place::Web : Place::Disk;
}

std::unique_ptr<Files> make_real_files() { return std::make_unique<RealFiles>(); }

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  if (const auto entries = RealFiles().list(directory))
    for (const FileEntry& entry : *entries) names.push_back(entry.name);
  return names;
}

}  // namespace tinderbox::net
