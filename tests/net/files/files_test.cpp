// The real file system behind net/files.
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "net/files/files.hpp"
#include "net/process/file_lock.hpp"
#include "tests/pch.hpp"

using namespace tinderbox;

namespace {

/// A directory of its own that goes with the test.
struct Scratch {
  std::unique_ptr<net::Files> files = net::make_real_files();
  std::string path;
  Scratch() {
    char name[] = "/tmp/tinderbox-files-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Scratch() { (void)files->remove_tree(path); }
  void write(const std::string& name, std::string_view text) {
    auto file = files->create(path + "/" + name);
    REQUIRE(file);
    REQUIRE((*file)->append(text));
    REQUIRE((*file)->commit());
  }
  std::string read(const std::string& name) {
    auto file = files->open(path + "/" + name);
    REQUIRE(file);
    auto bytes = (*file)->view(0, (*file)->size());
    REQUIRE(bytes);
    return std::string(bytes->view());
  }
  std::vector<std::string> names() {
    auto entries = files->list(path);
    REQUIRE(entries);
    std::vector<std::string> all;
    for (const auto& entry : *entries) all.push_back(entry.name);
    return all;
  }
};

/// What of mapped files this process has in memory.
int64_t mapped_files_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "RssFile:" && status >> word) return std::stoll(word);
  return 0;
}

}  // namespace

TEST_CASE("a created file is seen only once it is committed, and leaves nothing otherwise",
          "[files]") {
  Scratch s;
  s.write("a", "old");
  {
    auto file = s.files->create(s.path + "/a");
    REQUIRE(file);
    REQUIRE((*file)->append("new text"));
    CHECK((*file)->size() == 8);
    CHECK(s.read("a") == "old");
    CHECK(s.names().size() == 2);
  }
  CHECK(s.names() == std::vector<std::string>{"a"});
  CHECK(s.read("a") == "old");
  s.write("a", "new text");
  CHECK(s.read("a") == "new text");
}

TEST_CASE("what was not committed goes when it is told to, also of processes that are gone",
          "[files]") {
  Scratch s;
  s.write("kept", "a");
  s.write(".hidden", "of somebody else");
  auto coming = s.files->create(s.path + "/part");
  REQUIRE(coming);
  s.write(".part.1.0.tmp", "left by a process that was killed");
  CHECK(*s.files->discard_uncommitted(s.path) == 2);
  CHECK(s.names() == std::vector<std::string>{".hidden", "kept"});
  CHECK(*s.files->discard_uncommitted(s.path) == 0);
  CHECK_FALSE(s.files->discard_uncommitted(s.path + "/none"));
  CHECK_FALSE((*coming)->commit());
}

TEST_CASE("appending adds to what is there and is seen at once", "[files]") {
  Scratch s;
  for (const char* line : {"one\n", "two\n"}) {
    auto file = s.files->append(s.path + "/log");
    REQUIRE(file);
    REQUIRE((*file)->append(line));
    REQUIRE((*file)->sync());
  }
  CHECK(s.read("log") == "one\ntwo\n");
  auto file = s.files->append(s.path + "/log");
  REQUIRE(file);
  CHECK((*file)->size() == 8);
}

TEST_CASE("reading at an offset stops at the end, a view past the end is an error", "[files]") {
  Scratch s;
  s.write("a", "0123456789");
  auto file = s.files->open(s.path + "/a");
  REQUIRE(file);
  char to[16];
  CHECK(*(*file)->read_at(7, to, 16) == 3);
  CHECK(std::string_view(to, 3) == "789");
  CHECK(*(*file)->read_at(10, to, 16) == 0);
  CHECK((*file)->view(2, 3)->view() == "234");
  CHECK((*file)->view(10, 0)->empty());
  CHECK(!(*file)->view(8, 3));
  CHECK(!(*file)->view(-1, 3));
}

TEST_CASE("a view of a file that became shorter since it was opened is an error", "[files]") {
  Scratch s;
  for (const int64_t size : {1000, 3 << 20}) {
    s.write("f", std::string(static_cast<size_t>(size), 'x'));
    auto file = s.files->open(s.path + "/f");
    REQUIRE(file);
    std::filesystem::resize_file(s.path + "/f", static_cast<uintmax_t>(size / 2));
    const auto view = (*file)->view(0, size);
    REQUIRE_FALSE(view);
    CHECK(view.error().message == "cannot read " + s.path + "/f: it became shorter");
    CHECK((*file)->view(0, size / 2));
  }
}

TEST_CASE("a large view is mapped and outlives its file", "[files]") {
  Scratch s;
  std::string text(3 << 20, 'x');
  text[5000] = 'y';
  s.write("big", text);
  Payload view;
  {
    auto file = s.files->open(s.path + "/big");
    REQUIRE(file);
    view = *(*file)->view(5000, 2 << 20);
  }
  CHECK(*s.files->remove(s.path + "/big"));
  CHECK(view.size() == 2u << 20);
  CHECK(view.view().substr(0, 2) == "yx");
}

