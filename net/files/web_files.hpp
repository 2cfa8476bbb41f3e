// Files of web servers: http and https URLs, to be read.
#pragma once

#include <memory>

#include "net/files/files.hpp"
#include "net/http/http_pool.hpp"

namespace tinderbox::net {

/// A URL is one file, whatever it looks like; redirects are followed, never from https to http. A
/// server that gives no byte ranges is read front to back. Errors, one line without passwords and
/// queries.
std::unique_ptr<Files> make_web_files(std::shared_ptr<HttpPool> pool);

}  // namespace tinderbox::net
