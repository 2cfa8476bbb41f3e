// Where the files of a submission are for its driver pod, and which way each goes there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/deploy/kubernetes/objects/application.hpp"
#include "core/deploy/kubernetes/submission/plan.hpp"
#include "net/http/fetch.hpp"

namespace tinderbox::core::kubernetes {

/// Files of this machine go to the folder that spark.kubernetes.file.upload.path names, or else to
/// the pod itself; those of web servers and object stores the pod fetches.
/// Source: Spark 4.3 KubernetesUtils.uploadAndTransformFileUris.
class FilePlaces {
 public:
  FilePlaces(const conf::Conf& conf, const PlanWorld& world) : conf_(conf), world_(world) {}

  /// Sees to it that the pod has the file, and returns its path there. Errors: conf::Error.
  std::string place(const std::string& url, bool application);
  /// The same for a list such as spark.files: URLs as the driver is to read them.
  std::string place_list(const std::string& list);

  /// What the pod's init container is to bring.
  const std::vector<AppFile>& in_pod() const { return in_pod_; }
  const std::vector<StoredFile>& stored() const { return stored_; }
  const std::vector<Upload>& uploads() const { return uploads_; }

 private:
  AppFile described(const std::string& url, bool application);
  AppFile of_this_machine(const std::string& url, const std::string& path, bool application);
  AppFile in_store(const net::FetchSource& source) const;
  void send(const std::string& path, AppFile& file);
  void store(const std::string& path, const std::string& folder, AppFile& file);

  const conf::Conf& conf_;
  const PlanWorld& world_;
  std::vector<AppFile> in_pod_;
  std::vector<StoredFile> stored_;
  std::vector<Upload> uploads_;
  std::map<std::string, std::string> placed_;  // name in the pod → URL
};

}  // namespace tinderbox::core::kubernetes
