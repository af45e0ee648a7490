#pragma once

#include <string>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"

/// Expects that evaluating the expression throws an rtcg::Error with exactly this code.
#define EXPECT_ERROR(expected_code, ...)                                                \
  do {                                                                                  \
    std::string found_code = "(nothing was thrown)";                                    \
    std::string found_text;                                                             \
    try {                                                                               \
      static_cast<void>(__VA_ARGS__);                                                   \
    } catch (const ::rtcg::Error& error) {                                              \
      found_code = error.code();                                                        \
      found_text = error.what();                                                        \
    }                                                                                   \
    EXPECT_EQ(found_code, expected_code) << found_text;                                 \
  } while (false)
