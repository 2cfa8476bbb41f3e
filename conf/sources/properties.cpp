// The grammar of Java properties.
#include "conf/sources/properties.hpp"

#include <algorithm>

#include "conf/values/units.hpp"

namespace tinderbox::conf {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

std::string_view without_leading_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

/// Cuts the next natural line off `text`; CR, LF and CR LF end one.
std::string_view next_line(std::string_view& text) {
  const size_t end = text.find_first_of("\r\n");
  const std::string_view line = text.substr(0, end);
  if (end == std::string_view::npos)
    text = {};
  else
    text.remove_prefix(end + (text.substr(end, 2) == "\r\n" ? 2 : 1));
  return line;
}

/// True when an odd number of backslashes ends the line: the next one continues it.
bool continues(std::string_view line) {
  size_t count = 0;
  while (count < line.size() && line[line.size() - 1 - count] == '\\') ++count;
  return count % 2 == 1;
}

/// One logical line: comments and blank lines skipped, continuations joined.
bool next_logical_line(std::string_view& text, std::string& out) {
  out.clear();
  while (!text.empty()) {
    std::string_view line = without_leading_blanks(next_line(text));
    if (line.empty() || line[0] == '#' || line[0] == '!') continue;
    while (continues(line)) {
      out += line.substr(0, line.size() - 1);
      line = without_leading_blanks(next_line(text));
    }
    out += line;
    return true;
  }
  return false;
}

void append_utf8(std::string& out, uint32_t point) {
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | point >> 6);
    out += static_cast<char>(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | point >> 12);
    out += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (point & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | point >> 18);
    out += static_cast<char>(0x80 | (point >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (point & 0x3F));
  }
}

/// The four hexadecimal digits of a \uXXXX that stand at `at`.
uint32_t hex4(std::string_view text, size_t at) {
  uint32_t value = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const char c = i < text.size() ? text[i] : 'x';
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (!digit && !letter)
      throw Error("Malformed \\uxxxx encoding: \\u" + std::string(text.substr(at, 4)));
    value = value * 16 + static_cast<uint32_t>(digit ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return value;
}

/// Undoes the escapes; a pair of surrogates is one character.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      if (text[i] != '\\') out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'u') {
      uint32_t point = hex4(text, i + 1);
      i += 4;
      if (point >= 0xD800 && point < 0xDC00 && text.substr(i + 1, 2) == "\\u") {
        const uint32_t low = hex4(text, i + 3);
        if (low >= 0xDC00 && low < 0xE000) {
          point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
          i += 6;
        }
      }
      append_utf8(out, point);
    } else {
      out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 'f' ? '\f' : c;
    }
  }
  return out;
}

/// Where the key ends: at the first blank, `=` or `:` that no backslash hides.
size_t key_end(std::string_view line) {
  size_t i = 0;
  while (i < line.size() && !is_blank(line[i]) && line[i] != '=' && line[i] != ':')
    i += line[i] == '\\' ? 2 : 1;
  return std::min(i, line.size());
}

std::string escaped(std::string_view text, bool is_key) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool first = i == 0;
    if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\f')
      out += "\\f";
    else if (c == '\\')
      out += "\\\\";
    else if (is_key && (c == ' ' || c == '=' || c == ':'))
      (out += '\\') += c;
    else if (first && (c == ' ' || c == '#' || c == '!'))
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

}  // namespace

Pairs parse_properties(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Pairs pairs;
  std::string line;
  while (next_logical_line(text, line)) {
    const size_t end = key_end(line);
    std::string_view rest = without_leading_blanks(std::string_view(line).substr(end));
    if (!rest.empty() && (rest[0] == '=' || rest[0] == ':')) rest.remove_prefix(1);
    rest = without_leading_blanks(rest);
    const std::string value = unescaped(rest);
    pairs.emplace_back(unescaped(std::string_view(line).substr(0, end)),
                       trim_except_newlines(value));
  }
  return pairs;
}

std::string to_properties(const Pairs& pairs) {
  std::string text;
  for (const auto& [name, value] : pairs)
    text += escaped(name, true) + "=" + escaped(value, false) + "\n";
  return text;
}

}  // namespace tinderbox::conf
