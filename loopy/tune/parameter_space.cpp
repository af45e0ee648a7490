#include "rtcg/loopy/tune/parameter_space.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy {
namespace {

using Choices = std::vector<std::uint32_t>;
constexpr std::uint64_t most_combinations = 10'000'000;

std::string to_text(const ParameterValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  return number != nullptr ? std::to_string(*number) : std::get<std::string>(value);
}

/// Words are told apart by blanks and `=`.
bool is_word(const std::string& text) {
  return !text.empty() && text.find_first_of(" =\t\n") == std::string::npos;
}

void check(const std::vector<TuningParameter>& parameters) {
  const auto refuse = [](const std::string& problem) {
    throw InvalidInput("loopy.parameter_space.bad_parameter", problem);
  };
  if (parameters.empty()) {
    refuse("the space has no parameters: give each a name and its values");
  }
  std::set<std::string> names;
  for (const TuningParameter& each : parameters) {
    if (!is_word(each.name) || !names.insert(each.name).second) {
      refuse(
          fmt::format("'{}' is not the name of a parameter, or is there twice: each has a name "
                      "of its own, without blanks and '='",
                      each.name));
    }
    if (each.values.empty()) {
      refuse(fmt::format("the parameter '{}' has no values", each.name));
    }
    std::set<std::string> values;
    for (const ParameterValue& value : each.values) {
      const std::string text = to_text(value);
      if (!is_word(text) || !values.insert(text).second) {
        refuse(
            fmt::format("'{}' is not a value of the parameter '{}', or is there twice: values "
                        "are numbers or words without blanks and '='",
                        text, each.name));
      }
    }
  }
}

std::uint64_t combinations(const std::vector<TuningParameter>& parameters) {
  std::uint64_t count = 1;
  for (const TuningParameter& each : parameters) {
    count *= each.values.size();
    if (count > most_combinations) {
      throw InvalidInput("loopy.parameter_space.too_large",
                         fmt::format("the parameters have more than {} combinations at '{}': give "
                                     "them fewer values",
                                     most_combinations, each.name));
    }
  }
  return count;
}

}  // namespace

const ParameterValue& Configuration::value(std::string_view name) const {
  for (std::size_t i = 0; i < parameters_->size(); ++i) {
    const TuningParameter& parameter = (*parameters_)[i];
    if (parameter.name == name) {
      return parameter.values[choices_[i]];
    }
  }
  std::vector<std::string> names;
  for (const TuningParameter& each : *parameters_) {
    names.push_back(each.name);
  }
  throw InvalidInput(
      "loopy.parameter_space.unknown_parameter",
      fmt::format("there is no parameter '{}': the space has {}", name, fmt::join(names, ", ")));
}

std::int64_t Configuration::operator[](std::string_view name) const {
  const ParameterValue& found = value(name);
  if (const auto* number = std::get_if<std::int64_t>(&found)) {
    return *number;
  }
  throw InvalidInput("loopy.parameter_space.no_number",
                     fmt::format("the parameter '{}' is the word '{}', not a number: ask for its "
                                 "text",
                                 name, std::get<std::string>(found)));
}

std::string Configuration::text(std::string_view name) const {
  return to_text(value(name));
}

std::vector<std::pair<std::string, std::string>> Configuration::defines() const {
  std::vector<std::pair<std::string, std::string>> result;
  for (std::size_t i = 0; i < parameters_->size(); ++i) {
    const TuningParameter& parameter = (*parameters_)[i];
    result.emplace_back(parameter.name, to_text(parameter.values[choices_[i]]));
  }
  return result;
}

std::string to_string(const Configuration& configuration) {
  std::string words;
  for (const auto& [name, value] : configuration.defines()) {
    words += fmt::format("{}{}={}", words.empty() ? "" : " ", name, value);
  }
  return words;
}

struct ParameterSpace::State {
  struct Ranked {
    double seconds = 1;
    std::uint64_t number = 0;  ///< the combination, the last parameter fastest
  };
  Configuration::Parameters parameters{};
  std::vector<Ranked> ranked{};
  std::unordered_map<std::uint64_t, std::size_t> places{};  // of the combinations

  [[nodiscard]] Choices choices_of(std::uint64_t number) const {
    Choices choices(parameters->size());
    for (std::size_t i = choices.size(); i-- > 0;) {
      const std::size_t count = (*parameters)[i].values.size();
      choices[i] = static_cast<std::uint32_t>(number % count);
      number /= count;
    }
    return choices;
  }
  [[nodiscard]] std::optional<std::size_t> place_of(const Choices& choices) const {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      number = number * (*parameters)[i].values.size() + choices[i];
    }
    const auto found = places.find(number);
    return found == places.end() ? std::nullopt : std::optional(found->second);
  }
};

