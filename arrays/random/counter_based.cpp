#include "rtcg/arrays/random/counter_based.h"

namespace rtcg::arrays {
namespace {

constexpr const char* types = R"(
#if defined(__OPENCL_VERSION__)
typedef uint random_u32;
typedef ulong random_u64;
#else
typedef unsigned int random_u32;
typedef unsigned long long random_u64;
#endif
typedef struct random_block { random_u32 w[4]; } random_block;
)";

constexpr const char* philox = R"(
__device__ inline random_block random_words(random_u32 c0, random_u32 c1, random_u32 c2,
                                            random_u32 c3, random_u32 key0, random_u32 key1) {
  random_block block;
  for (int round = 0; round < 10; ++round) {
    random_u64 first = (random_u64)0xD2511F53u * c0;
    random_u64 second = (random_u64)0xCD9E8D57u * c2;
    c0 = (random_u32)(second >> 32) ^ c1 ^ key0;
    c1 = (random_u32)second;
    c2 = (random_u32)(first >> 32) ^ c3 ^ key1;
    c3 = (random_u32)first;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  block.w[0] = c0; block.w[1] = c1; block.w[2] = c2; block.w[3] = c3;
  return block;
}
)";

constexpr const char* threefry = R"(
#define RANDOM_MIX(a, b, bits) a += b; b = ((b << bits) | (b >> (32 - bits))) ^ a;
#define RANDOM_FOUR(r0, r1, r2, r3, r4, r5, r6, r7) \
  RANDOM_MIX(c0, c1, r0) RANDOM_MIX(c2, c3, r1) RANDOM_MIX(c0, c3, r2) RANDOM_MIX(c2, c1, r3) \
  RANDOM_MIX(c0, c1, r4) RANDOM_MIX(c2, c3, r5) RANDOM_MIX(c0, c3, r6) RANDOM_MIX(c2, c1, r7)
#define RANDOM_KEY(a, b, c, d, turn) c0 += a; c1 += b; c2 += c; c3 += d + turn##u;
__device__ inline random_block random_words(random_u32 c0, random_u32 c1, random_u32 c2,
                                            random_u32 c3, random_u32 key0, random_u32 key1) {
  random_block block;
  random_u32 parity = 0x1BD11BDAu ^ key0 ^ key1;
  RANDOM_KEY(key0, key1, 0u, 0u, 0)
  RANDOM_FOUR(10, 26, 11, 21, 13, 27, 23, 5)
  RANDOM_KEY(key1, 0u, 0u, parity, 1)
  RANDOM_FOUR(6, 20, 17, 11, 25, 10, 18, 20)
  RANDOM_KEY(0u, 0u, parity, key0, 2)
  RANDOM_FOUR(10, 26, 11, 21, 13, 27, 23, 5)
  RANDOM_KEY(0u, parity, key0, key1, 3)
  RANDOM_FOUR(6, 20, 17, 11, 25, 10, 18, 20)
  RANDOM_KEY(parity, key0, key1, 0u, 4)
  RANDOM_FOUR(10, 26, 11, 21, 13, 27, 23, 5)
  RANDOM_KEY(key0, key1, 0u, 0u, 5)
  block.w[0] = c0; block.w[1] = c1; block.w[2] = c2; block.w[3] = c3;
  return block;
}
)";

}  // namespace

std::string random_preamble(RandomAlgorithm algorithm) {
  return std::string(types) + (algorithm == RandomAlgorithm::philox ? philox : threefry);
}

}  // namespace rtcg::arrays
