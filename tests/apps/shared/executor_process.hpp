// The processes of a cluster of this machine, for applications that break it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

namespace tinderbox {

/// With blanks between the arguments; empty: it is gone.
inline std::string command_line(const std::filesystem::path& process) {
  std::ifstream file(process / "cmdline");
  std::string line{std::istreambuf_iterator<char>(file), {}};
  for (char& c : line)
    if (c == '\0') c = ' ';
  return line;
}

/// Applications of other clusters may have the same id: executors of this one work below
/// $CLUSTER_DIR, where that is set.
inline bool is_of_this_cluster(const std::filesystem::path& process) {
  const char* root = std::getenv("CLUSTER_DIR");
  std::error_code gone;
  return !root || std::filesystem::read_symlink(process / "cwd", gone).string().starts_with(root);
}

/// Errors: there is none.
inline int pid_of_executor(const std::string& application, const std::string& executor) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const std::string line = command_line(entry.path());
    if (line.find(" --app-id " + application + " ") != std::string::npos &&
        line.find(" --executor-id " + executor + " ") != std::string::npos &&
        is_of_this_cluster(entry.path()))
      return pid;
  }
  throw std::runtime_error("no process of executor " + executor + " of " + application);
}

/// Errors: it is gone.
inline int parent_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  std::string state;
  int parent = 0;
  if (!(rest >> state >> parent)) throw std::runtime_error("no process " + std::to_string(pid));
  return parent;
}

}  // namespace tinderbox
