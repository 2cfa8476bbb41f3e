// Reading spark:// URLs: a file that a driver hands out on its block plane.
#pragma once

#include "conf/conf.hpp"
#include "net/http/fetch.hpp"

namespace tinderbox::core {

/// For net::fetch and net::Processes. What it returns may be called from any thread; a call blocks
/// and has its own loop and socket. Limits and retries as for shuffle blocks; of a large file no
/// more than the credit of a stream is in memory.
net::PeerFile peer_file(const conf::Conf& conf);

}  // namespace tinderbox::core
