#!/usr/bin/env bash
# Installs what building and testing rtcg needs from Debian's (or Ubuntu's) packages.
#
#   scripts/install_packages.sh build   what `make` and `make demo` need
#   scripts/install_packages.sh test    also what `make test` and `make bench` need
#   scripts/install_packages.sh check   also what CONTRIBUTING.md's second compiler and linters need
#
# Prints what it is going to install; does nothing when everything is there. Works as root or through sudo.
set -euo pipefail

build_packages=(
  g++ cmake ninja-build pkg-config git ccache
  libboost-dev libfmt-dev libssl-dev nlohmann-json3-dev libcli11-dev libeigen3-dev
  opencl-c-headers ocl-icd-libopencl1
)
test_packages=(pocl-opencl-icd libgtest-dev libgmock-dev libbenchmark-dev libisl-dev libkainjow-mustache-dev oclgrind python3 dpkg-dev file
  openmpi-bin mpich tcc libvulkan-dev)
check_packages=(clang clang-format clang-tidy libomp-dev libclang-rt-14-dev)

usage() {
  sed -n '2,8p' "$0" | sed 's/^# \{0,1\}//'
  exit "${1:-0}"
}

case "${1:-}" in
  build) wanted=("${build_packages[@]}") ;;
  test) wanted=("${build_packages[@]}" "${test_packages[@]}") ;;
  check) wanted=("${build_packages[@]}" "${test_packages[@]}" "${check_packages[@]}") ;;
  -h | --help) usage ;;
  *) usage 2 >&2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "This is not a Debian-like system, so nothing is installed for you." >&2
  echo "By hand, rtcg needs a C++20 compiler (g++ >= 12 or clang >= 14), cmake >= 3.25, ninja, and:" >&2
  echo "  Boost >= 1.74 (headers), fmt >= 9, OpenSSL, nlohmann-json, CLI11, Eigen, OpenCL headers and loader;" >&2
  echo "  for the tests also GoogleTest, Google Benchmark, isl and kainjow-mustache." >&2
  echo "The build goes on with what it finds." >&2
  exit 0
fi

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=()
elif command -v sudo >/dev/null; then
  as_root=(sudo)
else
  echo "These packages are missing, and neither root nor sudo is at hand to install them:" >&2
  echo "  apt-get install ${missing[*]}" >&2
  exit 1
fi

echo "Installing from the system's packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
