#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy {

/// A mistake in one line of a text: `line 3: there is a statement 'a' already`.
class InvalidLine : public InvalidInput {
 public:
  /// @param place  what the message begins with: `line 3`, or `matmul.cpp:12` for a statement that
  ///               is described in C++
  /// @param line   of the text or of the C++ file, counted from 1
  InvalidLine(std::string code, std::string_view place, std::size_t line, std::string problem)
      : InvalidInput(std::move(code), std::string(place) + ": " + problem),
        line_(line),
        problem_(std::move(problem)) {}
  /// In `line N` of a text.
  InvalidLine(std::string code, std::size_t line, std::string problem)
      : InvalidLine(std::move(code), "line " + std::to_string(line), line, std::move(problem)) {}

  [[nodiscard]] std::size_t line() const noexcept { return line_; }
  /// The message without the place.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  std::size_t line_;
  std::string problem_;
};

}  // namespace rtcg::loopy