ParameterSpace::ParameterSpace(std::vector<TuningParameter> parameters, const SpaceRules& rules) {
  check(parameters);
  const std::uint64_t count = combinations(parameters);
  const auto state = std::make_shared<State>();
  state->parameters = std::make_shared<const std::vector<TuningParameter>>(std::move(parameters));
  for (std::uint64_t number = 0; number < count; ++number) {
    const Configuration configuration(state->parameters, state->choices_of(number));
    if (!rules.allows || rules.allows(configuration)) {
      const double seconds = rules.predicted_seconds ? rules.predicted_seconds(configuration) : 1;
      // what is no time ranks last
      state->ranked.push_back({seconds > 0 && std::isfinite(seconds) ? seconds : 1e9, number});
    }
  }
  if (state->ranked.empty()) {
    throw InvalidInput(
        "loopy.parameter_space.empty",
        fmt::format("the rules allow none of the {} combinations of the parameters", count));
  }
  std::stable_sort(state->ranked.begin(), state->ranked.end(),
                   [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  for (std::size_t place = 0; place < state->ranked.size(); ++place) {
    state->places.emplace(state->ranked[place].number, place);
  }
  state_ = state;
}

Configuration ParameterSpace::at(std::size_t place) const {
  return {state_->parameters, state_->choices_of(state_->ranked.at(place).number)};
}

Configuration ParameterSpace::parse(const std::string& words) const {
  if (const auto place = find_words(words)) {
    return at(*place);
  }
  throw InvalidInput("loopy.parameter_space.unknown_configuration",
                     fmt::format("'{}' is no configuration of the space, where one is '{}'", words,
                                 to_string(at(0))));
}

std::size_t ParameterSpace::count() const noexcept {
  return state_->ranked.size();
}

RankedCandidate ParameterSpace::candidate(std::size_t place) const {
  RankedCandidate result;
  result.words = to_string(at(place));
  result.predicted_seconds = predicted_seconds(place);
  return result;
}

std::optional<std::size_t> ParameterSpace::find_words(const std::string& words) const {
  Choices choices;
  std::size_t begin = 0;
  for (const TuningParameter& each : *state_->parameters) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    const std::string word = begin < end ? words.substr(begin, end - begin) : std::string();
    const auto found = std::find_if(
        each.values.begin(), each.values.end(),
        [&](const ParameterValue& value) { return word == each.name + "=" + to_text(value); });
    if (found == each.values.end()) {
      return std::nullopt;
    }
    choices.push_back(static_cast<std::uint32_t>(found - each.values.begin()));
    begin = end + 1;
  }
  return begin == words.size() + 1 ? state_->place_of(choices) : std::nullopt;
}

double ParameterSpace::predicted_seconds(std::size_t place) const {
  return state_->ranked.at(place).seconds;
}

std::vector<std::int64_t> ParameterSpace::decisions(std::size_t place) const {
  const Choices choices = state_->choices_of(state_->ranked.at(place).number);
  return {choices.begin(), choices.end()};
}

std::vector<std::size_t> ParameterSpace::neighbours(std::size_t place) const {
  std::vector<std::size_t> result;
  Choices choices = state_->choices_of(state_->ranked.at(place).number);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::vector<ParameterValue>& values = (*state_->parameters)[i].values;
    const std::uint32_t here = choices[i];
    for (std::uint32_t there = 0; there < values.size(); ++there) {
      // words have no order: each is next to each
      const bool is_near = std::holds_alternative<std::string>(values[here]) || there + 1 == here ||
                           there == here + 1;
      choices[i] = there;
      const auto found = is_near && there != here ? state_->place_of(choices) : std::nullopt;
      if (found) {
        result.push_back(*found);
      }
    }
    choices[i] = here;
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::optional<std::size_t> ParameterSpace::crossover(std::size_t first, std::size_t second,
                                                     std::uint64_t mask) const {
  Choices choices = state_->choices_of(state_->ranked.at(first).number);
  const Choices others = state_->choices_of(state_->ranked.at(second).number);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    choices[i] = (mask >> (i % 64) & 1) != 0 ? others[i] : choices[i];
  }
  return state_->place_of(choices);
}

}  // namespace rtcg::loopy
