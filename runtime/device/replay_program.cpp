#include "rtcg/runtime/device/replay_program.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/compile/header_scan.h"

namespace rtcg::runtime::detail {
namespace {

bool is_part_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool is_within = false;
  for (const char c : text) {
    if (!is_part_of_name(c)) {
      is_within = false;
      continue;
    }
    if (!is_within) {
      words.emplace_back();
    }
    is_within = true;
    words.back() += c;
  }
  return words;
}

bool has_word(const std::vector<std::string>& words, std::initializer_list<const char*> wanted) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
  });
}

std::string trimmed(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    const bool is_blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!is_blank || (!plain.empty() && plain.back() != ' ')) {
      plain += is_blank ? ' ' : c;
    }
  }
  if (!plain.empty() && plain.back() == ' ') {
    plain.pop_back();
  }
  return plain;
}

// `const float *restrict x`, also of an array: `float x[]`.
DeclaredInText declaration(std::string_view given) {
  std::string_view text = given;
  DeclaredInText declared;
  if (const std::size_t bracket = text.find('['); bracket != std::string_view::npos) {
    declared.is_pointer = true;
    text = text.substr(0, bracket);
  }
  std::size_t end = text.size();
  while (end > 0 && !is_part_of_name(text[end - 1])) {
    --end;
  }
  std::size_t begin = end;
  while (begin > 0 && is_part_of_name(text[begin - 1])) {
    --begin;
  }
  declared.name = std::string(text.substr(begin, end - begin));
  declared.type = trimmed(text.substr(0, begin));
  declared.is_pointer |= declared.type.find('*') != std::string::npos;
  const std::vector<std::string> words = words_of(declared.type);
  declared.is_local = has_word(words, {"local", "__local"});
  declared.is_image = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.rfind("image", 0) == 0 || word.rfind("rtcg_texture", 0) == 0 ||
           word.rfind("rtcg_surface", 0) == 0 || word.find("TextureObject") != std::string::npos ||
           word.find("SurfaceObject") != std::string::npos || word == "CUtexObject" ||
           word == "CUsurfObject";
  });
  return declared;
}

// The text between the parentheses that open at `open`, cut at the commas outside of others.
std::vector<std::string_view> parts_within(std::string_view text, std::size_t open) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = open + 1;
  for (std::size_t at = open; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_end = (c == ')' || c == ']' || c == '}' || c == '>') && --depth == 0;
    if (is_end || (c == ',' && depth == 1)) {
      parts.push_back(text.substr(begin, at - begin));
      begin = at + 1;
    }
    if (is_end) {
      return parts;
    }
    depth += c == '(' || c == '[' || c == '{' || c == '<' ? 1 : 0;
  }
  return {};
}

// Where `kernel(` stands as a name of its own, from `from` on.
std::size_t find_call(std::string_view text, std::string_view kernel, std::size_t from,
                      std::size_t& open) {
  for (std::size_t at = text.find(kernel, from); at != std::string_view::npos;
       at = text.find(kernel, at + 1)) {
    open = at + kernel.size();
    while (open < text.size() && std::isspace(static_cast<unsigned char>(text[open])) != 0) {
      ++open;
    }
    const bool begins = at == 0 || !is_part_of_name(text[at - 1]);
    if (begins && open < text.size() && text[open] == '(') {
      return at;
    }
  }
  return std::string_view::npos;
}

std::vector<DeclaredInText> device_parameters(std::string_view text, std::string_view kernel) {
  std::size_t open = 0;
  for (std::size_t at = find_call(text, kernel, 0, open); at != std::string_view::npos;
       at = find_call(text, kernel, at + 1, open)) {
    const std::size_t before = text.substr(0, at).find_last_of(";}");
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    if (!has_word(words_of(text.substr(begin, at - begin)), {"__global__", "kernel", "__kernel"})) {
      continue;
    }
    std::vector<DeclaredInText> parameters;
    for (const std::string_view part : parts_within(text, open)) {
      const std::string plain = trimmed(part);
      // a sampler of OpenCL is one argument with the image before it
      const bool is_sampler = !parameters.empty() && parameters.back().is_image &&
                              has_word(words_of(plain), {"sampler_t"});
      if (!plain.empty() && plain != "void" && !is_sampler) {
        parameters.push_back(declaration(plain));
      }
    }
    return parameters;
  }
  return {};
}

