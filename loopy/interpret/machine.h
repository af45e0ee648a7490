#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/interpret/interpret.h"
#include "rtcg/loopy/interpret/number.h"

// Memory and names of a kernel that is interpreted.

namespace rtcg::loopy::interpretation {

/// A number in memory; integers up to 64 bits are exact, or as far above the value as the error
/// says.
struct Stored {
  long double value = 0;
  long double error = 0;
  bool is_written = false;
};

/// An argument or a temporary.
struct Variable {
  std::string name{};
  cgen::ScalarKind kind = cgen::ScalarKind::f32;  ///< of its numbers
  bool is_complex = false;
  int lanes = 1;  ///< of vectors
  bool is_argument = false;
  std::vector<std::int64_t> shape{};
  std::vector<std::int64_t> strides{};  ///< in elements
  std::int64_t offset = 0;
  std::size_t count = 0;  ///< numbers
  /// Its initial values; null: none, which is 0 for an argument.
  const ArrayData* initial = nullptr;
  std::vector<Stored> stored{};  ///< all of its numbers, or none where these are kept elsewhere

  /// Inames with separate numbers for each value; the numbers are then in `copies`.
  std::vector<int> private_slots{};
  std::map<std::vector<std::int64_t>, std::vector<Stored>> copies{};

  /// Numbers that an element consists of.
  [[nodiscard]] int numbers() const { return is_complex ? 2 : lanes; }
};

class Machine {
 public:
  /// @param kernel  typed, with no rules except operations of reductions
  Machine(const Kernel& kernel, const InterpretArguments& arguments);

  /// Inames and integer scalars have slots; all other names are variables.
  [[nodiscard]] int find_slot(std::string_view name) const;
  [[nodiscard]] int find_variable(std::string_view name) const;
  /// A further slot, or the one of the name.
  int add_slot(const std::string& name);
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  /// The parameters of domains.
  [[nodiscard]] const IntegerValues& parameters() const { return parameters_; }

  /// The lane is that of the statement that runs.
  [[nodiscard]] Value load(int variable, std::int64_t element);
  /// The variable's value before the first statement.
  [[nodiscard]] Value initial_value(const Variable& variable, std::int64_t element) const;
  void store(int variable, std::int64_t element, const Value& value);
  /// Keeps what the instruction leaves open, such as "the value of 'k'", if it is the first.
  void note_open(const Instruction& instruction, const std::string& what);
  /// Room for all numbers that are written.
  void keep_all();
  /// The place of an element. @throws InvalidInput  loopy.interpret.out_of_bounds
  [[nodiscard]] std::int64_t element_at(const Variable& variable,
                                        const std::vector<std::int64_t>& indices) const;

  void count_operation() {
    if (++operations > next_look_) {
      look_whether_over();
    }
  }
  /// Where much is done without operations.
  void count_step() {
    constexpr unsigned between_looks = 256;
    if (++steps_ % between_looks == 0 && is_over && is_over()) {
      look_whether_over();
    }
  }
  /// Counts from now on.
  void limit_operations(double most) {
    operations = 0;
    most_operations_ = most;
    next_look_ = 0;
  }
  /// As many in all since then.
  void allow_operations(double most) {
    most_operations_ = most;
    next_look_ = 0;
  }

  std::vector<std::int64_t> slots;
  std::vector<Value> locals;  ///< operands of rules
  std::vector<Variable> variables;
  int lane = 0;
  double operations = 0;
  /// Ends the interpretation before `operations` reach their limit; may be empty.
  std::function<bool()> is_over{};
  std::string statement;  ///< that runs, for errors
  /// As Interpretation::first_open.
  std::string first_open;
  /// While the value of an element is computed whose place is not certain: that element, for reads
  /// of the same place; otherwise -1.
  std::int64_t written_element = -1;
  /// If it is set, values of variables are read from here.
  std::function<Value(int variable, std::int64_t element)> find_value{};

 private:
  void look_whether_over();
  [[nodiscard]] std::vector<Stored>& numbers_of(Variable& variable);
  void add_variable(const std::string& name, const cgen::Type& type, const std::vector<Expr>& shape,
                    const std::vector<Expr>& strides, const Expr& offset, bool is_argument);
  [[nodiscard]] std::int64_t length(const Expr& expr, const std::string& name) const;

  const Kernel& kernel_;
  double most_operations_ = std::numeric_limits<double>::infinity();
  double next_look_ = 0;
  unsigned steps_ = 0;
  IntegerValues parameters_;
  std::map<std::string, int, std::less<>> slot_of_;
  std::map<std::string, int, std::less<>> variable_of_;
};

}  // namespace rtcg::loopy::interpretation
