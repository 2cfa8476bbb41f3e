// Message variants ↔ packets. The templates live in codec.cpp; one instantiation a conversation.
#pragma once

#include "net/transport/endpoint.hpp"
#include "net/wire/messages.hpp"

namespace tinderbox::net {

/// Which variant a packet's tag indexes. Append only.
enum class Conversation : uint8_t {
  ToMaster = 1,
  ToWorker,
  ToApp,
  ToClient,
  ToDriver,
  ToExecutor,
  ToBlocks,
  FromBlocks,
};
template <class Variant>
Conversation conversation_of();

/// `message` is one of net/wire/messages.hpp's variants. Payload fields over 8 KiB, and some
/// smaller ones, travel as frames of their own and are not copied.
template <class Variant>
Packet encode(const Variant& message);
/// Errors: another conversation, an unknown tag, a body that is not such a message or breaks a
/// limit. Payload fields of the result share the packet's memory.
template <class Variant>
Result<Variant> decode(const Packet& packet);
/// A payload of a decoded message as one to keep: small ones are copied, as they would hold all of
/// the message's body, and share it with the others in it.
Payload to_keep(const Payload& decoded);

/// One message as msgpack alone (no frames), for files. Source of the recovery log.
template <class Variant>
Bytes encode_bytes(const Variant& message);
template <class Variant>
Result<Variant> decode_bytes(std::string_view bytes);

}  // namespace tinderbox::net
