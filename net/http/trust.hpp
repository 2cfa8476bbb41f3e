// Whose certificates are believed, and what a failed connection is called.
#pragma once

#include <string>

namespace httplib {
class SSLClient;
}

namespace tinderbox::net {

/// A bundle of certificate authorities.
struct Trust {
  std::string pem;
  std::string name;  // for messages, with what can be done when it trusts somebody not
};

/// SSL_CERT_FILE, the system's bundle or the built-in one. A file that was asked for and cannot be
/// read is an empty bundle.
Trust usual_trust();

/// The client believes servers whose certificates these authorities signed, and no others; at least
/// TLS 1.2. Empty `pem`: it believes nobody.
void trust_only(httplib::SSLClient& client, const std::string& pem);

/// What an httplib::Error means to a person; `trust` names the bundle.
std::string failure_text(int httplib_error, const std::string& trust);

}  // namespace tinderbox::net
