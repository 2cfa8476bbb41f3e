// Whose certificates are believed, and what a failed connection is called.
#pragma once

#include <string>

struct x509_store_st;

namespace tinderbox::net {

/// A bundle of certificate authorities.
struct Trust {
  std::string pem;
  std::string name;  // for messages, with what can be done when it trusts somebody not
};

/// SSL_CERT_FILE, the system's bundle or the built-in one. A file that was asked for and cannot be
/// read is an empty bundle.
Trust usual_trust();

/// The caller owns the store. Empty `pem`: a store that trusts nobody.
x509_store_st* certificate_store(const std::string& pem);

/// What an httplib::Error means to a person; `trust` names the bundle.
std::string failure_text(int httplib_error, const std::string& trust);

}  // namespace tinderbox::net
