#pragma once
// Internal header: it is not installed.

#include <memory>
#include <string>
#include <vector>

#include "rtcg/arrays/kernels/reduction_kernel.h"

// Values of scans in C: numbers, and structs of numbers, which arrays have field by field.

namespace rtcg::arrays::detail {

struct ScanValue {
  struct Field {
    std::string name{};  ///< of a number empty
    DType dtype = DType::f32;
  };
  std::string c_type{};
  std::vector<Field> fields{};
  DType dtype = DType::f32;  ///< u8 of a struct
  std::shared_ptr<const cgen::LaidOutStruct> structure{};

  /// @throws Unsupported  arrays.scan_kernel.type
  explicit ScanValue(const ResultType& type);

  [[nodiscard]] bool is_number() const { return fields.size() == 1 && fields[0].name.empty(); }
  /// `name` of a number, `name_FIELD` of a struct: an array or a parameter for each field.
  [[nodiscard]] static std::string part(const std::string& name, const Field& field);
  /// A line `name.FIELD = source_FIELD index;` for each field, or `name = source index;`.
  [[nodiscard]] std::string assigned(const std::string& name, const std::string& source,
                                     const std::string& index) const;
  /// `a + b` and `0` as C has them for complex numbers; other texts as they are.
  [[nodiscard]] std::string joined(const std::string& words, const std::string& text) const;
  [[nodiscard]] std::string neutral(const std::string& words, const std::string& text) const;
  /// The definition of a struct.
  [[nodiscard]] std::string definition(cgen::Dialect dialect) const;
};

}  // namespace rtcg::arrays::detail
