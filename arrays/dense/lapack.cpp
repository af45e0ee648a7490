#include "rtcg/arrays/dense/lapack.h"

#include <algorithm>
#include <complex>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "rtcg/arrays/interop/optional_library.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {
namespace {

template <class T>
using RealOf = decltype(std::abs(T()));

/// LAPACK's functions of one type. FORTRAN takes addresses, and the lengths of words after all
/// else.
template <class T>
struct LapackOf {
  using Real = RealOf<T>;
  void (*getrf)(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);
  void (*getrs)(const char* trans, const int* n, const int* nrhs, const T* a, const int* lda,
                const int* pivots, T* b, const int* ldb, int* info, std::size_t);
  void (*potrf)(const char* uplo, const int* n, T* a, const int* lda, int* info, std::size_t);
  void (*geqrf)(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork,
                int* info);
  void (*orgqr)(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau,
                T* work, const int* lwork, int* info);
  void* eigh;
  void* svd;
};

struct Lapack {
  OptionalLibrary library{};
  LapackOf<float> f32{};
  LapackOf<double> f64{};
  LapackOf<std::complex<float>> c64{};
  LapackOf<std::complex<double>> c128{};

  template <class T>
  [[nodiscard]] const LapackOf<T>& of() const {
    if constexpr (std::is_same_v<T, float>) {
      return f32;
    } else if constexpr (std::is_same_v<T, double>) {
      return f64;
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
      return c64;
    } else {
      return c128;
    }
  }
};

template <class T>
bool look_up_all(const LibraryFunctions& find, char letter, LapackOf<T>& functions) {
  constexpr bool is_complex_type = !std::is_same_v<T, RealOf<T>>;
  const auto look_up = [&](const char* name, auto& pointer) {
    return find(fmt::format("{}{}_", letter, name), pointer);
  };
  return look_up("getrf", functions.getrf) && look_up("getrs", functions.getrs) &&
         look_up("potrf", functions.potrf) && look_up("geqrf", functions.geqrf) &&
         look_up(is_complex_type ? "ungqr" : "orgqr", functions.orgqr) &&
         look_up(is_complex_type ? "heevd" : "syevd", functions.eigh) &&
         look_up("gesdd", functions.svd);
}

const Lapack& lapack() {
  static const Lapack& opened = *[] {
    auto* const result = new Lapack;
    result->library = open_library("RTCG_LIBLAPACK", {"liblapack.so.3", "libopenblas.so.0"},
                                   "LAPACK 3", [&](const LibraryFunctions& find) {
                                     return look_up_all(find, 's', result->f32) &&
                                            look_up_all(find, 'd', result->f64) &&
                                            look_up_all(find, 'c', result->c64) &&
                                            look_up_all(find, 'z', result->c128);
                                   });
    return result;
  }();
  return opened;
}

int number(std::int64_t value) {
  return static_cast<int>(value);
}

void check_arguments(int info, const char* function) {
  require_internal(info >= 0, fmt::format("LAPACK takes the arguments of {}", function));
}

template <class T>
T* data_of(const AnyArray& array) {
  return reinterpret_cast<T*>(array.address());
}

template <class Body>
void with_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::f32:
      return body(float());
    case DType::f64:
      return body(double());
    case DType::c64:
      return body(std::complex<float>());
    default:
      return body(std::complex<double>());
  }
}

/// The sizes of matrices in the order of FORTRAN.
struct Sizes {
  explicit Sizes(const AnyArray& a)
      : count(a.shape()[0]), columns(number(a.shape()[2 - 1])), rows(number(a.shape()[2])) {}
  std::int64_t count;
  int columns;
  int rows;
  [[nodiscard]] std::int64_t elements() const { return std::int64_t{columns} * rows; }
  [[nodiscard]] int leading() const { return std::max(rows, 1); }
  [[nodiscard]] int least() const { return std::min(rows, columns); }
};

/// The number of elements that LAPACK wants for its work.
template <class T>
int wanted(const T& answer) {
  return std::max(1, static_cast<int>(std::real(answer)));
}

/// `call(i, work, length, status)` for each matrix, after a call that asks how long the work has to
/// be.
template <class T, class Call>
void call_with_work(std::int64_t count, const char* function, const Call& call) {
  int status = 0;
  T answer{};
  call(0, &answer, -1, &status);
  std::vector<T> work(static_cast<std::size_t>(wanted(answer)));
  for (std::int64_t i = 0; i < count; ++i) {
    call(i, work.data(), static_cast<int>(work.size()), &status);
    check_arguments(status, function);
  }
}

}  // namespace

