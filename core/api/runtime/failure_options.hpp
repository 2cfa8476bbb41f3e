// Settings → what the driver does about tasks that fail, are slow, or wait for each other.
#pragma once

#include "conf/conf.hpp"
#include "core/scheduler/options.hpp"

namespace tinderbox::core {

/// Errors: conf::Error for limits that would not work; in local mode, with its one executor, they
/// are not looked at.
ExclusionOptions exclusion_options(const conf::Conf& conf, bool is_local);

/// Off in local mode: a copy has no other host to run on.
SpeculationOptions speculation_options(const conf::Conf& conf, bool is_local);

/// Off in local mode: there is no other executor. Errors: conf::Error for limits that are not
/// positive.
MigrationOptions migration_options(const conf::Conf& conf, bool is_local);
ReplicationOptions replication_options(const conf::Conf& conf);
/// Errors: conf::Error for limits that would let no barrier stage run.
BarrierOptions barrier_options(const conf::Conf& conf);

}  // namespace tinderbox::core
