// Where the API server is and who we are to it, for each role.
#pragma once

#include <memory>
#include <string>

#include "conf/conf.hpp"
#include "conf/sources/kubeconfig.hpp"
#include "net/http/http_session.hpp"

namespace tinderbox::core::kubernetes {

/// As submit, and as a driver outside of the cluster: the kubeconfig's context or the pod's service
/// account, with the server of `master_url`. Errors: conf::Error.
/// Source: Spark 4.3 SparkKubernetesClientFactory.
conf::KubernetesAccess client_access(const conf::Conf& conf, const std::string& master_url,
                                     const std::string& prefix,
                                     const conf::Environment& environment,
                                     const conf::ReadText& read);
/// As the driver in a pod that submit made. Errors: conf::Error.
conf::KubernetesAccess driver_access(const conf::Conf& conf, const conf::Environment& environment,
                                     const conf::ReadText& read);

/// Opens connections as one client; keeps tokens that change. Thread: any.
class ApiCredentials {
 public:
  /// `version` tells one generation of credentials from the next.
  struct Session {
    std::unique_ptr<net::HttpSession> http;
    uint64_t version = 0;
  };

  ApiCredentials(conf::KubernetesAccess access, Duration connect_timeout, Duration answer_timeout);
  ~ApiCredentials();

  /// `answer_timeout` 0: as given above. Errors: what an exec plugin said.
  Result<Session> open(Duration answer_timeout = {});
  /// The Authorization header, empty: none. `version`: of the session; changes when the session
  /// must be opened anew, as a plugin gave another certificate. Errors: as open().
  Result<std::string> authorization(uint64_t& version);
  /// The server did not take what authorization() gave (status 401).
  void refused();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tinderbox::core::kubernetes