bool has_lapack() {
  return !lapack().library.name.empty();
}

const std::string& describe_lapack() {
  return lapack().library.name.empty() ? lapack().library.why_none : lapack().library.name;
}

void lapack_lu(const AnyArray& a, const AnyArray& pivots, const AnyArray& info) {
  with_type(a.dtype(), [&]<class T>(T) {
    const Sizes sizes(a);
    const int leading = sizes.leading();
    for (std::int64_t i = 0; i < sizes.count; ++i) {
      int& status = data_of<int>(info)[i];
      lapack().of<T>().getrf(&sizes.rows, &sizes.columns, data_of<T>(a) + i * sizes.elements(),
                             &leading, data_of<int>(pivots) + i * sizes.least(), &status);
      check_arguments(status, "getrf");
    }
  });
}

void lapack_solve(const AnyArray& lu, const AnyArray& pivots, const AnyArray& b) {
  with_type(lu.dtype(), [&]<class T>(T) {
    const Sizes sizes(lu);
    const Sizes right(b);
    const int leading = sizes.leading();
    for (std::int64_t i = 0; i < sizes.count; ++i) {
      int status = 0;
      lapack().of<T>().getrs("N", &sizes.rows, &right.columns,
                             data_of<T>(lu) + i * sizes.elements(), &leading,
                             data_of<int>(pivots) + i * sizes.rows,
                             data_of<T>(b) + i * right.elements(), &leading, &status, 1);
      check_arguments(status, "getrs");
    }
  });
}

void lapack_cholesky(const AnyArray& a, const AnyArray& info) {
  with_type(a.dtype(), [&]<class T>(T) {
    const Sizes sizes(a);
    const int leading = sizes.leading();
    for (std::int64_t i = 0; i < sizes.count; ++i) {
      int& status = data_of<int>(info)[i];
      lapack().of<T>().potrf("L", &sizes.rows, data_of<T>(a) + i * sizes.elements(), &leading,
                             &status, 1);
      check_arguments(status, "potrf");
    }
  });
}

void lapack_qr(const AnyArray& a, const AnyArray& tau) {
  with_type(a.dtype(), [&]<class T>(T) {
    const Sizes sizes(a);
    const int leading = sizes.leading();
    call_with_work<T>(sizes.count, "geqrf", [&](std::int64_t i, T* work, int length, int* status) {
      lapack().of<T>().geqrf(&sizes.rows, &sizes.columns, data_of<T>(a) + i * sizes.elements(),
                             &leading, data_of<T>(tau) + i * sizes.least(), work, &length, status);
    });
  });
}

void lapack_q(const AnyArray& a, const AnyArray& tau) {
  with_type(a.dtype(), [&]<class T>(T) {
    const Sizes sizes(a);
    const int leading = sizes.leading();
    const int reflections = number(tau.shape()[1]);
    call_with_work<T>(sizes.count, "orgqr", [&](std::int64_t i, T* work, int length, int* status) {
      lapack().of<T>().orgqr(&sizes.rows, &sizes.columns, &reflections,
                             data_of<T>(a) + i * sizes.elements(), &leading,
                             data_of<T>(tau) + i * reflections, work, &length, status);
    });
  });
}

