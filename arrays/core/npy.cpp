#include "rtcg/arrays/core/npy.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <regex>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// `<f4` and its like; empty for what NumPy lacks.
std::string descriptor(DType dtype) {
  if (dtype == DType::bf16 || is_vector(dtype)) {
    return "";
  }
  const char kind = dtype == DType::boolean      ? 'b'
                    : is_signed_integer(dtype)   ? 'i'
                    : is_unsigned_integer(dtype) ? 'u'
                    : is_floating(dtype)         ? 'f'
                                                 : 'c';
  return fmt::format("{}{}{}", size_bytes(dtype) == 1 ? '|' : '<', kind, size_bytes(dtype));
}

std::string checked_descriptor(DType dtype) {
  const std::string type = descriptor(dtype);
  if (type.empty()) {
    throw InvalidInput("arrays.write_npy.bad_type",
                       fmt::format("NumPy has no {}: {}", name(dtype),
                                   is_vector(dtype) ? "write components() of the array"
                                                    : "convert the array to f32"));
  }
  return type;
}

[[noreturn]] void throw_bad_format(const std::string& what) {
  throw InvalidInput("arrays.read_npy.bad_format",
                     fmt::format("this .npy file cannot be read: {}", what));
}

void read_exactly(std::istream& input, void* memory, std::size_t bytes) {
  input.read(static_cast<char*>(memory), static_cast<std::streamsize>(bytes));
  if (static_cast<std::size_t>(input.gcount()) != bytes) {
    throw_bad_format(
        fmt::format("it is {} bytes too short", bytes - static_cast<std::size_t>(input.gcount())));
  }
}

struct Header {
  DType dtype = DType::f64;
  bool is_big_endian = false;
  Order order = Order::c;
  Extents shape{};
};

DType dtype_of_descriptor(const std::string& text) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string ours = descriptor(dtype);
    // the byte order precedes the kind; single bytes have several spellings of it
    const bool has_order = !text.empty() && std::string_view("<>|=").find(text[0]) < 4;
    if (!ours.empty() && has_order && text.substr(1) == ours.substr(1)) {
      return dtype;
    }
  }
  throw InvalidInput("arrays.read_npy.bad_type",
                     fmt::format("elements of type '{}' cannot be read: booleans, integers, real "
                                 "and complex numbers can",
                                 text));
}

/// Reverses the bytes of each number.
void swap_bytes(std::vector<std::byte>& values, std::size_t number_bytes) {
  for (auto at = values.begin(); at != values.end();
       at += static_cast<std::ptrdiff_t>(number_bytes)) {
    std::reverse(at, at + static_cast<std::ptrdiff_t>(number_bytes));
  }
}

std::string entry_of(const std::string& header, const std::string& key, const std::string& value) {
  const std::regex pattern("['\"]" + key + "['\"]\\s*:\\s*" + value);
  std::smatch found;
  if (!std::regex_search(header, found, pattern)) {
    throw_bad_format(fmt::format("its header has no '{}'", key));
  }
  return found[1];
}

Header parse_header(const std::string& text) {
  Header header;
  // a list describes the fields of structs
  const std::string type = entry_of(text, "descr", "['\"]?([^'\"]*|\\[.*\\])['\"]?\\s*,");
  header.dtype = dtype_of_descriptor(type);
  header.is_big_endian = type[0] == '>';
  header.order = entry_of(text, "fortran_order", "(True|False)") == "True" ? Order::f : Order::c;
  const std::string shape = entry_of(text, "shape", "\\(([0-9, ]*)\\)");
  const char* next = shape.data();
  const char* end = next + shape.size();
  while (next < end) {
    std::int64_t length = 0;
    const auto [after, error] = std::from_chars(next, end, length);
    if (error == std::errc()) {
      header.shape.push_back(length);
      next = after;
    } else if (error == std::errc::result_out_of_range) {
      throw_bad_format("a length is too large");
    } else {
      ++next;  // a comma or a blank
    }
  }
  return header;
}

