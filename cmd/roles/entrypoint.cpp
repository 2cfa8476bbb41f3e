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
#include "core/deploy/kubernetes/objects/config_map.hpp"
#include "net/log.hpp"
#include "net/process/elf.hpp"
#include "net/process/exec.hpp"

namespace tinderbox::cmd {
namespace {

namespace k8s = core::kubernetes;
using Words = std::vector<std::string>;

/// So long a driver waits for what submit creates after its pod.
constexpr auto kConfPatience = std::chrono::seconds(60);
constexpr auto kConfLook = std::chrono::milliseconds(100);

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

/// The config map by name, over the API server: the folder in which it is mounted follows a minute
/// later. Empty: it is not there, or may not be read.
nlohmann::json ask_for_map(k8s::ApiCredentials& credentials, const std::string& path) {
  uint64_t version = 0;
  const Result<std::string> authorization = credentials.authorization(version);
  Result<k8s::ApiCredentials::Session> session = credentials.open();
  if (!authorization || !session) return {};
  net::HttpCall call{"GET", path, {{"Accept", "application/json"}}, {}};
  if (!authorization->empty()) call.headers["Authorization"] = *authorization;
  const Result<net::HttpReply> reply = session->http->call(call);
  if (!reply || reply->status != 200) return {};
  const nlohmann::json map = nlohmann::json::parse(reply->body, nullptr, false);
  return map.is_object() ? map.value("data", nlohmann::json()) : nlohmann::json();
}

/// Writes the map's files where the mounted folder would have them; returns that folder.
std::string write_map(const nlohmann::json& data) {
  // Kept as long as the container is.
  std::string folder = variable("SPARK_LOCAL_DIRS");
  folder = folder.substr(0, folder.find(',')) + "/spark-conf";
  ::mkdir(folder.c_str(), 0700);
  for (const auto& [name, text] : data.items()) {
    std::ofstream file(folder + "/" + name, std::ios::binary);
    file << text.get<std::string>();
    if (!file.flush()) throw conf::Error("Cannot write '" + folder + "/" + name + "'");
  }
  return folder;
}

bool is_there(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

/// The properties file of the arguments, which may come a little after the pod.
void wait_for_properties(Words& args) {
  const auto at = std::find(args.begin(), args.end(), "--properties-file");
  const std::string map = variable(k8s::kConfMapVariable);
  if (at == args.end() || at + 1 == args.end() || map.empty() || is_there(*(at + 1))) return;
  const auto access = conf::pod_access(conf::environment_of(environ), conf::read_file);
  std::optional<k8s::ApiCredentials> credentials;
  if (access) credentials.emplace(*access, std::chrono::seconds(5), std::chrono::seconds(5));
  const std::string path = access ? k8s::api_path(access->name_space, "configmaps", map) : "";
  for (std::chrono::milliseconds waited{}; waited < kConfPatience; waited += kConfLook) {
    if (is_there(*(at + 1))) return;
    const nlohmann::json data = credentials ? ask_for_map(*credentials, path) : nlohmann::json();
    if (data.is_object()) {
      const std::string folder = write_map(data);
      ::setenv("SPARK_CONF_DIR", folder.c_str(), 1);
      *(at + 1) = folder + "/" + k8s::kPropertiesName;
      return;
    }
    std::this_thread::sleep_for(kConfLook);
  }
  throw conf::Error("The application's configuration (config map " + map +
                    ") did not come: its submitter was ended before it had created everything");
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
  wait_for_properties(given);
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
