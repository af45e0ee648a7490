#include "rtcg/loopy/preprocess/fill_tables.h"

#include <algorithm>
#include <utility>

namespace rtcg::loopy {
namespace {

/// The indices of the element at a place in C order.
std::vector<Expr> indices_at(const std::vector<Expr>& shape, std::size_t place) {
  std::vector<Expr> indices(shape.size(), Expr(0));
  auto rest = static_cast<std::int64_t>(place);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const std::int64_t length = as_integer(shape[axis]).value_or(1);
    indices[axis] = rest % length;
    rest /= length;
  }
  return indices;
}

bool is_number(const Expr& value) {
  return is<Integer>(value) || is<Real>(value);
}

/// Whether the table can be part of the text: its values never change.
bool may_be_constant(const Kernel& kernel, const Temporary& table) {
  const bool is_free = table.address_space == AddressSpace::automatic ||
                       table.address_space == AddressSpace::constant;
  return is_free && table.strides_elements.empty() &&
         std::all_of(table.initial_values.begin(), table.initial_values.end(), is_number) &&
         std::none_of(kernel.instructions.begin(), kernel.instructions.end(),
                      [&](const Instruction& each) {
                        return written_variables(each).count(table.name) != 0 || is<RawCode>(each);
                      });
}

}  // namespace

Kernel fill_tables(Kernel kernel) {
  if (std::all_of(kernel.temporaries.begin(), kernel.temporaries.end(),
                  [](const Temporary& each) { return each.initial_values.empty(); })) {
    return kernel;
  }
  std::vector<Instruction> filling;
  NameGenerator names = make_name_generator(kernel);
  for (Temporary& temporary : kernel.temporaries) {
    if (!temporary.initial_values.empty() && may_be_constant(kernel, temporary)) {
      temporary.address_space = AddressSpace::constant;
      continue;
    }
    for (std::size_t place = 0; place < temporary.initial_values.size(); ++place) {
      Instruction instruction;
      instruction.id = names.make("fill_" + temporary.name);
      instruction.kind = Assignment{{access(temporary.name, indices_at(temporary.shape, place))},
                                    temporary.initial_values[place]};
      filling.push_back(std::move(instruction));
    }
    temporary.initial_values.clear();
  }
  kernel.instructions.insert(kernel.instructions.begin(), filling.begin(), filling.end());
  return kernel;
}

}  // namespace rtcg::loopy