Header read_header(std::istream& input) {
  unsigned char start[8] = {};
  read_exactly(input, start, sizeof start);
  if (!std::equal(magic.begin(), magic.end(), reinterpret_cast<const char*>(start))) {
    throw_bad_format("it does not begin with NumPy's magic bytes");
  }
  if (start[6] < 1 || start[6] > 3) {
    throw_bad_format(fmt::format("its version is {}", static_cast<int>(start[6])));
  }
  unsigned char length[4] = {};
  read_exactly(input, length, start[6] == 1 ? 2 : 4);
  const std::size_t bytes = length[0] + (std::size_t{length[1]} << 8) +
                            (std::size_t{length[2]} << 16) + (std::size_t{length[3]} << 24);
  constexpr std::size_t most_bytes = 1 << 20;  // a header has one line
  if (bytes > most_bytes) {
    throw_bad_format("its header is too long");
  }
  std::string text(bytes, ' ');
  read_exactly(input, text.data(), bytes);
  return parse_header(text);
}

}  // namespace

AnyArray read_npy(std::istream& input, runtime::StreamRef stream) {
  const Header header = read_header(input);
  const auto element = static_cast<std::int64_t>(size_bytes(header.dtype));
  std::int64_t left = 0;
  if (__builtin_mul_overflow(element_count(header.shape), element, &left)) {
    throw_bad_format(
        fmt::format("an array of shape {} has more bytes than any file", to_string(header.shape)));
  }
  // piece by piece, so that a length that is not true does not take memory
  std::vector<std::byte> values;
  while (left > 0) {
    const std::int64_t piece = std::min<std::int64_t>(left, 1 << 24);
    values.resize(values.size() + static_cast<std::size_t>(piece));
    read_exactly(input, values.data() + values.size() - piece, static_cast<std::size_t>(piece));
    left -= piece;
  }
  if (header.is_big_endian) {
    swap_bytes(values, size_bytes(real_of(header.dtype)));
  }
  Extents shape = header.shape;
  if (header.order == Order::f) {
    std::reverse(shape.begin(), shape.end());
  }
  AnyArray result(header.dtype, shape, stream);
  result.write_bytes(values);
  return header.order == Order::f ? result.transposed() : result;
}

AnyArray read_npy(const std::filesystem::path& file, runtime::StreamRef stream) {
  std::ifstream input(file, std::ios::binary);
  if (!input) {
    throw InvalidInput("arrays.read_npy.no_such_file",
                       fmt::format("file '{}' cannot be opened", file.string()));
  }
  try {
    return read_npy(input, stream);
  } catch (const InvalidInput& error) {
    throw InvalidInput(error.code(), fmt::format("'{}': {}", file.string(), error.message()));
  }
}

void write_npy(std::ostream& output, const AnyArray& array) {
  const std::string type = checked_descriptor(array.dtype());
  const bool is_turned = !array.layout().is_contiguous() && array.layout().is_contiguous(Order::f);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type,
                                   is_turned ? "True" : "False", to_string(array.shape()));
  // what comes before the elements is a multiple of 64 bytes and ends a line
  constexpr std::size_t prefix_bytes = 10;
  header.resize((header.size() + 1 + prefix_bytes + 63) / 64 * 64 - prefix_bytes, ' ');
  header.back() = '\n';
  const char start[] = {1, 0, static_cast<char>(header.size()),
                        static_cast<char>(header.size() >> 8)};
  std::vector<std::byte> values(array.size_bytes());
  (is_turned ? array.transposed() : array).read_bytes(values);
  output << magic;
  output.write(start, sizeof start);
  output << header;
  output.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size()));
  output.flush();
  if (!output) {
    throw DeviceError("arrays.write_npy.failed", "the file could not be written to its end",
                      "write", "badbit");
  }
}

void write_npy(const std::filesystem::path& file, const AnyArray& array) {
  static_cast<void>(checked_descriptor(array.dtype()));  // before an existing file is truncated
  std::ofstream output(file, std::ios::binary);
  if (!output) {
    throw DeviceError("arrays.write_npy.failed",
                      fmt::format("file '{}' cannot be written", file.string()), "open",
                      std::strerror(errno));
  }
  write_npy(output, array);
}

}  // namespace rtcg::arrays
