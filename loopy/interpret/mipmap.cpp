#include "rtcg/loopy/interpret/mipmap.h"

#include <algorithm>

namespace rtcg::loopy {
namespace {

/// Adds in the type of the elements, as devices that make levels do.
double sum_of(cgen::ScalarKind kind, double left, double right) {
  return kind == cgen::ScalarKind::f32
             ? static_cast<double>(static_cast<float>(left) + static_cast<float>(right))
             : left + right;
}

MipmapLevel next_level(const MipmapLevel& before) {
  MipmapLevel level;
  level.data.kind = before.data.kind;
  level.data.numbers_an_element = before.data.numbers_an_element;
  const auto numbers = static_cast<std::size_t>(before.data.numbers_an_element);
  std::size_t count = 1;
  for (const std::int64_t length : before.shape) {
    level.shape.push_back(std::max<std::int64_t>(length / 2, 1));
    count *= static_cast<std::size_t>(level.shape.back());
  }
  const std::size_t before_count = before.data.count() / numbers;
  level.data.bytes.resize(before_count == 0 ? 0 : before.data.bytes.size() / before_count * count);
  std::vector<std::int64_t> at(level.shape.size(), 0);
  for (std::size_t element = 0; element < count && before_count != 0; ++element) {
    for (std::size_t number = 0; number < numbers; ++number) {
      double sum = 0;
      int terms = 0;
      for (int corner = 0; corner < 1 << at.size(); ++corner) {
        std::size_t place = 0;
        bool is_there = true;
        for (std::size_t axis = 0; axis < at.size(); ++axis) {
          const int step = corner >> (at.size() - 1 - axis) & 1;
          const std::int64_t index = (before.shape[axis] > 1 ? 2 * at[axis] : 0) + step;
          is_there = is_there && index < before.shape[axis];
          place = place * static_cast<std::size_t>(before.shape[axis]) +
                  static_cast<std::size_t>(index);
        }
        if (is_there) {
          sum = sum_of(before.data.kind, sum, before.data.element(place * numbers + number));
          ++terms;
        }
      }
      level.data.set_element(element * numbers + number, sum / terms);
    }
    for (std::size_t axis = at.size(); axis-- > 0 && ++at[axis] == level.shape[axis];) {
      at[axis] = 0;
    }
  }
  return level;
}

}  // namespace

std::vector<MipmapLevel> make_mipmap(ArrayData level_0, std::vector<std::int64_t> shape,
                                     int levels) {
  std::vector<MipmapLevel> result;
  result.push_back({std::move(shape), std::move(level_0)});
  while (static_cast<int>(result.size()) < levels) {
    result.push_back(next_level(result.back()));
  }
  return result;
}

}  // namespace rtcg::loopy
