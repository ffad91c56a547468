# Sourced by tools/quickstart and tools/test: the Debian 12 packages that each needs, and how to
# install those that are missing.

BUILD_PACKAGES=(
  g++ cmake ninja-build libabsl-dev libprotobuf-dev protobuf-compiler libyaml-cpp-dev libeigen3-dev
  libcli11-dev nlohmann-json3-dev zlib1g-dev libpcre2-dev
)
# What the tests need on top: GoogleTest, the benchmark library, fibers for the CUDA sources on the
# host, Python, OpenBLAS (one test of `reveal` only checks the message without it), a WebAssembly
# toolchain.
TEST_PACKAGES=(
  libgtest-dev libgmock-dev libbenchmark-dev libboost-context-dev python3 libopenblas0
  clang-16 lld-16 wasi-libc libc++-16-dev-wasm32 libc++abi-16-dev-wasm32 libclang-rt-16-dev-wasm32
)

# install_packages NAME...: installs those that dpkg does not know as installed.
install_packages() {
  local missing=() name
  for name in "$@"; do
    if [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" != installed ]; then
      missing+=("$name")
    fi
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if ! command -v apt-get >/dev/null; then
    echo "batchvar: missing packages: ${missing[*]} (this machine has no apt-get)" >&2
    return 1
  fi
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "batchvar: missing packages: ${missing[*]}; run as root or install sudo" >&2
      return 1
    }
    sudo=(sudo)
  fi
  echo "== installing ${missing[*]}"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
}
