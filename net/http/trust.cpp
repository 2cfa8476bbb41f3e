#include "net/http/trust.hpp"

#include <openssl/pem.h>
#include <openssl/x509.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "net/http/ca_certificates.hpp"
#include "net/http/httplib.hpp"
#include "net/http/url.hpp"
#include "net/mutex.hpp"

namespace tinderbox::net {

Trust usual_trust() {
  std::string chosen = either_case_variable("ssl_cert_file");
  std::vector<std::string> places = {"/etc/ssl/certs/ca-certificates.crt",
                                     "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"};
  if (!chosen.empty()) places = {chosen};
  const std::string advice = ": set SSL_CERT_FILE to a bundle that has its issuer";
  for (const std::string& place : places) {
    std::ifstream file(place, std::ios::binary);
    std::ostringstream text;
    if (file && text << file.rdbuf()) return {text.str(), "'" + place + "'" + advice};
  }
  // A file that was asked for but is not there must not silently become another one.
  if (!chosen.empty()) return {"", "'" + chosen + "' (SSL_CERT_FILE), which cannot be read"};
  return {std::string(built_in_ca_certificates()), "the built-in bundle" + advice};
}

namespace {

X509_STORE* parsed(const std::string& pem) {
  X509_STORE* store = X509_STORE_new();
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  while (X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr)) {
    X509_STORE_add_cert(store, certificate);
    X509_free(certificate);
  }
  BIO_free(bio);
  return store;
}

/// The store of the last bundle is kept: a system's takes 20 ms and more to parse, each time that a
/// connection is tried. The caller owns one reference.
X509_STORE* store_of(const std::string& pem) {
  struct Last {
    Mutex mutex;
    std::string pem GUARDED_BY(mutex);
    X509_STORE* store GUARDED_BY(mutex) = nullptr;
  };
  static Last last;
  const Lock lock(last.mutex);
  if (!last.store || pem != last.pem) {
    X509_STORE_free(last.store);
    last.store = parsed(pem);
    last.pem = pem;
  }
  X509_STORE_up_ref(last.store);
  return last.store;
}

}  // namespace

void trust_only(httplib::SSLClient& client, const std::string& pem) {
  client.set_ca_cert_store(store_of(pem));  // which owns it from now on
  // Without a place of its own the client adds OpenSSL's usual authorities to the store.
  client.set_ca_cert_path("", "/nonexistent");
  client.enable_server_certificate_verification(true);
  SSL_CTX_set_min_proto_version(client.ssl_context(), TLS1_2_VERSION);
}

std::string failure_text(int httplib_error, const std::string& trust) {
  using E = httplib::Error;
  const E error = static_cast<E>(httplib_error);
  switch (error) {
    case E::Connection:
      return "no connection";
    case E::ConnectionTimeout:
      return "no connection in time";
    case E::Read:
      return "the answer was cut short or too slow";
    case E::Write:
    case E::Canceled:  // the server took no more of a file
      return "the request could not be sent";
    case E::SSLConnection:
      return "no TLS connection";
    case E::SSLLoadingCerts:
    case E::SSLServerVerification:
      return "its certificate is not trusted by " + trust;
    default:
      return httplib::to_string(error);
  }
}

}  // namespace tinderbox::net
