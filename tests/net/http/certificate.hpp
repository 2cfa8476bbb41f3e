// Certificates of 127.0.0.1 and localhost that sign themselves.
#pragma once

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <string>

namespace tinderbox::test {

/// A self-signed certificate for 127.0.0.1 and localhost.
struct Certificate {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  X509* x509 = X509_new();
  std::string file = "/tmp/tinderbox_test_ca." + std::to_string(getpid()) + "." +
                     std::to_string(++made()) + ".pem";
  static int& made() {
    static int n = 0;
    return n;
  }
  // Each has a name of its own: issuers are found by their names.
  Certificate() {
    const std::string subject = "test " + std::to_string(made());
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
    X509_set_pubkey(x509, key);
    X509_NAME* name = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(subject.c_str()), -1, -1, 0);
    X509_set_issuer_name(x509, name);
    X509V3_CTX context;
    X509V3_set_ctx(&context, x509, x509, nullptr, nullptr, 0);
    X509_EXTENSION* names =
        X509V3_EXT_conf_nid(nullptr, &context, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
    X509_add_ext(x509, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(x509, key, EVP_sha256());
    FILE* out = fopen(file.c_str(), "w");
    PEM_write_X509(out, x509);
    fclose(out);
  }
  std::string pem() const {
    return text([&](BIO* to) { PEM_write_bio_X509(to, x509); });
  }
  std::string key_pem() const {
    return text(
        [&](BIO* to) { PEM_write_bio_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr); });
  }
  ~Certificate() {
    unlink(file.c_str());
    X509_free(x509);
    EVP_PKEY_free(key);
  }

 private:
  template <class Write>
  static std::string text(Write write) {
    BIO* bio = BIO_new(BIO_s_mem());
    write(bio);
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio, &bytes);
    std::string all(bytes, static_cast<size_t>(size));
    BIO_free(bio);
    return all;
  }
};

}  // namespace tinderbox::test
