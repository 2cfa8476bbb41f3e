// Which sanitizer this is compiled with: GCC defines a macro, clang has a feature.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define TINDERBOX_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define TINDERBOX_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TINDERBOX_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define TINDERBOX_THREAD_SANITIZER
#endif
#endif
