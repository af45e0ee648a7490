#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::loopy {

/// `abcd-aebf-dfce` with these lengths of a, b, ...
inline Kernel contraction(const std::string& words, const std::vector<std::int64_t>& lengths) {
  const auto indices = [](const std::string& letters) {
    std::string list;
    for (const char each : letters) {
      list += std::string(list.empty() ? "" : ", ") + each;
    }
    return list;
  };
  const std::size_t first = words.find('-');
  const std::size_t second = words.rfind('-');
  const std::string result = words.substr(0, first);
  const std::string left = words.substr(first + 1, second - first - 1);
  std::string all;
  std::string bounds;
  std::string summed;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const char letter = static_cast<char>('a' + i);
    all += letter;
    bounds += std::string(bounds.empty() ? "" : " and ") + "0 <= " + letter + " < " +
              std::to_string(lengths[i]);
    summed += result.find(letter) == std::string::npos ? std::string(1, letter) : "";
  }
  return make_kernel("{[" + indices(all) + "]: " + bounds + "}",
                     "C[" + indices(result) + "] = sum((" + indices(summed) + "), A[" +
                         indices(left) + "]*B[" + indices(words.substr(second + 1)) + "])",
                     {.default_type = cgen::f32});
}

}  // namespace rtcg::loopy
