#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace rtcg::arrays {

/// Functions that turn a counter and a key into four random words, each on its own: nothing is
/// carried from one to the next. Both pass the BigCrush tests.
///
/// @source Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"
enum class RandomAlgorithm {
  philox,    ///< Philox4x32-10: multiplications; the fastest on GPUs
  threefry,  ///< Threefry4x32-20: additions and rotations
};

using RandomWords = std::array<std::uint32_t, 4>;

[[nodiscard]] constexpr RandomWords philox4x32_10(RandomWords counter,
                                                  std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(first)};
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  return counter;
}

[[nodiscard]] constexpr RandomWords threefry4x32_20(RandomWords counter, RandomWords key) {
  constexpr int rotations[8][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5},
                                   {6, 20},  {17, 11}, {25, 10}, {18, 20}};
  const std::uint32_t keys[5] = {key[0], key[1], key[2], key[3],
                                 0x1BD11BDAU ^ key[0] ^ key[1] ^ key[2] ^ key[3]};
  for (std::size_t i = 0; i < 4; ++i) {
    counter[i] += keys[i];
  }
  const auto mix = [](std::uint32_t& a, std::uint32_t& b, int bits) {
    a += b;
    b = ((b << bits) | (b >> (32 - bits))) ^ a;
  };
  for (std::uint32_t round = 0; round < 20; ++round) {
    const bool is_odd = round % 2 != 0;
    mix(counter[0], counter[is_odd ? 3 : 1], rotations[round % 8][0]);
    mix(counter[2], counter[is_odd ? 1 : 3], rotations[round % 8][1]);
    if (round % 4 == 3) {
      const std::uint32_t turn = round / 4 + 1;
      for (std::uint32_t i = 0; i < 4; ++i) {
        counter[i] += keys[(turn + i) % 5];
      }
      counter[3] += turn;
    }
  }
  return counter;
}

/// The same in C for every device, as preamble of kernels:
/// `random_block random_words(uint32 c0, c1, c2, c3, key0, key1)`, whose words are `.w[0]` to
/// `.w[3]`. Threefry's other two key words are 0.
[[nodiscard]] std::string random_preamble(RandomAlgorithm algorithm);

}  // namespace rtcg::arrays
