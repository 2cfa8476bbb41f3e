// Messages ↔ packets: msgpack arrays of fields, by reflection. Decoding parses into a bounded list
// of tokens first, so that hostile bytes cost memory in proportion to what they are, never to what
// they claim.
#include "net/wire/codec.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <msgpack.hpp>

#include "net/wire/fields.hpp"

namespace tinderbox::net {
namespace {

/// Payloads in the body: tiny ones always. ZeroMQ copies frames under 8 KiB into batches of that
/// size, and sends and receives each batch with a call of its own, while a body goes out whole; so
/// those too, while it is far from what a listening socket takes as one frame.
constexpr size_t kTinyPayload = 512, kInlinePayload = 8192, kInlineBody = 256 << 10;
constexpr size_t kMaxTokens = 4u << 20;
/// An executor trusts its driver, whose answer about a million map outputs has more of them.
template <class Variant>
size_t most_tokens(size_t body) {
  return std::is_same_v<Variant, ToExecutor> ? std::max(kMaxTokens, body / 2) : kMaxTokens;
}
constexpr size_t kKeptTokens = 256u << 10;
constexpr int kMaxDepth = 32;
/// Memory for the items of lists and maps in one message: so much, and so many times the body's
/// size. An item may take one byte on the wire and hundreds here.
constexpr size_t kItemMemory = 32 << 20, kItemMemoryPerByte = 8;
constexpr size_t kMapNode = 48;

struct Buffer {
  Bytes bytes;
  void write(const char* p, size_t n) { bytes.append(p, n); }
};

// Ids and names travel as their bare value; every other aggregate may grow, so it is an array.
template <class T>
inline constexpr bool kIsBare = false;
template <class Tag, class V>
inline constexpr bool kIsBare<Id<Tag, V>> = true;
template <class Tag>
inline constexpr bool kIsBare<Name<Tag>> = true;

class Writer {
 public:
  explicit Writer(std::vector<Payload>* frames) : pack_(buffer_), frames_(frames) {}
  Bytes take() { return std::move(buffer_.bytes); }

  template <class T>
  void put(const T& v) {
    if constexpr (std::is_same_v<T, bool>)
      v ? pack_.pack_true() : pack_.pack_false();
    else if constexpr (std::is_enum_v<T>)
      pack_.pack(static_cast<int64_t>(v));
    else if constexpr (std::is_arithmetic_v<T>)
      pack_.pack(v);
    else if constexpr (std::is_same_v<T, std::string>)
      put_bytes(v);
    else if constexpr (std::is_same_v<T, Payload>)
      put_payload(v);
    else if constexpr (kIsOptional<T>)
      put_optional(v);
    else if constexpr (kIsVector<T>)
      put_vector(v);
    else if constexpr (kIsMap<T>)
      put_map(v);
    else
      put_struct(v);
  }

 private:
  void put_bytes(std::string_view v) {
    pack_.pack_bin(static_cast<uint32_t>(v.size()));
    pack_.pack_bin_body(v.data(), static_cast<uint32_t>(v.size()));
  }
  void put_payload(const Payload& p) {
    const size_t most = buffer_.bytes.size() < kInlineBody ? kInlinePayload : kTinyPayload;
    if (!frames_ || p.size() <= most) return put_bytes(p.view());
    pack_.pack(static_cast<uint64_t>(frames_->size()));
    frames_->push_back(p);
  }
  template <class Optional>
  void put_optional(const Optional& v) {
    if (v)
      put(*v);
    else
      pack_.pack_nil();
  }
  template <class T>
  void put_vector(const std::vector<T>& v) {
    pack_.pack_array(static_cast<uint32_t>(v.size()));
    for (const T& x : v) put(x);
  }
  template <class K, class V>
  void put_map(const std::map<K, V>& m) {
    pack_.pack_array(static_cast<uint32_t>(2 * m.size()));
    for (const auto& [k, v] : m) put(k), put(v);
  }
  template <class T>
  void put_struct(const T& v) {
    if constexpr (kIsBare<T>) {
      with_fields(v, [&](const auto& f) { put(f); });
    } else {
      uint32_t left = told_fields(v);
      pack_.pack_array(left);
      with_fields(v, [&](const auto&... f) { ((left > 0 ? (--left, put(f)) : void()), ...); });
    }
  }
  /// All but the last ones that have their defaults: most fields of most messages.
  template <class T>
  static uint32_t told_fields(const T& v) {
    static const T defaults{};
    uint32_t told = 0, n = 0;
    with_fields(v, [&](const auto&... f) {
      with_fields(defaults, [&](const auto&... d) { ((++n, told = f == d ? told : n), ...); });
    });
    return told;
  }

