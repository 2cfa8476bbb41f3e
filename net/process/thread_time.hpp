// How much of a processor the calling thread has used.
#pragma once

#include "net/types.hpp"

namespace tinderbox::net {

/// Since the thread began. Cost: one system call.
Duration thread_cpu_time();

}  // namespace tinderbox::net
