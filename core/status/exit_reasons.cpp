// Why a process or an executor ended, in words.
#include "core/status/exit_reasons.hpp"

#include "core/status/exit_codes.hpp"

namespace tinderbox::core {

namespace {

/// Linux's numbers, those that end processes.
const char* signal_name(int32_t number) {
  switch (number) {
    case 1:
      return "SIGHUP";
    case 2:
      return "SIGINT";
    case 3:
      return "SIGQUIT";
    case 4:
      return "SIGILL";
    case 6:
      return "SIGABRT";
    case 7:
      return "SIGBUS";
    case 8:
      return "SIGFPE";
    case 9:
      return "SIGKILL";
    case 11:
      return "SIGSEGV";
    case 13:
      return "SIGPIPE";
    case 15:
      return "SIGTERM";
    case 24:
      return "SIGXCPU";
    case 25:
      return "SIGXFSZ";
    case 31:
      return "SIGSYS";
    default:
      return "";
  }
}

const char* meaning_of(int32_t code) {
  switch (code) {
    case kExitUncaughtException:
      return "Uncaught exception";
    case kExitOutOfMemory:
      return "out of memory";
    case kExitDiskStoreFailure:
      return "Failed to create local directory (bad spark.local.dir?)";
    case kExitHeartbeatFailure:
      return "Unable to send heartbeats to driver.";
    default:
      return "";
  }
}

}  // namespace

std::string explain(const ProcessExited& end) {
  std::string text = "Command exited with code " + std::to_string(end.status);
  if (!end.signalled) {
    const std::string meaning = meaning_of(end.status);
    return meaning.empty() ? text : text + " (" + meaning + ")";
  }
  const int32_t number = end.status - kExitSignalBase;
  const std::string name = signal_name(number);
  text += " (died from signal " + std::to_string(number) + (name.empty() ? "" : ", " + name) + ")";
  if (end.out_of_memory)
    text +=
        ": out of memory, the kernel ended it by its cgroup's limit; raise the limit or lower "
        "spark.executor.memory";
  return text;
}

}  // namespace tinderbox::core