  Buffer buffer_;
  msgpack::packer<Buffer> pack_;
  std::vector<Payload>* frames_;
};

struct Token {
  enum Kind : uint8_t { Nil, Bool, Unsigned, Negative, Real, Text, Array } kind;
  uint32_t size = 0;  // Text: bytes; Array: items
  union {
    uint64_t u;
    int64_t i;
    double d;
    const char* p;
  };
};

/// Collects tokens; stops the parse where a limit is broken.
struct Tokens : msgpack::null_visitor {
  std::vector<Token> all;
  size_t most = kMaxTokens;
  int depth = 0;
  size_t budget = 0;  // items that the rest of the bytes could still hold

  bool add(Token t) {
    if (all.size() >= most) return false;
    all.push_back(t);
    return true;
  }
  bool visit_nil() { return add({Token::Nil, 0, {0}}); }
  bool visit_boolean(bool v) { return add({Token::Bool, 0, {v ? 1u : 0u}}); }
  bool visit_positive_integer(uint64_t v) { return add({Token::Unsigned, 0, {v}}); }
  bool visit_negative_integer(int64_t v) {
    Token t{Token::Negative, 0, {0}};
    t.i = v;
    return add(t);
  }
  bool real(double v) {
    Token t{Token::Real, 0, {0}};
    t.d = v;
    return add(t);
  }
  bool visit_float32(float v) { return real(v); }
  bool visit_float64(double v) { return real(v); }
  bool text(const char* p, uint32_t n) {
    Token t{Token::Text, n, {0}};
    t.p = p;
    return add(t);
  }
  bool visit_str(const char* p, uint32_t n) { return text(p, n); }
  bool visit_bin(const char* p, uint32_t n) { return text(p, n); }
  bool visit_ext(const char*, uint32_t) { return false; }
  bool start_map(uint32_t) { return false; }
  bool start_array(uint32_t n) {
    if (n > budget || ++depth > kMaxDepth) return false;
    return add({Token::Array, n, {0}});
  }
  bool end_array() {
    --depth;
    return true;
  }
  void parse_error(size_t, size_t) {}
  void insufficient_bytes(size_t, size_t) {}
};

class Reader {
 public:
  Reader(const std::vector<Token>& tokens, const Payload& body, const std::vector<Payload>& frames)
      : at_(tokens.data()),
        end_(at_ + tokens.size()),
        body_(body),
        frames_(frames),
        memory_(kItemMemory + kItemMemoryPerByte * body.size()) {}

  template <class T>
  bool get(T& v) {
    if (at_ == end_) return false;
    if constexpr (std::is_same_v<T, bool>)
      return at_->kind == Token::Bool && (v = (at_++)->u, true);
    else if constexpr (std::is_enum_v<T>)
      return get_enum(v);
    else if constexpr (std::is_floating_point_v<T>)
      return get_real(v);
    else if constexpr (std::is_arithmetic_v<T>)
      return get_integer(v);
    else if constexpr (std::is_same_v<T, std::string>)
      return get_text(v);
    else if constexpr (std::is_same_v<T, Payload>)
      return get_payload(v);
    else if constexpr (kIsOptional<T>)
      return get_optional(v);
    else if constexpr (kIsVector<T>)
      return get_vector(v);
    else if constexpr (kIsMap<T>)
      return get_map(v);
    else
      return get_struct(v);
  }
  bool at_end() const { return at_ == end_; }

