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

}  // namespace

Kernel fill_tables(Kernel kernel) {
  if (std::all_of(kernel.temporaries.begin(), kernel.temporaries.end(),
                  [](const Temporary& each) { return each.initial_values.empty(); })) {
    return kernel;
  }
  std::vector<Instruction> filling;
  NameGenerator names = make_name_generator(kernel);
  for (Temporary& temporary : kernel.temporaries) {
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
