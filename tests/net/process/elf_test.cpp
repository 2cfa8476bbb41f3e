#include "net/process/elf.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "tests/net/temp_dir.hpp"

using namespace tinderbox;
using tinderbox::test::slurp;
using tinderbox::test::TempDir;

namespace {

std::string own_bytes() { return slurp(net::own_path()); }

std::string elf_error(const std::string& path, const std::string& id = {}) {
  Result<net::ElfInfo> info = net::read_application(path, id);
  return info ? "" : info.error().message;
}

/// A program of one note segment and nothing else.
std::string tiny_elf(uint16_t machine, std::string_view notes) {
  ElfW(Ehdr) h{};
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64;
  h.e_ident[EI_DATA] = ELFDATA2LSB;
  h.e_type = ET_EXEC;
  h.e_machine = machine;
  h.e_phentsize = sizeof(ElfW(Phdr));
  h.e_phnum = 1;
  h.e_phoff = sizeof h;
  ElfW(Phdr) p{};
  p.p_type = PT_NOTE;
  p.p_offset = sizeof h + sizeof p;
  p.p_filesz = notes.size();
  p.p_align = 4;
  std::string out(reinterpret_cast<char*>(&h), sizeof h);
  return out.append(reinterpret_cast<char*>(&p), sizeof p).append(notes);
}

std::string note(std::string_view name, uint32_t type, std::string_view value) {
  auto word = [](uint32_t v) { return std::string(reinterpret_cast<char*>(&v), 4); };
  auto pad = [](std::string s) { return s.append((4 - s.size() % 4) % 4, '\0'); };
  return word(uint32_t(name.size())) + word(uint32_t(value.size())) + word(type) +
         pad(std::string(name)) + pad(std::string(value));
}

}  // namespace

TEST_CASE("the running program is an application of its own build") {
  Result<net::ElfInfo> info = net::read_application(net::own_path(), net::own_build_id());
  REQUIRE(info);
  CHECK(info->tinderbox);
  CHECK(info->build_id == net::own_build_id());
  CHECK(info->build_id.size() == 40);
  CHECK(info->build_id.find_first_not_of("0123456789abcdef") == std::string::npos);
}

TEST_CASE("the code hash is stable and has 16 hex digits") {
  std::string hash = net::own_code_hash();
  CHECK(hash.size() == 16);
  CHECK(hash.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(hash == net::own_code_hash());
}

TEST_CASE("its code hash, said by a copy of this program", "[.code_hash]") {
  std::printf("code hash %s\n", net::own_code_hash().c_str());
}

TEST_CASE(
    "a stripped program has the same code hash: an image may have it beside a host that has not") {
  TempDir dir;
  const std::string copy = dir.path + "/stripped";
  REQUIRE(std::system(("strip -o " + copy + " " + net::own_path()).c_str()) == 0);
  FILE* said = popen((copy + " '[.code_hash]' 2>/dev/null").c_str(), "r");
  REQUIRE(said);
  std::string text(4096, 0);
  text.resize(fread(text.data(), 1, text.size(), said));
  CHECK(pclose(said) == 0);
  CHECK_THAT(text, Catch::Contains("code hash " + net::own_code_hash() + "\n"));
}

TEST_CASE("each file that is no application is refused by one clear line") {
  TempDir dir;
  std::string self = own_bytes();
  std::string gnu_id = note(std::string_view("GNU\0", 4), NT_GNU_BUILD_ID, "\x01\xab");
  std::string ours = note(std::string_view("tinderbox\0", 10), 1, "\1\0\0\0");
  uint16_t here = net::read_elf(net::own_path())->machine == "x86_64" ? EM_X86_64 : EM_AARCH64;
  uint16_t other = here == EM_X86_64 ? EM_AARCH64 : EM_X86_64;
  struct Case {
    std::string path, want;
  };
  std::vector<Case> cases = {
      {dir.path + "/none", "does not exist"},
      {dir.path, "is a directory, not a program"},
      {"/dev/null", "is not a regular file"},
      {dir.file("empty", ""), "is not an ELF program"},
      {dir.file("script", "#!/bin/sh\necho\n"), "is not an ELF program"},
      {dir.file("magic",
                "\x7f"
                "ELF"),
       "is not an ELF program: it is cut short"},
      {dir.file("half", self.substr(0, 8192)), "it is cut short"},
      {dir.file("other", tiny_elf(other, gnu_id + ours)), "this machine is"},
      {dir.file("foreign", tiny_elf(here, gnu_id)), "is not a tinderbox application"},
      {dir.file("noid", tiny_elf(here, ours)), "has no build id"},
  };
  for (auto& c : cases) {
    std::string error = elf_error(c.path);
    CAPTURE(c.path, error);
    CHECK(error.find(c.path) != std::string::npos);
    CHECK(error.find(c.want) != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
  }
  std::string good = dir.file("good", tiny_elf(here, gnu_id + ours));
  CHECK(elf_error(good).empty());
  CHECK(elf_error(good, "01ab").empty());
  CHECK(elf_error(good, "ffff").find("has build id 01ab, but ffff was asked for") !=
        std::string::npos);
}

TEST_CASE("hostile headers and notes are refused or ignored, never followed") {
  TempDir dir;
  std::string self = own_bytes().substr(0, 8192);
  uint32_t seed = 12345;
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = self;
    for (int flips = 0; flips < 8; ++flips) {
      seed = seed * 1664525 + 1013904223;
      bytes[4 + (seed >> 8) % 700] = char(seed >> 24);
    }
    std::string path = dir.path + "/fuzz";
    std::ofstream(path, std::ios::binary) << bytes;
    Result<net::ElfInfo> info = net::read_elf(path);
    if (info) CHECK(info->build_id.size() <= 2 << 20);
  }
  unlink((dir.path + "/fuzz").c_str());
  std::string wild = tiny_elf(EM_X86_64, note("GNU", NT_GNU_BUILD_ID, "x").substr(0, 14));
  CHECK(net::read_elf(dir.file("wild", wild))->build_id.empty());
}
