// Files of object stores: s3a://bucket/key, and s3: as well.
#pragma once

#include <memory>

#include "net/files/files.hpp"
#include "net/files/s3_store.hpp"

namespace tinderbox::net {

/// A key that others begin with, and a slash, is a directory; nobody need make one. Errors, one
/// line: no credentials, no such bucket, refused (in the store's words), not reachable. Objects
/// cannot be renamed or added to.
std::unique_ptr<Files> make_s3_files(std::shared_ptr<HttpPool> pool, S3AccessOf access);

}  // namespace tinderbox::net