// `const float *restrict x = *(const float *restrict *)arguments[0];`
std::vector<DeclaredInText> host_parameters(std::string_view text, std::string_view kernel,
                                            std::size_t count) {
  std::vector<DeclaredInText> parameters(count);
  std::size_t open = 0;
  std::size_t body = std::string_view::npos;
  for (std::size_t at = find_call(text, kernel, 0, open); at != std::string_view::npos;
       at = find_call(text, kernel, at + 1, open)) {
    const std::size_t before = text.substr(0, at).find_last_of(";}");
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    if (has_word(words_of(text.substr(begin, at - begin)), {"RTCG_KERNEL"})) {
      body = open;
      break;
    }
  }
  if (body == std::string_view::npos) {
    return parameters;
  }
  const std::string_view rest = text.substr(body, text.find("RTCG_KERNEL", body) - body);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t use = rest.find(fmt::format("arguments[{}]", i));
    const std::size_t end = rest.substr(0, use).rfind('=');
    const std::size_t begin = rest.substr(0, end).find_last_of(";{}");
    const bool is_near = use != std::string_view::npos && end != std::string_view::npos &&
                         begin != std::string_view::npos &&
                         rest.substr(end, use - end).find(';') == std::string_view::npos;
    if (is_near) {
      parameters[i] = declaration(rest.substr(begin + 1, end - begin - 1));
    }
  }
  return parameters;
}

}  // namespace

std::vector<DeclaredInText> parameters_in_text(std::string_view text, std::string_view kernel,
                                               BackendKind kind, std::size_t count) {
  return kind == BackendKind::host ? host_parameters(text, kernel, count)
                                   : device_parameters(text, kernel);
}

ElementType element_type(const std::string& type) {
  static const std::map<std::string, ElementType> types = {
      {"float", {'f', 4}},    {"double", {'f', 8}},   {"char", {'i', 1}},
      {"short", {'i', 2}},    {"int", {'i', 4}},      {"long", {'i', 8}},
      {"uchar", {'u', 1}},    {"ushort", {'u', 2}},   {"uint", {'u', 4}},
      {"ulong", {'u', 8}},    {"half", {'u', 2}},     {"__half", {'u', 2}},
      {"int8_t", {'i', 1}},   {"int16_t", {'i', 2}},  {"int32_t", {'i', 4}},
      {"int64_t", {'i', 8}},  {"uint8_t", {'u', 1}},  {"uint16_t", {'u', 2}},
      {"uint32_t", {'u', 4}}, {"uint64_t", {'u', 8}}, {"longlong", {'i', 8}},
      {"size_t", {'u', 8}}};
  const std::vector<std::string> words = words_of(type);
  const bool is_unsigned = has_word(words, {"unsigned"});
  ElementType found = is_unsigned ? ElementType{'u', 4} : ElementType{};
  for (std::string word : words) {
    while (word.size() > 1 && std::isdigit(static_cast<unsigned char>(word.back())) != 0) {
      word.pop_back();  // of vectors: float4
    }
    const auto known = types.find(word);
    const bool is_longer = known != types.end() && (word != "int" || found.size_bytes <= 1);
    if (is_longer) {
      found = known->second;
      found.kind = is_unsigned && found.kind == 'i' ? 'u' : found.kind;
    }
  }
  return found;
}

ElementType element_type(TexelKind kind) {
  switch (kind) {
    case TexelKind::f32:
      return {'f', 4};
    case TexelKind::f16:
      return {'u', 2};
    case TexelKind::i32:
      return {'i', 4};
    case TexelKind::f64:
      return {'f', 8};
    case TexelKind::u8:
    case TexelKind::unorm8:
      break;
  }
  return {'u', 1};
}

std::size_t texel_bytes_of_all_levels(const ImageShape& shape) {
  std::size_t bytes = 0;
  for (int level = 0; level < shape.levels; ++level) {
    bytes += shape.level(level).size_bytes();
  }
  return bytes;
}

std::string c_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return quoted + "\"";
}

std::string shell_word(const std::string& word) {
  const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return is_part_of_name(c) || std::strchr("-+=./,:@%", c) != nullptr;
  });
  if (is_plain) {
    return word;
  }
  std::string quoted = "'";
  for (const char c : word) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    line += (line.empty() ? "" : " ") + shell_word(word);
  }
  return line;
}