 private:
  template <class T>
  bool get_enum(T& v) {
    uint8_t raw;
    if (!get_integer(raw) || raw > static_cast<uint8_t>(last_value(v))) return false;
    v = static_cast<T>(raw);
    return true;
  }
  template <class T>
  bool get_integer(T& v) {
    const Token& t = *at_++;
    if (t.kind == Token::Unsigned && t.u <= static_cast<uint64_t>(std::numeric_limits<T>::max()))
      return v = static_cast<T>(t.u), true;
    if (t.kind == Token::Negative && std::is_signed_v<T> &&
        t.i >= static_cast<int64_t>(std::numeric_limits<T>::min()))
      return v = static_cast<T>(t.i), true;
    return false;
  }
  bool get_real(double& v) {
    const Token& t = *at_++;
    return t.kind == Token::Real && (v = t.d, true);
  }
  bool get_text(std::string& v) {
    const Token& t = *at_++;
    return t.kind == Token::Text && (v.assign(t.p, t.size), true);
  }
  bool get_payload(Payload& v) {
    const Token& t = *at_++;
    if (t.kind == Token::Text) {
      if (!owner_ && t.size > 0) owner_ = std::make_shared<const Payload>(body_);
      v = t.size == 0 ? Payload() : Payload(owner_, std::string_view(t.p, t.size));
      return true;
    }
    if (t.kind != Token::Unsigned || t.u >= frames_.size()) return false;
    v = frames_[t.u];
    return true;
  }
  template <class Optional>
  bool get_optional(Optional& v) {
    if (at_->kind == Token::Nil) return ++at_, v.reset(), true;
    if (kIsOnHeap<Optional> && !take(1, sizeof(*v))) return false;
    return get(v.emplace());
  }
  template <class T>
  bool get_vector(std::vector<T>& v) {
    const Token& t = *at_++;
    if (t.kind != Token::Array || t.size > size_t(end_ - at_) || !take(t.size, sizeof(T)))
      return false;
    v.resize(t.size);
    for (T& x : v)
      if (!get(x)) return false;
    return true;
  }
  template <class K, class V>
  bool get_map(std::map<K, V>& m) {
    const Token& t = *at_++;
    if (t.kind != Token::Array || t.size % 2 != 0) return false;
    if (!take(t.size / 2, sizeof(std::pair<K, V>) + kMapNode)) return false;
    for (uint32_t i = 0; i < t.size; i += 2) {
      K key{};
      if (!get(key) || !get(m[key])) return false;
    }
    return true;
  }
  /// Fewer fields than ours: the rest keep their defaults. More: the sender is newer, skip them.
  template <class T>
  bool get_struct(T& v) {
    if constexpr (kIsBare<T>) {
      return with_fields(v, [&](auto& f) { return get(f); });
    } else {
      const Token& t = *at_++;
      if (t.kind != Token::Array) return false;
      uint32_t left = t.size;
      auto one = [&](auto& f) { return left == 0 || (--left, get(f)); };
      bool ok = with_fields(v, [&](auto&... f) { return (one(f) && ...); });
      while (ok && left-- > 0) ok = skip();
      return ok;
    }
  }
  bool take(size_t items, size_t bytes) {
    if (items > memory_ / bytes) return false;
    memory_ -= items * bytes;
    return true;
  }
  bool skip() {
    for (uint64_t n = 1; n > 0; --n) {
      if (at_ == end_) return false;
      if (at_->kind == Token::Array) n += at_->size;
      ++at_;
    }
    return true;
  }

