#pragma once

#include <string>
#include <vector>

#include "tests/campaigns/campaign.h"

namespace rtcg::campaigns {

/// Damages valid inputs: by bytes, by tokens, by lines, and by parts of others.
class Mutator {
 public:
  /// @param seeds  at least one, none of them empty
  explicit Mutator(std::vector<std::string> seeds);

  /// One of the seeds, changed in one to four places; one in fifty is left as it is.
  [[nodiscard]] std::string make(Draw& draw) const;

 private:
  struct Span {
    std::size_t begin;
    std::size_t length;
  };
  static std::vector<Span> tokens_of(const std::string& text);
  void mutate_bytes(Draw& draw, std::string& text) const;
  void mutate_tokens(Draw& draw, std::string& text) const;
  static void mutate_lines(Draw& draw, std::string& text);

  std::vector<std::string> seeds_;
  std::vector<std::string> words_;  // of all seeds
};

}  // namespace rtcg::campaigns
