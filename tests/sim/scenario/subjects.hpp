// Subjects that only some runs have: each adds to a scenario what it needs.
#pragma once

#include "tests/sim/scenario/scenario.hpp"

namespace tinderbox::sim {

/// Nodes name profiles of tasks alone, or with dynamic allocation such as have executors of their
/// own. A stage of several takes the most of each.
void add_custom_resources(Scenario& s, Random& r);
/// Where one task runs at a time the work of a scenario is to end within its time too. Dynamic
/// allocation may leave one executor.
void bound_length(Scenario& s);
/// Two pools with more to do than there are slots, of which one has a minimum share. In half of
/// them nothing else keeps a task from any slot, so that the share alone decides.
void add_rivals(Scenario& s, Random& r);
/// The second pool has a minimum share too, or both have weights.
void add_shares(Scenario& s, Random& r);
/// Jobs that want the outputs of a shuffle and nothing else, beside others that may read them.
void add_map_stages(Scenario& s, Random& r);
/// A stage whose tasks meet, and one that reads it. Mostly it begins where a stage may; other
/// chains are refused. There are slots for all its tasks when all executors are there: as in Spark
/// it waits for ever if they go for good once the job runs.
void add_barrier(Scenario& s, Random& r);
/// Nodes that give something else each time, and readers of such a one, which read each other.
void add_unsteady(Scenario& s, Random& r);
/// Jobs without a group, jobs of a group that is cancelled for ever before they come, and shuffles
/// that the user has no more use for.
void add_orders(Scenario& s, Random& r);
/// Blocks of decommissioned executors move. More of them are, there are others who could take what
/// they hold, and disks of those are full for a while.
void add_migration(Scenario& s, Random& r);
/// How pods are made, and more of what happens to them.
void add_pods(Scenario& s, Random& r);
/// Processes that are far from each other: much happens while a question is on its way.
void add_distance(Scenario& s, Random& r);
/// One kind of fault, again and again, while tasks run long; outputs are lost of hosts that go.
void storm(Scenario& s, Random& r);

}  // namespace tinderbox::sim
