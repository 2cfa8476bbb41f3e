// What the operating system says of this process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "net/process/control_group.hpp"

namespace tinderbox::net {

/// All environment variables. Thread: any, as long as nobody changes them.
std::map<std::string, std::string> environment();
/// Other ones each time.
uint64_t random_bits();
/// A name that no other process on this host uses: a random UUID.
std::string unique_name();
/// Unit: bytes of physical memory that this process holds; 0 when it can't be told.
int64_t resident_bytes();
/// Processors that this process may use, at least 1: of a control group's share of them a begun one
/// counts. Source: what the JVM calls availableProcessors.
int available_processors(const GroupLimits& limits = group_limits());
/// Unit: MiB of this machine, or of the control group when that is less.
int64_t memory_mib();
int64_t process_id();
/// Name of the user, or its number.
std::string user_name();
/// Seconds that local time is ahead of UTC, now.
int utc_offset_seconds();
/// First of all in main: whichever of descriptors 0 to 2 is closed becomes /dev/null, or a socket
/// would get its number and what is printed.
void open_missing_descriptors();
/// Nobody reads standard output any more: the other end of its pipe is closed.
bool output_is_unread();
/// As many descriptors as the system lets this process have: a ROUTER without any left spins.
void raise_descriptor_limit();
/// What is freed goes back to the system before it is much: tasks use large tables for a moment.
void keep_little_free_memory();
/// For a process of short life whose threads wait for each other: a heap for each grows by single
/// pages. Thread: before a second one.
void share_one_heap();
/// Ends the process at once, whatever its threads do. What printf left in a buffer is written,
/// unless a thread is printing; nothing else is cleaned up.
[[noreturn]] void exit_now(int code);

}  // namespace tinderbox::net
