// Files of an application that its driver hands out.
#include "core/executor/app_files.hpp"

#include "tests/core/storage/store_fixture.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;
using namespace tinderbox::core;
using namespace tinderbox::core::test;

namespace {

/// What `what` returns, or its error.
template <class F>
std::string or_error(F what) {
  try {
    return what();
  } catch (const conf::Error& e) {
    return "error: " + std::string(e.what());
  }
}

void make_file(Store& s, const std::string& directory, const std::string& name) {
  s.files.directories.insert(directory);
  auto file = s.files.create(directory + "/" + name);
  REQUIRE((*file)->append(directory));
  REQUIRE((*file)->commit());
}

}  // namespace

TEST_CASE("two files of one name are refused, one file may be named twice", "[app_files]") {
  Store s;
  for (const char* directory : {"/a", "/b"}) make_file(s, directory, "x.txt");
  const auto hand_out = [&](const std::string& entry) {
    return or_error([&] { return hand_out_app_file(entry, *s.blocks, "h:1"); });
  };
  CHECK(hand_out("file:/a/x.txt") == "spark://h:1/files/x.txt");
  CHECK(hand_out("file:/a/x.txt#y") == "spark://h:1/files/x.txt#y");
  CHECK(hand_out("file:/b/x.txt") ==
        "error: File x.txt was already registered with a different path (old path = /a/x.txt, new "
        "path = /b/x.txt): executors would get one file for both; rename one");
  CHECK(read(*s.blocks, "file/x.txt") == "/a");
}

TEST_CASE("what no executor could use is refused before there are any", "[app_files]") {
  Store s;
  make_file(s, "/a", "x.txt");
  make_file(s, "/a", "x.tgz");
  const auto hand_out = [&](const char* key, const std::string& entry) {
    return or_error([&] {
      const conf::Conf conf = conf::Conf{}.with(key, entry);
      return hand_out_app_files(conf, *s.blocks, "h:1").at(key);
    });
  };
  CHECK(hand_out("spark.archives", "file:/a/x.tgz#x") == "spark://h:1/files/x.tgz#x");
  CHECK(hand_out("spark.files", "spark://h:1/files/x.txt") == "spark://h:1/files/x.txt");
  CHECK_THAT(hand_out("spark.files", "http://127.0.0.1:1/x.txt"),
             Catch::Contains("cannot be fetched") && Catch::Contains("no connection"));
  struct Case {
    const char *key, *entry, *error;
  };
  for (const Case& c :
       {Case{"spark.files", "file:/a/none", "File file:/a/none that executors are to get does not"},
        Case{"spark.files", "file:/a", "File file:/a that executors are to get is a directory"},
        Case{"spark.files", "hdfs://h/x.txt", "'hdfs', which is not supported"},
        Case{"spark.archives", "file:/a/x.txt", "is of no known kind: use .tar, .tar.gz or .tgz"},
        Case{"spark.archives", "http://h/x.zip", "is a zip, which is not supported"}}) {
    const std::string got = hand_out(c.key, c.entry);
    INFO(got);
    CHECK(got.starts_with("error: "));
    CHECK(got.find(c.error) != std::string::npos);
  }
}
