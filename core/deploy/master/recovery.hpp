// The master's recovery log: what it must know again after a restart, appended record by record.
//
// A log is kLogMagic, then records of a header (length of the body u32, its xxh3 u64, little
// endian) and a body (one net PersistedRecord as msgpack). A crash can tear the last record, so
// reading stops at the first one that is short or does not match its checksum: what is before it
// counts. A record that is added twice or forgotten twice changes nothing.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "net/wire/messages.hpp"

namespace tinderbox::core {

inline constexpr std::string_view kLogMagic = "TBXMLOG1";

/// One record as it is appended.
Bytes log_record(const PersistedRecord& record);

/// What a log amounts to.
struct RecoveredState {
  std::map<AppId, PersistedApplication> apps;
  std::map<DriverId, PersistedDriver> drivers;
  std::map<WorkerId, PersistedWorker> workers;
  bool empty() const { return apps.empty() && drivers.empty() && workers.empty(); }
  bool operator==(const RecoveredState&) const = default;
};
struct Replay {
  RecoveredState state;
  size_t records = 0;     // that counted
  size_t good_bytes = 0;  // of the log, from its start
  std::string warning;    // why the rest did not count; empty: all of it did
};
Replay replay(std::string_view log);

/// The shortest log that amounts to `state`.
Bytes compacted(const RecoveredState& state);

}  // namespace tinderbox::core
