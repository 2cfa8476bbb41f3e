#include "core/backend/application_file.hpp"

#include "net/process/elf.hpp"

namespace tinderbox::core {

std::string hand_out_application(const ProcessBlocks& blocks) {
  const std::string name = kApplicationFile;
  const std::string path = net::own_path();
  const Result<bool> given = blocks.manager->hand_out_file(
      {.name = name, .url = "file:" + path, .read_as = name, .path = path});
  if (!given)
    throw conf::Error("a file named '" + name +
                      "' cannot be shipped: executors get the application by that name (" +
                      given.error().message + ")");
  return "spark://" + blocks.id.address + "/files/" + name;
}

}  // namespace tinderbox::core
