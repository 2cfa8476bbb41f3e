// A client behind a proxy.
#pragma once

#include "net/http/httplib.hpp"
#include "net/http/url.hpp"
#include "net/types.hpp"

namespace tinderbox::net {

/// Errors: it is not spoken to in plain HTTP, which would show its password to whoever listens.
Result<bool> go_through(httplib::ClientImpl& client, const Url& proxy);

}  // namespace tinderbox::net
