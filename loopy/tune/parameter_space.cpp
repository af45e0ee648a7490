#include "rtcg/loopy/tune/parameter_space.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>
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

[[noreturn]] void refuse(const std::string& problem) {
  throw InvalidInput("loopy.parameter_space.bad_parameter", problem);
}

void check(const std::vector<TuningParameter>& parameters) {
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

std::uint64_t combinations(const std::vector<TuningParameter>& parameters, std::uint64_t most) {
  std::uint64_t count = 1;
  for (const TuningParameter& each : parameters) {
    count *= each.values.size();
    if (count > most) {
      throw InvalidInput("loopy.parameter_space.too_large",
                         fmt::format("the parameters have more than {} combinations at '{}': give "
                                     "them fewer values",
                                     most, each.name));
    }
  }
  return count;
}

using Words = std::vector<std::pair<std::string, std::string>>;

/// The names and values of `block=128 items=4`.
Words words_of(const std::string& configuration) {
  Words result;
  std::istringstream words(configuration);
  for (std::string word; words >> word;) {
    const std::size_t equal = word.find('=');
    if (equal == std::string::npos) {
      refuse(
          fmt::format("'{}' in '{}' does not give a value: write name=value", word, configuration));
    }
    result.emplace_back(word.substr(0, equal), word.substr(equal + 1));
  }
  return result;
}

/// All as numbers, in their order, if each is one.
std::vector<ParameterValue> values_of(const std::vector<std::string>& texts) {
  std::set<std::int64_t> numbers;
  for (const std::string& text : texts) {
    std::int64_t number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc() || std::to_string(number) != text) {
      return {texts.begin(), texts.end()};
    }
    numbers.insert(number);
  }
  return {numbers.begin(), numbers.end()};
}

/// Each with the values that it has in some configuration.
std::vector<TuningParameter> parameters_of(const std::vector<Words>& configurations) {
  std::vector<TuningParameter> parameters;
  for (std::size_t i = 0; i < configurations.front().size(); ++i) {
    const std::string& name = configurations.front()[i].first;
    std::vector<std::string> texts;
    for (const Words& each : configurations) {
      if (each.size() != configurations.front().size() || each[i].first != name) {
        refuse(
            fmt::format("a configuration does not have '{}' where the first one has it: list "
                        "the same parameters in the same order",
                        name));
      }
      if (std::find(texts.begin(), texts.end(), each[i].second) == texts.end()) {
        texts.push_back(each[i].second);
      }
    }
    parameters.push_back({name, values_of(texts)});
  }
  return parameters;
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
  [[nodiscard]] std::uint64_t number_of(const Choices& choices) const {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      number = number * (*parameters)[i].values.size() + choices[i];
    }
    return number;
  }
  /// The choices that some text names; nothing where it names others.
  [[nodiscard]] std::optional<Choices> choices_of(const std::string& words) const {
    Choices choices;
    std::size_t begin = 0;
    for (const TuningParameter& each : *parameters) {
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
    return begin == words.size() + 1 ? std::optional(choices) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::size_t> place_of(const Choices& choices) const {
    const auto found = places.find(number_of(choices));
    return found == places.end() ? std::nullopt : std::optional(found->second);
  }
};

ParameterSpace::ParameterSpace(std::vector<TuningParameter> parameters, const SpaceRules& rules) {
  check(parameters);
  const std::uint64_t count = combinations(parameters, most_combinations);
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

ParameterSpace ParameterSpace::listed(const std::vector<std::string>& configurations) {
  if (configurations.empty()) {
    throw InvalidInput("loopy.parameter_space.empty", "the list of configurations is empty");
  }
  std::vector<Words> words;
  for (const std::string& each : configurations) {
    words.push_back(words_of(each));
  }
  const auto state = std::make_shared<State>();
  auto parameters = parameters_of(words);
  check(parameters);
  static_cast<void>(combinations(parameters, std::uint64_t{1} << 62));  // they have numbers
  state->parameters = std::make_shared<const std::vector<TuningParameter>>(std::move(parameters));
  for (const std::string& each : configurations) {
    const std::optional<Choices> choices = state->choices_of(each);
    if (!choices) {
      refuse(fmt::format("'{}' has more than one blank between two parameters", each));
    }
    const std::uint64_t number = state->number_of(*choices);
    if (state->places.emplace(number, state->ranked.size()).second) {
      state->ranked.push_back({1, number});
    }
  }
  return ParameterSpace(state);
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
  const std::optional<Choices> choices = state_->choices_of(words);
  return choices ? state_->place_of(*choices) : std::nullopt;
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
