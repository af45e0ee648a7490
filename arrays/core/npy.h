#pragma once

#include <filesystem>
#include <iosfwd>

#include "rtcg/arrays/core/array.h"

// NumPy's file format for one array (.npy): versions 1 to 3 in either byte order are read, 1 in
// little-endian order is written. bf16 and short vectors, which NumPy lacks, are refused.

namespace rtcg::arrays {

/// The array in a file, in the file's order (C or F).
///
/// @throws InvalidInput  arrays.read_npy.no_such_file, arrays.read_npy.bad_format,
///         arrays.read_npy.bad_type
/// @cost   waits for the copy
[[nodiscard]] AnyArray read_npy(const std::filesystem::path& file,
                                runtime::StreamRef stream = current_stream());
[[nodiscard]] AnyArray read_npy(std::istream& input, runtime::StreamRef stream = current_stream());

/// Writes the array as NumPy does: in F order if it is contiguous in that order only, otherwise in
/// C order.
///
/// @throws InvalidInput  arrays.write_npy.bad_type
/// @throws DeviceError   arrays.write_npy.failed
/// @cost   waits for the work on the array
void write_npy(const std::filesystem::path& file, const AnyArray& array);
void write_npy(std::ostream& output, const AnyArray& array);

}  // namespace rtcg::arrays
