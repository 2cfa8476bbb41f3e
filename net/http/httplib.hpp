// cpp-httplib with the same settings in every file that includes it (they change its classes).
#pragma once

#define CPPHTTPLIB_OPENSSL_SUPPORT
#define CPPHTTPLIB_USE_POLL  // descriptors above 1023
#define CPPHTTPLIB_REQUEST_URI_MAX_LENGTH 4096
#define CPPHTTPLIB_HEADER_MAX_LENGTH 4096
#define CPPHTTPLIB_LISTEN_BACKLOG 128
#define CPPHTTPLIB_RECV_BUFSIZ size_t(64u << 10)

// OpenSSL starts by itself when it is first used. The library would start it in every process,
// which costs each role half a millisecond, most of it for OpenSSL's configuration.
#include <openssl/ssl.h>
#define OPENSSL_init_ssl(...) static_cast<void>(0)
// A session ticket before an answer, as servers send it with TLS 1.3: OpenSSL reads on by itself,
// up to the socket's timeout, unless it is told not to; the library would, and then sleep a
// millisecond.
#undef SSL_clear_mode
#define SSL_clear_mode(...) static_cast<void>(0)
#include <httplib.h>
#undef OPENSSL_init_ssl
#undef SSL_clear_mode
