#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace rtcg {

/// Makes names that differ from all that it knows.
///
/// It knows the names it made, the reserved names (`reserve`) and no others: reserve a dialect's
/// words and the user's names first. Deterministic: the same calls in the same order give the same
/// names. Not thread-safe.
class NameGenerator {
 public:
  /// Marks `name` as taken. Returns false when it was taken already.
  bool reserve(std::string_view name);

  [[nodiscard]] bool is_taken(std::string_view name) const;

  /// `base` itself if it is free, otherwise `base_1`, `base_2`, ...; the result is then taken.
  ///
  /// Characters that no C identifier may hold become underscores, and a leading digit gets one in
  /// front, so any text can be a base.
  std::string make(std::string_view base);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, unsigned> next_suffix_;
};

/// `text` with everything that no C identifier may hold replaced by underscores; never empty.
[[nodiscard]] std::string to_identifier(std::string_view text);

/// Whether `text` is spelt like a C identifier (keywords included).
[[nodiscard]] bool is_identifier(std::string_view text) noexcept;

}  // namespace rtcg
