// Text that is no kernel is refused with an rtcg::Error; it neither crashes nor throws anything
// else.

#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

const std::string domains =
    "[n, m] -> {[i, j]: 0 <= i < n and 0 <= j <= m // 2 and (i mod 2 = 0)} "
    "{[k]: exists (l: k = 2l and 0 <= l < n)}";
const std::string valid_statements =
    "f(x, y) := x**2 + y\n"
    "<f32> t = f(a[i, j], 2.5f) {id=first, tags=x}\n"
    "if i < 3 and not t > 2\n"
    "  b[i] += sum(k, c[k]*t) {dep=first:*, if=max(i, j) > 2}\n"
    "else\n"
    "  b[i] = reduce(min, k, if(k < i, c[k], a[[k]]))\n"
    "end\n"
    "... lbarrier\n"
    "for i, j\n  v, p = argmax(k, cast(f32, c[k]), k); d[i // 4, j % 3] = -1 if i == j else "
    "0\nend\n";
const std::string valid_arguments =
    "a, b: f32[n, m] {order=F}; c: f64[2*n] {strides=1, offset=2}; v, p; ...";

class Mutations {
 public:
  explicit Mutations(unsigned seed) : random_(seed) {}

  std::string of(std::string text) {
    for (std::uint64_t count = 1 + random_() % 4; count > 0; --count) {
      const std::size_t at = random_() % text.size();
      switch (random_() % 4) {
        case 0:
          text.erase(at, 1 + random_() % 5);
          break;
        case 1:
          text.insert(at, 1, alphabet[random_() % alphabet.size()]);
          break;
        case 2:
          text[at] = alphabet[random_() % alphabet.size()];
          break;
        default:
          text.insert(at, text.substr(random_() % text.size(), random_() % 12));
          break;
      }
      text += ' ';
    }
    return text;
  }

 private:
  static constexpr std::string_view alphabet = "abijkn01239+-*/%<>=!()[]{}:;,.#\n\\ '@\x80";
  std::mt19937_64 random_;
};

TEST(ParseFuzz, RefusesDamagedText) {
  Mutations mutated(7);
  int refused = 0;
  for (int count = 0; count < 3000; ++count) {
    KernelOptions options{.arguments =
                              count % 3 == 0 ? mutated.of(valid_arguments) : valid_arguments};
    const std::string d = count % 3 == 1 ? mutated.of(domains) : domains;
    const std::string s = count % 3 == 2 ? mutated.of(valid_statements) : valid_statements;
    try {
      static_cast<void>(make_kernel(d, s, options));
    } catch (const InternalError& error) {
      FAIL() << error.what() << "\n" << d << "\n" << s << "\n" << options.arguments;
    } catch (const Error&) {
      ++refused;
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\n" << d << "\n" << s << "\n" << options.arguments;
    }
  }
  EXPECT_GT(refused, 1500);
}

TEST(ParseFuzz, RefusesBottomlessNesting) {
  const auto many = [](const std::string& text) {
    std::string all;
    for (int i = 0; i < 100000; ++i) {
      all += text;
    }
    return all;
  };
  for (const std::string open : {"(", "-", "not ", "a[", "f(", "1 ** ", "1 if 2 else "}) {
    SCOPED_TRACE(open);
    EXPECT_ERROR("loopy.parse_statements.syntax",
                 make_kernel("{[i]: i >= 0}", "a[i] = " + many(open)));
  }
  EXPECT_ERROR("loopy.parse_domain.syntax", make_kernel("{[i]: " + many("("), ""));
  EXPECT_ERROR("loopy.parse_domain.syntax", make_kernel("{[i]: " + many("-"), ""));
  EXPECT_ERROR("loopy.parse_domain.syntax", make_kernel("{[i]: " + many("exists l: "), ""));
}

}  // namespace
}  // namespace rtcg::loopy
