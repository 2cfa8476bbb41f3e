// Processor time of the calling thread.
#include "net/process/thread_time.hpp"

#include <ctime>

namespace tinderbox::net {

Duration thread_cpu_time() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(t.tv_sec) +
                                              std::chrono::nanoseconds(t.tv_nsec));
}

}  // namespace tinderbox::net
