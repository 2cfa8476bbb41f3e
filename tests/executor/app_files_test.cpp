// Files of an application that its driver hands out.
#include "core/executor/app_files.hpp"

#include "tests/pch.hpp"
#include "tests/storage/store_fixture.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

TEST_CASE("two files of one name are refused, one file may be named twice", "[app_files]") {
  Store s;
  for (const char* directory : {"/a", "/b"}) {
    s.files.directories.insert(directory);
    auto file = s.files.create(std::string(directory) + "/x.txt");
    REQUIRE((*file)->append(directory));
    REQUIRE((*file)->commit());
  }
  const auto hand_out = [&](const std::string& entry) {
    try {
      return hand_out_app_file(entry, *s.blocks, "h:1");
    } catch (const conf::Error& e) {
      return "error: " + std::string(e.what());
    }
  };
  CHECK(hand_out("file:/a/x.txt") == "spark://h:1/files/x.txt");
  CHECK(hand_out("file:/a/x.txt#y") == "spark://h:1/files/x.txt#y");
  CHECK(hand_out("file:/b/x.txt") ==
        "error: File x.txt was already registered with a different path (old path = /a/x.txt, new "
        "path = /b/x.txt): executors would get one file for both; rename one");
  CHECK(read(*s.blocks, "file/x.txt") == "/a");
}
