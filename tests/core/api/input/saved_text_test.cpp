// What a save leaves: parts without records, and what attempts left behind.
#include <sys/fsuid.h>

#include <filesystem>

#include "net/files/byte_source.hpp"
#include "tests/core/api/values.hpp"
#include "tests/net/temp_dir.hpp"

using namespace tinderbox;
using tests::LocalRuntime;
using tests::upto;

namespace fs = std::filesystem;

namespace {

/// While it lives, this thread reaches files as a user whom permissions hold back, not as root.
class NotRoot {
 public:
  NotRoot() : before_(static_cast<uid_t>(::setfsuid(65534))) {}
  ~NotRoot() { ::setfsuid(before_); }
  NotRoot(const NotRoot&) = delete;
  NotRoot& operator=(const NotRoot&) = delete;

 private:
  const uid_t before_;
};

}  // namespace

TEST_CASE("a part without records is a valid file, compressed too", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  const auto last = context.parallelize(upto(2), 2).filter([](int x) { return x == 2; });
  for (const auto how :
       {Compression::None, Compression::Gzip, Compression::Zstd, Compression::Deflate}) {
    const std::string suffix(net::suffix_of(how));
    INFO(suffix);
    const std::string out = runtime.services.directory + "/out" + suffix;
    last.save_as_text_file(out, how);
    CHECK(test::slurp(out + "/part-00000" + suffix) == net::compressed(how, ""));
    CHECK(test::slurp(out + "/part-00001" + suffix) == net::compressed(how, "2\n"));
    CHECK(context.text_file(out + "/part-00000" + suffix).count() == 0);
    CHECK(context.text_file(out).collect() == std::vector<std::string>{"2"});
  }
}

TEST_CASE("a save is done although what attempts left behind cannot be removed", "[rdd]") {
  LocalRuntime runtime;
  Context context(runtime);
  fs::permissions(runtime.services.directory, fs::perms(0711));
  const std::string out = runtime.services.directory + "/out";
  core::OutputDirectory output(context, out);
  fs::permissions(out, fs::perms(0777));
  const std::string left = out + "/_temporary/left";
  fs::create_directories(left + "/inside");
  fs::permissions(left, fs::perms(0500));
  {
    const NotRoot user;
    CHECK_NOTHROW(output.commit());
  }
  CHECK(fs::exists(out + "/_SUCCESS"));
  fs::permissions(left, fs::perms(0700));
}