std::string replay_head(const CapturedLaunch& launch, std::string_view before,
                        std::initializer_list<const char*> more_headers) {
  std::string text =
      fmt::format("/* A launch of kernel '{}' on {}.\n   README.md has the command lines. */\n",
                  launch.kernel, launch.place);
  text += before;
  for (const char* header : {"math.h", "stdio.h", "stdlib.h", "string.h"}) {
    text += fmt::format("#include <{}>\n", header);
  }
  text += '\n';
  for (const char* header : more_headers) {
    text += fmt::format("#include <{}>\n", header);
  }
  text += R"(
/* The elements of an .npy file. */
static unsigned char *read_array(const char *path, size_t bytes) {
  unsigned char head[12] = {0};
  void *elements = NULL;
  FILE *file = fopen(path, "rb");
  if (posix_memalign(&elements, 256, bytes + 1) != 0 || file == NULL || fread(head, 1, 10, file) != 10 ||
      fseek(file, 10 + head[8] + 256L * head[9], SEEK_SET) != 0 || fread(elements, 1, bytes, file) != bytes) {
    fprintf(stderr, "cannot read %zu bytes of '%s'\n", bytes, path);
    exit(2);
  }
  fclose(file);
  return (unsigned char *)elements;
}
)";
  if (!launch.has_ended) {
    return text;
  }
  return text + R"(
/* An element: floating point ('f'), signed ('i') or unsigned ('u'). */
static double number_at(const unsigned char *at, char kind, size_t bytes) {
  float f;
  double d;
  long long i = 0;
  if (kind == 'f' && bytes == 4) return memcpy(&f, at, 4), f;
  if (kind == 'f') return memcpy(&d, at, 8), d;
  memcpy(&i, at, bytes);
  if (kind == 'i' && bytes < 8 && i >> (8 * bytes - 1)) i -= 1LL << (8 * bytes);
  return kind == 'i' ? (double)i : (double)(unsigned long long)i;
}

/* Compares an array with that of a file. Numbers of floating point may differ by that part of the largest. */
static int is_equal(const char *name, const unsigned char *found, const char *path, size_t count, char kind,
                    size_t bytes, double tolerance) {
  unsigned char *const expected = read_array(path, count * bytes);
  size_t different = 0, first = 0;
  double largest = 0, gap = 0;
  for (size_t i = 0; i < count; ++i) {
    const double is = number_at(found + i * bytes, kind, bytes);
    const double was = number_at(expected + i * bytes, kind, bytes);
    if (isfinite(was) && fabs(was) > largest) largest = fabs(was);
    if (memcmp(found + i * bytes, expected + i * bytes, bytes) == 0 || (isnan(is) && isnan(was))) continue;
    if (different++ == 0) first = i;
    if (!isnan(gap) && !(fabs(is - was) <= gap)) gap = fabs(is - was);
  }
  if (different == 0) {
    printf("%s: %zu elements, equal\n", name, count);
  } else {
    printf("%s: %zu of %zu elements differ, the first is [%zu] = %.17g, captured %.17g; by at most %.3g, the largest is %.3g\n",
           name, different, count, first, number_at(found + first * bytes, kind, bytes),
           number_at(expected + first * bytes, kind, bytes), gap, largest);
  }
  free(expected);
  return different == 0 || (kind == 'f' && gap <= tolerance * largest);
}
)";
}

