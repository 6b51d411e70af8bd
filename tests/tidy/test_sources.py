"""The source tree keeps its own rules. Each checker has a canary: a bad tree that it must complain about."""

import tomllib

import pytest
import tidy_sources as sources

TREE = sources.repository()


def test_no_room_includes_a_higher_one():
    assert sources.layer_faults(TREE) == []


def test_every_folder_of_sources_is_a_room_or_known():
    assert {"base", "access"} <= set(sources.rooms(TREE))


def test_mpi_header_stays_in_the_mpi_rooms():
    assert sources.mpi_header_faults(TREE) == []


def test_every_test_file_is_registered():
    folders = tomllib.loads(TREE["pyproject.toml"])["tool"]["pytest"]["ini_options"]["testpaths"]
    assert sources.unregistered_tests(TREE, folders) == []


def test_no_file_is_too_long():
    assert sources.long_files(TREE, sources.LONG_FILES) == []


def test_no_path_of_one_machine():
    assert sources.foreign_paths(TREE) == []


LOW = {"src/low/CMakeLists.txt": "suiro_room(low SOURCES low.cc)"}
HIGH = {"src/high/CMakeLists.txt": "suiro_room(high SOURCES high.cc LINKS low)"}


class TestCanaries:
    def test_upward_include_is_found(self):
        faults = sources.layer_faults(LOW | HIGH | {"src/low/low.cc": '#include "high/high.h"\n'})
        assert len(faults) == 1 and "src/low/low.cc:1" in faults[0]

    def test_downward_and_own_includes_are_fine(self):
        assert sources.layer_faults(LOW | HIGH | {"src/high/a.cc": '#include "low/low.h"\n#include "high/b.h"\n'}) == []

    def test_include_through_two_rooms_is_fine(self):
        top = {"src/top/CMakeLists.txt": "suiro_room(top SOURCES t.cc LINKS high)"}
        assert sources.layer_faults(LOW | HIGH | top | {"src/top/t.cc": '#include "low/low.h"\n'}) == []

    def test_sideways_include_is_found(self):
        side = {"src/side/CMakeLists.txt": "suiro_room(side SOURCES s.cc LINKS low)"}
        assert sources.layer_faults(LOW | HIGH | side | {"src/side/s.cc": '#include "high/high.h"\n'})

    def test_circle_is_found(self):
        circle = {"src/low/CMakeLists.txt": "suiro_room(low SOURCES low.cc LINKS high)"}
        assert any("depends on itself" in fault for fault in sources.layer_faults(circle | HIGH))

    def test_link_to_nothing_is_found(self):
        assert sources.layer_faults(HIGH)

    def test_nested_room_is_told_from_its_parent_folder(self):
        nested = {"src/routes/direct/CMakeLists.txt": "suiro_room(direct SOURCES d.cc LINKS low)"}
        assert sources.layer_faults(LOW | nested | {"src/low/low.cc": '#include "routes/direct/d.h"\n'})

    @pytest.mark.parametrize("include", ["#include <mpi.h>", '  # include "mpi.h"', "#include <mpi_abi.h>"])
    def test_mpi_header_is_found(self, include):
        assert sources.mpi_header_faults({"src/file/file.cc": f"int a;\n{include}\n"})
        assert sources.mpi_header_faults({"src/mpi/table.cc": f"{include}\n"}) == []

    def test_unregistered_test_is_found(self):
        cmake = {"tests/unit/CMakeLists.txt": "suiro_unit_test(other_a_test SOURCES other_a_test.cc)  # a_test.cc"}
        assert sources.unregistered_tests(cmake | {"tests/unit/a_test.cc": ""}, [])
        assert sources.unregistered_tests(cmake | {"tests/unit/other_a_test.cc": ""}, []) == []
        assert sources.unregistered_tests(cmake | {"tests/mpi/other_a_test.cc": ""}, []), "named for another folder"
        assert sources.unregistered_tests({"tests/mpi/CMakeLists.txt": "mpi_test(views)", "tests/mpi/views.cc": ""}, []) == []
        assert sources.unregistered_tests({"tests/lost/test_x.py": ""}, ["tests/tidy"])
        assert sources.unregistered_tests({"tests/tidy/test_x.py": ""}, ["tests/tidy"]) == []

    def test_long_file_is_found(self):
        tree = {"src/a.cc": "x\n" * 601, "src/b.cc": "x\n" * 600}
        assert len(sources.long_files(tree, {})) == 1
        assert sources.long_files(tree, {"src/a.cc": "a reason"}) == []
        assert sources.long_files(tree, {"src/a.cc": "a reason", "src/gone.cc": "a reason"})

    @pytest.mark.parametrize("place", ["work/main", "root/.cache", "home/ann/x", "tmp/build-x"])
    def test_foreign_path_is_found(self, place):
        assert sources.foreign_paths({"a.md": f"see /{place} for more"})

    @pytest.mark.parametrize("text", ["${CMAKE_SOURCE_DIR}/work/x", "network/root/x", "https://a.b/work/main", "/work/project/out.h5"])
    def test_other_paths_are_fine(self, text):
        assert sources.foreign_paths({"a.md": text}) == []
