#include "net/process/environment.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace tinderbox::net {
namespace {

/// Whole content of a small file of the kernel's; empty when it can't be read.
std::string slurp(const char* path) {
  int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char buffer[4096];
  ssize_t n = ::read(fd, buffer, sizeof buffer);
  ::close(fd);
  return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : std::string();
}

}  // namespace

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> all;
  for (char** e = environ; e && *e; ++e)
    if (const char* equals = std::strchr(*e, '='))
      all[std::string(*e, static_cast<size_t>(equals - *e))] = equals + 1;
  return all;
}

uint64_t random_bits() {
  uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) bits = static_cast<uint64_t>(::getpid());
  return bits;
}

std::string unique_name() {
  const uint64_t random[] = {random_bits(), random_bits()};
  unsigned char b[16];
  std::memcpy(b, random, sizeof b);
  b[6] = static_cast<unsigned char>((b[6] & 0x0f) | 0x40);
  b[8] = static_cast<unsigned char>((b[8] & 0x3f) | 0x80);
  std::string name;
  for (int i = 0; i < 16; ++i) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", b[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) name += '-';
    name += hex;
  }
  return name;
}

int64_t resident_bytes() {
  long total = 0, resident = 0;
  if (std::sscanf(slurp("/proc/self/statm").c_str(), "%ld %ld", &total, &resident) != 2) return 0;
  return int64_t{resident} * ::sysconf(_SC_PAGESIZE);
}

int available_processors(const GroupLimits& limits) {
  cpu_set_t set;
  const bool known = ::sched_getaffinity(0, sizeof set, &set) == 0;
  double n = known ? CPU_COUNT(&set) : static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
  if (limits.processors) n = std::min(n, std::ceil(*limits.processors));
  return std::max(1, static_cast<int>(n));
}

int64_t memory_mib() {
  struct sysinfo info;
  int64_t bytes = ::sysinfo(&info) == 0 ? int64_t(info.totalram) * info.mem_unit : 1024 << 20;
  if (const auto limit = group_limits().memory) bytes = std::min(bytes, *limit);
  return bytes >> 20;
}

int64_t process_id() { return ::getpid(); }

std::string user_name() {
  for (const char* name : {"SPARK_USER", "USER", "LOGNAME"})
    if (const char* value = std::getenv(name); value && *value) return value;
  return ::getuid() == 0 ? "root" : std::to_string(::getuid());
}

int utc_offset_seconds() {
  time_t now = ::time(nullptr);
  struct tm local;
  return ::localtime_r(&now, &local) ? static_cast<int>(local.tm_gmtoff) : 0;
}

void open_missing_descriptors() {
  for (int fd = 0; fd <= 2; ++fd)  // open() takes the lowest number that is free
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) return;
}

bool output_is_unread() {
  pollfd out{STDOUT_FILENO, 0, 0};
  return ::poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

void keep_little_free_memory() {
  // The library's own rule keeps up to 64 MB a thread, and more with each large block. What lives
  // as long as a task is mapped by itself; pieces of a shuffle (256 KB) come from the heap.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 32 << 20);
}

void share_one_heap() { ::mallopt(M_ARENA_MAX, 1); }

void raise_descriptor_limit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void exit_now(int code) {
  if (::ftrylockfile(stdout) == 0) ::fflush_unlocked(stdout);
  ::_exit(code);
}

}  // namespace tinderbox::net