void lapack_eigh(const AnyArray& a, const AnyArray& values, bool with_vectors,
                 const AnyArray& info) {
  with_type(a.dtype(), [&]<class T>(T) {
    using Real = RealOf<T>;
    const Sizes sizes(a);
    const int leading = sizes.leading();
    const char* const job = with_vectors ? "V" : "N";
    const auto call = [&](std::int64_t i, T* work, int length, Real* real_work, int real_length,
                          int* whole_work, int whole_length, int* status) {
      T* const matrix = data_of<T>(a) + i * sizes.elements();
      Real* const result = data_of<Real>(values) + i * sizes.rows;
      if constexpr (std::is_same_v<T, Real>) {
        using Function = void (*)(const char*, const char*, const int*, T*, const int*, Real*, T*,
                                  const int*, int*, const int*, int*, std::size_t, std::size_t);
        reinterpret_cast<Function>(lapack().of<T>().eigh)(job, "L", &sizes.rows, matrix, &leading,
                                                          result, work, &length, whole_work,
                                                          &whole_length, status, 1, 1);
      } else {
        using Function =
            void (*)(const char*, const char*, const int*, T*, const int*, Real*, T*, const int*,
                     Real*, const int*, int*, const int*, int*, std::size_t, std::size_t);
        reinterpret_cast<Function>(lapack().of<T>().eigh)(
            job, "L", &sizes.rows, matrix, &leading, result, work, &length, real_work, &real_length,
            whole_work, &whole_length, status, 1, 1);
      }
    };
    T work_answer{};
    Real real_answer{};
    int whole_answer = 0;
    int status = 0;
    call(0, &work_answer, -1, &real_answer, -1, &whole_answer, -1, &status);
    check_arguments(status, "syevd");
    std::vector<T> work(static_cast<std::size_t>(wanted(work_answer)));
    std::vector<Real> real_work(static_cast<std::size_t>(wanted(real_answer)));
    std::vector<int> whole_work(static_cast<std::size_t>(std::max(whole_answer, 1)));
    for (std::int64_t i = 0; i < sizes.count; ++i) {
      int& found = data_of<int>(info)[i];
      call(i, work.data(), number(static_cast<std::int64_t>(work.size())), real_work.data(),
           number(static_cast<std::int64_t>(real_work.size())), whole_work.data(),
           number(static_cast<std::int64_t>(whole_work.size())), &found);
      check_arguments(found, "syevd");
    }
  });
}

void lapack_svd(const AnyArray& a, const AnyArray& values, const AnyArray& u, const AnyArray& vh,
                const AnyArray& info) {
  with_type(a.dtype(), [&]<class T>(T) {
    using Real = RealOf<T>;
    const Sizes sizes(a);
    const int leading = sizes.leading();
    const int least = sizes.least();
    const int leading_vh = std::max(least, 1);
    const auto most = static_cast<std::size_t>(std::max(sizes.rows, sizes.columns));
    const auto few = static_cast<std::size_t>(least);
    std::vector<int> whole_work(8 * std::max<std::size_t>(few, 1));
    // as LAPACK asks for, of complex numbers
    std::vector<Real> real_work(
        std::is_same_v<T, Real> ? 1 : std::max<std::size_t>(few * (5 * few + 2 * most + 7), 1));
    const auto call = [&](std::int64_t i, T* work, int length, int* status) {
      T* const matrix = data_of<T>(a) + i * sizes.elements();
      Real* const result = data_of<Real>(values) + i * least;
      T* const left = data_of<T>(u) + i * std::int64_t{sizes.rows} * least;
      T* const right = data_of<T>(vh) + i * std::int64_t{sizes.columns} * least;
      if constexpr (std::is_same_v<T, Real>) {
        using Function =
            void (*)(const char*, const int*, const int*, T*, const int*, Real*, T*, const int*, T*,
                     const int*, T*, const int*, int*, int*, std::size_t);
        reinterpret_cast<Function>(lapack().of<T>().svd)(
            "S", &sizes.rows, &sizes.columns, matrix, &leading, result, left, &leading, right,
            &leading_vh, work, &length, whole_work.data(), status, 1);
      } else {
        using Function =
            void (*)(const char*, const int*, const int*, T*, const int*, Real*, T*, const int*, T*,
                     const int*, T*, const int*, Real*, int*, int*, std::size_t);
        reinterpret_cast<Function>(lapack().of<T>().svd)(
            "S", &sizes.rows, &sizes.columns, matrix, &leading, result, left, &leading, right,
            &leading_vh, work, &length, real_work.data(), whole_work.data(), status, 1);
      }
    };
    T answer{};
    int status = 0;
    call(0, &answer, -1, &status);
    check_arguments(status, "gesdd");
    std::vector<T> work(static_cast<std::size_t>(wanted(answer)));
    for (std::int64_t i = 0; i < sizes.count; ++i) {
      int& found = data_of<int>(info)[i];
      call(i, work.data(), number(static_cast<std::int64_t>(work.size())), &found);
      constexpr int has_nan = -4;
      found = found == has_nan ? -found : found;
      check_arguments(found, "gesdd");
    }
  });
}

}  // namespace rtcg::arrays::detail
