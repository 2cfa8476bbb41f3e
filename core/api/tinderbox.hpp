// clang-format off
// Everything that an application needs; the only header it includes.
//
//     int run(tinderbox::Context& context, std::span<const std::string> args) {
//       auto counts = context.text_file(args[0])
//           .flat_map<std::string_view>([](std::string_view line, auto& emit) { tinderbox::words(line, emit); })
//           .map([](std::string_view word) { return std::pair(word, int64_t{1}); })
//           .reduce_by_key([](int64_t a, int64_t b) { return a + b; });
//       …
//     }
//     TINDERBOX_APPLICATION(my_count, "count words: IN", run);
// clang-format on
#pragma once

#include "conf/conf.hpp"
#include "core/api/context.hpp"
#include "core/api/input/text.hpp"
#include "core/api/operations/barrier.hpp"
#include "core/api/operations/pair_rdd.hpp"
#include "core/api/rdd.hpp"
#include "core/api/runtime/application.hpp"
#include "core/api/shared.hpp"
#include "core/resources/resource_profile.hpp"
#include "core/status/listener.hpp"
#include "core/status/status_tracker.hpp"

namespace tinderbox {

using core::ExecutorResourceRequests;
using core::ResourceProfile;
using core::ResourceProfileBuilder;
using core::StorageLevel;
using core::TaskContext;
using core::TaskResourceRequests;

}  // namespace tinderbox
