// Settings → what the driver does about tasks that fail and tasks that are slow.
#pragma once

#include "conf/conf.hpp"
#include "core/scheduler/options.hpp"

namespace tinderbox::core {

/// Errors: conf::Error for limits that would not work; in local mode, with its one executor, they
/// are not looked at.
ExclusionOptions exclusion_options(const conf::Conf& conf, bool is_local);

/// Off in local mode: a copy has no other host to run on.
SpeculationOptions speculation_options(const conf::Conf& conf, bool is_local);

}  // namespace tinderbox::core
