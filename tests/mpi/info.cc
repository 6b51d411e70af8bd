// MPI_Info on files: get_info gives a fresh object with every hint in force, set_info and set_view change what may be
// changed, unknown keys do no harm, MPI_INFO_NULL is always fine.
#include <map>

#include "test.h"

namespace {

std::map<std::string, std::string> hints_of(MPI_File file) {
  std::map<std::string, std::string> hints;
  MPI_Info info = MPI_INFO_NULL;
  CHECK_OK(MPI_File_get_info(file, &info));
  CHECK(info != MPI_INFO_NULL);
  if (info == MPI_INFO_NULL) return hints;
  int keys = 0;
  MPI_Info_get_nkeys(info, &keys);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "", value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info_get_nthkey(info, i, key);
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    if (found) hints[key] = value;
  }
  MPI_Info_free(&info);
  return hints;
}

MPI_Info make_info(std::initializer_list<std::pair<const char*, const char*>> pairs) {
  MPI_Info info;
  MPI_Info_create(&info);
  for (const auto& [key, value] : pairs) MPI_Info_set(info, key, value);
  return info;
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv);
  const int create = MPI_MODE_RDWR | MPI_MODE_CREATE;
  MPI_File file = session.open(MPI_COMM_WORLD, "info", create, MPI_INFO_NULL);
  const auto first = hints_of(file);
  CHECK(!first.empty());
  const auto second = hints_of(file);
  CHECK(first == second);
  // writing into the object we got changes nothing in the file
  MPI_Info copy = MPI_INFO_NULL;
  CHECK_OK(MPI_File_get_info(file, &copy));
  MPI_Info_set(copy, "suiro_test_scribble", "1");
  CHECK(hints_of(file).count("suiro_test_scribble") == 0);
  // handing back what get_info gave is accepted (programs copy hints from file to file)
  CHECK_OK(MPI_File_set_info(file, copy));
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  file = session.open(MPI_COMM_WORLD, "info", create, copy);
  CHECK_OK(MPI_File_close(&file));
  MPI_Info_free(&copy);

  // hints given at open, at set_info, at set_view; MPI_INFO_NULL; an empty object
  MPI_Info given = make_info({{"cb_buffer_size", "4194304"}, {"no_such_hint_anywhere", "whatever"}});
  file = session.open(MPI_COMM_WORLD, "info", create, given);
  MPI_Info empty;
  MPI_Info_create(&empty);
  CHECK_OK(MPI_File_set_info(file, empty));
  CHECK_OK(MPI_File_set_info(file, given));
  CHECK_OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", given));
  CHECK_OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  MPI_Info_free(&given);  // the file does not depend on the object
  MPI_Info_free(&empty);
  session.check_served(file);
  CHECK_OK(MPI_File_write_at_all(file, session.rank, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
  if (!native()) {
    // every setting of Suiro is there with the value in force, each key once, all short enough for Open MPI
    const auto hints = hints_of(file);
    int own = 0;
    for (const auto& [key, value] : hints) {
      own += key.rfind("suiro_", 0) == 0;
      CHECK(key.size() <= 36);
      CHECK(value.size() <= 255);
    }
    CHECK(own >= 3);
    CHECK(hints.count("suiro_preset") == 1);
  }
  CHECK_OK(MPI_File_close(&file));

  if (!native()) {
    // a wrong value of one of Suiro's own hints is said, never swallowed: the open fails or the value in force differs
    // visibly from the one asked for
    MPI_Info wrong = make_info({{"suiro_preset", "no_such_preset"}});
    file = MPI_FILE_NULL;
    const int code = MPI_File_open(MPI_COMM_WORLD, session.path("info").c_str(), create, wrong, &file);
    if (code == MPI_SUCCESS) {
      CHECK_EQ(Session::served_by(file), session.preset());
      CHECK_OK(MPI_File_close(&file));
    } else {
      CHECK_CLASS(code, MPI_ERR_INFO_VALUE, MPI_ERR_INFO);
    }
    MPI_Info_free(&wrong);
    // a hint that was given is in force and reads back; the spelling of a size is the library's
    MPI_Info asked = make_info({{"suiro_strided_write", "pwrite"},
                                {"suiro_stage_bytes", "8192"},
                                {"suiro_read_sieve_bytes", "0"},
                                {"suiro_map_piece_below_bytes", "64"},
                                {"suiro_on_error", "fail"}});
    file = session.open(MPI_COMM_WORLD, "info", create, asked);
    auto in_force = hints_of(file);
    CHECK_EQ(in_force["suiro_strided_write"], "pwrite");
    CHECK_EQ(in_force["suiro_on_error"], "fail");
    CHECK_EQ(in_force["suiro_read_sieve_bytes"], "0");
    CHECK(in_force["suiro_stage_bytes"] == "8192" || in_force["suiro_stage_bytes"] == "8KiB");
    CHECK(in_force["suiro_map_piece_below_bytes"].rfind("64", 0) == 0);
    CHECK_OK(MPI_File_close(&file));
    MPI_Info_free(&asked);
    // the preset by hint
    MPI_Info by_hint = make_info({{"suiro_preset", session.preset().c_str()}});
    file = session.open(MPI_COMM_WORLD, "info", create, by_hint);
    MPI_Info_free(&by_hint);
    CHECK_OK(MPI_File_close(&file));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (session.rank == 0) CHECK_EQ(posix_size(session.path("info")), session.size);
  session.remove("info");
  return session.finish();
}