namespace {

template <class Number>
Number read_as(const std::vector<std::byte>& bytes) {
  Number number = {};
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

// The value in C, with its type; empty: not one of the types that are written so.
std::string literal(const CapturedArgument& argument) {
  const std::vector<std::string> words = words_of(argument.type);
  const bool is_struct = argument.type.empty() || argument.type.find('*') != std::string::npos;
  const ElementType type = element_type(argument.type);
  if (is_struct || type.size_bytes != argument.bytes.size() ||
      has_word(words, {"half", "__half"})) {
    return {};
  }
  if (type.kind == 'f' && type.size_bytes == 4) {
    const auto value = read_as<float>(argument.bytes);
    return std::isfinite(value) ? fmt::format("const float argument_{} = {:a}f; /* {} */",
                                              argument.name, value, value)
                                : std::string();
  }
  if (type.kind == 'f') {
    const auto value = read_as<double>(argument.bytes);
    return std::isfinite(value) ? fmt::format("const double argument_{} = {:a}; /* {} */",
                                              argument.name, value, value)
                                : std::string();
  }
  if (type.size_bytes == 4) {
    return type.kind == 'i' ? fmt::format("const int argument_{} = {};", argument.name,
                                          read_as<std::int32_t>(argument.bytes))
                            : fmt::format("const unsigned argument_{} = {}u;", argument.name,
                                          read_as<std::uint32_t>(argument.bytes));
  }
  if (type.size_bytes == 8 && read_as<std::int64_t>(argument.bytes) != INT64_MIN) {
    return type.kind == 'i' ? fmt::format("const long long argument_{} = {}LL;", argument.name,
                                          read_as<std::int64_t>(argument.bytes))
                            : fmt::format("const unsigned long long argument_{} = {}ULL;",
                                          argument.name, read_as<std::uint64_t>(argument.bytes));
  }
  return {};
}

bool is_array_of_bytes(const CapturedArgument& argument) {
  return !argument.access && !argument.is_pointer() && literal(argument).empty();
}

}  // namespace

std::string declare_value(const CapturedArgument& argument) {
  const std::string comment = argument.type.empty() ? "" : fmt::format(" /* {} */", argument.type);
  if (const std::string text = argument.pointers.empty() ? literal(argument) : std::string();
      !text.empty()) {
    return "  " + text + "\n";
  }
  std::string list;
  for (const std::byte byte : argument.bytes) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", std::to_integer<int>(byte));
  }
  return fmt::format("  unsigned char argument_{}[{}] __attribute__((aligned(16))) = {{{}}};{}\n",
                     argument.name, std::max<std::size_t>(argument.bytes.size(), 1),
                     list.empty() ? "0" : list, comment);
}

std::string declare_argument(const CapturedLaunch& launch, const CapturedArgument& argument,
                             std::string_view pointer_type) {
  const auto place = [&](const CapturedPointer& pointer) {
    return fmt::format("memory_{}{}", launch.memories[pointer.memory].name,
                       pointer.memory_bytes == 0 ? "" : fmt::format(" + {}", pointer.memory_bytes));
  };
  if (argument.is_pointer()) {
    return fmt::format("  {} argument_{} = {}; /* {} */\n", pointer_type, argument.name,
                       argument.pointers.empty() ? "0" : place(argument.pointers[0]),
                       argument.type);
  }
  std::string text = declare_value(argument);
  for (const CapturedPointer& pointer : argument.pointers) {
    text += fmt::format("  {{ {} at = {}; memcpy(argument_{} + {}, &at, sizeof(at)); }}\n",
                        pointer_type, place(pointer), argument.name, pointer.argument_bytes);
  }
  return text;
}

std::string address_of(const CapturedArgument& argument) {
  return fmt::format("{}argument_{}", is_array_of_bytes(argument) ? "" : "&", argument.name);
}

std::string replay_end(const CapturedLaunch& launch, const std::vector<std::string>& fetched) {
  if (!launch.has_ended) {
    return "  printf(\"the launch has ended; when it was captured it had not\\n\");\n"
           "  return 0;\n}\n";
  }
  std::string text = "  int agree = 1;\n";
  for (std::size_t i = 0; i < launch.memories.size(); ++i) {
    const CapturedMemory& memory = launch.memories[i];
    const bool is_single = memory.element.kind == 'f' && memory.element.size_bytes == 4;
    text +=
        fmt::format("  agree &= is_equal(\"{0}\", {1}, \"{0}{2}.npy\", {3}, '{4}', {5}, {6});\n",
                    memory.name, fetched[i], memory.is_changed ? ".after" : "",
                    memory.size_bytes / memory.element.size_bytes, memory.element.kind,
                    memory.element.size_bytes, is_single ? "1e-5" : "1e-12");
  }
  return text +
         "  printf(agree ? \"the results agree\\n\" : \"the results differ\\n\");\n"
         "  return agree ? 0 : 1;\n}\n";
}

std::vector<std::pair<std::string, std::string>> replay_headers(
    const CompileRequest& request, const std::vector<std::string>& system_dirs) {
  namespace fs = std::filesystem;
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [name, text] : request.options.headers) {
    files.emplace_back("include/" + name, text);
  }
  for (const HeaderScan::Header& header : scan_headers(request, system_dirs).headers) {
    if (header.is_system || header.path.empty()) {
      continue;
    }
    for (const std::string& dir : request.options.include_dirs) {
      std::error_code ignored;
      const fs::path inside = fs::proximate(header.path, dir, ignored);
      if (!inside.empty() && *inside.begin() != "..") {
        files.emplace_back("include/" + inside.string(), read_file(header.path).value_or(""));
        break;
      }
    }
  }
  return files;
}

}  // namespace rtcg::runtime::detail
