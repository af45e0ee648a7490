#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rtcg/loopy/interpret/interpret.h"

namespace rtcg::loopy {

/// What the arrays of a kernel have to hold after a run on given data, and how far each number may
/// be off.
///
/// Where the description can be interpreted as a whole, each number has its own bound. Where only
/// samples of it can be, these have their own bounds, and all others are compared with the results
/// of a plain slicing: within what the errors of the samples allow for numbers of that size.
/// Numbers beyond that are interpreted before a candidate is refused. Where nothing can be
/// interpreted, one tolerance holds for all numbers.
class ExpectedResults {
 public:
  /// The numbers of one array.
  struct Bounds {
    ArrayData right{};
    /// How far each may be from `right`.
    std::vector<float> allowed{};
  };

  /// Interprets the kernel, for a fraction of a second, or for two where each result takes so long
  /// and there is time.
  ///
  /// @param kernel     typed, with its sizes put in
  /// @param arguments  arrays are random_arguments(kernel, arguments.parameters, seed)
  /// @param tolerance  as in TuneOptions
  /// @param seconds    that this may take
  ExpectedResults(Kernel kernel, const InterpretArguments& arguments, std::uint64_t seed,
                  double tolerance, double seconds = 2);

  /// Takes the results of a plain slicing, and settles the bounds.
  /// @param found  all arrays that the kernel writes
  /// @throws Error  loopy.compare_with_reference.wrong_numbers: they are not as described
  void set_reference(ArgumentData found);

  [[nodiscard]] const Bounds& bounds_of(const std::string& array) const {
    return bounds_.at(array);
  }
  /// How the results of a candidate are wrong; empty: they are right. May widen bounds of numbers
  /// that the samples do not have, when these turn out to be right.
  [[nodiscard]] std::string why_wrong(const std::string& array, const ArrayData& found);
  /// Whether why_wrong has changed the bounds of the array since this was asked.
  [[nodiscard]] bool has_new_bounds(const std::string& array) { return changed_.erase(array) != 0; }

  /// Why nothing was interpreted; otherwise empty.
  [[nodiscard]] const std::string& why_not_interpreted() const { return why_not_interpreted_; }
  [[nodiscard]] bool is_sampled() const { return expected_ && expected_->is_sampled; }

 private:
  /// A number beyond its bound.
  struct Excess {
    std::size_t place = 0;
    double distance = 0;
    double ratio = 0;  ///< distance over bound
  };

  void set_exact(const std::string& array, std::size_t place, const ExpectedNumber& number);
  [[nodiscard]] std::optional<ExpectedNumber> exact_number(const std::string& array,
                                                           std::size_t place) const;
  [[nodiscard]] static std::vector<Excess> beyond(const Bounds& bounds, const ArrayData& found);
  void interpret_places(const std::string& array, const std::vector<std::size_t>& places);

  Kernel kernel_;
  InterpretArguments arguments_;  // without arrays
  std::uint64_t seed_;
  double tolerance_;
  double operations_ = 0;  ///< that the interpreter may take
  std::optional<Interpretation> expected_{};
  std::string why_not_interpreted_{};
  std::map<std::string, Bounds> bounds_{};
  /// Of the numbers that were interpreted, where not all were.
  std::map<std::string, std::map<std::size_t, ExpectedNumber>> samples_{};
  std::set<std::string> changed_{};
};

}  // namespace rtcg::loopy
