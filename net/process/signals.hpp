// Signals of this process: stop, stop now, and the duties of PID 1.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "net/loop.hpp"
#include "net/types.hpp"

namespace tinderbox::net {

/// Early in main, before any thread: a broken pipe is an error of write() and no signal; SIGTERM,
/// SIGINT and SIGHUP end the process at once with 128 + n unless a StopSignals or NotedSignals
/// lives. SIGHUP stays ignored when it is.
void configure_signals();

/// While it lives, the first of those three calls `stop(n)` on the loop, so that the role can
/// drain; the next one but SIGHUP ends the process at once with exit code 128 + n, even if the loop
/// is stuck.
/// One at a time. Thread: the loop's, or before it runs.
class StopSignals {
 public:
  StopSignals(PollLoop& loop, std::function<void(int)> stop);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  PollLoop& loop_;
  int fd_;
};

/// While it lives, the first of those three is only noted, for stop_asked(); the next one but
/// SIGHUP ends the process as above. For who has no loop. Not beside a StopSignals.
class NotedSignals {
 public:
  NotedSignals();
  ~NotedSignals();
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;
};

/// Whether one of those three came since the last StopSignals or NotedSignals was made: for what
/// waits while no loop runs. Thread: any.
const std::atomic<bool>& stop_asked();
/// Its number; 0: none came.
int stop_signal();

/// Of one that may be watched, by its name as in Spark's settings: PWR, USR1, USR2, HUP, WINCH.
/// Errors: another name.
Result<int> signal_number(const std::string& name);

/// While it lives, the signal calls `on_signal` on the loop each time that it comes, and does
/// nothing afterwards. One at a time. Thread: the loop's, or before it runs.
class SignalWatch {
 public:
  /// Errors: as signal_number(), or no descriptor is left.
  static Result<std::unique_ptr<SignalWatch>> make(PollLoop& loop, const std::string& name,
                                                   std::function<void()> on_signal);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  SignalWatch(PollLoop& loop, int number, int fd, std::function<void()> on_signal);
  PollLoop& loop_;
  int number_, fd_;
};

/// First of all in main. As PID 1 (a container's entrypoint) the process splits in two: the new one
/// goes on from here as the program, the old one stays as its init and never returns. Else nothing
/// happens.
void split_off_init();
/// The same whatever the PID is. The init forwards every signal, reaps whatever becomes its child
/// (only a process that starts no other children can do that without taking them from their
/// owners), and ends with the program's exit code or 128 + signal. The program ends when the init
/// is killed.
void run_under_init();

}  // namespace tinderbox::net
