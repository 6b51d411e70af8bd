// Wrong arguments of data access and views: the error class, the handle unharmed, the file untouched.
#include "test.h"

namespace {

void data_access(MPI_File file) {
  char buffer[8] = "abcdefg";
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype uncommitted;
  MPI_Type_contiguous(2, MPI_CHAR, &uncommitted);
  CHECK_CLASS(MPI_File_write_at(file, -1, buffer, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_read_at(file, -1, buffer, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_write_at_all(file, -1, buffer, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_read_at_all(file, -5, buffer, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_iwrite_at(file, -1, buffer, 1, MPI_CHAR, &request), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_iread_at(file, -1, buffer, 1, MPI_CHAR, &request), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_iwrite_at_all(file, -1, buffer, 1, MPI_CHAR, &request), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_write_at_all_begin(file, -1, buffer, 1, MPI_CHAR), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_write(file, buffer, -1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_COUNT, MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_read(file, buffer, -1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_COUNT, MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_write_all(file, buffer, -1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_COUNT, MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_write_shared(file, buffer, -1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_COUNT, MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_write_ordered(file, buffer, -1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_COUNT, MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_iread(file, buffer, -1, MPI_CHAR, &request), MPI_ERR_COUNT, MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_write(file, buffer, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_File_read_all(file, buffer, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek(file, 0, 4711), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek_shared(file, 0, 4711), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek_shared(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_set_size(file, -1), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_preallocate(file, -1), MPI_ERR_ARG);
  MPI_Offset offset = 0;
  CHECK_CLASS(MPI_File_get_byte_offset(file, -1, &offset), MPI_ERR_ARG);
  if (!native()) {  // neither MPI says anywhere whether a type is committed; Suiro finds out
    CHECK_CLASS(MPI_File_write(file, buffer, 1, uncommitted, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_File_set_view(file, 0, uncommitted, uncommitted, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
  }
  MPI_Type_free(&uncommitted);
  CHECK_OK(MPI_File_get_position(file, &offset));
  CHECK_EQ(offset, 0);
  CHECK_OK(MPI_File_get_position_shared(file, &offset));
  CHECK_EQ(offset, 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

void views(MPI_File file) {
  auto refused = [&](MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep,
                     std::initializer_list<int> wanted, int line) {
    record_class(MPI_File_set_view(file, displacement, etype, filetype, datarep, MPI_INFO_NULL), wanted, __FILE__, line,
                 "MPI_File_set_view");
  };
  refused(-1, MPI_BYTE, MPI_BYTE, "native", {MPI_ERR_ARG}, __LINE__);
  refused(MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", {MPI_ERR_ARG}, __LINE__);  // only for SEQUENTIAL
  refused(0, MPI_BYTE, MPI_BYTE, "nonsense", {MPI_ERR_UNSUPPORTED_DATAREP}, __LINE__);
  refused(0, MPI_DATATYPE_NULL, MPI_BYTE, "native", {MPI_ERR_TYPE}, __LINE__);
  refused(0, MPI_BYTE, MPI_DATATYPE_NULL, "native", {MPI_ERR_TYPE}, __LINE__);
  refused(0, MPI_INT, MPI_SHORT, "native", {MPI_ERR_TYPE, MPI_ERR_ARG},
          __LINE__);  // a filetype is made of whole etypes

  const auto with = [&](MPI_Datatype type, int line) {
    MPI_Type_commit(&type);
    refused(0, MPI_INT, type, "native", {MPI_ERR_TYPE, MPI_ERR_ARG, MPI_ERR_IO}, line);
    MPI_Type_free(&type);
  };
  MPI_Datatype type;
  const int ones[2] = {1, 1};
  const int descending[2] = {5, 0};
  MPI_Type_indexed(2, ones, descending, MPI_INT, &type);
  with(type, __LINE__);  // displacements must not descend
  const int negative[2] = {-3, 0};
  MPI_Type_indexed(2, ones, negative, MPI_INT, &type);
  with(type, __LINE__);  // nor be negative
  MPI_Type_create_hvector(3, 1, 2, MPI_INT, &type);
  with(type, __LINE__);  // nor overlap while the file is open for writing

  MPI_Offset byte = -1;
  CHECK_OK(MPI_File_get_byte_offset(file, 9, &byte));
  CHECK_EQ(byte, 9);  // the default view is still in force
}

}  // namespace

int main(int argc, char** argv) {
  Session session(argc, argv);
  MPI_File file = session.open(MPI_COMM_WORLD, "arguments", MPI_MODE_RDWR | MPI_MODE_CREATE);
  data_access(file);
  views(file);
  MPI_Offset size = -1;
  CHECK_OK(MPI_File_get_size(file, &size));
  CHECK_EQ(size, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_write_at_all(file, session.rank, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(posix_size(session.path("arguments")), session.size);
  session.remove("arguments");
  return session.finish();
}
