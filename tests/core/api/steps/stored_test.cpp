// How persisted partitions are computed, kept and read, over the real stores.
#include "core/api/steps/node.hpp"

#include "tests/core/api/steps/stored_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::tests;

TEST_CASE("of an Rdd that does not fit the first partitions stay: a second scan reads them",
          "[storage]") {
  StoredServices services(16 * kMiB);
  const Records records(1, kMemoryOnly);  // 2 MiB a partition
  Reader reader(services);
  for (int scan = 0; scan < 2; ++scan) {
    records.computed = 0;
    for (int32_t p = 0; p < 20; ++p) CHECK(reader.count(records, p) == records.count);
  }
  CHECK(records.computed >= 12);
  CHECK(records.computed <= 14);
}

TEST_CASE("partitions of another Rdd make room for what is kept next", "[storage]") {
  StoredServices services(16 * kMiB);
  const Records old(1, kMemoryOnly), fresh(2, kMemoryOnly);
  Reader reader(services);
  for (int32_t p = 0; p < 20; ++p) CHECK(reader.count(old, p) == old.count);
  for (int32_t p = 0; p < 4; ++p) CHECK(reader.count(fresh, p) == fresh.count);
  fresh.computed = 0;
  for (int32_t p = 0; p < 4; ++p) CHECK(reader.count(fresh, p) == fresh.count);
  CHECK(fresh.computed == 0);
}
