# The two commands a newcomer needs are `make demo` and `make test`; `make help` lists the rest.
# Everything goes through CMake presets, so `cmake --workflow --preset dev` does the same from an IDE.

.DEFAULT_GOAL := all
BUILD := build
CMAKE_CONFIGURE = cmake --preset release -DRTCG_BUILD_TESTS=$(1) -DRTCG_BUILD_BENCH=$(1) -DRTCG_BUILD_EXAMPLES=ON

.PHONY: all demo test bench pages applications install package clean help sanitize packages-build packages-test

all: packages-build            ## build the library and the command line, build/bin/rtcg
	@test -f $(BUILD)/CMakeCache.txt || $(call CMAKE_CONFIGURE,OFF)
	cmake --build $(BUILD)

demo: packages-build           ## a tree and its text, slicings of a matrix product, a flux: a screen each
	@test -f $(BUILD)/CMakeCache.txt || $(call CMAKE_CONFIGURE,OFF)
	cmake --build $(BUILD) --target demo
	$(BUILD)/bin/demo

test: packages-test            ## build everything and run all tests
	$(call CMAKE_CONFIGURE,ON)
	cmake --build $(BUILD)
	ctest --test-dir $(BUILD) --output-on-failure --parallel $$(nproc)

bench: packages-test           ## run the CPU benchmarks, JSON to build/bench/*.json
	$(call CMAKE_CONFIGURE,ON)
	cmake --build $(BUILD) --target run_benchmarks

pages: all                     ## print the tables and draw the pictures of docs/dg.md again, some minutes
	cmake -DRTCG=$(BUILD)/bin/rtcg -DPAGE=docs/dg.md -DPICTURES=docs/pictures -P scripts/remake_dg_page.cmake

applications: packages-build   ## run the applications at full size and draw their pictures, some minutes
	@test -f $(BUILD)/CMakeCache.txt || $(call CMAKE_CONFIGURE,OFF)
	cmake --build $(BUILD) --target run_applications

sanitize: packages-test        ## build and test under the address and undefined-behaviour sanitizers
	cmake --workflow --preset asan

install: all                   ## install to PREFIX (default: CMake's)
	cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX))

package: packages-test all     ## make the Debian packages rtcg and librtcg-dev, build/*.deb
	cd $(BUILD) && cpack

clean:                         ## remove the build folder
	cmake -E rm -rf $(BUILD)

help:                          ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

packages-build:
	@scripts/install_packages.sh build

packages-test:
	@scripts/install_packages.sh test
