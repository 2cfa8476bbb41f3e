// ELF headers by hand: bounded reads, no library.
#include "net/process/elf.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <optional>

// The mark of a tinderbox application: an allocated note, kept in every program that links this
// object. R: it outlives --gc-sections. Name "tinderbox", type 1, value: the note's own version.
asm(R"(
  .pushsection .note.tinderbox, "aR", %note
  .balign 4
  .4byte 10, 4, 1
  .asciz "tinderbox"
  .balign 4
  .4byte 1
  .popsection
)");

namespace tinderbox::net {
namespace {

constexpr size_t kMaxHeaders = 1024;   // program headers
constexpr size_t kMaxNotes = 1 << 20;  // bytes of one note segment
constexpr uint32_t kTinderboxNote = 1;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

bool read_exactly(int fd, void* to, size_t n, uint64_t offset) {
  auto* out = static_cast<char*>(to);
  while (n > 0) {
    ssize_t got = ::pread(fd, out, n, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    offset += static_cast<uint64_t>(got);
    n -= static_cast<size_t>(got);
  }
  return true;
}

std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "i386";
    case EM_ARM:
      return "arm";
    case EM_RISCV:
      return "riscv64";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390x";
    default:
      return "machine " + std::to_string(machine);
  }
}

constexpr unsigned kOwnMachine =
#if defined(__x86_64__)
    EM_X86_64;
#elif defined(__aarch64__)
    EM_AARCH64;
#else
#error "add this machine's ELF number"
#endif

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (char c : bytes) {
    auto u = static_cast<unsigned char>(c);
    (out += kDigits[u >> 4]) += kDigits[u & 15];
  }
  return out;
}

/// Reads the notes of one segment into `info`; stops at the first malformed one.
void read_notes(std::string_view segment, size_t align, ElfInfo& info) {
  if (align != 8) align = 4;
  auto padded = [align](size_t n) { return (n + align - 1) / align * align; };
  while (segment.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, segment.data(), sizeof note);
    size_t value = padded(sizeof note + size_t{note.n_namesz});
    if (value > segment.size() || note.n_descsz > segment.size() - value) return;
    std::string_view name = segment.substr(sizeof note, note.n_namesz);
    if (name == std::string_view("GNU\0", 4) && note.n_type == NT_GNU_BUILD_ID)
      info.build_id = hex(segment.substr(value, note.n_descsz));
    if (name == std::string_view("tinderbox\0", 10) && note.n_type == kTinderboxNote)
      info.tinderbox = true;
    segment.remove_prefix(std::min(padded(value + note.n_descsz), segment.size()));
  }
}

std::string quoted(const std::string& path) { return "'" + path + "'"; }

std::string reason_of(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) return "file " + quoted(path) + " does not exist";
  return "file " + quoted(path) + " cannot be read: " + std::strerror(error);
}

/// The file's own header, checked. Errors: reason in words.
Result<ElfW(Ehdr)> read_header(int fd, const std::string& path) {
  ElfW(Ehdr) header{};
  std::string refused = "file " + quoted(path) + " is not an ELF program";
  if (!read_exactly(fd, &header, SELFMAG, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return Error{refused};
  if (!read_exactly(fd, &header, sizeof header, 0)) return Error{refused + ": it is cut short"};
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return Error{refused + " of 64 bits, little endian"};
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
    return Error{refused + " (an object file or a core dump)"};
  if (header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum == 0 ||
      header.e_phnum > kMaxHeaders)
    return Error{refused + " that can be loaded"};
  return header;
}

std::optional<std::vector<ElfW(Phdr)>> read_segments(int fd, const ElfW(Ehdr) & header) {
  std::vector<ElfW(Phdr)> segments(header.e_phnum);
  if (!read_exactly(fd, segments.data(), segments.size() * sizeof segments[0], header.e_phoff))
    return std::nullopt;
  return segments;
}

bool is_constant(const ElfW(Phdr) & s) { return s.p_type == PT_LOAD && !(s.p_flags & PF_W); }

/// The running program as it lies in memory.
struct Image {
  uintptr_t base = 0;
  const ElfW(Phdr) * segments = nullptr;
  size_t count = 0;
};

Image own_image() {
  Image image;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<Image*>(out) = {info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum};
        return 1;  // the first one is the program itself
      },
      &image);
  return image;
}

using Hash = std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)>;

/// Where what is hashed of a segment begins: the file's header says where its symbols are, which
/// `strip` takes away.
uint64_t after_header(const ElfW(Phdr) & s) {
  return s.p_offset < sizeof(ElfW(Ehdr))
             ? std::min<uint64_t>(sizeof(ElfW(Ehdr)) - s.p_offset, s.p_filesz)
             : 0;
}

bool hash_from_file(const Image& image, XXH3_state_t* hash) {
  Descriptor file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return false;
  auto buffer = std::make_unique<std::array<char, 256 << 10>>();
  for (size_t i = 0; i < image.count; ++i) {
    const ElfW(Phdr)& s = image.segments[i];
    if (!is_constant(s)) continue;
    for (uint64_t at = after_header(s); at < s.p_filesz;) {
      size_t n = std::min<uint64_t>(buffer->size(), s.p_filesz - at);
      if (!read_exactly(file.get(), buffer->data(), n, s.p_offset + at)) return false;
      XXH3_64bits_update(hash, buffer->data(), n);
      at += n;
    }
  }
  return true;
}

