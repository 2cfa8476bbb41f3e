// Reading configuration files, and which grammar a file has.
#include "conf/sources/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "conf/sources/properties.hpp"
#include "conf/sources/toml.hpp"
#include "conf/values/units.hpp"

namespace tinderbox::conf {
namespace {

std::string read_all(int fd, FileText& result) {
  std::string text;
  char buffer[16384];
  off_t at = 0;
  const bool seekable = lseek(fd, 0, SEEK_CUR) >= 0;
  while (true) {
    const ssize_t got =
        seekable ? pread(fd, buffer, sizeof buffer, at) : read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      result.kind = FileText::Kind::kUnreadable;
      result.error = std::strerror(errno);
    }
    if (got <= 0) return text;
    text.append(buffer, static_cast<size_t>(got));
    at += got;
  }
}

FileText read_descriptor(int fd) {
  FileText result;
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    result.error = std::strerror(errno);
    return result;
  }
  if (S_ISDIR(info.st_mode)) {
    result.kind = FileText::Kind::kDirectory;
  } else if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) {
    result.kind = FileText::Kind::kOther;
  } else {
    result.kind = FileText::Kind::kRegular;
    result.text = read_all(fd, result);
  }
  return result;
}

/// The descriptor that a path like /proc/self/fd/3 stands for.
std::optional<int> named_descriptor(std::string_view path) {
  for (std::string_view prefix : {"/proc/self/fd/", "/dev/fd/"})
    if (path.starts_with(prefix)) return parse_int(path.substr(prefix.size()));
  return {};
}

}  // namespace

Pairs parse_file(std::string_view path, std::string_view text) try {
  return path.ends_with(".toml") ? parse_toml(text) : parse_properties(text);
} catch (const Error& error) {
  throw Error("Invalid properties file '" + std::string(path) + "': " + error.what());
}

FileText read_file(const std::string& path) {
  if (const std::optional<int> fd = named_descriptor(path)) {
    // What it holds (maybe a secret) is for this process, not for those it will start.
    fcntl(*fd, F_SETFD, FD_CLOEXEC);
    return read_descriptor(*fd);
  }
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) {
    FileText result;
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    result.kind = missing ? FileText::Kind::kMissing : FileText::Kind::kUnreadable;
    result.error = std::strerror(errno);
    return result;
  }
  FileText result = read_descriptor(fd);
  close(fd);
  return result;
}

}  // namespace tinderbox::conf
