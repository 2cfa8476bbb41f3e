#include "core/backend/application_file.hpp"

#include "net/process/elf.hpp"

namespace tinderbox::core {

std::string hand_out_application(const ProcessBlocks& blocks) {
  const std::string name = kApplicationFile;
  if (const auto other = blocks.manager->hand_out_file(name, net::own_path()))
    throw conf::Error("a file named '" + name +
                      "' cannot be shipped: executors get the application by that name (" +
                      other->message + ")");
  return "spark://" + blocks.id.address + "/files/" + name;
}

}  // namespace tinderbox::core
