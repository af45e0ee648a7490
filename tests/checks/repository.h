#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace rtcg::checks {

inline std::filesystem::path root() {
  return RTCG_SOURCE_DIR;
}

inline std::string read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// The .h and .cpp files below `folder`, as paths from the repository's root, sorted.
inline std::vector<std::string> sources_below(const std::string& folder) {
  std::vector<std::string> files;
  if (!std::filesystem::exists(root() / folder)) {
    return files;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root() / folder)) {
    const auto extension = entry.path().extension();
    if (entry.is_regular_file() && (extension == ".h" || extension == ".cpp")) {
      files.push_back(std::filesystem::relative(entry.path(), root()).generic_string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The folders of the library's layers.
inline const std::vector<std::string> layers = {"cgen",   "loopy",       "runtime",
                                                "arrays", "distributed", "dg"};

/// The sources of all layers, as paths from the repository's root.
inline std::vector<std::string> library_sources() {
  std::vector<std::string> files;
  for (const std::string& layer : layers) {
    const std::vector<std::string> found = sources_below(layer);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace rtcg::checks
