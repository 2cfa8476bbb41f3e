// Files and archives of an application (--files, --archives): handed out by the driver, fetched by
// executors into their working directories before they run tasks.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>

#include "conf/conf.hpp"
#include "core/storage/block_manager.hpp"
#include "net/http/fetch.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::core {

/// Makes the driver's local files readable at `address` (host:port of its block server) and returns
/// spark.files and spark.archives as executors are to see them; other URLs stay as they are.
/// Errors: conf::Error for what no executor could use: a file that is not there, a directory, an
/// unreadable file, one with the name of another one, an archive of no known kind, an unknown
/// scheme.
std::map<std::string, std::string> hand_out_app_files(const conf::Conf& conf, BlockManager& blocks,
                                                      const std::string& address);

/// One entry of either list: file:/a/b.txt#c → spark://address/files/b.txt#c. None: executors were
/// given it before. Errors: as above, but for the kind of an archive.
std::optional<std::string> hand_out_app_file(const std::string& entry, bool archive,
                                             const conf::Conf& conf, BlockManager& blocks,
                                             const std::string& address);

/// The same for executors of this process, who read the files where they are. Errors: as above.
std::map<std::string, std::string> check_app_files(const conf::Conf& conf, BlockManager& blocks);
/// False: they were given it before.
bool check_app_file(const std::string& entry, bool archive, const conf::Conf& conf,
                    BlockManager& blocks);

/// What spark.files and spark.archives name.
AddFiles app_files(const conf::Conf& conf);
/// How files are fetched: spark.files.fetchTimeout, spark.files.overwrite, and from drivers.
net::FetchOptions fetch_options(const conf::Conf& conf);
/// Fetches `what` into `directory`. Thread: any; blocks; looks at `cancelled` between two parts.
/// Errors: one line for the first that can't be had.
Result<bool> fetch_app_files(const AddFiles& what, const conf::Conf& conf,
                             const std::string& directory,
                             const std::atomic<bool>* cancelled = nullptr);

}  // namespace tinderbox::core
