#include "core/deploy/master/recovery.hpp"

#include <xxhash.h>

#include "core/machine.hpp"
#include "net/wire/codec.hpp"

namespace tinderbox::core {
namespace {

constexpr size_t kHeader = 12;

void put(Bytes& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}
uint64_t get(std::string_view from, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= uint64_t{static_cast<unsigned char>(from[static_cast<size_t>(i)])} << (8 * i);
  return value;
}
uint64_t checksum(std::string_view body) { return XXH3_64bits(body.data(), body.size()); }

void fold(RecoveredState& s, const PersistedRecord& record) {
  std::visit(overloaded{
                 [&](const PersistedApplication& r) { s.apps[r.id] = r; },
                 [&](const PersistedDriver& r) { s.drivers[r.id] = r; },
                 [&](const PersistedWorker& r) { s.workers[r.id] = r; },
                 [&](const ForgottenApplication& r) { s.apps.erase(r.id); },
                 [&](const ForgottenDriver& r) { s.drivers.erase(r.id); },
                 [&](const ForgottenWorker& r) { s.workers.erase(r.id); },
             },
             record);
}

/// The body of the record that `rest` starts with. Errors: torn or damaged.
Result<std::string_view> first_body(std::string_view rest) {
  if (rest.size() < kHeader) return Error{"a torn header"};
  uint64_t length = get(rest, 4);
  if (rest.size() - kHeader < length) return Error{"a torn record"};
  std::string_view body = rest.substr(kHeader, length);
  if (checksum(body) != get(rest.substr(4), 8)) return Error{"a record that fails its checksum"};
  return body;
}

}  // namespace

Bytes log_record(const PersistedRecord& record) {
  Bytes body = net::encode_bytes(record);
  Bytes out;
  put(out, body.size(), 4);
  put(out, checksum(body), 8);
  return out + body;
}

Replay replay(std::string_view log) {
  Replay result;
  auto stop = [&](const std::string& why) {
    result.warning = why + " at byte " + std::to_string(result.good_bytes) + " of " +
                     std::to_string(log.size()) + "; the log counts up to there";
    return result;
  };
  if (log.empty()) return result;
  if (!log.starts_with(kLogMagic)) return stop("no recovery log of this version");
  result.good_bytes = kLogMagic.size();
  while (result.good_bytes < log.size()) {
    Result<std::string_view> body = first_body(log.substr(result.good_bytes));
    if (!body) return stop(body.error().message);
    Result<PersistedRecord> record = net::decode_bytes<PersistedRecord>(*body);
    if (!record) return stop("a record that cannot be read (" + record.error().message + ")");
    fold(result.state, *record);
    ++result.records;
    result.good_bytes += kHeader + body->size();
  }
  return result;
}

Bytes compacted(const RecoveredState& state) {
  Bytes out(kLogMagic);
  for (const auto& [id, r] : state.apps) out += log_record(r);
  for (const auto& [id, r] : state.drivers) out += log_record(r);
  for (const auto& [id, r] : state.workers) out += log_record(r);
  return out;
}

}  // namespace tinderbox::core
