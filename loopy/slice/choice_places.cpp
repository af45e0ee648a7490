#include "rtcg/loopy/slice/choice_places.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <type_traits>

namespace rtcg::loopy::detail {
namespace {

constexpr std::uint32_t free_slot = UINT32_MAX;

/// Calls `visit(kind, number)` for each number of all decisions.
template <class Choice, class Visit>
void for_each_number_of(Choice& choice, const Visit& visit) {
  for_each_decision([&](auto decision) {
    auto& field = choice.*decision.member;
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(field)>>) {
      visit(decision.kind, field);
    } else {
      for (auto& each : field) {
        visit(decision.kind, each);
      }
    }
  });
}

/// A number of a choice: which one, what it decides, and its value.
struct Number {
  std::size_t place = 0;
  DecisionKind kind{};
  int value = 0;
};

std::vector<Number> numbers_with_kinds(const SlicingChoice& choice) {
  std::vector<Number> numbers;
  for_each_number_of(choice, [&](DecisionKind kind, auto value) {
    numbers.push_back({numbers.size(), kind, static_cast<int>(value)});
  });
  return numbers;
}

SlicingChoice with_number(SlicingChoice choice, std::size_t place, int value) {
  std::size_t at = 0;
  for_each_number_of(choice, [&](DecisionKind, auto& number) {
    if (at++ == place) {
      number = static_cast<std::remove_cvref_t<decltype(number)>>(value);
    }
  });
  return choice;
}

}  // namespace

ChoicePlaces::ChoicePlaces(const std::vector<RankedChoice>& ranked)
    : ranked_(ranked), slots_(std::bit_ceil(2 * ranked.size() + 1), free_slot) {
  constexpr std::size_t most_values = std::size_t{UINT16_MAX} + 1;
  std::vector<std::vector<bool>> known(numbers_with_kinds({}).size());
  std::vector<bool> known_copies(most_values);
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const SlicingChoice& choice = ranked[i].choice;
    std::size_t slot = key_of(choice) & (slots_.size() - 1);
    while (slots_[slot] != free_slot) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    slots_[slot] = static_cast<std::uint32_t>(i);
    std::size_t number = 0;
    for_each_number_of(choice, [&](DecisionKind, auto value) {
      std::vector<bool>& values = known[number++];
      if (values.size() <= static_cast<std::size_t>(value)) {
        values.resize(static_cast<std::size_t>(value) + 1);
      }
      values[static_cast<std::size_t>(value)] = true;
    });
    known_copies[std::size_t{choice.fetched} << 8 | choice.kept] = true;
  }
  for (const std::vector<bool>& each : known) {
    values_.emplace_back();
    for (std::size_t value = 0; value < each.size(); ++value) {
      if (each[value]) {
        values_.back().push_back(static_cast<int>(value));
      }
    }
  }
  for (std::size_t both = 0; both < known_copies.size(); ++both) {
    if (known_copies[both]) {
      copies_.emplace_back(static_cast<std::uint8_t>(both >> 8), static_cast<std::uint8_t>(both));
    }
  }
}

std::optional<std::size_t> ChoicePlaces::find(const SlicingChoice& choice) const {
  for (std::size_t slot = key_of(choice) & (slots_.size() - 1); slots_[slot] != free_slot;
       slot = (slot + 1) & (slots_.size() - 1)) {
    if (ranked_[slots_[slot]].choice == choice) {
      return slots_[slot];
    }
  }
  return std::nullopt;
}

std::vector<std::size_t> ChoicePlaces::neighbours(std::size_t place) const {
  const SlicingChoice& choice = ranked_.at(place).choice;
  std::vector<std::size_t> result;
  const auto add = [&](const SlicingChoice& other) {
    if (are_neighbours(choice, other)) {
      if (const auto found = find(other)) {
        result.push_back(*found);
      }
    }
  };
  const std::vector<Number> numbers = numbers_with_kinds(choice);
  // calls `visit(other)` for each choice with one other value of the number
  const auto for_each_value = [&](const SlicingChoice& from, const Number& number,
                                  const auto& visit) {
    for (const int value : values_[number.place]) {
      if (value != number.value) {
        visit(with_number(from, number.place, value));
      }
    }
  };
  const auto for_each_length = [&](std::size_t first, const SlicingChoice& from,
                                   const auto& visit) {
    for (std::size_t i = first; i < numbers.size(); ++i) {
      if (numbers[i].kind == DecisionKind::length) {
        for_each_value(from, numbers[i], visit);
      }
    }
  };
  // a plan moves alone or with one length
  const auto add_plan = [&](const SlicingChoice& other) {
    add(other);
    for_each_length(0, other, add);
  };
  for (const Number& number : numbers) {
    switch (number.kind) {
      case DecisionKind::length:
        for_each_value(choice, number, [&](const SlicingChoice& other) {
          add(other);
          for_each_length(number.place + 1, other, add);
        });
        break;
      case DecisionKind::stages:
      case DecisionKind::answer:
        for_each_value(choice, number, add);
        break;
      case DecisionKind::plan:
        for_each_value(choice, number, add_plan);
        break;
      case DecisionKind::copies:
        break;  // several numbers are one plan
    }
  }
  for (const auto& [fetched, kept] : copies_) {
    SlicingChoice other = choice;
    other.fetched = fetched;
    other.kept = kept;
    if (!(other == choice)) {
      add_plan(other);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace rtcg::loopy::detail
