#include "core/plan/lineage.hpp"

namespace tinderbox::core {

uint8_t pack_level(const StorageLevel& level) {
  const int replication = level.stored() ? level.replication & 15 : 0;
  return static_cast<uint8_t>(level.disk | level.memory << 1 | level.off_heap << 2 |
                              level.deserialized << 3 | replication << 4);
}

StorageLevel unpack_level(uint8_t bits) {
  StorageLevel level;
  level.disk = bits & 1;
  level.memory = bits & 2;
  level.off_heap = bits & 4;
  level.deserialized = bits & 8;
  if (level.stored()) level.replication = bits >> 4;
  return level;
}

}  // namespace tinderbox::core
