// An object that is being written.
#pragma once

#include <memory>

#include "net/files/s3_store.hpp"

namespace tinderbox::net {

/// Sent in parts of 16 MiB, of which one is in memory; what fits in one is sent at commit(). The
/// store shows the object only after commit(), whole; without it the parts are thrown away.
std::unique_ptr<WriteFile> begin_upload(S3Store& store, S3Object object);

/// Throws away the parts of an upload. No such upload is no error.
Result<bool> abort_upload(S3Store& store, const S3Object& object, const std::string& id);

}  // namespace tinderbox::net
