#include "cmd/roles/entrypoint.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "cmd/process_conf.hpp"
#include "cmd/temporary_folder.hpp"
#include "conf/keys.hpp"
#include "conf/sources/environment.hpp"
#include "conf/submit/submit_options.hpp"
#include "core/deploy/kubernetes/access.hpp"
#include "core/deploy/kubernetes/api.hpp"
#include "core/deploy/kubernetes/objects/application.hpp"
#include "core/deploy/kubernetes/objects/driver_files.hpp"
#include "net/log.hpp"
#include "net/process/elf.hpp"
#include "net/process/exec.hpp"

namespace tinderbox::cmd {
namespace {

namespace k8s = core::kubernetes;
using Words = std::vector<std::string>;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The words of a line, with quotes and backslashes as in a shell.
Words split_words(const std::string& line) {
  Words words;
  std::string word;
  char quote = 0;
  bool begun = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      word += line[++i];
      begun = true;
    } else if (quote ? c == quote : c == '"' || c == '\'') {
      quote = quote ? 0 : c;
      begun = true;
    } else if (!quote && (c == ' ' || c == '\t' || c == '\n')) {
      if (begun) words.push_back(std::exchange(word, {}));
      begun = false;
    } else {
      word += c;
      begun = true;
    }
  }
  if (begun) words.push_back(word);
  return words;
}

bool can_write(const char* folder) { return ::access(folder, W_OK | X_OK) == 0; }

/// Images may be read-only: files of the application go where there is room for them.
void leave_read_only_folder() {
  if (can_write(".")) return;
  const std::string folders = variable("SPARK_LOCAL_DIRS");
  const std::string first = folders.substr(0, folders.find(','));
  if (!first.empty()) (void)::chdir(first.c_str());
  if (!can_write("/tmp") && !first.empty()) ::setenv("TMPDIR", first.c_str(), 0);
}

/// Over the API server, as this pod's service account.
class OwnObjects {
 public:
  OwnObjects() : access_(conf::pod_access(conf::environment_of(environ), conf::read_file)) {
    constexpr auto kPatience = std::chrono::seconds(5);
    if (access_) credentials_.emplace(*access_, kPatience, kPatience);
  }

  /// Null: it is not there, or may not be read.
  nlohmann::json get(const std::string& kind, const std::string& name) {
    if (!credentials_) return {};
    uint64_t version = 0;
    const Result<std::string> authorization = credentials_->authorization(version);
    Result<k8s::ApiCredentials::Session> session = credentials_->open();
    if (!authorization || !session) return {};
    const std::string path = k8s::api_path(access_->name_space, kind, name);
    net::HttpCall call{"GET", path, {{"Accept", "application/json"}}, {}};
    if (!authorization->empty()) call.headers["Authorization"] = *authorization;
    const Result<net::HttpReply> reply = session->http->call(call);
    if (!reply || reply->status != 200) return {};
    return nlohmann::json::parse(reply->body, nullptr, false);
  }

 private:
  const std::optional<conf::KubernetesAccess> access_;
  std::optional<k8s::ApiCredentials> credentials_;
};

/// Into a folder that is kept as long as the container is.
std::string keep(const std::string& name, const std::map<std::string, std::string>& files) {
  std::string folder = variable("SPARK_LOCAL_DIRS");
  folder = folder.substr(0, folder.find(',')) + "/" + name;
  ::mkdir(folder.c_str(), 0700);
  for (const auto& [file_name, text] : files) {
    std::ofstream file(folder + "/" + file_name, std::ios::binary);
    file << text;
    if (!file.flush()) throw conf::Error("Cannot write '" + folder + "/" + file_name + "'");
  }
  return folder;
}

Words wait_for_files(Words given) {
  OwnObjects objects;
  k8s::DriverFilesWorld world;
  world.environment = conf::environment_of(environ);
  world.read = conf::read_file;
  world.ask = [&](const std::string& kind, const std::string& name) {
    return objects.get(kind, name);
  };
  world.keep = keep;
  world.sleep = [](Duration time) { std::this_thread::sleep_for(time); };
  k8s::DriverFiles files = k8s::await_driver_files(std::move(given), world);
  if (!files.conf_dir.empty()) ::setenv("SPARK_CONF_DIR", files.conf_dir.c_str(), 1);
  return std::move(files.args);
}

int submit_words(const Words& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  return submit(pointers);
}

}  // namespace

std::optional<int> driver_of_pod(Args args) {
  const std::string address = variable("SPARK_DRIVER_BIND_ADDRESS");
  if (address.empty()) return std::nullopt;
  ::unsetenv("SPARK_DRIVER_BIND_ADDRESS");  // what this process becomes is no entrypoint
  leave_read_only_folder();
  Words given(args.begin(), args.end());
  if (given.empty()) {
    if (const std::string name = variable("SPARK_DRIVER_CLASS"); !name.empty())
      given = {"--class", name};
    given.emplace_back(conf::kInternalResource);
    for (const std::string& word : split_words(variable("SPARK_DRIVER_ARGS")))
      given.push_back(word);
  }
  given = wait_for_files(std::move(given));
  Words words = {"--conf",        "spark.driver.bindAddress=" + address,
                 "--conf",        "spark.executorEnv.SPARK_DRIVER_POD_IP=" + address,
                 "--deploy-mode", "client"};
  words.insert(words.end(), given.begin(), given.end());
  return submit_words(words);
}

std::optional<Words> executor_of_pod(Args args) {
  const std::string driver = variable("SPARK_DRIVER_URL");
  if (!args.empty() || driver.empty()) return std::nullopt;
  leave_read_only_folder();
  if (const std::string path = variable(k8s::kApplicationVariable); !path.empty()) {
    ::unsetenv(k8s::kApplicationVariable);
    exec_other("executor", path, {});
  }
  Words words = {"--driver-url",  driver,
                 "--executor-id", variable("SPARK_EXECUTOR_ID"),
                 "--cores",       variable("SPARK_EXECUTOR_CORES"),
                 "--app-id",      variable("SPARK_APPLICATION_ID"),
                 "--hostname",    variable("SPARK_EXECUTOR_POD_IP"),
                 "--podName",     variable("SPARK_EXECUTOR_POD_NAME"),
                 "--conf",        "spark.blockManager.port=" + std::to_string(k8s::kBlocksPort)};
  if (const std::string profile = variable("SPARK_RESOURCE_PROFILE_ID"); !profile.empty())
    words.insert(words.end(), {"--resourceProfileId", profile});
  return words;
}

}  // namespace tinderbox::cmd
