// One factory a kind of cluster manager. Private to core/backend.
#pragma once

#include <memory>

#include "conf/values/master_url.hpp"
#include "core/backend/backend.hpp"

namespace tinderbox::core {

std::unique_ptr<Backend> make_local_backend(const conf::LocalMaster& master, BackendPlace place);
std::unique_ptr<Backend> make_standalone_backend(const conf::StandaloneMaster& master,
                                                 BackendPlace place);
std::unique_ptr<Backend> make_kubernetes_backend(const conf::KubernetesMaster& master,
                                                 BackendPlace place);
std::unique_ptr<Backend> make_local_cluster_backend(const conf::LocalClusterMaster& master,
                                                    BackendPlace place);

}  // namespace tinderbox::core
