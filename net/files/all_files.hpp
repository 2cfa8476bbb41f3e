// Files by the scheme of their path: of this machine, of object stores, of web servers.
#pragma once

#include <memory>

#include "net/files/files.hpp"
#include "net/files/s3_store.hpp"

namespace tinderbox::net {

/// A path without scheme is `disk`'s. `access` is asked once a bucket.
std::unique_ptr<Files> make_all_files(std::unique_ptr<Files> disk, S3AccessOf access,
                                      HttpPatience patience = {});

}  // namespace tinderbox::net
