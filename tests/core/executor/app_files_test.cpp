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
  for (const char* directory : {"/a", "/b"})
    for (const char* name : {"x.txt", "y.txt"}) make_file(s, directory, name);
  const auto hand_out = [&](const std::string& entry) {
    return or_error(
        [&] { return hand_out_app_file(entry, false, {}, *s.blocks, "h:1").value_or("before"); });
  };
  CHECK(hand_out("file:/a/x.txt") == "spark://h:1/files/x.txt");
  CHECK(hand_out("file:///a/x.txt") == "before");
  CHECK(hand_out("file:/a/x.txt#f") == "spark://h:1/files/x.txt#f");
  CHECK(hand_out("file:/a/x.txt#f") == "before");
  CHECK(hand_out("file:/b/y.txt#f") ==
        "error: Executors cannot get file file:/b/y.txt as f: file file:/a/x.txt has that name; "
        "rename one");
  // Peers read both as file/x.txt.
  CHECK(hand_out("file:/b/x.txt#g") ==
        "error: Executors cannot get file file:/b/x.txt as x.txt: file file:/a/x.txt has that "
        "name; rename one");
  CHECK(hand_out("file:/b/y.txt") == "spark://h:1/files/y.txt");
  CHECK(read(*s.blocks, "file/x.txt") == "/a");
  CHECK(read(*s.blocks, "file/y.txt") == "/b");
}

TEST_CASE("names are one file's where nothing is handed out, too", "[app_files]") {
  Store s;
  for (const char* directory : {"/a", "/b"}) make_file(s, directory, "x.txt");
  const auto check = [&](const std::string& entry, bool archive = false) {
    return or_error([&] {
      return std::string(check_app_file(entry, archive, {}, *s.blocks) ? "fresh" : "before");
    });
  };
  CHECK(check("file:/a/x.txt") == "fresh");
  CHECK(check("file:/a/x.txt") == "before");
  CHECK(check("file:/b/x.txt") ==
        "error: Executors cannot get file file:/b/x.txt as x.txt: file file:/a/x.txt has that "
        "name; rename one");
  // Nobody reads them by their own names.
  CHECK(check("file:/a/x.txt#f") == "fresh");
  CHECK(check("file:/b/x.txt#g") == "fresh");
  CHECK(check("spark://h:1/files/w.txt") == "fresh");
  CHECK(check("spark://g:1/files/w.txt") ==
        "error: Executors cannot get file spark://g:1/files/w.txt as w.txt: file "
        "spark://h:1/files/w.txt has that name; rename one");
  CHECK(check("spark://g:1/files/w.txt#v.txt") == "fresh");
  CHECK(check("spark://h:1/files/w.txt", true) ==
        "error: Executors cannot get archive spark://h:1/files/w.txt as w.txt: file "
        "spark://h:1/files/w.txt has that name; rename one");
  // Nothing of such a file comes into the executors' directories.
  CHECK(check("local:/opt/w.txt") == "fresh");
  CHECK(check("local:/opt/w.tgz", true) == "fresh");
  CHECK_THAT(check("local:/srv/w.tgz", true), Catch::StartsWith("error: Executors cannot get"));
}

TEST_CASE("what is listed twice is shipped once", "[app_files]") {
  Store s;
  for (const char* name : {"x.txt", "x.tgz"}) make_file(s, "/a", name);
  const conf::Conf conf = conf::Conf{}
                              .with("spark.files", "file:/a/x.txt,file:/a/x.txt")
                              .with("spark.archives", "file:/a/x.tgz,file:/a/x.tgz,local:/b/y.tgz");
  CHECK(hand_out_app_files(conf, *s.blocks, "h:1") ==
        std::map<std::string, std::string>{
            {"spark.files", "spark://h:1/files/x.txt"},
            {"spark.archives", "spark://h:1/files/x.tgz,local:/b/y.tgz"}});
  Store local;
  for (const char* name : {"x.txt", "x.tgz"}) make_file(local, "/a", name);
  CHECK(check_app_files(conf, *local.blocks) ==
        std::map<std::string, std::string>{{"spark.files", "file:/a/x.txt"},
                                           {"spark.archives", "file:/a/x.tgz,local:/b/y.tgz"}});
}

TEST_CASE("files are fetched as the settings say", "[app_files]") {
  CHECK(fetch_options({}).timeout == std::chrono::seconds(60));
  CHECK_FALSE(fetch_options({}).overwrite);
  const conf::Conf conf =
      conf::Conf{}.with("spark.files.fetchTimeout", "100ms").with("spark.files.overwrite", "true");
  CHECK(fetch_options(conf).timeout == std::chrono::milliseconds(100));
  CHECK(fetch_options(conf).overwrite);
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