void hash_from_memory(const Image& image, XXH3_state_t* hash) {
  for (size_t i = 0; i < image.count; ++i) {
    const ElfW(Phdr)& s = image.segments[i];
    const uint64_t from = after_header(s);
    if (is_constant(s))
      XXH3_64bits_update(hash, reinterpret_cast<const void*>(image.base + s.p_vaddr + from),
                         s.p_filesz - from);
  }
}

std::string hash_own_code() {
  Image image = own_image();
  Hash hash(XXH3_createState(), XXH3_freeState);
  XXH3_64bits_reset(hash.get());
  if (!hash_from_file(image, hash.get())) {
    XXH3_64bits_reset(hash.get());
    hash_from_memory(image, hash.get());
  }
  XXH64_canonical_t bytes;
  XXH64_canonicalFromHash(&bytes, XXH3_64bits_digest(hash.get()));
  return hex({reinterpret_cast<const char*>(bytes.digest), sizeof bytes.digest});
}

/// A segment of notes may be described and not be there: tools that remove sections leave such.
bool in_memory(const Image& image, const ElfW(Phdr) & notes) {
  return std::any_of(image.segments, image.segments + image.count, [&](const ElfW(Phdr) & s) {
    return s.p_type == PT_LOAD && notes.p_vaddr >= s.p_vaddr &&
           notes.p_vaddr + notes.p_memsz <= s.p_vaddr + s.p_memsz;
  });
}

ElfInfo read_own_notes() {
  ElfInfo info{machine_name(kOwnMachine), {}, false};
  Image image = own_image();
  for (size_t i = 0; i < image.count; ++i) {
    const ElfW(Phdr)& s = image.segments[i];
    if (s.p_type == PT_NOTE && in_memory(image, s))
      read_notes({reinterpret_cast<const char*>(image.base + s.p_vaddr), s.p_memsz}, s.p_align,
                 info);
  }
  return info;
}

}  // namespace

Result<ElfInfo> read_elf(const std::string& path) {
  // Not blocking: the path may name a pipe that nobody writes to.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return Error{reason_of(path, errno)};
  struct stat stat {};
  if (::fstat(file.get(), &stat) != 0) return Error{reason_of(path, errno)};
  if (S_ISDIR(stat.st_mode)) return Error{quoted(path) + " is a directory, not a program"};
  if (!S_ISREG(stat.st_mode)) return Error{quoted(path) + " is not a regular file"};
  Result<ElfW(Ehdr)> header = read_header(file.get(), path);
  if (!header) return header.error();
  std::string cut = "file " + quoted(path) + " is not a whole ELF program: it is cut short";
  auto segments = read_segments(file.get(), *header);
  if (!segments) return Error{cut};
  ElfInfo info{machine_name(header->e_machine), {}, false};
  for (const ElfW(Phdr) & s : *segments) {
    if (s.p_type == PT_LOAD && s.p_filesz > static_cast<uint64_t>(stat.st_size) -
                                                std::min<uint64_t>(s.p_offset, stat.st_size))
      return Error{cut};
    if (s.p_type != PT_NOTE || s.p_filesz > kMaxNotes) continue;
    std::string notes(s.p_filesz, 0);
    if (!read_exactly(file.get(), notes.data(), notes.size(), s.p_offset)) return Error{cut};
    read_notes(notes, s.p_align, info);
  }
  return info;
}

Result<ElfInfo> read_application(const std::string& path, const std::string& build_id) {
  Result<ElfInfo> info = read_elf(path);
  if (!info) return info;
  std::string here = machine_name(kOwnMachine);
  if (info->machine != here)
    return Error{"program " + quoted(path) + " is for " + info->machine + ", this machine is " +
                 here + ": build it for " + here};
  if (!info->tinderbox)
    return Error{"program " + quoted(path) +
                 " is not a tinderbox application: link it with libtinderbox.a"};
  if (info->build_id.empty())
    return Error{"program " + quoted(path) +
                 " has no build id: link it with -Wl,--build-id (pkg-config --libs tinderbox)"};
  if (!build_id.empty() && info->build_id != build_id)
    return Error{"program " + quoted(path) + " has build id " + info->build_id + ", but " +
                 build_id + " was asked for: submit and run the same file"};
  return info;
}

const std::string& own_build_id() {
  static const std::string id = read_own_notes().build_id;
  return id;
}

const std::string& own_code_hash() {
  static const std::string hash = hash_own_code();
  return hash;
}

std::string own_path() {
  char path[PATH_MAX];
  ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  if (n > 0 && n < static_cast<ssize_t>(sizeof path)) return std::string(path, size_t(n));
  const char* hint = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  if (hint == nullptr || ::realpath(hint, path) == nullptr) return {};
  return path;
}

}  // namespace tinderbox::net
