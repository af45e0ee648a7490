#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "rtcg/loopy/slice/search_space.h"

namespace rtcg::loopy {

/// A value of a parameter: a number or a word.
using ParameterValue = std::variant<std::int64_t, std::string>;

/// Something about a program that may be chosen.
struct TuningParameter {
  std::string name;
  /// Each once. A search steps from a value to its neighbours in this list.
  std::vector<ParameterValue> values;
};

/// One value for each parameter of a space.
class Configuration {
 public:
  using Parameters = std::shared_ptr<const std::vector<TuningParameter>>;
  /// @param choices  for each parameter the place of its value
  Configuration(Parameters parameters, std::vector<std::uint32_t> choices)
      : parameters_(std::move(parameters)), choices_(std::move(choices)) {}

  /// The value of a parameter whose values are numbers.
  /// @throws InvalidInput  loopy.parameter_space.unknown_parameter, loopy.parameter_space.no_number
  [[nodiscard]] std::int64_t operator[](std::string_view name) const;
  /// The value as text. @throws InvalidInput  loopy.parameter_space.unknown_parameter
  [[nodiscard]] std::string text(std::string_view name) const;
  /// Each parameter and its value as text, as CompileOptions::defines takes them.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> defines() const;

 private:
  [[nodiscard]] const ParameterValue& value(std::string_view name) const;

  Parameters parameters_;
  std::vector<std::uint32_t> choices_;
};

/// `block=128 items=4`
[[nodiscard]] std::string to_string(const Configuration& configuration);

/// What is known of the configurations of a space before any runs. Both may be null.
struct SpaceRules {
  /// Whether a configuration makes sense: it is left out otherwise.
  std::function<bool(const Configuration&)> allows{};
  /// An estimate, which need only rank: the search begins with the smallest.
  std::function<double(const Configuration&)> predicted_seconds{};
};

/// All combinations of the values of some parameters that the rules allow.
class ParameterSpace : public SearchSpace {
 public:
  /// @throws InvalidInput  loopy.parameter_space.bad_parameter: a name or a value twice, no values;
  ///                       loopy.parameter_space.too_large: more than 10^7 combinations;
  ///                       loopy.parameter_space.empty: the rules allow none
  /// @cost asks the rules for each combination
  explicit ParameterSpace(std::vector<TuningParameter> parameters, const SpaceRules& rules = {});
  /// Only some combinations, in the order of a list: each is text as to_string writes it, all with
  /// the same names in the same order. Values that are all numbers are numbers, otherwise words.
  ///
  /// @throws InvalidInput  loopy.parameter_space.bad_parameter: the names differ, or a word is not
  ///                       of the form `name=value`; loopy.parameter_space.empty: no configuration
  [[nodiscard]] static ParameterSpace listed(const std::vector<std::string>& configurations);

  [[nodiscard]] Configuration at(std::size_t place) const;
  /// What to_string wrote.
  /// @throws InvalidInput  loopy.parameter_space.unknown_configuration
  [[nodiscard]] Configuration parse(const std::string& words) const;

  [[nodiscard]] std::size_t count() const noexcept override;
  [[nodiscard]] RankedCandidate candidate(std::size_t place) const override;
  [[nodiscard]] std::optional<std::size_t> find_words(const std::string& words) const override;
  [[nodiscard]] double predicted_seconds(std::size_t place) const override;
  [[nodiscard]] std::vector<std::int64_t> decisions(std::size_t place) const override;
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t place) const override;
  [[nodiscard]] std::optional<std::size_t> crossover(std::size_t first, std::size_t second,
                                                     std::uint64_t mask) const override;

 private:
  struct State;
  explicit ParameterSpace(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

}  // namespace rtcg::loopy
