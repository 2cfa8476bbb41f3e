// The terminal that a person may sit at.
#pragma once

namespace tinderbox::net {

bool stderr_is_terminal();
/// COLUMNS, else what the terminal says, else 80. Unit: characters.
int terminal_width();

}  // namespace tinderbox::net
