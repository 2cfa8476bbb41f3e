// What executors and drivers wrote to stdout and stderr, as pages of the worker: `/log` is text,
// `/logPage` HTML with links to earlier and later bytes.
#pragma once

#include <string>

#include "net/files/files.hpp"
#include "net/http/http_server.hpp"

namespace tinderbox::core {

/// Handlers for both paths. Parameters: appId and executorId, or driverId; logType (stdout or
/// stderr); offset and byteLength (bytes, at most 1 MiB), by default the last 100 KiB. Status 400
/// for anything else, 404 when there is no such file.
/// Thread: any. Source: Spark 4.3 worker.ui.LogPage.
net::HttpHandler log_text(net::Files& files, std::string work_dir);
net::HttpHandler log_page(net::Files& files, std::string work_dir);

}  // namespace tinderbox::core
