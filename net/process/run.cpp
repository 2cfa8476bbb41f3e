#include "net/process/run.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "net/process/environment.hpp"
#include "net/process/launch.hpp"

namespace tinderbox::net {

std::string found_in_path(const std::string& file) {
  const char* path = std::getenv("PATH");
  if (file.find('/') != std::string::npos || !path) return file;
  std::istringstream folders(path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string whole = folder + "/" + file; ::access(whole.c_str(), X_OK) == 0)
      return whole;
  return file;
}

Result<std::string> run_and_read(const std::string& file, const std::vector<std::string>& argv,
                                 const std::map<std::string, std::string>& variables) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error{std::string("no pipe: ") + std::strerror(errno)};
  OwnedFd read_end(ends[0]);
  Launch child;
  child.file = found_in_path(file);
  child.argv = argv;
  std::map<std::string, std::string> all = variables;
  all.merge(environment());
  for (const auto& [name, value] : all) child.environment.push_back(name + "=" + value);
  child.directory = ".";
  child.in = OwnedFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  child.out = OwnedFd(ends[1]);
  child.err = OwnedFd(::fcntl(2, F_DUPFD_CLOEXEC, 3));
  Result<int64_t> pid = launch(child);
  if (!pid) return pid.error();
  child.out = OwnedFd();
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(read_end.get(), buffer, sizeof buffer)) != 0;) {
    if (n > 0)
      text.append(buffer, static_cast<size_t>(n));
    else if (errno != EINTR)
      break;
  }
  int status = 0;
  while (::waitpid(static_cast<pid_t>(*pid), &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return Error{file + " failed"};
  return text;
}

}  // namespace tinderbox::net
