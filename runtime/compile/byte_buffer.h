#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace rtcg::runtime {

/// Appends length-prefixed values to a string: no two sequences of values give the same bytes.
class ByteWriter {
 public:
  void number(std::uint64_t value) {
    char bytes[8];
    std::memcpy(bytes, &value, sizeof bytes);
    bytes_.append(bytes, sizeof bytes);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads them back. After anything that does not fit, `is_good` is false and all values are empty.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (!is_good_ || rest_.size() < sizeof value) {
      is_good_ = false;
      return 0;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view text() {
    const std::uint64_t length_bytes = number();
    if (!is_good_ || rest_.size() < length_bytes) {
      is_good_ = false;
      return {};
    }
    const std::string_view value = rest_.substr(0, length_bytes);
    rest_.remove_prefix(length_bytes);
    return value;
  }
  [[nodiscard]] bool is_good() const noexcept { return is_good_; }
  [[nodiscard]] bool is_at_end() const noexcept { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool is_good_ = true;
};

}  // namespace rtcg::runtime