TEST_CASE("parts of a mapped file leave memory, and come back as they were", "[files]") {
  Scratch s;
  std::string text(48 << 20, 'x');
  for (size_t i = 0; i < text.size(); i += 1000) text[i] = static_cast<char>('a' + i % 23);
  s.write("big", text);
  const auto file = s.files->open(s.path + "/big");
  REQUIRE(file);
  const Payload bytes = *(*file)->view(5000, 40 << 20);
  const std::string_view all(text.data() + 5000, 40 << 20);
  const int64_t before = mapped_files_kib();
  CHECK(bytes.view() == all);
  CHECK(mapped_files_kib() - before > 35 << 10);
  bytes.forget(bytes.view().substr(0, 20 << 20));
  bytes.forget(bytes.view().substr(20 << 20));
  CHECK(mapped_files_kib() - before < 1 << 10);
  CHECK(bytes.view() == all);
  const Payload copied(std::string(100, 'x'));
  copied.forget(copied.view());
  CHECK(copied.view() == std::string(100, 'x'));
}

TEST_CASE("missing files, directories and trees are told apart", "[files]") {
  Scratch s;
  CHECK(!*s.files->stat(s.path + "/none"));
  CHECK(!*s.files->remove(s.path + "/none"));
  CHECK(!*s.files->remove_tree(s.path + "/none"));
  auto missing = s.files->open(s.path + "/none");
  REQUIRE(!missing);
  CHECK(missing.error().message == "cannot open " + s.path + "/none: No such file or directory");
  REQUIRE(!s.files->open(s.path));
  REQUIRE(::mkfifo((s.path + "/pipe").c_str(), 0600) == 0);
  const auto pipe = s.files->open(s.path + "/pipe");
  REQUIRE(!pipe);
  CHECK(pipe.error().message == "cannot open " + s.path + "/pipe: it is not a regular file");
  CHECK(*s.files->remove(s.path + "/pipe"));
  CHECK(*s.files->make_directories(s.path + "/d/e"));
  CHECK(!*s.files->make_directories(s.path + "/d/e"));
  CHECK((*s.files->stat(s.path + "/d"))->directory);
  s.write("d/f", "12");
  CHECK((*s.files->stat(s.path + "/d/f"))->size == 2);
  CHECK(s.files->list(s.path + "/d")->size() == 2);
  CHECK(*s.files->rename(s.path + "/d/f", s.path + "/g"));
  CHECK(s.names() == std::vector<std::string>{"d", "g"});
  CHECK(*s.files->remove_tree(s.path + "/d"));
  CHECK(s.names() == std::vector<std::string>{"g"});
  CHECK(*s.files->free_space(s.path) > 0);
}

TEST_CASE("a list lacks what links to nothing, and hides no other error", "[files]") {
  Scratch s;
  s.write("a", "1");
  std::filesystem::create_symlink("none", s.path + "/dangling");
  std::filesystem::create_symlink("loop", s.path + "/loop");
  std::filesystem::create_symlink("a/b", s.path + "/through_a_file");
  CHECK(s.names() == std::vector<std::string>{"a"});
  std::filesystem::create_symlink(std::string(300, 'x'), s.path + "/long");
  const auto entries = s.files->list(s.path);
  REQUIRE_FALSE(entries);
  CHECK(entries.error().message ==
        "cannot look at " + s.path + "/long: " + std::string(std::strerror(ENAMETOOLONG)));
}

TEST_CASE("two may remove one tree at the same time", "[files]") {
  Scratch s;
  const std::string tree = s.path + "/tree";
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 20; ++i) {
      REQUIRE(s.files->make_directories(tree + "/" + std::to_string(i)));
      s.write("tree/" + std::to_string(i) + "/f", "");
    }
    std::atomic<int> failed{0};
    const auto remove = [&] {
      if (!s.files->remove_tree(tree)) ++failed;
    };
    std::thread other(remove);
    remove();
    other.join();
    CHECK(failed.load() == 0);
    CHECK_FALSE(*s.files->stat(tree));
  }
}

TEST_CASE("a locked file is nobody else's until its holder goes", "[files]") {
  Scratch s;
  const std::string path = s.path + "/lock";
  auto first = net::FileLock::take(path);
  REQUIRE(first);
  REQUIRE(*first);
  CHECK_FALSE(*net::FileLock::take(path));
  { net::FileLock gone = std::move(**first); }
  CHECK(*net::FileLock::take(path));
  CHECK(net::FileLock::take(s.path + "/none/lock").error().message ==
        s.path + "/none/lock: No such file or directory");
}
