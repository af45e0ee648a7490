#include "rtcg/runtime/compile/host_self_test.h"

namespace rtcg::runtime {

std::string_view host_self_test() {
  return R"(/* Shapes of generated texts that compilers got wrong, on whole numbers: every sum is exact, so each
   result either is right or is not. Valid C99 and C++; ends with the number of the first wrong shape. */
#define COLUMNS 37

/* Fills of tiles where the last rows are missing; gcc 12 -O3 on processors with AVX2. */
static __attribute__((noinline)) void fill_partial_rows(
    const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int block_x, int block) {
  float a_tile[4][COLUMNS];
  float b_tile[COLUMNS][COLUMNS];
  float sum[4][COLUMNS];
  for (int row = 0; row < 4; ++row) {
#pragma omp simd
    for (int column = 0; column < COLUMNS; ++column) {
      a_tile[row][column] = 4 * block + row < COLUMNS ? a[148 * block + 37 * row + column] : 0.0f;
      for (int part = 0; part < 10; ++part) {
        if (4 * part + row < COLUMNS) {
          b_tile[4 * part + row][column] = b[148 * part + 37 * row + 37 * block_x + column];
        }
      }
      sum[row][column] = 0.0f;
    }
  }
  for (int row = 0; row < 4; ++row) {
    if (4 * block + row < COLUMNS) {
#pragma omp simd
      for (int column = 0; column < COLUMNS; ++column) {
        for (int k = 0; k < COLUMNS; ++k) {
          sum[row][column] += a_tile[row][k] * b_tile[k][column];
        }
        c[148 * block + 37 * row + 37 * block_x + column] = sum[row][column];
      }
    }
  }
}

/* The same in four stages: the next tiles are filled while the present ones are used. */
static __attribute__((noinline)) void fill_ahead(
    const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int block_x,
    int block_y) {
  float a_tile[4][32][12];
  float b_tile[4][8][16];
  float sum[32][16];
  for (int row = 0; row < 32; ++row) {
#pragma omp simd
    for (int column = 0; column < 16; ++column) {
      for (int stage = 0; stage < 3; ++stage) {
        if (column < 8) {
          a_tile[stage][row][column] =
              32 * block_y + row < COLUMNS ? a[32 * COLUMNS * block_y + COLUMNS * row + 8 * stage + column] : 0.0f;
        }
        if (row < 8) {
          b_tile[stage][row][column] =
              16 * block_x + column < COLUMNS ? b[8 * COLUMNS * stage + COLUMNS * row + 16 * block_x + column] : 0.0f;
        }
      }
      sum[row][column] = 0.0f;
    }
  }
  for (int step = 0; step < (COLUMNS + 7) / 8; ++step) {
    for (int row = 0; row < 32; ++row) {
#pragma omp simd
      for (int column = 0; column < 16; ++column) {
        if (column < 8 && step < (COLUMNS + 7) / 8 - 3) {
          a_tile[(step + 3) % 4][row][column] =
              32 * block_y + row < COLUMNS && 8 * step + column < COLUMNS - 24 ?
              a[32 * COLUMNS * block_y + COLUMNS * row + 8 * step + column + 24] : 0.0f;
        }
        if (row < 8 && step < (COLUMNS + 7) / 8 - 3) {
          b_tile[(step + 3) % 4][row][column] =
              8 * step + row < COLUMNS - 24 && 16 * block_x + column < COLUMNS ?
              b[8 * COLUMNS * step + COLUMNS * row + 16 * block_x + column + 24 * COLUMNS] : 0.0f;
        }
        for (int k = 0; k < (COLUMNS - 8 * step < 8 ? COLUMNS - 8 * step : 8); ++k) {
          sum[row][column] += a_tile[step % 4][row][k] * b_tile[step % 4][k][column];
        }
      }
    }
  }
  for (int row = 0; row < 32; ++row) {
#pragma omp simd
    for (int column = 0; column < 16; ++column) {
      if (32 * block_y + row < COLUMNS && 16 * block_x + column < COLUMNS) {
        c[32 * COLUMNS * block_y + COLUMNS * row + 16 * block_x + column] = sum[row][column];
      }
    }
  }
}

/* Sums and products in three branches, the first and the last of one condition; gcc 12 and 13 with
   AVX-512, which keep arithmetic that may trap to the lanes of its branch and then mistake the lanes. */
static inline void store_in_branches(
    const float *__restrict__ a, float *__restrict__ c, const float x, const float y, unsigned int block_x,
    unsigned int block_y) {
  const int column_of = (int)block_x;
  const int row_of = (int)block_y;
  for (int row = 0; row < 3; ++row) {
    if (row >= 1 && 9 * row_of + row < 10) {
#pragma omp simd
      for (int column = 0; column < 9; ++column) {
        if (18 * column_of + column < 11) {
          c[396 * row_of + 44 * row + 18 * column_of + column + 9] = x - y;
        }
        if (18 * column_of + column >= 2) {
          c[396 * row_of + 44 * row + 18 * column_of + column + 22] = x * a[column + row];
        }
        if (18 * column_of + column < 11) {
          c[396 * row_of + 44 * row + 18 * column_of + column + 31] = x - y;
        }
      }
    }
  }
}

static __attribute__((noinline)) void store_in_branches_of_blocks(
    const float *__restrict__ a, float *__restrict__ c, float x, float y) {
  for (unsigned int block_y = 0; block_y < 2; ++block_y) {
    for (unsigned int block_x = 0; block_x < 2; ++block_x) {
      store_in_branches(a, c, x, y, block_x, block_y);
    }
  }
}

static float a[COLUMNS * COLUMNS], b[COLUMNS * COLUMNS], c[COLUMNS * COLUMNS];

static int is_right(void) {
  for (int i = 0; i < COLUMNS; ++i) {
    for (int j = 0; j < COLUMNS; ++j) {
      volatile int sum = 0;
      for (int k = 0; k < COLUMNS; ++k) {
        sum = sum + (int)a[COLUMNS * i + k] * (int)b[COLUMNS * k + j];
      }
      if (c[COLUMNS * i + j] != (float)sum) {
        return 0;
      }
      c[COLUMNS * i + j] = 0.0f;
    }
  }
  return 1;
}

/* Not known to the compiler, as what a launch gives is not. */
static volatile int zero = 0;

int main(void) {
  for (int i = 0; i < COLUMNS * COLUMNS; ++i) {
    a[i] = (float)(i * 7 % 13 - 6);
    b[i] = (float)(i * 5 % 11 - 5);
  }
  for (int block = 0; block < 10; ++block) {
    fill_partial_rows(a, b, c, zero, block + zero);
  }
  if (!is_right()) {
    return 1;
  }
  for (int y = 0; y < 2; ++y) {
    for (int x = 0; x < 3; ++x) {
      fill_ahead(a, b, c, x + zero, y + zero);
    }
  }
  if (!is_right()) {
    return 2;
  }
  store_in_branches_of_blocks(a, c, (float)(3 + zero), 1.0f);
  for (volatile int row = 1; row < 3; ++row) {
    for (volatile int column = 0; column < 9; ++column) {
      const float middle = column < 2 ? 0.0f : 3.0f * a[column + row];
      if (c[44 * row + column + 9] != 2.0f || c[44 * row + column + 22] != middle ||
          c[44 * row + column + 31] != 2.0f) {
        return 3;
      }
    }
  }
  return 0;
}
)";
}

std::string_view host_self_test_part(int exit_code) {
  switch (exit_code) {
    case 1:
      return "the fill of a tile whose last rows are missing";
    case 2:
      return "the fill of tiles in stages";
    case 3:
      return "arithmetic in branches of a vectorised loop";
    default:
      return "a tile";
  }
}

}  // namespace rtcg::runtime
