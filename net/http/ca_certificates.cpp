// Debian's bundle, as the package ca-certificates of the building machine wrote it.
#include "net/http/ca_certificates.hpp"

#if __has_include("/etc/ssl/certs/ca-certificates.crt")
asm(R"(
  .pushsection .rodata
  .global tinderbox_ca_begin, tinderbox_ca_end
tinderbox_ca_begin:
  .incbin "/etc/ssl/certs/ca-certificates.crt"
tinderbox_ca_end:
  .popsection
)");
extern "C" const char tinderbox_ca_begin[], tinderbox_ca_end[];

std::string_view tinderbox::net::built_in_ca_certificates() {
  return {tinderbox_ca_begin, static_cast<size_t>(tinderbox_ca_end - tinderbox_ca_begin)};
}
#else
std::string_view tinderbox::net::built_in_ca_certificates() { return {}; }
#endif