  const Token* at_;
  const Token* end_;
  const Payload& body_;
  std::shared_ptr<const Payload> owner_;  // of the body, for all that lies in it
  const std::vector<Payload>& frames_;
  size_t memory_;
};

/// The tokens of the message in hand: a buffer that the thread reuses.
Tokens& token_buffer() {
  static thread_local Tokens tokens;
  return tokens;
}

/// A message of many items leaves nothing behind.
void release_large_buffer() {
  std::vector<Token>& all = token_buffer().all;
  if (all.capacity() > kKeptTokens) std::vector<Token>().swap(all);
}

/// At most `most` tokens of `body`, valid until the next call. Null: not one whole, bounded value.
const std::vector<Token>* parse(std::string_view body, size_t most) {
  Tokens& tokens = token_buffer();
  tokens.all.clear();
  // All at once: only what is used gets memory, and glibc gives a block of this size back when it
  // is freed, while it would keep the steps of a growing one.
  if (body.size() > kKeptTokens) tokens.all.reserve(kMaxTokens);
  tokens.most = most;
  tokens.depth = 0;
  tokens.budget = body.size();
  size_t offset = 0;
  bool ok = msgpack::v2::parse(body.data(), body.size(), offset, tokens);
  return ok && offset == body.size() ? &tokens.all : nullptr;
}

template <class Variant, size_t I = 0>
bool emplace_and_get(size_t tag, Variant& out, Reader& in) {
  if constexpr (I < std::variant_size_v<Variant>) {
    if (tag == I) return in.get(out.template emplace<I>());
    return emplace_and_get<Variant, I + 1>(tag, out, in);
  } else {
    return false;
  }
}

template <class Variant>
Result<Variant> decode_tokens(size_t tag, const Payload& body, const std::vector<Payload>& frames) {
  if (tag >= std::variant_size_v<Variant>)
    return Error{"unknown message tag " + std::to_string(tag)};
  const std::vector<Token>* tokens = parse(body.view(), most_tokens<Variant>(body.size()));
  if (!tokens) return Error{"message " + std::to_string(tag) + ": not valid msgpack within limits"};
  Reader in(*tokens, body, frames);
  Variant out;
  if (!emplace_and_get(tag, out, in) || !in.at_end())
    return Error{"message " + std::to_string(tag) + ": a field whose type or value is not valid"};
  return out;
}

template <class Variant>
Result<Variant> decode_body(size_t tag, const Payload& body, const std::vector<Payload>& frames) {
  Result<Variant> message = decode_tokens<Variant>(tag, body, frames);
  release_large_buffer();
  return message;
}

}  // namespace

template <>
Conversation conversation_of<ToMaster>() {
  return Conversation::ToMaster;
}
template <>
Conversation conversation_of<ToWorker>() {
  return Conversation::ToWorker;
}
template <>
Conversation conversation_of<ToApp>() {
  return Conversation::ToApp;
}
template <>
Conversation conversation_of<ToClient>() {
  return Conversation::ToClient;
}
template <>
Conversation conversation_of<ToDriver>() {
  return Conversation::ToDriver;
}
template <>
Conversation conversation_of<ToExecutor>() {
  return Conversation::ToExecutor;
}
template <>
Conversation conversation_of<ToBlocks>() {
  return Conversation::ToBlocks;
}
template <>
Conversation conversation_of<FromBlocks>() {
  return Conversation::FromBlocks;
}

template <class Variant>
Packet encode(const Variant& message) {
  Packet packet;
  packet.conversation = static_cast<uint8_t>(conversation_of<Variant>());
  packet.tag = static_cast<uint16_t>(message.index());
  Writer out(&packet.frames);
  std::visit([&](const auto& m) { out.put(m); }, message);
  packet.body = Payload(out.take());
  return packet;
}

template <class Variant>
Result<Variant> decode(const Packet& packet) {
  if (packet.conversation != static_cast<uint8_t>(conversation_of<Variant>()))
    return Error{"a message of conversation " + std::to_string(packet.conversation) +
                 " came to a socket that does not speak it"};
  return decode_body<Variant>(packet.tag, packet.body, packet.frames);
}

Payload to_keep(const Payload& decoded) {
  return decoded.size() <= kInlinePayload ? Payload(Bytes(decoded.view())) : decoded;
}

template <class Variant>
Bytes encode_bytes(const Variant& message) {
  Writer out(nullptr);
  out.put(static_cast<uint64_t>(message.index()));
  Bytes tag = out.take();
  Writer body(nullptr);
  std::visit([&](const auto& m) { body.put(m); }, message);
  return tag + body.take();
}

template <class Variant>
Result<Variant> decode_bytes(std::string_view bytes) {
  if (bytes.empty() || static_cast<uint8_t>(bytes[0]) > 0x7f) return Error{"record without a tag"};
  return decode_body<Variant>(static_cast<uint8_t>(bytes[0]), Payload(Bytes(bytes.substr(1))), {});
}

#define TINDERBOX_CODEC(V)                     \
  template Packet encode<V>(const V&);         \
  template Result<V> decode<V>(const Packet&); \
  template Bytes encode_bytes<V>(const V&);    \
  template Result<V> decode_bytes<V>(std::string_view);
TINDERBOX_CODEC(ToMaster)
TINDERBOX_CODEC(ToWorker)
TINDERBOX_CODEC(ToApp)
TINDERBOX_CODEC(ToClient)
TINDERBOX_CODEC(ToDriver)
TINDERBOX_CODEC(ToExecutor)
TINDERBOX_CODEC(ToBlocks)
TINDERBOX_CODEC(FromBlocks)
template Bytes encode_bytes<PersistedRecord>(const PersistedRecord&);
template Result<PersistedRecord> decode_bytes<PersistedRecord>(std::string_view);

}  // namespace tinderbox::net
