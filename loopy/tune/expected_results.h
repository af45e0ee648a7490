#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rtcg/loopy/interpret/interpret.h"

namespace rtcg::loopy {

/// What MeasuredErrors asks of a reference.
struct MoreRuns {
  std::vector<ArgumentData> repeats{};        ///< with_other_last_places()
  std::optional<ArgumentData> other_reals{};  ///< with_other_reals()
  double parts = 1;                           ///< SumShape::parts
};

/// What the arrays of a kernel have to hold after a run on given data, and how far each number may
/// be off.
///
/// Where the description can be interpreted as a whole, each number has its own bound. Where only
/// samples of it can be, these have their own bounds, and all others are compared with a reference,
/// the results of one slicing: within what the errors of the samples allow for numbers of that
/// size. Numbers beyond that are interpreted before a candidate is refused. Where nothing can be
/// interpreted, repeated runs of the reference measure how far numbers may be off, see
/// MeasuredErrors.
class ExpectedResults {
 public:
  /// The numbers of one array.
  struct Bounds {
    ArrayData right{};
    /// How far each may be from `right`.
    std::vector<float> allowed{};
  };

  /// Interprets the kernel, for a fraction of a second, or for two where each result takes so long
  /// and there is time. Where that gives all results, bounds are settled.
  ///
  /// @param kernel     typed, with its sizes put in
  /// @param arguments  arrays are runnable_arguments(kernel, arguments.parameters, {seed})
  /// @param seconds    that this may take
  /// @param is_over    ends the interpretation; asked often, may be empty
  ExpectedResults(Kernel kernel, const InterpretArguments& arguments, std::uint64_t seed,
                  double seconds = 2, const std::function<bool()>& is_over = {});

  /// Whether bounds need the results of a slicing.
  [[nodiscard]] bool needs_reference() const { return !expected_ || expected_->is_sampled; }
  /// Whether bounds also need repeated runs of it.
  [[nodiscard]] bool needs_repeats() const { return !expected_; }
  /// Takes the results of a slicing, and settles the bounds.
  /// @param found  all arrays that the kernel writes
  /// @param more   more runs of that slicing, for needs_repeats()
  /// @throws Error  loopy.compare_with_reference.wrong_numbers: they are not as described
  void set_reference(ArgumentData found, const MoreRuns& more = {});
  /// Whether a result of the reference turned out to be wrong, which its samples have not shown:
  /// all that was compared with it has to be compared with another one.
  [[nodiscard]] bool is_reference_wrong() const { return is_reference_wrong_; }

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
  /// Why no number of a candidate can be wrong: the description leaves all results open, or there
  /// are none. Otherwise empty.
  [[nodiscard]] const std::string& why_nothing_compared() const { return why_nothing_compared_; }

 private:
  /// A number beyond its bound.
  struct Excess {
    std::size_t place = 0;
    double distance = 0;
    double ratio = 0;  ///< distance over bound
  };

  /// Why the results that were interpreted decide nothing; empty if one of them has a bound.
  [[nodiscard]] std::string why_undecided() const;
  void set_all_exact();
  void set_exact(const std::string& array, std::size_t place, const ExpectedNumber& number);
  [[nodiscard]] std::optional<ExpectedNumber> exact_number(const std::string& array,
                                                           std::size_t place) const;
  [[nodiscard]] static std::vector<Excess> beyond(const Bounds& bounds, const ArrayData& found);
  void interpret_places(const std::string& array, const std::vector<std::size_t>& places);

  Kernel kernel_;
  InterpretArguments arguments_;  // without arrays
  std::uint64_t seed_;
  double operations_ = 0;  ///< that the interpreter may take
  std::optional<Interpretation> expected_{};
  std::string why_not_interpreted_{};
  std::string why_nothing_compared_{};
  std::map<std::string, Bounds> bounds_{};
  /// Of the numbers that were interpreted, where not all were.
  std::map<std::string, std::map<std::size_t, ExpectedNumber>> samples_{};
  std::set<std::string> changed_{};
  bool is_reference_wrong_ = false;
};

}  // namespace rtcg::loopy
