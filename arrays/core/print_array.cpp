// Arrays as text, in NumPy's form.
#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include <fmt/format.h>

#include "rtcg/arrays/core/array.h"

namespace rtcg::arrays {
namespace {

constexpr std::int64_t most_elements = 1000;  // of arrays that are printed whole
constexpr std::int64_t edge_elements = 3;     // at each end of an axis that is shortened
constexpr std::size_t most_columns = 75;

std::string text_of(double value, bool is_single) {
  if (!std::isfinite(value)) {
    return std::isnan(value) ? "nan" : (value < 0 ? "-inf" : "inf");
  }
  // as many digits as it takes to read the number back
  std::string text =
      is_single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + "." : text;
}

/// The number of fewest digits that is read back as the same half.
template <class T>
double shortest(T value) {
  const auto exact = static_cast<double>(static_cast<float>(value));
  for (int digits = 1; digits < 6 && std::isfinite(exact); ++digits) {
    const double rounded = std::stod(fmt::format("{:.{}g}", exact, digits));
    if (T(static_cast<float>(rounded)).bits() == value.bits()) {
      return rounded;
    }
  }
  return exact;
}

template <class T>
std::string text_of_element(const std::byte* memory) {
  T value{};
  std::copy_n(memory, sizeof(T), reinterpret_cast<std::byte*>(&value));
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::to_string(static_cast<std::conditional_t<sizeof(T) == 1, int, T>>(value));
  } else if constexpr (std::is_same_v<T, double>) {
    return text_of(value, false);
  } else if constexpr (std::is_same_v<T, float>) {
    return text_of(static_cast<double>(value), true);
  } else if constexpr (std::is_convertible_v<T, float>) {
    return text_of(shortest(value), true);
  } else {
    constexpr bool is_single = sizeof(T) == 8;
    const std::string im = text_of(value.imag(), is_single);
    return fmt::format("{}{}{}j", text_of(value.real(), is_single), im[0] == '-' ? "" : "+", im);
  }
}

/// A number, or a short vector as `(1., 2.)`.
template <class T>
std::string text_of_elements(const std::byte* memory, int lanes) {
  if (lanes == 1) {
    return text_of_element<T>(memory);
  }
  std::string text;
  for (int lane = 0; lane < lanes; ++lane) {
    text += lane == 0 ? "(" : ", ";
    text += text_of_element<T>(memory + static_cast<std::size_t>(lane) * sizeof(T));
  }
  return text + ")";
}

class ArrayPrinter {
 public:
  explicit ArrayPrinter(const AnyArray& array)
      : array_(array), shortens_(array.count() > most_elements) {
    // only what is printed comes over
    AnyArray shown = array;
    if (shortens_) {
      shown = gather_edges(array);
    }
    shape_ = shown.shape();
    bytes_.resize(shown.size_bytes());
    shown.read_bytes(bytes_);
    with_element_type(array.dtype(), [&]<class T>(std::type_identity<T>) {
      for (std::size_t i = 0; i < bytes_.size(); i += size_bytes(array.dtype())) {
        texts_.push_back(text_of_elements<T>(bytes_.data() + i, lanes_of(array.dtype())));
        width_ = std::max(width_, texts_.back().size());
      }
    });
  }

  std::string print() {
    if (shape_.empty()) {
      return texts_[0];
    }
    std::string text;
    std::size_t next = 0;
    print_axis(0, next, text);
    return text;
  }

 private:
  [[nodiscard]] bool is_shortened(int axis) const {
    return shortens_ && array_.shape()[axis] > 2 * edge_elements;
  }

  /// A new array with the elements at both ends of each long axis.
  AnyArray gather_edges(const AnyArray& array) const {
    AnyArray result = array;
    for (int axis = 0; axis < array.axes(); ++axis) {
      const std::int64_t length = array.shape()[axis];
      if (length <= 2 * edge_elements) {
        continue;
      }
      const AnyArray source = result.move_axis(axis, 0);
      Extents shape = source.shape();
      shape[0] = 2 * edge_elements;
      const AnyArray edges(array.dtype(), shape, current_stream(array.stream()));
      edges(Slice{0, edge_elements}) = source(Slice{0, edge_elements});
      edges(Slice{edge_elements, {}}) = source(Slice{length - edge_elements, {}});
      result = edges.move_axis(0, axis);
    }
    return result;
  }

  void print_axis(int axis, std::size_t& next, std::string& text) {
    const bool is_last = axis + 1 == shape_.size();
    text += "[";
    for (std::int64_t i = 0; i < shape_[axis]; ++i) {
      if (i > 0) {
        text += is_last ? blank_or_break(axis, text) : line_break(axis);
      }
      if (i == edge_elements && is_shortened(axis)) {
        text += "..." + (is_last ? std::string(" ") : line_break(axis));
      }
      if (is_last) {
        text += fmt::format("{:>{}}", texts_[next++], width_);
      } else {
        print_axis(axis + 1, next, text);
      }
    }
    text += "]";
  }

  /// Between two elements of a row, which goes on in the next line where this one is full.
  [[nodiscard]] std::string blank_or_break(int axis, const std::string& text) const {
    const std::size_t line = text.size() - (text.rfind('\n') + 1);  // npos + 1 is 0
    return line + 1 + width_ < most_columns
               ? " "
               : "\n" + std::string(static_cast<std::size_t>(axis) + 1, ' ');
  }

  [[nodiscard]] std::string line_break(int axis) const {
    return std::string(static_cast<std::size_t>(shape_.size() - 1 - axis), '\n') +
           std::string(static_cast<std::size_t>(axis) + 1, ' ');
  }

  const AnyArray& array_;
  bool shortens_;
  Extents shape_;
  std::vector<std::byte> bytes_;
  std::vector<std::string> texts_;
  std::size_t width_ = 0;
};

}  // namespace

std::string to_string(const AnyArray& array) {
  return fmt::format("{} {} {}", name(array.dtype()), to_string(array.shape()),
                     ArrayPrinter(array).print());
}

std::ostream& operator<<(std::ostream& out, const AnyArray& array) {
  return out << to_string(array);
}

}  // namespace rtcg::arrays
