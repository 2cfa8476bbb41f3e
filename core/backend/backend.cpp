#include "core/backend/backend.hpp"

#include "conf/values/master_url.hpp"
#include "core/backend/factories.hpp"

namespace tinderbox::core {

std::unique_ptr<Backend> make_backend(const std::string& master, BackendPlace place) {
  conf::MasterUrl url = conf::parse_master_url(master);
  auto missing = [&](const char* what) -> std::unique_ptr<Backend> {
    throw conf::Error("Could not run on master '" + master + "': this build has no " + what +
                      " backend; it has " + std::string(conf::kMasterForms));
  };
  return std::visit(
      overloaded{
          [&](const conf::LocalMaster& m) { return make_local_backend(m, std::move(place)); },
          [&](const conf::LocalClusterMaster& m) {
            return make_local_cluster_backend(m, std::move(place));
          },
          [&](const conf::StandaloneMaster& m) {
            return make_standalone_backend(m, std::move(place));
          },
          [&](const conf::KubernetesMaster& m) {
            return make_kubernetes_backend(m, std::move(place));
          },
          [&](const conf::YarnMaster&) { return missing("YARN"); },
      },
      url);
}

}  // namespace tinderbox::core
