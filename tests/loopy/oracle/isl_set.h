#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/polyhedral/constraint_set.h"

struct isl_ctx;
struct isl_set;

namespace rtcg::loopy {

/// A constraint set as isl, the integer set library, knows it: every answer is exact. For tests.
///
/// A move-only owner with a context of its own for each thread.
class IslSet {
 public:
  /// @param names  the dimensions; must hold all names of the set
  IslSet(const ConstraintSet& set, const std::vector<std::string>& names);

  [[nodiscard]] bool is_empty() const;
  [[nodiscard]] bool is_subset_of(const IslSet& other) const;
  [[nodiscard]] bool is_equal_to(const IslSet& other) const;
  /// Smallest and largest value of an expression; nothing without a bound, or without a point.
  [[nodiscard]] std::optional<std::int64_t> minimum(const Affine& expr) const;
  [[nodiscard]] std::optional<std::int64_t> maximum(const Affine& expr) const;
  /// The integer projection: any value of the names that are left out.
  [[nodiscard]] IslSet without(const std::vector<std::string>& names) const;
  [[nodiscard]] std::string text() const;

 private:
  struct Free {
    void operator()(isl_set* set) const;
  };
  using Handle = std::unique_ptr<isl_set, Free>;

  IslSet(Handle set, std::vector<std::string> names);

  Handle set_;
  std::vector<std::string> names_;
};

}  // namespace rtcg::loopy
