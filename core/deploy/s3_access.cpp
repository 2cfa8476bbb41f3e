#include "core/deploy/s3_access.hpp"

#include <array>

#include "conf/keys.hpp"
#include "net/http/url.hpp"
#include "net/names.hpp"

namespace tinderbox::core {
namespace {

constexpr std::string_view kAllBuckets = "spark.hadoop.fs.s3a.";
constexpr std::array<std::string_view, 2> kEndpointVariables{"AWS_ENDPOINT_URL_S3",
                                                             "AWS_ENDPOINT_URL"};
constexpr std::array<std::string_view, 2> kRegionVariables{"AWS_REGION", "AWS_DEFAULT_REGION"};
constexpr std::string_view kAccessKeyVariable = "AWS_ACCESS_KEY_ID";
constexpr std::string_view kSecretKeyVariable = "AWS_SECRET_ACCESS_KEY";
constexpr std::string_view kSessionTokenVariable = "AWS_SESSION_TOKEN";

/// Keys of one bucket over those of all.
conf::Conf of_bucket(conf::Conf conf, const std::string& bucket) {
  for (const auto& [key, value] :
       conf.with_prefix(std::string(kAllBuckets) + "bucket." + bucket + "."))
    conf = conf.with(std::string(kAllBuckets) + key, value);
  return conf;
}

class Settings {
 public:
  Settings(const conf::Conf& conf, const conf::Environment& environment, const std::string& bucket)
      : conf_(of_bucket(conf, bucket)), environment_(environment), bucket_(bucket) {}

  net::S3Access access() const {
    net::S3Access a;
    if (const std::string e = value(conf::kS3Endpoint, kEndpointVariables); !e.empty())
      a.endpoint = endpoint(e);
    if (const std::string r = value(conf::kS3Region, kRegionVariables); !r.empty()) a.region = r;
    read_credentials(a);
    a.path_style = conf_.get(conf::kS3PathStyle).value_or(needs_path(a.endpoint));
    return a;
  }

 private:
  std::string variable(std::string_view name) const {
    const auto found = environment_.find(name);
    return found == environment_.end() ? "" : found->second;
  }
  std::string value(const conf::Key<std::optional<std::string>>& key,
                    const std::array<std::string_view, 2>& variables) const {
    std::string text = conf_.get(key).value_or("");
    for (const std::string_view name : variables)
      if (text.empty()) text = variable(name);
    return text;
  }

  std::string endpoint(const std::string& text) const {
    const bool whole = text.find("://") != std::string::npos;
    const std::string url =
        whole ? text : (conf_.get(conf::kS3Tls) ? "https://" : "http://") + text;
    const std::optional<net::Url> parsed = net::parse_url(url);
    if (!parsed || !parsed->scheme.starts_with("http") || parsed->target != "/")
      throw conf::Error(std::string(conf::kS3Endpoint.spec.name) + "=" + text +
                        ": it must be http(s)://host[:port] or host[:port]");
    return url;
  }

  /// The keys' pair or the environment's, never one half of each.
  void read_credentials(net::S3Access& a) const {
    a.access_key = conf_.get(conf::kS3AccessKey).value_or("");
    a.secret_key = conf_.get(conf::kS3SecretKey).value_or("");
    a.session_token = conf_.get(conf::kS3SessionToken).value_or("");
    if (a.access_key.empty() && a.secret_key.empty()) {
      a.access_key = variable(kAccessKeyVariable);
      a.secret_key = variable(kSecretKeyVariable);
      a.session_token = variable(kSessionTokenVariable);
    }
    if (a.access_key.empty() || a.secret_key.empty())
      throw conf::Error("s3a://" + bucket_ + ": no credentials: set " +
                        std::string(conf::kS3AccessKey.spec.name) + " and " +
                        std::string(conf::kS3SecretKey.spec.name) +
                        ", or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  }

  /// No name below an address exists, and no certificate is for names with more dots.
  bool needs_path(const std::string& endpoint) const {
    if (bucket_.find('.') != std::string::npos) return true;
    const std::optional<net::Url> url = net::parse_url(endpoint);
    return url && (net::is_address(url->host) || url->host == "localhost");
  }

  const conf::Conf conf_;
  const conf::Environment& environment_;
  const std::string& bucket_;
};

}  // namespace

net::S3Access s3_access(const conf::Conf& conf, const conf::Environment& environment,
                        const std::string& bucket) {
  return Settings(conf, environment, bucket).access();
}

std::map<std::string, std::string> s3_keys_of(const conf::Environment& environment,
                                              const conf::Conf& conf) {
  std::map<std::string, std::string> keys;
  // The first variable that is set, for a key that is not.
  const auto add = [&](const conf::Key<std::optional<std::string>>& key, const auto& variables) {
    if (conf.get(key)) return;
    for (const std::string_view name : variables)
      if (const auto found = environment.find(name);
          found != environment.end() && !found->second.empty())
        keys.emplace(key.spec.name, found->second);
  };
  add(conf::kS3Endpoint, kEndpointVariables);
  add(conf::kS3Region, kRegionVariables);
  if (conf.get(conf::kS3AccessKey) || conf.get(conf::kS3SecretKey)) return keys;
  add(conf::kS3AccessKey, std::array{kAccessKeyVariable});
  add(conf::kS3SecretKey, std::array{kSecretKeyVariable});
  add(conf::kS3SessionToken, std::array{kSessionTokenVariable});
  return keys;
}

}  // namespace tinderbox::core
