// Directories on a worker's disk: those of executors and drivers that have ended, and local ones.
#pragma once

#include <string>
#include <vector>

#include "core/deploy/worker/worker.hpp"
#include "net/files/files.hpp"

namespace tinderbox::core {

/// Removes what `e` describes. Blocks. Source: Spark 4.3 Worker, WorkDirCleanup.
WorkDirsCleaned clean_work_dirs(net::Files& files, const CleanWorkDirs& e, Time now);

}  // namespace tinderbox::core
