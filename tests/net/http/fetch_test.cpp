// net/fetch and net/archive.
#include "net/http/fetch.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "net/files/archive.hpp"
#include "net/http/http_server.hpp"
#include "tests/net/temp_dir.hpp"

using namespace tinderbox;
using tinderbox::test::slurp;
using tinderbox::test::TempDir;
namespace fs = std::filesystem;

namespace {

// printf hello | sha256sum
const std::string kHelloSum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

std::string error_of(const Result<std::string>& r) { return r ? "" : r.error().message; }

bool executable(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

/// One entry of a tar with its data.
std::string entry(const std::string& name, char type, const std::string& data,
                  const std::string& link = "", unsigned mode = 0644) {
  std::string h(512, 0);
  auto put = [&](size_t at, size_t n, const std::string& v) {
    std::memcpy(&h[at], v.data(), std::min(n, v.size()));
  };
  auto octal = [](uint64_t v, int digits) {
    char buffer[32];
    snprintf(buffer, sizeof buffer, "%0*lo", digits, static_cast<unsigned long>(v));
    return std::string(buffer);
  };
  put(0, 100, name);
  put(100, 8, octal(mode, 7));
  put(124, 12, octal(data.size(), 11));
  h[156] = type;
  put(157, 100, link);
  put(257, 8, std::string("ustar\00000", 8));
  put(148, 8, "        ");
  unsigned sum = 0;
  for (char c : h) sum += static_cast<unsigned char>(c);
  put(148, 8, octal(sum, 6) + std::string("\0 ", 2));
  std::string body = data;
  body.resize((data.size() + 511) / 512 * 512);
  return h + body;
}
const std::string kEnd(1024, 0);

}  // namespace

TEST_CASE("what a URL names") {
  struct Case {
    std::string url, scheme, rest, name, sum, error;
  };
  for (auto& c : std::vector<Case>{
           {"/a/b.txt", "file", "/a/b.txt", "b.txt", "", ""},
           {"b.txt", "file", "b.txt", "b.txt", "", ""},
           {"file:/a/b%20c", "file", "file:/a/b%20c", "b c", "", ""},
           {"http://h:1/x/y.tgz?k=v#data", "http", "http://h:1/x/y.tgz?k=v", "data", "", ""},
           {"https://h/y#sha256=" + kHelloSum, "https", "https://h/y", "y", kHelloSum, ""},
           {"https://h/y#n&sha256=" + kHelloSum, "https", "https://h/y", "n", kHelloSum, ""},
           {"spark://h:1/files/app", "spark", "spark://h:1/files/app", "app", "", ""},
           {"s3a://b/k", "", "", "", "",
            "has the scheme 's3a', which is not supported: use a path"},
           {"http://host", "", "", "", "", "names no file"},
           {"http://host/", "", "", "", "", "names no file"},
           {"/a/..", "", "", "", "", "names no file"},
           {"/a/x#..", "", "", "", "", "names no file"},
           {"file:/a/..%2fetc", "", "", "", "", "names no file"},
           {"", "", "", "", "", "names no file"},
           {"/x#sha256=zz", "", "", "", "", "is not 64 hex digits"},
           {"/x#sha256=", "", "", "", "", "checksum '' of '/x' is not 64 hex digits"},
           {"/x#sha256=&n", "", "", "", "", "is not 64 hex digits"}}) {
    CAPTURE(c.url);
    Result<net::FetchSource> s = net::parse_source(c.url);
    CHECK(bool(s) == c.error.empty());
    if (!s)
      CHECK(s.error().message.find(c.error) != std::string::npos);
    else
      CHECK((s->scheme == c.scheme && s->url == c.rest && s->name == c.name && s->sha256 == c.sum));
  }
}

TEST_CASE("U19 local files are copied whole, checked and made executable") {
  TempDir from, to;
  std::string source = from.file("hello", "hello");
  std::string dir = to.path + "/new/deep";
  Result<std::string> path = net::fetch(source, dir);
  REQUIRE(path);
  CHECK(*path == dir + "/hello");
  CHECK(slurp(*path) == "hello");
  CHECK(executable(*path));
  CHECK(net::fetch("file://" + source + "#other", dir));
  CHECK(slurp(dir + "/other") == "hello");
  CHECK(net::fetch(source + "#sha256=" + kHelloSum, dir));
  Result<std::string> local = net::fetch("local:" + source, dir);
  REQUIRE(local);
  CHECK(*local == source);
}

TEST_CASE("each file that can't be had is told in one line and leaves nothing") {
  TempDir from, to;
  std::string source = from.file("hello", "hello");
  std::string zeros(64, '0');
  struct Case {
    std::string url, want;
  };
  for (auto& c :
       std::vector<Case>{{from.path + "/none", "/none' does not exist"},
                         {"file:" + from.path + "/none", "/none' does not exist"},
                         {from.path, "is a directory, not a file"},
                         {"/dev/zero", "is not a regular file"},
                         {"file://elsewhere" + source, "names a file of another host"},
                         {source + "#sha256=" + zeros,
                          "has the sha256 " + kHelloSum + ", but " + zeros + " was expected"},
                         {"spark://h:1/files/x", "does not reach a driver's file server"},
                         {"http://127.0.0.1:1/x",
                          "cannot fetch 'http://127.0.0.1:1/x' from 127.0.0.1:1: no connection"}}) {
    std::string error = error_of(net::fetch(c.url, to.path));
    CAPTURE(c.url, error);
    CHECK(error.find(c.want) != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
  }
  CHECK(fs::is_empty(to.path));
  net::FetchOptions bad;
  bad.sha256 = "12";
  CHECK(error_of(net::fetch(source, to.path, bad)).find("is not 64 hex digits") !=
        std::string::npos);
  std::atomic<bool> cancelled{true};
  net::FetchOptions stopped;
  stopped.cancelled = &cancelled;
  CHECK(error_of(net::fetch(source, to.path, stopped)).find("was stopped") != std::string::npos);
  CHECK(fs::is_empty(to.path));
}

TEST_CASE("an existing file is kept when it is the same, replaced only when allowed") {
  TempDir a, b, to;
  std::string first = a.file("f", "hello"), second = b.file("f", "world");
  REQUIRE(net::fetch(first, to.path));
  CHECK(net::fetch(first, to.path));
  CHECK(net::fetch(to.path + "/f", to.path));
  std::string error = error_of(net::fetch(second, to.path));
  CHECK(error.find("/f' exists and does not match contents of '" + second + "'") !=
        std::string::npos);
  CHECK(slurp(to.path + "/f") == "hello");
  net::FetchOptions overwrite;
  overwrite.overwrite = true;
  CHECK(net::fetch(second, to.path, overwrite));
  CHECK(slurp(to.path + "/f") == "world");
  CHECK(std::distance(fs::directory_iterator(to.path), {}) == 1);
}

TEST_CASE("a driver's file server is read through the given port") {
  TempDir to;
  net::FetchOptions options;
  std::string asked;
  options.peer = [&](const std::string& address, const std::string& name,
                     const net::BytesSink& sink) -> Result<int64_t> {
    asked = address + " " + name;
    sink("hel");
    if (name == "torn") return Error{"the driver is gone"};
    sink("lo");
    return int64_t{5};
  };
  CHECK(net::fetch("spark://d:7079/files/my%20app", to.path, options));
  CHECK(asked == "d:7079 my app");
  CHECK(slurp(to.path + "/my app") == "hello");
  CHECK(error_of(net::fetch("spark://d:7079/files/torn", to.path, options)) ==
        "'spark://d:7079/files/torn': the driver is gone");
  asked.clear();
  for (std::string bad : {"spark://d:7079/x", "spark://d/files/x", "spark://d:/files/x",
                          "spark://d:x/files/x", "spark://d:70000/files/x", "spark:///files/x"})
    CHECK(error_of(net::fetch(bad, to.path, options)) ==
          "'" + bad + "' is not of the form spark://host:port/files/name");
  CHECK(asked.empty());
  CHECK_FALSE(fs::exists(to.path + "/torn"));
}

TEST_CASE("files come over http, with the name of the path") {
  TempDir to;
  net::HttpServer server;
  server.handle("/d/file.bin", [](const net::HttpRequest&) {
    return net::HttpAnswer{200, "application/octet-stream", std::string(3 << 20, 'x'), {}};
  });
  Result<int> port = server.start({"127.0.0.1", 0, 0});
  REQUIRE(port);
  std::string root = "http://127.0.0.1:" + std::to_string(*port);
  Result<std::string> path = net::fetch(root + "/d/file.bin?version=1", to.path);
  REQUIRE(path);
  CHECK(*path == to.path + "/file.bin");
  CHECK(fs::file_size(*path) == 3 << 20);
  CHECK(error_of(net::fetch(root + "/none", to.path)).find("the server answered status 404") !=
        std::string::npos);
}

TEST_CASE("archives are unpacked to their name; other kinds are refused") {
  TempDir from, to;
  fs::create_directories(from.path + "/t/a/b");
  from.file("t/a/b/x.txt", "hello");
  from.file("t/" + std::string(120, 'n'), "long");
  std::ofstream(from.path + "/t/run.sh") << "#!/bin/sh\n";
  fs::permissions(from.path + "/t/run.sh", fs::perms::owner_all);
  fs::create_symlink("a/b/x.txt", from.path + "/t/link");
  fs::create_hard_link(from.path + "/t/a/b/x.txt", from.path + "/t/hard");
  for (std::string kind :
       {"tar --format=gnu -czf g.tar.gz", "tar --format=pax -czf p.tgz", "tar -cf u.tar"})
    REQUIRE(std::system(("cd '" + from.path + "' && " + kind + " t").c_str()) == 0);
  for (std::string name : {"g.tar.gz", "p.tgz", "u.tar"}) {
    CAPTURE(name);
    Result<std::string> place =
        net::fetch_archive(from.path + "/" + name + "#env-" + name, to.path);
    REQUIRE(place);
    CHECK(*place == to.path + "/env-" + name);
    std::string t = *place + "/t/";
    CHECK(slurp(t + "a/b/x.txt") == "hello");
    CHECK(slurp(t + std::string(120, 'n')) == "long");
    CHECK(slurp(t + "link") == "hello");
    CHECK(slurp(t + "hard") == "hello");
    CHECK(executable(t + "run.sh"));
  }
  CHECK(net::fetch_archive(from.path + "/u.tar", to.path));
  CHECK(fs::exists(to.path + "/u.tar/t/run.sh"));
  CHECK(error_of(net::fetch_archive(from.path + "/u.tar", to.path)).find("exists already") !=
        std::string::npos);
  net::FetchOptions overwrite;
  overwrite.overwrite = true;
  CHECK(net::fetch_archive(from.path + "/u.tar", to.path, overwrite));
  from.file("a.zip", "PK");
  from.file("a.rar", "x");
  CHECK(error_of(net::fetch_archive(from.path + "/a.zip", to.path)).find("use .tar.gz") !=
        std::string::npos);
  CHECK(error_of(net::fetch_archive(from.path + "/a.rar", to.path)).find("of no known kind") !=
        std::string::npos);
  CHECK(std::distance(fs::directory_iterator(to.path), {}) == 4);
}

TEST_CASE("no archive writes outside its directory") {
  TempDir from;
  struct Case {
    std::string bytes, want;
  };
  std::string pax = "28 path=../../escaped-by-pax\n";
  for (auto& c : std::vector<Case>{
           {entry("../x", '0', "evil") + kEnd, "leaves the directory"},
           {entry("/tmp/fetch_test_x", '0', "evil") + kEnd, "is an absolute path"},
           {entry("l", '2', "", "/etc") + kEnd, "leads out of the directory"},
           {entry("l", '2', "", "../..") + kEnd, "leads out of the directory"},
           {entry("a/l", '2', "", "../b/../../..") + kEnd, "leads out of the directory"},
           {entry("l", '2', "", "d") + entry("d/", '5', "") + entry("l/x", '0', "evil") + kEnd,
            "passes through a link or file"},
           {entry("h", '1', "", "../../etc/passwd") + kEnd, "leaves the directory"},
           {entry("h", '1', "", "/etc/passwd") + kEnd, "is an absolute path"},
           {entry("dev", '3', "") + kEnd, "is of kind '3'"},
           {entry("p", 'x', pax) + entry("ok", '0', "evil") + kEnd,
            "pax header in it is malformed"},
           {entry("p", 'x', "29 path=../../escaped-by-pax\n") + entry("ok", '0', "evil") + kEnd,
            "leaves the directory"},
           {entry("L", 'L', "../long") + entry("ok", '0', "evil") + kEnd, "leaves the directory"},
           {entry("x", '0', std::string(5000, 'x')).substr(0, 3000), "it is cut short"},
           {"", "it is empty"},
           {std::string(600, 'j'), "it is not a tar archive"},
           {std::string("\x1f\x8b\x08\0\0\0\0\0\0\3junk", 14), "it is"}}) {
    TempDir to;
    fs::create_directory(to.path + "/in");
    Result<int64_t> done = net::unpack_tar(from.file("a.tar", c.bytes), to.path + "/in");
    CAPTURE(c.want);
    REQUIRE_FALSE(done);
    CHECK(done.error().message.find(c.want) != std::string::npos);
    CHECK(std::distance(fs::directory_iterator(to.path), {}) == 1);
  }
}

TEST_CASE("damaged archives end with an error, never with a crash or a stray file") {
  TempDir from;
  std::string good = entry("a/b", '0', "hello") + entry("L", 'L', std::string(200, 'n')) +
                     entry("short", '0', "world") + entry("l", '2', "", "a/b") + kEnd;
  uint32_t seed = 7;
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    seed = seed * 1664525 + 1013904223;
    bytes[(seed >> 8) % bytes.size()] = char(seed >> 3);
    TempDir to;
    fs::create_directory(to.path + "/in");
    Result<int64_t> done = net::unpack_tar(from.file("a.tar", bytes), to.path + "/in");
    if (done) CHECK(*done <= 4);
    CHECK(std::distance(fs::directory_iterator(to.path), {}) == 1);
  }
}
